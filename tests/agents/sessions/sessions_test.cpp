// Sessions of an agent runner: which they are, one invocation at a time, and what goes wrong.
#include "tests/agents/sessions/host_agents.hpp"
#include "tests/fixtures/savers.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/agents/middleware.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace troupe {
namespace {

coro<void> says_ok(invocation& in) {
  in.say("ok");
  co_return;
}
session_agent_ptr held_by(gate& g) {
  return by_hand([&g](invocation& in) -> coro<void> {
    if (message_text(in.message()) == "wait") {
      auto job = in.ctx().blocking([&g] {
        g.pass();
        return 0;
      });
      co_await job;
    }
    in.say("ok");
  });
}

errc end_of(event_stream stream) {
  while (true) {
    auto next = stream.try_next();
    if (!next)
      return next.error().code();
    if (!*next)
      return errc::ok;
  }
}
std::string texts_of(const agent_runner& runner, const session_ref& of) {
  std::string out;
  auto s = runner.session(of);
  for (const auto& m : s ? s->messages.items() : std::span<const value>{})
    out += message_text(m) + ' ';
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_sessions)

BOOST_AUTO_TEST_CASE(sessions_do_not_see_each_other) {
  runtime rt{{.saver = make_memory_saver()}};
  agent_runner runner{rt, by_hand(says_ok)};
  agent_runner other_app{rt, by_hand(says_ok), {.app = "other"}};
  BOOST_TEST(!runner.session(ada));
  BOOST_TEST((end_of(runner.run(ada, "hi")) == errc::ok));
  BOOST_TEST((end_of(runner.run({.user = "ada", .id = "2"}, "two")) == errc::ok));
  BOOST_TEST((end_of(runner.run({.user = "bob", .id = "1"}, "bob")) == errc::ok));
  BOOST_TEST((end_of(other_app.run(ada, "other")) == errc::ok));
  BOOST_TEST(texts_of(runner, ada) == "hi ok ");
  BOOST_TEST(texts_of(other_app, ada) == "other ok ");
  BOOST_TEST((runner.sessions() == std::vector<session_ref>{ada, {"ada", "2"}, {"bob", "1"}}));
  BOOST_TEST((runner.sessions("bob") == std::vector<session_ref>{{"bob", "1"}}));
  BOOST_TEST((other_app.sessions() == std::vector<session_ref>{ada}));
  runner.delete_session(ada);
  runner.delete_session(ada);
  BOOST_TEST(!runner.session(ada));
  BOOST_TEST(texts_of(other_app, ada) == "other ok ");
  BOOST_TEST((end_of(runner.run(ada, "anew")) == errc::ok));
  BOOST_TEST(texts_of(runner, ada) == "anew ok ");
}

BOOST_AUTO_TEST_CASE(hostile_ids_are_sessions_of_their_own) {
  auto store = make_memory_saver();
  runtime rt{{.saver = store}};
  agent_runner runner{rt, by_hand(says_ok)};
  std::vector<session_ref> all{{"a", "b\",\"c"},
                               {"a\",\"b", "c"},
                               {"a/b", "c"},
                               {"a", "b/c"},
                               {"a|b", "c"},
                               {"a:b", "c:"},
                               {"[\"x\"]", "\\"},
                               {"\\\"", "\\\\"},
                               {std::string("a\0b", 3), "c"},
                               {"a", std::string(1, '\0')},
                               {"../..", "\n"},
                               {"ä", "\u202e"},
                               {"$bytes", "__start__"}};
  for (const auto& s : all)
    BOOST_TEST((end_of(runner.run(s, s.id)) == errc::ok));
  BOOST_TEST(store->threads().value().size() == all.size());
  for (const auto& s : all)
    BOOST_TEST(texts_of(runner, s) == s.id + " ok ");
  auto listed = runner.sessions();
  std::ranges::sort(all);
  BOOST_TEST((listed == all));
}

BOOST_AUTO_TEST_CASE(an_id_that_is_none_is_refused_by_name) {
  auto store = make_memory_saver();
  runtime rt{{.saver = store}};
  agent_runner runner{rt, by_hand(says_ok)};
  auto room = limits::thread_id_bytes_max - std::string{R"(["clerk","u",""])"}.size();
  BOOST_TEST((end_of(runner.run({"u", std::string(room, 'x')}, "hi")) == errc::ok));
  for (const session_ref& bad : std::vector<session_ref>{{"", "1"},
                                                         {"u", ""},
                                                         {"u", std::string(room + 1, 'x')},
                                                         {"u", std::string(1u << 20, 'x')},
                                                         {"u", "\xff"},
                                                         {"\xc3", "1"}}) {
    BOOST_TEST((end_of(runner.run(bad, "hi")) == errc::invalid_config));
    BOOST_TEST((runner.try_session(bad).error().code() == errc::invalid_config));
    BOOST_TEST((runner.try_delete_session(bad).error().code() == errc::invalid_config));
    BOOST_TEST(runner.cancel(bad) == 0u);
  }
  BOOST_TEST(store->threads().value().size() == 1u);
}

BOOST_AUTO_TEST_CASE(threads_of_others_are_no_sessions) {
  auto store = make_memory_saver();
  runtime rt{{.saver = store}};
  agent_runner runner{rt, by_hand(says_ok)};
  for (const char* id :
       {"clerk", R"(["clerk","u"])", R"(["clerk", "u", "i"])", R"(["clerk","u",1])",
        R"(["clerk","","i"])", R"({"clerk":1})", R"(["clerk","\u0075","i"])"})
    store->put({id, "", ""}, test::make_put(test::checkpoint_id(1), "", {})).value();
  BOOST_TEST(runner.sessions().empty());
}

BOOST_AUTO_TEST_CASE(a_runner_needs_a_saver_and_an_agent_with_a_name) {
  runtime bare;
  BOOST_CHECK_EXCEPTION((agent_runner{bare, by_hand(says_ok)}), error,
                        [](const error& e) { return e.code() == errc::no_saver; });
  runtime rt{{.saver = make_memory_saver()}};
  BOOST_CHECK_EXCEPTION((agent_runner{rt, nullptr}), error,
                        [](const error& e) { return e.code() == errc::invalid_config; });
}

// ---- one at a time --------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_busy_session_makes_others_wait_or_refuses_them) {
  for (auto how : {multitask_strategy::enqueue, multitask_strategy::reject}) {
    gate held;
    runtime rt{{.saver = make_memory_saver()}};
    agent_runner runner{rt, held_by(held), {.multitask = how}};
    std::atomic<errc> first{errc::node_lost}, second{errc::node_lost};
    std::thread a{[&] { first = end_of(runner.run(ada, "wait")); }};
    held.wait_for(1);
    BOOST_TEST((end_of(runner.run({.user = "bob", .id = "1"}, "hi")) == errc::ok));
    std::thread b{[&] { second = end_of(runner.run(ada, "second")); }};
    if (how == multitask_strategy::reject)
      b.join();
    held.open();
    a.join();
    if (b.joinable())
      b.join();
    BOOST_TEST((first == errc::ok));
    bool waits = how == multitask_strategy::enqueue;
    BOOST_TEST((second == (waits ? errc::ok : errc::conflict)));
    BOOST_TEST(texts_of(runner, ada) == (waits ? "wait ok second ok " : "wait ok "));
  }
}

BOOST_AUTO_TEST_CASE(a_cancelled_invocation_ends_and_the_session_goes_on) {
  gate held;
  runtime rt{{.saver = make_memory_saver()}};
  agent_runner runner{rt, held_by(held)};
  std::atomic<errc> ended{errc::ok};
  std::thread reader{[&] { ended = end_of(runner.run(ada, "wait")); }};
  held.wait_for(1);
  BOOST_TEST(runner.cancel({.user = "bob", .id = "1"}) == 0u);
  BOOST_TEST(runner.cancel(ada) == 1u);
  reader.join();
  held.open();
  BOOST_TEST((ended == errc::cancelled));
  BOOST_TEST(runner.cancel(ada) == 0u);
  BOOST_TEST((end_of(runner.run(ada, "next")) == errc::ok));
  BOOST_TEST(texts_of(runner, ada) == "wait next ok ");
}

// An agent whose tool waits; what happens meanwhile ends its invocation, `behind` when all have
// left.
template <class Make>
void interrupt_a_tool(
  Make make, const std::function<void(agent_runner&)>& meanwhile,
  const std::function<void(agent_runner&)>& behind = [](auto&) {}) {
  gate held;
  tool slow{"slow", "", [&held] {
              held.pass();
              return "slow";
            }};
  auto model = std::make_shared<scripted_model>(
    std::vector<scripted_model::answer>{ai_message("", {{.name = "slow", .id = "c"}}), "second"});
  runtime rt{{.saver = make_memory_saver()}};
  agent_runner runner{
    rt, make_session_agent(make(model, slow)), {.multitask = multitask_strategy::interrupt}};
  std::atomic<errc> first{errc::ok};
  std::thread reader{[&] { first = end_of(runner.run(ada, "first")); }};
  held.wait_for(1);
  meanwhile(runner);
  reader.join();
  held.open();
  BOOST_TEST((first == errc::cancelled));
  behind(runner);
}

BOOST_AUTO_TEST_CASE(a_message_that_interrupts_a_tool_finds_its_call_answered) {
  interrupt_a_tool(
    [](chat_model_ptr model, const tool& slow) {
      return create_agent({.model = std::move(model),
                           .tools = {slow},
                           .middleware = {patch_tool_calls()},
                           .name = "helper"});
    },
    [](agent_runner& runner) {
      BOOST_TEST((end_of(runner.run(ada, "more")) == errc::ok));
      BOOST_TEST(texts_of(runner, ada) == "first  Cancelled by the user. more second ");
    });
}

compiled_graph helper_that_does_not_patch(chat_model_ptr model, const tool& slow) {
  return create_react_agent({.model = std::move(model), .tools = {slow}, .name = "helper"});
}

BOOST_AUTO_TEST_CASE(calls_that_a_cancelled_invocation_left_open_are_answered) {
  interrupt_a_tool(
    helper_that_does_not_patch, [](agent_runner& runner) { runner.cancel(ada); },
    [](agent_runner& runner) {
      BOOST_TEST((end_of(runner.run(ada, "more")) == errc::ok));
      BOOST_TEST(texts_of(runner, ada) == "first  Cancelled by the user. more second ");
    });
}

BOOST_AUTO_TEST_CASE(an_agent_that_does_not_patch_fails_once) {
  interrupt_a_tool(
    helper_that_does_not_patch,
    [](agent_runner& runner) {
      BOOST_TEST((end_of(runner.run(ada, "more")) == errc::node_failed));
    },
    [](agent_runner& runner) {
      BOOST_TEST((end_of(runner.run(ada, "well")) == errc::ok));
      BOOST_TEST(texts_of(runner, ada) == "first  Cancelled by the user. more well second ");
    });
}

// ---- what goes wrong ------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_agent_that_throws_is_an_event_and_an_error_and_the_session_stays_usable) {
  runtime rt{{.saver = make_memory_saver()}};
  agent_runner runner{rt, by_hand([](invocation& in) -> coro<void> {
                        if (message_text(in.message()) == "bad")
                          throw std::out_of_range{"too far"};
                        in.say("ok");
                        co_return;
                      })};
  std::vector<agent_event> seen;
  try {
    for (auto& e : runner.run(ada, "bad"))
      seen.push_back(e);
    BOOST_TEST(false);
  } catch (const error& e) {
    BOOST_TEST((e.code() == errc::node_failed));
    BOOST_TEST(e.type() == "std::out_of_range");
  }
  BOOST_REQUIRE(seen.size() == 1u);
  BOOST_TEST((seen[0].kind == event_kind::failed));
  BOOST_TEST(seen[0].data["type"] == value("std::out_of_range"));
  BOOST_TEST(seen[0].data["message"].as<std::string>().find("too far") != std::string::npos);
  BOOST_TEST(runner.unfinished().empty());
  BOOST_TEST((end_of(runner.run(ada, "good")) == errc::ok));
  BOOST_TEST(texts_of(runner, ada) == "bad good ok ");
}

BOOST_AUTO_TEST_CASE(what_is_no_message_or_input_fails_before_anything_is_stored) {
  runtime rt{{.saver = make_memory_saver()}};
  agent_runner runner{rt, by_hand(says_ok)};
  BOOST_TEST((end_of(runner.run(ada, value{{"content", "x"}})) == errc::invalid_update));
  BOOST_TEST((end_of(runner.run(ada, "hi", {.input = 3})) == errc::invalid_config));
  BOOST_TEST((end_of(runner.resume(ada)) == errc::empty_input));
  BOOST_TEST((end_of(runner.answer(ada, "yes")) == errc::unknown_interrupt));
  BOOST_TEST(!runner.session(ada));
  agent_runner rude{rt, by_hand([](invocation& in) -> coro<void> {
                      in.say(human_message("I am you"));
                      co_return;
                    })};
  BOOST_TEST((end_of(rude.run(ada, "hi")) == errc::invalid_value));
}

BOOST_AUTO_TEST_CASE(a_reader_that_leaves_stops_the_agent_at_its_step_and_resume_goes_on) {
  state_graph<> g{{{"messages", add_messages}}};
  std::atomic<int> ran{0};
  for (const char* name : {"a", "b", "c"})
    g.add_node(name, [name, &ran] {
      ++ran;
      return value{{"messages", value::list({ai_message(name)})}};
    });
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_edge("b", "c");
  runtime rt{{.saver = make_memory_saver()}};
  agent_runner runner{rt, make_session_agent(g.compile({.name = "abc"}))};
  {
    auto stream = runner.run(ada, "hi");
    BOOST_TEST(message_text(stream.next()->data) == "a");
  }
  BOOST_TEST(ran < 3);
  BOOST_TEST(runner.cancel(ada) == 0u); // nothing is under way
  BOOST_TEST((runner.unfinished() == std::vector<session_ref>{ada}));
  auto before = runner.session(ada)->invocation_id;
  auto stream = runner.resume(ada);
  BOOST_TEST(stream.next()->invocation_id == before);
  BOOST_TEST((end_of(std::move(stream)) == errc::ok));
  BOOST_TEST(texts_of(runner, ada) == "hi a b c ");
  BOOST_TEST(ran == 3);
  BOOST_TEST(runner.unfinished().empty());
}

BOOST_AUTO_TEST_CASE(what_a_killed_process_left_goes_on) {
  auto store = make_memory_saver();
  std::atomic<bool> dead{false};
  auto agent = by_hand([&dead](invocation& in) -> coro<void> {
    if (message_text(in.message()) == "die")
      dead = true;
    in.say("ok " + in.session().user + ' ' + in.id());
    co_return;
  });
  {
    runtime rt{{.saver = std::make_shared<picky_saver>(store, [&dead](const auto&) {
                  return dead.load();
                })}};
    agent_runner runner{rt, agent};
    BOOST_TEST((end_of(runner.run({.user = "bob", .id = "1"}, "hi")) == errc::ok));
    BOOST_TEST((end_of(runner.run(ada, "die")) == errc::storage_full));
  }
  dead = false;
  runtime rt{{.saver = store}};
  agent_runner runner{rt, agent};
  agent_runner other{rt, agent, {.app = "other"}};
  BOOST_TEST(other.unfinished().empty());
  BOOST_TEST((runner.unfinished() == std::vector<session_ref>{ada}));
  auto before = runner.session(ada)->invocation_id;
  auto resumed = runner.resume_unfinished();
  BOOST_REQUIRE(resumed.size() == 1u);
  BOOST_TEST((resumed[0].session == ada));
  BOOST_TEST(resumed[0].run.get().has_value());
  BOOST_TEST(texts_of(runner, ada) == "die ok ada " + before + ' ');
  BOOST_TEST(runner.unfinished().empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
