// Every saver finds the records of each checkpoint, however unevenly they are spread.
#include "tests/persistence/saver_kinds.hpp"

#include <random>
#include <string>
#include <vector>

namespace troupe {

namespace {

using test::backends;

std::string checkpoint_id(std::size_t n) {
  auto digits = std::to_string(n);
  return "00000000-0000-6000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

/// A checkpoint as it was stored, with its writes.
struct stored_step {
  checkpoint_ref ref;
  checkpoint_put put;
  std::vector<task_writes> tasks;
};

/// A thread in which each step changes each channel with a chance of its own, and most steps have
/// no task's writes while a few have many.
std::vector<stored_step> uneven_thread(std::mt19937& random, std::size_t steps) {
  const std::vector<std::pair<std::string, unsigned>> channels{
    {"always", 1}, {"never", 1000}, {"often", 2}, {"rarely", 30}};
  std::vector<stored_step> out;
  named<version> versions;
  named<value> values;
  for (const auto& [name, chance] : channels) {
    versions.emplace_back(name, version{});
    values.emplace_back(name, value{});
  }
  for (std::size_t step = 0; step < steps; ++step) {
    auto& [ref, put, tasks] = out.emplace_back();
    ref = {"t", "", checkpoint_id(step)};
    put.checkpoint.id = ref.checkpoint_id;
    put.checkpoint.ts = "2026-01-01T00:00:00.000000+00:00";
    if (step > 0)
      put.parent_id = checkpoint_id(step - 1);
    for (std::size_t c = 0; c < channels.size(); ++c)
      if (step == 0 || random() % channels[c].second == 0) {
        versions[c].second = {step + 1, 0};
        values[c].second = value(static_cast<std::int64_t>(random() % 1000));
        put.new_versions.push_back(channels[c].first);
      }
    put.checkpoint.channel_versions = versions;
    put.checkpoint.channel_values = values;
    auto count = random() % 10 == 0 ? random() % 8 : 0;
    for (std::size_t i = 0; i < count; ++i)
      tasks.push_back({checkpoint_id(1000 + i),
                       "~__pregel_pull, " + std::string(1, static_cast<char>('a' + i)),
                       {{"always", value(static_cast<std::int64_t>(i))}}});
  }
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_uneven_thread)

BOOST_AUTO_TEST_CASE_TEMPLATE(each_checkpoint_has_its_own_values_and_writes, backend, backends) {
  std::mt19937 random{1};
  for (std::size_t steps : {1u, 2u, 3u, 10u, 200u}) {
    backend on;
    auto thread = uneven_thread(random, steps);
    for (const auto& [ref, put, tasks] : thread) {
      on.saver->put(ref, put).value();
      for (const auto& task : tasks)
        on.saver->put_writes(ref, task).value();
    }
    for (const auto& [ref, put, tasks] : thread) {
      auto read = on.saver->get_tuple(ref).value();
      BOOST_REQUIRE(read);
      BOOST_TEST((read->checkpoint.channel_values == put.checkpoint.channel_values));
      BOOST_REQUIRE(read->pending_writes.size() == tasks.size());
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        BOOST_TEST(read->pending_writes[i].task_id == tasks[i].task_id);
        BOOST_TEST(read->pending_writes[i].value == tasks[i].writes[0].second);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
