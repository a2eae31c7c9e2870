// The LMDB saver in several processes: a directory that they share, kills, forks, marks of
// runtimes.
#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/runtime_marks.hpp"

#include "tests/persistence/lmdb/lmdb_saver_fixture.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {

namespace {

using test::checkpoint_id;
using test::make_put;
using test::temporary_directory;

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_lmdb_processes, test::lmdb_saver_fixture)

// A commit of nothing has no id of its own: the next one, whoever's, has it.
BOOST_AUTO_TEST_CASE(what_others_stored_is_seen_behind_a_commit_of_nothing) {
  auto s = open(dir);
  s->put({"mine", "", ""}, nth_put(1)).value();
  s->delete_thread("no such thread").value();
  auto child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    auto theirs = open_lmdb_saver(dir);
    _exit(theirs && (*theirs)->put({"theirs", "", ""}, nth_put(2)) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  BOOST_TEST(status == 0);
  s->put({"mine too", "", ""}, nth_put(3)).value(); // under a number nobody else has
  BOOST_TEST(number_of(*s, "mine") == value(1));
  BOOST_TEST(number_of(*s, "theirs") == value(2));
  BOOST_TEST(number_of(*s, "mine too") == value(3));
}

BOOST_DATA_TEST_CASE(what_was_acknowledged_survives_a_killed_process,
                     boost::unit_test::data::xrange(8), seed) {
  std::mt19937 random{static_cast<unsigned>(seed)};
  const auto acks_before_the_kill = random() % 60;
  child_process child{[this](child_process& self) {
    auto s = open(dir);
    std::jthread other{[&s] { // keeps transactions shared
      for (unsigned n = 0;; ++n)
        test::submit(*s, numbered_request("other", n), save_ack::accepted).get().value();
    }};
    for (unsigned n = 0;; ++n) {
      test::submit(*s, numbered_request("t", n), save_ack::durable).get().value();
      self.report(n);
    }
    return 0;
  }};
  unsigned acked = 0;
  for (unsigned i = 0; i <= acks_before_the_kill; ++i)
    BOOST_REQUIRE(child.next_report(acked));
  child.kill_now();
  BOOST_TEST(child.wait() == -SIGKILL);

  auto s = open(dir);
  for (unsigned n = 0; n <= acked; ++n)
    BOOST_TEST(number_of(*s, "t", checkpoint_id(n)) == value(n));
  // No gaps after it either: the stored checkpoints are a beginning of the submitted ones.
  for (const auto* thread : {"t", "other"}) {
    auto found = s->list({.thread_id = thread}).value();
    for (std::size_t i = 0; i < found.size(); ++i)
      BOOST_TEST(found[i].ref.checkpoint_id
                 == checkpoint_id(static_cast<unsigned>(found.size() - 1 - i)));
  }
  s->put({"t", "", ""}, nth_put(acked + 1000)).value();
}

BOOST_AUTO_TEST_CASE(processes_that_make_a_store_at_once_share_it_and_leave_nothing_else) {
  std::vector<std::unique_ptr<child_process>> children;
  for (unsigned n = 0; n < 4; ++n)
    children.push_back(std::make_unique<child_process>([this, n](child_process& self) {
      self.wait_for_parent();
      open(dir)->put({"t" + std::to_string(n), "", ""}, nth_put(n)).value();
      return 0;
    }));
  for (auto& child : children)
    child->go_on();
  for (auto& child : children)
    BOOST_TEST(child->wait() == 0);
  BOOST_TEST(open(dir)->threads().value().size() == 4u);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{dir})
    names.insert(entry.path().filename());
  BOOST_TEST((names == std::set<std::string>{"troupe.mdb", "troupe.mdb-lock"}));
}

BOOST_AUTO_TEST_CASE(two_processes_share_a_directory) {
  child_process child{[this](child_process& self) {
    auto s = open(dir);
    for (unsigned n = 1; n < 20; n += 2) {
      self.wait_for_parent();
      if (number_of(*s, "t") != value(n - 1))
        return 1;
      s->put({"t", "child", ""}, make_put("c", "", {{"from-child-" + std::to_string(n), n}}))
        .value();
      s->put({"t", "", ""}, nth_put(n)).value();
      if (n == 11)
        s->delete_thread("deleted").value();
      self.report(n);
    }
    return 0;
  }};
  auto s = open(dir);
  for (unsigned n = 0; n < 20; n += 2) {
    s->put({"deleted", "", ""}, make_put("c", "", {{"n", n}})).value();
    s->put({"t", "parent", ""}, make_put("c", "", {{"from-parent-" + std::to_string(n), n}}))
      .value();
    s->put({"t", "", ""}, nth_put(n)).value();
    child.go_on();
    unsigned reported = 0;
    BOOST_REQUIRE(child.next_report(reported));
    BOOST_TEST(number_of(*s, "t") == value(reported));
    auto from_child = s->get_tuple({"t", "child", ""}).value().value();
    BOOST_TEST(from_child.checkpoint.channel_values.at(0).first
               == "from-child-" + std::to_string(reported));
  }
  BOOST_TEST(child.wait() == 0);
  BOOST_TEST(number_of(*s, "deleted") == value(18));
  BOOST_TEST(s->list({.thread_id = "t", .checkpoint_ns = ""}).value().size() == 20u);
}

// Each reads the thread and stores the next checkpoint: of two that read the same, one succeeds.
BOOST_AUTO_TEST_CASE(two_processes_race_on_a_thread_and_no_checkpoint_has_two_children) {
  constexpr unsigned tries = 500;
  auto race = [](saver& s, unsigned who) {
    unsigned stored = 0;
    for (unsigned n = 1; n <= tries; ++n) {
      auto owner = s.thread_owner("t").value();
      auto newest = s.get_tuple({"t", "", ""}).value();
      auto number = newest ? newest->checkpoint.channel_values.at(0).second.as_int() + 1 : 0;
      auto put = nth_put(static_cast<unsigned>(number));
      put.checkpoint.id = checkpoint_id(static_cast<unsigned>(number) * 2 + who);
      put.parent_id = newest ? newest->ref.checkpoint_id : "";
      save_request request{{"t", "", ""}, {}, std::move(put), thread_claim{owner, n * 2 + who}};
      auto how = test::submit(s, std::move(request), save_ack::durable).get();
      if (!how && how.error().code() != errc::conflict)
        throw error{how.error()};
      stored += how.has_value();
    }
    return stored;
  };
  child_process child{[&](child_process& self) {
    auto s = open(dir);
    self.wait_for_parent();
    self.report(race(*s, 1));
    return 0;
  }};
  auto s = open(dir);
  child.go_on();
  auto stored = race(*s, 0);
  unsigned by_child = 0;
  BOOST_REQUIRE(child.next_report(by_child));
  BOOST_TEST(child.wait() == 0);
  auto all = s->list({.thread_id = "t"}).value();
  BOOST_TEST(all.size() == stored + by_child);
  for (std::size_t i = 0; i < all.size(); ++i) // newest first: one line, without a fork
    BOOST_REQUIRE(all[i].parent_id == (i + 1 < all.size() ? all[i + 1].ref.checkpoint_id : ""));
}

BOOST_AUTO_TEST_CASE(a_process_follows_when_another_makes_the_file_grow) {
  child_process child{[this](child_process& self) {
    self.wait_for_parent();
    auto s = open(dir, {.map_size_bytes_max = 64 << 20});
    s->put({"t", "", ""}, large_put(0, 4 << 20)).value();
    self.report(0);
    return 0;
  }};
  auto s = open(dir, {.map_size_bytes_max = 256 << 10});
  s->put({"u", "", ""}, nth_put(1)).value();
  child.go_on();
  unsigned ignored = 0;
  BOOST_REQUIRE(child.next_report(ignored));
  BOOST_TEST(number_of(*s, "t").size() == std::size_t{4 << 20}); // a reader follows
  BOOST_TEST(child.wait() == 0);
  BOOST_TEST(number_of(*s, "u") == value(1));
}

BOOST_AUTO_TEST_CASE(a_forked_child_opens_the_store_for_itself) {
  auto s = open(dir);
  s->put({"t", "", ""}, nth_put(1)).value();
  child_process child{[this, &s](child_process&) {
    auto mine = open(dir);
    if (mine == s)
      return 1;
    mine->put({"t", "", ""}, nth_put(2)).value();
    return number_of(*mine, "t") == value(2) ? 0 : 2;
  }};
  BOOST_TEST(child.wait() == 0);
  BOOST_TEST(number_of(*s, "t") == value(2));
}

BOOST_AUTO_TEST_CASE(a_runtime_is_there_as_long_as_its_process_holds_its_mark) {
  temporary_directory dir;
  auto s = open_lmdb_saver(dir.path() / "data").value();
  BOOST_TEST((s->is_there(1).value() == std::optional{false}));
  auto one = s->announce(1).value();
  auto two = s->announce(0xffff'ffff).value();
  BOOST_TEST((s->is_there(1).value() == std::optional{true}));
  BOOST_TEST((s->is_there(2).value() == std::optional{false}));
  BOOST_TEST((s->announce(1).error().code() == errc::conflict));
  one.reset();
  BOOST_TEST((s->is_there(1).value() == std::optional{false}));
  BOOST_TEST((s->is_there(0xffff'ffff).value() == std::optional{true}));
  auto child = ::fork();
  if (child == 0) { // another process
    auto mine = runtime_marks{dir.path() / "data" / runtimes_file_name}.announce(3);
    static_cast<void>(mine.has_value() && ::raise(SIGKILL));
    ::_exit(1);
  }
  int status = 0;
  BOOST_TEST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFSIGNALED(status)); // with the mark in its hands
  BOOST_TEST((s->is_there(3).value() == std::optional{false}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
