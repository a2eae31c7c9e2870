// Reflections: runs that start after a delay.
#include <troupe/agents/reflection.hpp>
#include <troupe/runtime.hpp>
#include <troupe/state_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

// Gives the text of the last message.
compiled_graph remembering() {
  state_graph<> g{{{"messages", add_messages}, {"memory", last_value}}};
  g.add_node("remember", [](const state_view& state) {
    const auto& messages = state["messages"];
    if (messages.empty())
      throw node_error{"ValueError", "nothing to remember"};
    return value{{"memory", message_text(messages[messages.size() - 1])}};
  });
  g.add_edge(START, "remember");
  return g.compile({.name = "remembering", .checkpointer = checkpointing::none});
}

value saying(const std::string& text) {
  return value{{"messages", value::list({human_message(text)})}};
}

bool was_dropped(const std::shared_future<result<run_result>>& future) {
  return !future.get() && future.get().error().code() == errc::cancelled;
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_reflection)

BOOST_AUTO_TEST_CASE(a_reflection_runs_after_its_delay) {
  runtime rt;
  reflection_executor executor{rt, remembering()};
  auto done = executor.submit(saying("hi"), {.after = 1ms});
  BOOST_REQUIRE(done.get());
  BOOST_TEST((done.get().value().value()["memory"] == value("hi")));
  executor.shutdown(true);
  BOOST_TEST(executor.waiting() == 0u);
}

BOOST_AUTO_TEST_CASE(a_new_submission_of_a_conversation_replaces_the_one_that_waits) {
  runtime rt;
  reflection_executor executor{rt, remembering()};
  auto first = executor.submit(saying("one"), {.key = "t", .after = 1h});
  auto other = executor.submit(saying("else"), {.key = "u", .after = 1h});
  auto second = executor.submit(saying("two"), {.key = "t"});
  BOOST_TEST(was_dropped(first));
  BOOST_TEST((second.get().value().value()["memory"] == value("two")));
  BOOST_TEST(executor.waiting() == 1u);
  BOOST_TEST(executor.cancel("u"));
  BOOST_TEST(was_dropped(other));
  BOOST_TEST(!executor.cancel("u"));
}

BOOST_AUTO_TEST_CASE(submissions_without_a_key_stand_for_themselves) {
  runtime rt;
  reflection_executor executor{rt, remembering()};
  auto first = executor.submit(saying("one"));
  auto second = executor.submit(saying("two"));
  BOOST_TEST((first.get().value().value()["memory"] == value("one")));
  BOOST_TEST((second.get().value().value()["memory"] == value("two")));
}

BOOST_AUTO_TEST_CASE(the_failure_of_a_reflector_is_the_result) {
  runtime rt;
  reflection_executor executor{rt, remembering()};
  auto failed = executor.submit(value{{"messages", value::list()}});
  BOOST_REQUIRE(!failed.get());
  BOOST_TEST(failed.get().error().type() == "ValueError");
}

BOOST_AUTO_TEST_CASE(a_shutdown_drops_what_waits_and_refuses_more) {
  runtime rt;
  reflection_executor executor{rt, remembering()};
  auto waiting = executor.submit(saying("one"), {.key = "t", .after = 1h});
  executor.shutdown(true);
  BOOST_TEST(was_dropped(waiting));
  BOOST_CHECK_EXCEPTION(executor.submit(saying("two")), error,
                        [](const error& e) { return e.code() == errc::runtime_stopped; });
}

BOOST_AUTO_TEST_CASE(the_end_of_the_runtime_ends_what_waits) {
  std::shared_future<result<run_result>> waiting;
  {
    auto rt = std::make_unique<runtime>();
    reflection_executor executor{*rt, remembering()};
    waiting = executor.submit(saying("one"), {.key = "t", .after = 1h});
    rt.reset();
  }
  BOOST_TEST(!waiting.get());
}

BOOST_AUTO_TEST_CASE(a_delay_is_not_negative) {
  runtime rt;
  auto executor = std::make_shared<reflection_executor>(rt, remembering());
  BOOST_CHECK_THROW(executor->submit(saying("one"), {.after = -1ms}), error);
  BOOST_CHECK_THROW(reflect_later(executor, -1ms), error);
  BOOST_CHECK_THROW(reflect_later(nullptr, 1ms), error);
}

BOOST_AUTO_TEST_CASE(an_agent_submits_its_conversation_and_new_messages_postpone) {
  runtime rt{{.saver = make_memory_saver()}};
  auto executor = std::make_shared<reflection_executor>(rt, remembering());
  auto model = std::make_shared<scripted_model>(
    std::vector<scripted_model::answer>{"first", "second", "third"});
  auto app = rt.load(create_agent({.model = model, .middleware = {reflect_later(executor, 1h)}}));
  app.invoke(saying("hi"), {.thread_id = "a"});
  BOOST_TEST(executor->waiting() == 1u);
  app.invoke(saying("hi again"), {.thread_id = "a"});
  BOOST_TEST(executor->waiting() == 1u);
  app.invoke(saying("hello"), {.thread_id = "b"});
  BOOST_TEST(executor->waiting() == 2u);
  BOOST_TEST(executor->cancel("a"));
  executor->shutdown();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
