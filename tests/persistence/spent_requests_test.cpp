// Requests that are used again: what they keep, how many there are, and that nothing of an earlier
// request shows in a later one.
#include "persistence/group_commit.hpp"
#include "persistence/spent_requests.hpp"
#include "tests/fixtures/savers.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/runtime.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using texts = std::vector<std::string>;

/// Stores nothing.
struct idle_sink final : commit_sink {
  result<void> begin() override { return {}; }
  write_outcome write(const commit_job& job) override {
    if (job.request.ref.thread_id == "refused")
      return {.answer = troupe::error{errc::invalid_value, "refused"}};
    return {};
  }
  result<void> commit() override {
    if (fails)
      return troupe::error{errc::storage_full, "commit"};
    return {};
  }
  void abort() override {}

  std::atomic<bool> fails = false;
};

commit_job job_of(std::string thread_id, std::shared_ptr<spent_requests> spent) {
  commit_job job{.request = {{std::move(thread_id), "", "1"}, {}, std::nullopt}, .done = {}};
  job.request.writes.push_back({"task", "path", {{"channel", value::list({1, 2})}}});
  job.request.put.emplace();
  job.request.put->metadata = value::map({{"source", "loop"}});
  job.request.put->checkpoint.channel_values = {{"channel", value::list({1, 2})}};
  job.spent = std::move(spent);
  return job;
}

/// A thread as a saver has it, without ids, times and the numbers of versions.
texts stored(saver& from, const std::string& thread_id) {
  texts out;
  auto add_names = [](std::string& text, const char* what, const auto& all) {
    text += std::string{" "} + what;
    for (const auto& [name, ignored] : all)
      text += " " + name;
  };
  for (const auto& tuple : from.list({.thread_id = thread_id}).value()) {
    const auto& cp = tuple.checkpoint;
    auto text = to_json(tuple.metadata) + (tuple.parent_id.empty() ? "" : " parent");
    add_names(text, "versions", cp.channel_versions);
    for (const auto& [name, val] : cp.channel_values)
      text += " " + name + "=" + to_json(val);
    for (const auto& [node, seen] : cp.versions_seen)
      add_names(text, node.c_str(), seen);
    for (const auto& name : cp.updated_channels.value_or(texts{"none"}))
      text += " updated " + name;
    for (const auto& write : tuple.pending_writes)
      text += " write " + write.task_path + " " + write.channel + "=" + to_json(write.value);
    out.push_back(std::move(text));
  }
  return out;
}

compiled_graph counting(const texts& channels, std::int64_t to) {
  schema state;
  for (const auto& name : channels)
    state.channels.emplace_back(name, sum);
  state_graph<> g{state};
  texts nodes;
  for (const auto& name : channels) {
    g.add_node("count " + name, [name] { return state_update{{name, 1}}; });
    g.add_edge(START, "count " + name);
    nodes.push_back("count " + name);
  }
  auto first = channels.front();
  g.add_conditional_edges(nodes.front(), [first, to, nodes](const state_view& s) {
    return s[first].as_int() < to ? destinations{nodes} : destinations{END};
  });
  return g.compile({.name = "counting " + first});
}

BOOST_AUTO_TEST_SUITE(persistence_spent_requests)

BOOST_AUTO_TEST_CASE(a_committed_request_comes_back_without_its_values) {
  idle_sink sink;
  auto spent = std::make_shared<spent_requests>();
  group_commit commits{sink, std::chrono::milliseconds{1}};
  commits.submit_and_wait(job_of("t", spent)).value();
  commits.submit_and_wait(job_of("after it", nullptr)).value(); // the first one is settled
  auto back = spent->take();
  BOOST_REQUIRE(back.has_value());
  BOOST_TEST(back->ref.thread_id == "t");
  BOOST_TEST(back->writes.at(0).task_path == "path");
  BOOST_TEST((back->writes.at(0).writes.at(0) == std::pair<std::string, value>{"channel", {}}));
  BOOST_TEST(back->put->metadata.is_null());
  BOOST_TEST(back->put->checkpoint.channel_values.at(0).second.is_null());
  BOOST_TEST(!spent->take());
}

BOOST_AUTO_TEST_CASE(a_request_that_was_refused_or_lost_does_not_hold_up_others) {
  idle_sink sink;
  auto spent = std::make_shared<spent_requests>();
  group_commit commits{sink, std::chrono::milliseconds{1}};
  test::require_error(commits.submit_and_wait(job_of("refused", spent)), errc::invalid_value);
  sink.fails = true;
  test::require_error(commits.submit_and_wait(job_of("lost", spent)), errc::storage_full);
  sink.fails = false;
  commits.submit_and_wait(job_of("t", spent)).value();
}

BOOST_AUTO_TEST_CASE(a_large_request_is_not_kept) {
  spent_requests spent;
  save_request wide{{}, {}, checkpoint_put{}};
  wide.put->checkpoint.channel_versions.resize(257);
  spent.give(std::move(wide));
  BOOST_TEST(!spent.take());
  save_request long_one{{}, {}, checkpoint_put{}};
  long_one.writes.resize(257);
  spent.give(std::move(long_one));
  BOOST_TEST(!spent.take());
}

BOOST_AUTO_TEST_CASE(no_more_requests_are_kept_than_the_limit_says) {
  spent_requests spent;
  spent.give({}); // has no checkpoint
  BOOST_TEST(!spent.take());
  for (std::size_t i = 0; i < limits::spent_requests_max + 3; ++i)
    spent.give({{}, {}, checkpoint_put{}});
  std::size_t kept = 0;
  while (spent.take())
    ++kept;
  BOOST_TEST(kept == limits::spent_requests_max);
}

// The requests of one graph's runs are used by those of another one, which is larger or smaller.
BOOST_AUTO_TEST_CASE(nothing_of_one_graph_is_stored_with_another) {
  const auto wide = counting({"a channel of a long name", "another channel", "b", "c", "d"}, 40);
  const auto narrow = counting({"n"}, 40);
  test::temporary_directory dir;
  auto runs_of = [&](std::shared_ptr<saver> store, durability when) {
    runtime machine{{.saver = store}};
    std::vector<texts> all;
    for (int round = 0; round < 3; ++round)
      for (const auto* graph : {&wide, &narrow}) {
        auto thread = std::string{graph == &wide ? "wide " : "narrow "} + std::to_string(round);
        machine.load(*graph).invoke(
          value::map({{graph == &wide ? "b" : "n", 0}}),
          {.thread_id = thread, .durability = when, .recursion_limit = 100});
        all.push_back(stored(*store, thread)); // commits what is open
      }
    return all;
  };
  auto in_file = runs_of(open_lmdb_saver((dir.path() / "data").string()).value(),
                         durability::async);
  auto in_memory = runs_of(make_memory_saver(), durability::sync);
  BOOST_REQUIRE(in_file.size() == in_memory.size());
  for (std::size_t i = 0; i < in_file.size(); ++i)
    BOOST_TEST(in_file[i] == in_memory[i], boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe
