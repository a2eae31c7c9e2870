// Questions whose answers are checked against a type.
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/value_conversions.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace answers {

enum class verdict { approve, decline };
TROUPE_ENUM(verdict, approve, decline)

struct review {
  verdict what = verdict::decline;
  std::optional<std::string> note;
  TROUPE_STATE(review, what, note)
};

} // namespace answers

namespace {

using answers::review;
using answers::verdict;

const run_config asked{.thread_id = "t"};

/// Asks for a T, and keeps the answer in `x`.
template <class T> compiled_graph asks_for() {
  state_graph<> g{{{"x", last_value}, {"log", append}}};
  g.add_node("ask", [](context& ctx) {
    return state_update{{"x", value::of(ctx.interrupt_as<T>("well?"))}};
  });
  g.add_edge(START, "ask");
  return g.compile({.name = "asks"});
}

template <class App> std::string why_refused(App& app, value wrong) {
  auto refused = app.try_invoke(answer(std::move(wrong)), asked);
  BOOST_REQUIRE(!refused);
  BOOST_TEST(to_string(refused.error().code()) == "invalid_resume");
  return refused.error().message();
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_interrupt_as)

BOOST_AUTO_TEST_CASE(question_shows_the_schema_of_its_answer) {
  runtime rt{with_memory()};
  auto app = rt.load(asks_for<review>());
  auto paused = app.invoke(state_update{}, asked);
  auto question = paused.interrupts().at(0);
  BOOST_TEST(question.response_schema == json_schema<review>());
  BOOST_TEST(to_json(question.response_schema["required"]) == R"(["what"])");
}

BOOST_AUTO_TEST_CASE(wrong_answers_leave_the_question_open_until_a_right_one) {
  runtime rt{with_memory()};
  auto app = rt.load(asks_for<review>());
  auto id = app.invoke(state_update{}, asked).interrupts().at(0).id;
  const std::string where = "node `ask`: the answer to its question does not fit: ";
  BOOST_TEST(why_refused(app, {{"what", "perhaps"}})
             == where
                  + "read state review: `what`: read an enum: `perhaps` is not a verdict, which "
                    "has approve, decline");
  BOOST_TEST(why_refused(app, {{"note", "x"}}).starts_with(where + "member `what` is missing"));
  BOOST_TEST(why_refused(app, {{"what", "approve"}, {"nota", "x"}})
             == where + "review has no member `nota`");
  BOOST_TEST(why_refused(app, "approve").starts_with(where + "a map is expected"));
  auto waiting = app.get_state(asked);
  BOOST_REQUIRE(waiting.interrupts.size() == 1u);
  BOOST_TEST(waiting.interrupts[0].id == id);
  auto done = app.invoke(answer({{"what", "approve"}}), asked);
  BOOST_TEST((done.value()["x"].as<review>().what == verdict::approve));
  BOOST_TEST(app.get_state(asked).interrupts.empty());
}

BOOST_AUTO_TEST_CASE(scalars_and_times_are_checked_too) {
  runtime rt{with_memory()};
  auto number = rt.load(asks_for<std::int8_t>());
  number.invoke(state_update{}, asked);
  BOOST_TEST(why_refused(number, 200).ends_with("read an integer: out of range: 200"));
  BOOST_TEST(why_refused(number, "2").find("wanted integer: it is string") != std::string::npos);
  BOOST_TEST(number.invoke(answer(100), asked).value()["x"] == value(100));
  runtime other{with_memory()};
  auto day = other.load(asks_for<std::chrono::sys_days>());
  day.invoke(state_update{}, asked);
  BOOST_TEST(why_refused(day, "2026-02-30").find("wanted a day as") != std::string::npos);
  BOOST_TEST(day.invoke(answer("2026-02-28"), asked).value()["x"] == value("2026-02-28"));
}

BOOST_AUTO_TEST_CASE(second_question_of_a_body_is_refused_alone) {
  state_graph<> g{{{"x", last_value}}};
  g.add_node("ask", [](context& ctx) {
    auto first = ctx.interrupt_as<std::int64_t>("one?");
    auto second = ctx.interrupt_as<bool>("two?");
    return state_update{{"x", value::list({first, second})}};
  });
  g.add_edge(START, "ask");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  app.invoke(state_update{}, asked);
  BOOST_TEST(app.invoke(answer(1), asked).interrupts().at(0).value == value("two?"));
  why_refused(app, "no");
  BOOST_TEST(app.get_state(asked).interrupts.at(0).value == value("two?"));
  BOOST_TEST(app.invoke(answer(false), asked).value()["x"] == value::list({1, false}));
}

BOOST_AUTO_TEST_CASE(schema_that_the_caller_gives_is_shown_instead) {
  state_graph<> g{{{"x", last_value}}};
  g.add_node("ask", [](context& ctx) {
    return state_update{{"x", ctx.interrupt_as<bool>("sure?", {{"title", "yes or no"}})}};
  });
  g.add_edge(START, "ask");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  BOOST_TEST(app.invoke(state_update{}, asked).interrupts().at(0).response_schema["title"]
             == value("yes or no"));
  why_refused(app, "yes"); // the type is checked all the same
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
