// Servers that are killed, frozen and replaced in an order drawn from a seed.
#include "server/runs/stored_events.hpp"
#include "tests/server/runs/shared_servers.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>

namespace troupe::server::test {
namespace {

struct drawn_servers : shared_world {
  explicit drawn_servers(unsigned seed) : random{seed} {
    attempts_max = 1000;
    for (int i = 0; i < 4; ++i)
      threads.push_back(new_id(time + i));
    for (int i = 0; i < 3; ++i)
      living.push_back(make());
  }

  std::unique_ptr<shared_server> make() {
    auto made = std::make_unique<shared_server>(*this, "s" + std::to_string(++made_), 2);
    made->at->open();
    return made;
  }
  std::size_t draw(std::size_t below) { return random() % below; }
  shared_server& one() { return *living[draw(living.size())]; }

  void create() {
    auto members = draw(3) == 0 ? free_input().with("stream_resumable", true) : free_input();
    created.push_back(one().create(members, threads[draw(threads.size())]));
  }
  void kill() {
    auto& victim = living[draw(living.size())];
    victim->kill();
    dead.push_back(std::move(victim));
    victim = make();
    victim->runs.recover();
  }
  // A server that is not drawn for a while is frozen.
  void look() {
    pass(std::chrono::milliseconds{draw(1500)});
    one().runs.look_at_servers();
  }
  void step() {
    switch (draw(8)) {
      case 0: return kill();
      case 1:
      case 2:
      case 3: return create();
      default: return look();
    }
  }

  // Every server is alive and shows it, until all runs are over.
  bool settle() {
    std::vector<std::future<run_outcome>> ends;
    for (const auto& run : created)
      ends.push_back(living[0]->ending(run));
    constexpr int rounds_max = 2000;
    for (int round = 0; round < rounds_max; ++round) {
      for (auto& server : living)
        server->runs.look_at_servers();
      pass(limits::server_lease / 2);
      auto left = std::ranges::find_if(ends, [](auto& end) {
        return end.wait_for(std::chrono::milliseconds{20}) != std::future_status::ready;
      });
      if (left == ends.end())
        return true;
    }
    return false;
  }

  std::mt19937 random;
  std::vector<std::string> threads;
  std::vector<std::unique_ptr<shared_server>> living;
  std::vector<std::unique_ptr<shared_server>> dead;
  std::vector<run_record> created;
  int made_ = 0;
};

BOOST_AUTO_TEST_SUITE(server_interleavings)

BOOST_DATA_TEST_CASE(no_run_is_lost_or_counted_twice_whatever_happens_to_servers,
                     boost::unit_test::data::xrange(12u), seed) {
  drawn_servers w{seed};
  for (int i = 0; i < 60; ++i)
    w.step();
  BOOST_REQUIRE(w.settle());
  for (const auto& run : w.created) {
    auto stored = w.stored(run);
    BOOST_REQUIRE(stored);
    BOOST_TEST_CONTEXT("run " << run.run_id << ": " << to_string(stored->status)) {
      BOOST_TEST((stored->status == run_status::success));
    }
    if (!run.flag("resumable"))
      continue;
    heard_events heard;
    auto reading = w.living[0]->runs.read(run.thread_id, run.run_id, 0, heard.reader());
    heard.wait_for_end();
    BOOST_TEST(std::ranges::is_sorted(heard.numbers()));
    BOOST_TEST(heard.names().back() == "values");
  }
  for (const auto& thread : w.threads) {
    auto runs = std::ranges::count(w.created, thread, &run_record::thread_id);
    if (runs == 0)
      continue;
    BOOST_TEST(w.living[0]->n_of(thread) == value(11 * runs));
    auto record = thread_record::of(w.documents->get(document_kind::thread, thread).value()->body);
    BOOST_TEST(record.inflight.empty());
    BOOST_TEST(record.running.empty());
    BOOST_TEST((record.status == thread_status::idle));
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server::test
