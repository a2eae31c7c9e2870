// Runs over the saver and the store in Postgres, from end to end: one runtime resumes the threads
// of another.
#include "tests/persistence/postgres/postgres_server.hpp"

#include <troupe/runtime.hpp>
#include <troupe/state_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <future>

namespace troupe {

namespace {

struct letter {
  std::string text;
  std::vector<std::string> log;
  TROUPE_STATE(letter, text, (log, append))
};

typed_graph<letter> approval() {
  state_graph<letter> g;
  g.add_node("draft",
             [](const letter&) { return set(&letter::log, std::vector<std::string>{"draft"}); });
  g.add_node("ask", [](const letter& s, context& ctx) {
    auto answer = ctx.interrupt(value{{"send", s.text}});
    return set(&letter::log, std::vector<std::string>{std::string{answer.as_string()}});
  });
  g.add_edge(START, "draft");
  g.add_edge("draft", "ask");
  return g.compile();
}

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_postgres_runtime)

BOOST_AUTO_TEST_CASE(a_question_asked_in_one_runtime_is_answered_in_another) {
  auto options = test::postgres_server::of_this_program().fresh_options();
  for (auto when : {durability::sync, durability::async, durability::exit}) {
    const run_config config{.thread_id = "t" + std::to_string(static_cast<int>(when)),
                            .durability = when};
    {
      runtime rt{{.saver = open_postgres_saver(options).value()}};
      auto paused = rt.load(approval()).invoke(value{{"text", "hello"}}, config);
      BOOST_REQUIRE(paused.interrupts().size() == 1u);
      BOOST_TEST(paused.interrupts()[0].value["send"] == value("hello"));
    }
    runtime rt{{.saver = open_postgres_saver(options).value()}};
    auto app = rt.load(approval());
    auto done = app.invoke(command{.resume = "yes"}, config);
    BOOST_TEST(done.state().log == (std::vector<std::string>{"draft", "yes"}));
    BOOST_TEST(done.state().text == "hello");
  }
}

BOOST_AUTO_TEST_CASE(what_a_run_remembers_is_known_in_another_runtime) {
  auto options = test::postgres_server::of_this_program().fresh_options();
  state_graph<letter> g;
  g.add_node("remember", [](const letter& s, context& ctx) {
    auto known = ctx.store()->get({"letters"}, "last").value();
    ctx.store()->put({"letters"}, "last", value{{"text", s.text}}).value();
    return set(&letter::log,
               std::vector<std::string>{known ? known->value["text"].as<std::string>() : "none"});
  });
  g.add_edge(START, "remember");
  auto graph = g.compile();
  for (const auto* thread : {"none", "first"}) {
    runtime rt{{.saver = open_postgres_saver(options).value(),
                .store = open_postgres_store(options).value()}};
    auto done = rt.load(graph).invoke(value{{"text", "first"}}, {.thread_id = thread});
    BOOST_TEST(done.state().log == (std::vector<std::string>{thread}));
  }
}

BOOST_AUTO_TEST_CASE(a_run_that_is_rolled_back_leaves_the_thread_as_it_was) {
  std::promise<void> entered;
  std::promise<void> released;
  std::atomic<bool> waits = false;
  state_graph<letter> g;
  g.add_node("first",
             [](const letter& s) { return set(&letter::log, std::vector<std::string>{s.text}); });
  g.add_node("second",
             [&](const letter& s) {
               if (waits.exchange(false)) {
                 entered.set_value();
                 released.get_future().wait();
               }
               return set(&letter::text, s.text + "!");
             },
             {.lane = lane::blocking});
  g.add_edge(START, "first");
  g.add_edge("first", "second");
  auto saver =
    open_postgres_saver(test::postgres_server::of_this_program().fresh_options()).value();
  runtime rt{{.saver = saver}};
  auto app = rt.load(g.compile());
  app.invoke(value{{"text", "0"}}, {.thread_id = "t"});
  auto before = saver->list({.thread_id = "t"}).value();
  waits = true;
  auto held = app.start(value{{"text", "1"}}, {.thread_id = "t"});
  entered.get_future().wait();
  auto done = app.invoke(value{{"text", "2"}},
                         {.thread_id = "t", .multitask = multitask_strategy::rollback});
  released.set_value();
  BOOST_TEST(done.state().log == (std::vector<std::string>{"0", "2"}));
  BOOST_TEST((held.get().error().code() == errc::cancelled));
  auto after = saver->list({.thread_id = "t"}).value();
  BOOST_REQUIRE(after.size() > before.size());
  after.erase(after.begin(), after.end() - static_cast<std::ptrdiff_t>(before.size()));
  for (std::size_t i = 0; i < before.size(); ++i)
    BOOST_TEST((after[i].ref == before[i].ref && after[i].checkpoint == before[i].checkpoint));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
