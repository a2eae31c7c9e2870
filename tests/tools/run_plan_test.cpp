// The moves of `troupe run` on a thread, and its advice: the tables.
#include "tools/troupe/run_plan.hpp"

#include <troupe/agents/model_providers.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <vector>

namespace troupe {
namespace {

using cli::advice;
using cli::run_move;
using cli::thread_stage;

BOOST_AUTO_TEST_SUITE(tools_run_plan)

BOOST_AUTO_TEST_CASE(moves) {
  struct row {
    cli::run_wishes wishes;
    std::array<run_move, 4> moves; // fresh, unfinished, waiting, finished
  };
  auto wishes = [](bool input, bool answer, bool once, bool travels, bool named) {
    return cli::run_wishes{.has_input = input,
                           .has_answer = answer,
                           .once = once,
                           .travels = travels,
                           .is_named = named};
  };
  using enum run_move;
  const row rows[] = {
    {wishes(0, 0, 0, 0, 1), {refuse_fresh, resume, show_question, show_result}},
    {wishes(1, 0, 0, 0, 1), {begin, begin_over, begin_over, begin}},
    {wishes(1, 0, 1, 0, 1), {begin, resume, show_question, show_result}},
    {wishes(0, 1, 0, 0, 1), {refuse_fresh, refuse_answer, answer, refuse_answer}},
    {wishes(0, 0, 0, 1, 1), {refuse_fresh, resume, resume, show_result}},
    {wishes(1, 0, 0, 1, 1), {begin, begin, begin, begin}},
    {wishes(0, 0, 0, 0, 0), {begin, resume, show_question, show_result}},
  };
  constexpr std::array stages{thread_stage::fresh, thread_stage::unfinished, thread_stage::waiting,
                              thread_stage::finished};
  for (std::size_t i = 0; i < std::size(rows); ++i)
    for (std::size_t j = 0; j < stages.size(); ++j)
      BOOST_TEST(static_cast<int>(next_move(stages[j], rows[i].wishes))
                   == static_cast<int>(rows[i].moves[j]),
                 "row " << i << ", stage " << j);
}

BOOST_AUTO_TEST_CASE(stages) {
  state_snapshot s;
  BOOST_TEST((cli::stage_of(s) == thread_stage::fresh));
  s.created_at = "2026-01-01";
  BOOST_TEST((cli::stage_of(s) == thread_stage::finished));
  s.tasks.emplace_back(); // it has run, and its step has no checkpoint yet: `next` is empty
  BOOST_TEST((cli::stage_of(s) == thread_stage::unfinished));
  s.interrupts.emplace_back();
  BOOST_TEST((cli::stage_of(s) == thread_stage::waiting));
}

BOOST_AUTO_TEST_CASE(advice_after_a_failure) {
  using enum advice;
  auto is = [](errc why, thread_stage after, bool had_input, bool stored, advice wanted) {
    BOOST_TEST((cli::advice_after(why, after, had_input, stored) == wanted),
               to_string(why) << ", stage " << static_cast<int>(after));
  };
  is(errc::node_failed, thread_stage::unfinished, true, true, resume);
  is(errc::node_failed, thread_stage::unfinished, false, false, resume);
  is(errc::invalid_resume, thread_stage::waiting, false, false, answer);
  is(errc::storage_full, thread_stage::fresh, true, false, same_again);
  is(errc::storage_full, thread_stage::unfinished, true, false, same_again); // an older run's
  is(errc::storage_full, thread_stage::unfinished, true, true, resume);
  is(errc::invalid_update, thread_stage::fresh, true, false, none); // the input does not fit
  is(errc::conflict, thread_stage::unfinished, true, true, none);   // another run has it
  is(errc::storage_failed, thread_stage::finished, false, false, none);
}

BOOST_AUTO_TEST_CASE(a_fault_of_the_graph_is_not_wrong_usage) {
  for (auto why : {errc::invalid_value, errc::missing_key, errc::invalid_update, errc::node_failed})
    BOOST_TEST(static_cast<int>(cli::exit_code_of_run(why)) == cli::exit_failed, to_string(why));
  for (auto why : {errc::unknown_interrupt, errc::invalid_resume, errc::invalid_config})
    BOOST_TEST(static_cast<int>(cli::exit_code_of_run(why)) == cli::exit_usage, to_string(why));
  BOOST_TEST(static_cast<int>(cli::exit_code_of_run(errc::graph_drained)) == cli::exit_drained);
  BOOST_TEST(static_cast<int>(cli::exit_code_of_run(errc::storage_full)) == cli::exit_storage);
}

BOOST_AUTO_TEST_CASE(a_model_that_refuses_is_not_wrong_usage) {
  for (auto why : {errc::invalid_config, errc::invalid_value, errc::overloaded}) {
    BOOST_TEST(static_cast<int>(cli::exit_code_of_run(model_error{why, "no", "", {.status = 401}}))
                 == cli::exit_failed,
               to_string(why));
  }
  BOOST_TEST(static_cast<int>(cli::exit_code_of_run(error{errc::invalid_config, "no context"}))
             == cli::exit_usage);
}

BOOST_AUTO_TEST_CASE(the_facts_of_a_model_are_those_that_the_agents_library_reads) {
  const error refused = model_error{errc::invalid_config, "no", "", {.status = 401}};
  std::vector<value> details{refused.details(), nullptr, value::map(), value("status")};
  for (const auto* name : {"status", "kind", "may_try_again"})
    for (const auto& other : {value(nullptr), value(1), value("1"), value(true)})
      details.push_back(refused.details().with(name, other));
  for (const auto& facts : details) {
    auto why = error{errc::node_failed, "no"}.with_details(facts);
    BOOST_TEST(cli::has_model_facts(why) == model_facts(why).has_value(), to_json(facts));
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe
