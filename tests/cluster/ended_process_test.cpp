// Processes that have ended: what is certain, what the kernel reports, and how both sides act.
#include "tests/cluster/admission_bench.hpp"
#include "tests/cluster/dispatcher_bench.hpp"

#include "cluster/process_look.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace troupe::cluster {

namespace {

const std::string boot = "6f1c2b1e-0000-4000-8000-0123456789ab";
const process_identity own{.boot = boot, .pid_space = 4026531836, .pid = 5, .started = 50};
const process_identity peer{.boot = boot, .pid_space = 4026531836, .pid = 7, .started = 70};
const process_facts running{.exists = true, .is_zombie = false, .threads = 4, .started = 70};
const process_facts zombie{.exists = true, .is_zombie = true, .threads = 1, .started = 70};
const process_facts ending{.exists = true, .is_zombie = true, .threads = 2, .started = 70};
const process_facts another{.exists = true, .is_zombie = false, .threads = 1, .started = 71};
const process_facts nobody{};

/// A process that follows orders, and is killed at the latest when the test ends.
class child_process {
public:
  explicit child_process(void (*what)()) : pid_{::fork()} {
    if (pid_ == 0) {
      what();
      ::_exit(0);
    }
    BOOST_REQUIRE(pid_ > 0);
  }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process() {
    if (pid_ > 0)
      kill_and_wait();
  }
  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
  void signal(int number) const { BOOST_REQUIRE(::kill(pid_, number) == 0); }
  /// Until it has changed its state; one that ended stays a zombie.
  void wait_for(int how) const {
    siginfo_t info{};
    BOOST_REQUIRE(::waitid(P_PID, pid(), &info, how | WNOWAIT) == 0);
  }
  void kill_and_wait() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

private:
  pid_t pid_;
};

void pause_for_ever() {
  for (;;)
    ::pause();
}

/// Its first thread ends, another one does not.
void leave_a_thread() {
  pthread_t other{};
  ::pthread_create(
    &other, nullptr,
    [](void*) -> void* {
      pause_for_ever();
      return nullptr;
    },
    nullptr);
  ::syscall(SYS_exit, 0);
}

process_facts look(std::uint32_t pid) {
  auto seen = look_at_process(pid);
  BOOST_REQUIRE(seen.has_value());
  return *seen;
}

struct home_bench : dispatcher_bench {
  home_bench() : dispatcher_bench{{.incarnation = {}, .process = own}} {}

  /// Worker `a` has a task, worker `b` nothing.
  void give_a_task(const process_identity& of, const std::optional<process_facts>& seen) {
    see(seen);
    auto a = who("a", 1);
    a.process = of;
    join(1, a);
    submit();
    BOOST_REQUIRE(orders(1) == 1u);
    join(2, "b", 1);
  }
  void see(const std::optional<process_facts>& what) {
    processes.erase(peer.pid);
    if (what)
      processes.emplace(peer.pid, *what);
  }
};

struct worker_bench : admission_bench {
  task_admission of_process{*this,
                            {.name = "w",
                             .incarnation = "w.1",
                             .labels = {},
                             .capacity = 1,
                             .graphs = {{.name = "g", .hash = "g1"}},
                             .process = own}};

  void work(home_number home, link_number link, const process_identity& of) {
    of_process.link_made(home, link, now);
    auto yes = terms();
    yes.process = of;
    of_process.heard(link, yes, now);
    of_process.heard(link, run_opened{.run = 1, .graph = "g1"}, now);
  }
  void give(link_number link, issue_number issue) {
    of_process.heard(
      link, task_order{.issue = issue, .run = 1, .task_id = "t", .node = "n", .ahead = true}, now);
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_peer_process)

BOOST_AUTO_TEST_CASE(what_the_kernel_tells_decides_whether_a_process_has_ended) {
  BOOST_TEST((state_of(peer, std::nullopt) == process_state::unknown));
  for (const auto& seen : {running, ending})
    BOOST_TEST((state_of(peer, seen) == process_state::alive));
  for (const auto& seen : {zombie, another, nobody})
    BOOST_TEST((state_of(peer, seen) == process_state::ended));
}

BOOST_AUTO_TEST_CASE(only_a_process_that_was_seen_has_ended) {
  peer_process unseen{own, peer};
  unseen.saw(nobody);
  BOOST_TEST(!unseen.has_ended());
  BOOST_TEST(!unseen.to_look_at());
  peer_process seen{own, peer};
  seen.saw(std::nullopt);
  BOOST_TEST((seen.to_look_at() == peer.pid));
  seen.saw(running);
  seen.saw(std::nullopt);
  BOOST_TEST(!seen.has_ended());
  seen.saw(zombie);
  BOOST_TEST(seen.has_ended());
  seen.saw(running); // it stays so
  BOOST_TEST(seen.has_ended());
}

BOOST_AUTO_TEST_CASE(a_process_elsewhere_is_not_looked_at) {
  auto other_boot = peer, other_space = peer;
  other_boot.boot[0] = '7';
  ++other_space.pid_space;
  for (const auto& there : {other_boot, other_space, process_identity{}})
    BOOST_TEST((!peer_process{own, there}.to_look_at()));
  BOOST_TEST((!peer_process{{}, {}}.to_look_at()));
  BOOST_TEST((!peer_process{{}, peer}.to_look_at()));
  BOOST_TEST((!peer_process{}.to_look_at()));
}

BOOST_AUTO_TEST_CASE(what_a_peer_tells_of_its_process_has_bounds) {
  BOOST_TEST(is_well_formed(peer));
  BOOST_TEST(is_well_formed({}));
  std::vector<process_identity> bad(7, peer);
  bad[0].boot = "";
  bad[1].boot += "0";
  bad[2].boot[0] = '/';
  bad[3].boot[0] = 'A';
  bad[4].pid_space = 0;
  bad[5].pid = 0;
  bad[6].pid = limits::process_id_max + 1;
  for (const auto& one : bad)
    BOOST_TEST(!is_well_formed(one));
}

BOOST_AUTO_TEST_CASE(a_line_of_the_kernel_is_read_whatever_the_process_calls_itself) {
  std::string rest =
    " S 1 7 7 0 -1 4194560 120 0 0 0 3 1 0 0 20 0 9 0 4711 1000 200 18446744073709551615 1\n";
  for (const std::string name : {"(a)", "(a b)", "()", "(a) Z 1 1 1 1)", "(\n)", "())"}) {
    auto seen = facts_in("7 " + name + rest);
    BOOST_REQUIRE(seen.has_value());
    BOOST_TEST((seen->exists && !seen->is_zombie));
    BOOST_TEST(seen->threads == 9u);
    BOOST_TEST(seen->started == 4711u);
  }
  rest[1] = 'Z';
  BOOST_TEST(facts_in("7 (a)" + rest)->is_zombie);
  for (const char* damaged : {"", "7", "7 (a", "7 (a)", "7 (a) S 1 2 3",
                              "7 (a) S 1 7 7 0 -1 1 1 0 0 0 3 1 0 0 20 0 x 0 1 1"})
    BOOST_TEST(!facts_in(damaged));
}

BOOST_AUTO_TEST_CASE(looks_come_soon_after_a_link_broke_then_less_often_then_not) {
  look_pace pace;
  BOOST_TEST(pace.begin());
  BOOST_TEST((pace.wait() == look_again_first));
  BOOST_TEST(pace.next());
  BOOST_TEST(!pace.begin()); // one is ordered already; the next ones come soon again
  auto together = pace.wait();
  while (pace.next())
    together += pace.wait();
  BOOST_TEST((together >= look_again_max && together < 2 * look_again_max));
  BOOST_TEST(pace.begin());
}

BOOST_AUTO_TEST_CASE(this_process_is_seen_to_be_alive) {
  auto self = own_process();
  BOOST_REQUIRE(is_well_formed(self));
  if (self.boot.empty())
    return; // a kernel that does not tell
  BOOST_TEST(self.pid == static_cast<std::uint32_t>(::getpid()));
  BOOST_TEST((state_of(self, look_at_process(self.pid)) == process_state::alive));
  BOOST_TEST(!look_at_process(0));
  BOOST_TEST(!look_at_process(limits::process_id_max + 1));
}

BOOST_AUTO_TEST_CASE(a_process_that_is_stopped_is_alive_and_one_that_was_killed_is_not) {
  child_process child{pause_for_ever};
  auto it = peer;
  it.pid = child.pid();
  it.started = look(it.pid).started;
  child.signal(SIGSTOP);
  child.wait_for(WSTOPPED);
  BOOST_TEST((state_of(it, look_at_process(it.pid)) == process_state::alive));
  child.signal(SIGKILL);
  child.wait_for(WEXITED);
  BOOST_TEST(look(it.pid).is_zombie); // nobody has waited for it
  BOOST_TEST((state_of(it, look_at_process(it.pid)) == process_state::ended));
  child.kill_and_wait();
  BOOST_TEST((state_of(it, look_at_process(it.pid)) == process_state::ended));
}

BOOST_AUTO_TEST_CASE(a_process_whose_first_thread_ended_before_the_others_is_alive) {
  child_process child{leave_a_thread};
  auto it = peer;
  it.pid = child.pid();
  it.started = look(it.pid).started;
  while (!look(it.pid).is_zombie)
    std::this_thread::yield();
  BOOST_TEST((state_of(it, look_at_process(it.pid)) == process_state::alive));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(cluster_ended_worker, home_bench)

BOOST_AUTO_TEST_CASE(a_worker_whose_process_ended_is_given_up_when_its_link_breaks) {
  give_a_task(peer, running);
  BOOST_TEST((last<welcome>(1).process == own));
  see(zombie);
  machine.tick(now);
  BOOST_TEST(orders(2) == 0u); // its link may still bring what it said
  machine.link_broken(1, now);
  BOOST_TEST(orders(2) == 1u);
  BOOST_TEST(last<task_order>(2).again);
  BOOST_TEST(reported(event_kind::worker_lost) == 1u);
  BOOST_TEST(events.back().text == "its process has ended; 1 task handed out again");
}

BOOST_AUTO_TEST_CASE(a_worker_whose_process_ends_after_its_link_is_given_up_at_the_next_look) {
  give_a_task(peer, running);
  see(ending);
  machine.link_broken(1, now);
  machine.tick(now += 10ms);
  BOOST_TEST(orders(2) == 0u);
  see(nobody);
  machine.look_for_ended(now);
  BOOST_TEST(orders(2) == 1u);
}

BOOST_DATA_TEST_CASE(a_worker_that_may_be_alive_keeps_its_lease, boost::unit_test::data::xrange(6),
                     how) {
  auto there = peer;
  if (how == 0)
    there.boot[0] = '7';
  if (how == 1)
    ++there.pid_space;
  give_a_task(there, how == 2 ? nobody : running);
  see(how == 3   ? std::optional{running} // it is frozen, or cut off
      : how == 4 ? std::optional{ending}
      : how == 5 ? std::nullopt
                 : std::optional{nobody});
  machine.link_broken(1, now);
  wait(2250ms, {2});
  BOOST_TEST(orders(2) == 0u);
  wait(500ms, {2});
  BOOST_TEST(orders(2) == 1u);
  BOOST_TEST(events.back().text.find("for its lease of") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_worker_whose_link_is_back_is_not_looked_at) {
  give_a_task(peer, running);
  machine.link_broken(1, now);
  machine.link_restored(1, now);
  see(nobody);
  machine.tick(now);
  BOOST_TEST(orders(2) == 0u);
}

BOOST_AUTO_TEST_CASE(a_name_is_free_when_the_process_that_had_it_has_ended) {
  give_a_task(peer, running);
  see(another);
  auto second = who("a", 1);
  second.incarnation = "a.2";
  second.process = peer;
  second.process.started = another.started;
  join(3, second); // its link comes before the end of the old one
  BOOST_TEST(all<refusal>(3).empty());
  BOOST_TEST(reported(event_kind::worker_replaced) == 1u);
  BOOST_TEST(orders(2) + orders(3) == 1u);
}

BOOST_AUTO_TEST_CASE(a_hello_with_a_process_that_can_not_be_is_refused) {
  auto bad = who("a", 1);
  bad.process = peer;
  bad.process.boot = "../../etc";
  join(1, bad);
  BOOST_TEST((last<refusal>(1).code == errc::invalid_value));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(cluster_ended_home, worker_bench)

BOOST_AUTO_TEST_CASE(the_places_of_a_home_whose_process_ended_are_free_when_its_link_breaks) {
  processes[peer.pid] = running;
  work(0, 1, peer);
  BOOST_TEST((last<hello>(1).process == own));
  give(1, 1);
  work(1, 2, {});
  give(2, 1); // it waits
  auto first = begun.rbegin()->first;
  processes[peer.pid] = nobody;
  of_process.tick(now);
  BOOST_TEST(stopped.empty());
  of_process.link_broken(1, now);
  BOOST_TEST(stopped == std::vector<local_task>{first}, boost::test_tools::per_element());
  BOOST_TEST((over == std::vector<std::pair<home_number, errc>>{{0, errc::worker_lost}}));
  BOOST_TEST((events.back().kind == event_kind::home_lost));
  BOOST_TEST(begun.size() == 1u); // its body still runs
  of_process.gone(first, "stopped", now);
  BOOST_TEST(begun.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_home_whose_process_ends_after_its_link_is_missed_at_the_next_tick) {
  processes[peer.pid] = running;
  work(0, 1, peer);
  of_process.link_broken(1, now);
  BOOST_TEST(over.empty());
  processes[peer.pid] = zombie;
  of_process.tick(now += 10ms);
  BOOST_TEST(over.size() == 1u);
}

BOOST_DATA_TEST_CASE(a_home_that_may_be_alive_keeps_its_places, boost::unit_test::data::xrange(4),
                     how) {
  auto there = peer;
  if (how == 0)
    there.boot[0] = '7';
  if (how != 1)
    processes[peer.pid] = running;
  work(0, 1, there);
  if (how < 2)
    processes[peer.pid] = nobody;
  if (how == 2)
    processes.erase(peer.pid);
  give(1, 1);
  of_process.link_broken(1, now);
  of_process.tick(now += 1900ms);
  BOOST_TEST(stopped.empty());
  of_process.tick(now += 200ms); // its own lease is over
  BOOST_TEST(stopped.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_welcome_with_a_process_that_can_not_be_is_not_accepted) {
  auto bad = peer;
  bad.pid = 0;
  work(0, 1, bad);
  BOOST_REQUIRE(over.size() == 1u);
  BOOST_TEST((over[0].second == errc::protocol_mismatch));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
