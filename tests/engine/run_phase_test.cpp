// The phases of a run: which one may follow which.
#include "engine/run_phase.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace troupe {

BOOST_AUTO_TEST_SUITE(engine_run_phase)

BOOST_AUTO_TEST_CASE(a_run_begins_when_idle_and_only_then) {
  for (auto from : {run_phase::running, run_phase::applying, run_phase::saving, run_phase::ending})
    BOOST_TEST(may_follow(from, run_phase::idle));
  BOOST_TEST(may_follow(run_phase::idle, run_phase::running));
  for (auto to : {run_phase::idle, run_phase::applying, run_phase::saving, run_phase::ending})
    BOOST_TEST(!may_follow(run_phase::idle, to));
}

BOOST_AUTO_TEST_CASE(an_outcome_is_final) {
  for (auto to : {run_phase::running, run_phase::applying, run_phase::saving, run_phase::ending})
    BOOST_TEST(!may_follow(run_phase::ending, to));
}

BOOST_AUTO_TEST_CASE(writes_are_applied_only_after_tasks_ran) {
  for (auto from : {run_phase::idle, run_phase::applying, run_phase::saving, run_phase::ending})
    BOOST_TEST(!may_follow(from, run_phase::applying));
  BOOST_TEST(may_follow(run_phase::running, run_phase::applying));
}

BOOST_AUTO_TEST_CASE(a_transition_that_the_table_lacks_ends_the_process) {
  auto child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL); // not the test framework's
    close(STDERR_FILENO);
    run_phase_track phase;
    phase.enter(run_phase::applying);
    _exit(0);
  }
  int status = 0;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFSIGNALED(status));
  BOOST_TEST(WTERMSIG(status) == SIGABRT);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
