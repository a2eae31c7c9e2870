// How a run enters a thread: resume, start, travel, fork.
#include "engine/entry_choice.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(engine_entry_choice)

BOOST_AUTO_TEST_CASE(a_thread_that_never_began_is_not_resumed) {
  BOOST_TEST(!choose_entry({.started = false}).resuming);
  BOOST_TEST(choose_entry({.started = true}).resuming);
}

BOOST_AUTO_TEST_CASE(an_input_starts_anew_unless_it_repeats_the_run_id) {
  BOOST_TEST(!choose_entry({.started = true, .has_input = true}).resuming);
  BOOST_TEST(choose_entry({.started = true, .has_input = true, .same_run = true}).resuming);
}

BOOST_AUTO_TEST_CASE(a_nested_run_does_as_the_run_above_decided) {
  BOOST_TEST(
    choose_entry({.nested = true, .started = true, .has_input = true, .told_resuming = true})
      .resuming);
  BOOST_TEST(!choose_entry({.nested = true, .started = true, .told_resuming = false}).resuming);
}

BOOST_AUTO_TEST_CASE(an_answer_at_a_checkpoint_does_not_travel) {
  BOOST_TEST(choose_entry({.started = true, .addressed = true}).travelling);
  BOOST_TEST(!choose_entry({.started = true, .addressed = true, .answers = true}).travelling);
  // a nested run whose namespace the caller named travels all the same
  BOOST_TEST(choose_entry(
               {.nested = true, .started = true, .addressed = true, .named = true, .answers = true})
               .travelling);
}

BOOST_AUTO_TEST_CASE(finished_tasks_run_again_after_travelling_and_at_superseded_checkpoints) {
  BOOST_TEST(!choose_entry({.started = true}).replaying);
  BOOST_TEST(choose_entry({.started = true, .addressed = true}).replaying);
  BOOST_TEST(choose_entry({.started = true, .superseded = true}).replaying);
}

BOOST_AUTO_TEST_CASE(a_branch_forks_only_when_its_checkpoint_is_none_yet) {
  BOOST_TEST(choose_entry({.started = true, .addressed = true, .source = "loop"}).forks);
  for (const char* branch : {"update", "fork"}) {
    BOOST_TEST(choose_entry({.started = true, .source = branch}).is_branch);
    BOOST_TEST(!choose_entry({.started = true, .addressed = true, .source = branch}).forks);
    BOOST_TEST(
      choose_entry({.started = true, .superseded = true, .addressed = true, .source = branch})
        .forks);
  }
  BOOST_TEST(!choose_entry({.started = true, .addressed = true, .has_input = true}).forks);
}

BOOST_AUTO_TEST_CASE(at_a_superseded_checkpoint_answers_are_not_checked) {
  BOOST_TEST(choose_entry({.started = true}).strict);
  BOOST_TEST(!choose_entry({.started = true, .superseded = true}).strict);
  BOOST_TEST(!choose_entry({.started = true, .strict_resume = false}).strict);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
