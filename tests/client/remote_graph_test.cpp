// A graph on a server, on its own and as a node.
#include "tests/client/served_graphs.hpp"

#include <troupe/runtime.hpp>
#include <troupe/saver.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

using test::event_text;
using test::events;
using test::fake_provider;
using test::known_thread;
using test::options_for;
using test::run_with_status;
using test::served_graphs;

// A graph here with one remote node, and a node after it that shows that the run went on.
compiled_graph caller_of(const remote_graph& remote, node_options options = {}) {
  state_graph<> g{
    {{"n", sum}, {"draft", last_value}, {"answer", last_value}, {"after", last_value}}};
  g.add_node("far", remote, std::move(options));
  g.add_node("after", [] { return state_update{{"after", true}}; });
  g.add_edge(START, "far");
  g.add_edge("far", "after");
  return g.compile({.name = "caller"});
}

struct stored_runtime {
  runtime rt{runtime_options{.saver = make_memory_saver()}};
};

std::size_t posts_to_runs(const fake_provider& server) {
  auto seen = server.requests();
  return static_cast<std::size_t>(std::ranges::count_if(seen, [](const auto& r) {
    return r.method == "POST" && r.target.ends_with("/runs/stream");
  }));
}

std::string state_json(const std::string& questions, const std::string& next) {
  return R"({"values":{"n":1},"next":)" + next
         + R"(,"checkpoint":{"thread_id":"t","checkpoint_ns":"",)"
         + R"("checkpoint_id":"c"},"metadata":{},"created_at":null,"parent_checkpoint":null,"tasks":)"
         + R"([{"id":"i","name":"ask","error":null,"interrupts":)" + questions
         + R"(,"checkpoint":null,"state":null}]})";
}

} // namespace

BOOST_AUTO_TEST_SUITE(client_remote_graph)

BOOST_FIXTURE_TEST_CASE(invoke_gives_the_last_state_with_a_thread_and_without, served_graphs) {
  remote_graph far{client, "adder"};
  BOOST_TEST(far.name() == "adder");
  BOOST_TEST((far.invoke(value::map({{"n", 1}})).value() == value::map({{"n", 2}})));
  BOOST_TEST(
    (far.invoke(value::map({{"n", 1}}), {.thread_id = "mine"}).value() == value::map({{"n", 2}})));
  BOOST_TEST(
    (far.invoke(value::map({{"n", 1}}), {.thread_id = "mine"}).value() == value::map({{"n", 4}})));
  BOOST_TEST((client.threads.get_state(remote_graph::thread_of("mine")).get().values
              == value::map({{"n", 4}})));
}

BOOST_FIXTURE_TEST_CASE(a_stream_has_the_parts_that_were_asked_for, served_graphs) {
  remote_graph far{client, "nested"};
  auto parts = far.stream(value::map({{"n", 1}}), {.subgraphs = true},
                          {stream_mode::updates, stream_mode::custom});
  std::vector<std::string> seen;
  while (auto part = parts.next())
    seen.push_back(std::string{to_string(part->mode)} + " "
                   + (part->ns.empty() ? "" : part->ns[0].substr(0, 6)) + " "
                   + to_json(part->data));
  BOOST_TEST((seen
              == std::vector<std::string>{R"(custom inner: "inside")",
                                          R"(updates inner: {"step":{"n":1}})",
                                          R"(updates  {"inner":{"n":2}})"}),
             (seen.empty() ? "none" : seen[0]));
  BOOST_TEST((parts.get().value() == value::map({{"n", 3}}))); // 1, and the inner state on top
  auto flat = far.stream(value::map({{"n", 1}}), {}, {stream_mode::updates});
  BOOST_TEST(flat.next()->ns.empty());
  BOOST_TEST(!flat.next().has_value());
}

BOOST_FIXTURE_TEST_CASE(questions_are_in_the_result_and_a_command_answers_them, served_graphs) {
  remote_graph far{client, "approval", {.config = {.thread_id = known_thread}}};
  auto asked = far.invoke(run_input{});
  BOOST_TEST(asked.paused());
  BOOST_REQUIRE(asked.interrupts().size() == 1u);
  BOOST_TEST((asked.interrupts()[0].value["question"] == value("hello")));
  BOOST_TEST((asked.value() == value::map({{"draft", "hello"}})));
  auto state = far.get_state({}).get();
  BOOST_TEST((state.next == std::vector<std::string>{"ask"}));
  BOOST_TEST(state.interrupts.at(0).id == asked.interrupts()[0].id);
  auto done = far.invoke(command{.resume = "yes"});
  BOOST_TEST(!done.paused());
  BOOST_TEST((done.value()["answer"] == value("yes")));
  BOOST_TEST(far.get_state_history({}, {.limit = 2}).get().size() == 2u);
  auto at = far.update_state({}, {{"answer", "no"}}, "ask").get();
  BOOST_TEST(at.thread_id == known_thread);
  BOOST_TEST((far.get_state({}).get().values["answer"] == value("no")));
  BOOST_CHECK_THROW((remote_graph{client, "approval"}.get_state({})), error);
}

BOOST_FIXTURE_TEST_CASE(a_failed_run_and_a_missing_graph_are_errors, served_graphs) {
  auto failed = remote_graph{client, "failing"}.try_invoke(value::map({{"n", 1}}));
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().type() == "ValueError");
  BOOST_TEST(failed.error().text() == "boom happened");
  auto missing = remote_graph{client, "nope"}.try_invoke(value::map({{"n", 1}}));
  BOOST_REQUIRE(!missing);
  BOOST_TEST(
    (missing.error().code() == errc::invalid_value || missing.error().code() == errc::missing_key));
}

BOOST_FIXTURE_TEST_CASE(the_remote_graph_is_drawn, served_graphs) {
  auto graph = remote_graph{client, "approval"}.get_graph().get();
  BOOST_TEST((graph.nodes() == std::vector<std::string>{"write", "ask"}));
  BOOST_TEST(graph.draw_mermaid().find("write --> ask") != std::string::npos);
  runtime rt;
  auto ran = rt.load(graph).try_invoke(value::map({{"state", 1}}));
  BOOST_REQUIRE(!ran);
  BOOST_TEST((ran.error().code() == errc::invalid_graph));
}

// ---- as a node

BOOST_FIXTURE_TEST_CASE(a_node_gets_the_state_and_its_last_state_is_the_update, served_graphs) {
  runtime rt;
  auto app = rt.load(caller_of(remote_graph{client, "adder"}));
  auto out = app.invoke(value::map({{"n", 1}})).value();
  BOOST_TEST((out["n"] == value(3))); // 1, and the remote state 2 on top
  BOOST_TEST((out["after"] == value(true)));
}

BOOST_FIXTURE_TEST_CASE(a_node_hands_on_the_config_of_its_caller, served_graphs) {
  runtime rt;
  state_graph<> g{{{"seen", last_value}}};
  g.add_node("far", remote_graph{client, "shows_config"},
             node_options{.metadata = value::map({{"of_node", 1}})});
  g.add_edge(START, "far");
  auto out = rt.load(g.compile())
               .invoke(value::map({{"seen", nullptr}}),
                       {.tags = {"blue"},
                        .metadata = value::map({{"of_run", 2}}),
                        .configurable = value::map({{"user", "ann"}})})
               .value();
  BOOST_TEST((out["seen"]["configurable"]["user"] == value("ann")));
  BOOST_TEST((out["seen"]["metadata"]["of_run"] == value(2)));
  BOOST_TEST((out["seen"]["metadata"]["of_node"] == value(1)));
}

BOOST_FIXTURE_TEST_CASE(a_question_of_a_node_is_answered_through_its_caller, served_graphs) {
  stored_runtime here;
  auto app = here.rt.load(caller_of(remote_graph{client, "approval"}));
  auto asked = app.invoke(value::map({{"draft", "dear sir"}}), {.thread_id = "t1"});
  BOOST_REQUIRE(asked.paused());
  BOOST_REQUIRE(asked.interrupts().size() == 1u);
  BOOST_TEST((asked.interrupts()[0].value["question"] == value("dear sir")));
  auto there = client.threads.get(remote_graph::thread_of("t1")).get();
  BOOST_TEST(there.interrupts.at(0).id == asked.interrupts()[0].id);
  auto done = app.invoke(command{.resume = "yes"}, {.thread_id = "t1"}).value();
  BOOST_TEST((done["answer"] == value("yes")));
  BOOST_TEST((done["after"] == value(true)));
  BOOST_TEST(client.runs.list(there.thread_id).get().size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_question_of_a_node_is_answered_by_its_id, served_graphs) {
  stored_runtime here;
  auto app = here.rt.load(caller_of(remote_graph{client, "approval"}));
  auto asked = app.invoke(value::map({{"draft", "hi"}}), {.thread_id = "t1"});
  BOOST_REQUIRE(asked.paused());
  auto answers = value::map({{asked.interrupts()[0].id, "by id"}});
  auto done = app.invoke(command{.resume = answers}, {.thread_id = "t1"}).value();
  BOOST_TEST((done["answer"] == value("by id")));
}

BOOST_FIXTURE_TEST_CASE(the_parts_of_a_node_are_in_its_callers_stream, served_graphs) {
  runtime rt;
  auto app = rt.load(caller_of(remote_graph{client, "nested"}));
  std::vector<std::string> seen;
  for (auto& part : app.stream(value::map({{"n", 1}}), {.subgraphs = true},
                               {stream_mode::updates, stream_mode::custom}))
    seen.push_back(std::to_string(part.ns.size()) + " " + to_json(part.data));
  BOOST_TEST((std::ranges::find(seen, R"(2 "inside")") != seen.end()));
  BOOST_TEST((std::ranges::find(seen, R"(2 {"step":{"n":1}})") != seen.end()));
  BOOST_TEST((std::ranges::find(seen, R"(1 {"inner":{"n":2}})") != seen.end()));
  std::size_t flat = 0;
  for (auto& part : app.stream(value::map({{"n", 1}}), {}, {stream_mode::custom})) {
    (void)part;
    ++flat;
  }
  BOOST_TEST(flat == 0u);
}

BOOST_AUTO_TEST_CASE(a_node_joins_its_run_again_and_starts_no_second_one) {
  fake_provider server;
  server.then(events(event_text("values", R"({"n":1})", "1"), true));
  server.then(events(event_text("values", R"({"n":5})", "2")));
  server.then(run_with_status("success"));
  runtime rt;
  auto app = rt.load(caller_of(remote_graph{agent_client{options_for(server.url())}, "agent"}));
  BOOST_TEST((app.invoke(value::map({{"n", 1}})).value()["n"] == value(6)));
  BOOST_TEST(posts_to_runs(server) == 1u);
  BOOST_TEST(server.requests().at(1).header_of("last-event-id") == "1");
}

BOOST_AUTO_TEST_CASE(a_command_for_the_parent_is_the_output_of_the_node) {
  fake_provider server;
  server.then(events(event_text("values", R"({"n":9})", "1")
                     + event_text("command",
                                  R"({"graph":"__parent__","update":[["draft","up"]],)"
                                  R"("goto":["aside"],"resume":null})",
                                  "2")));
  remote_graph far{agent_client{options_for(server.url())}, "agent"};
  state_graph<> g{{{"n", sum}, {"draft", last_value}, {"way", last_value}}};
  g.add_node("far", far, node_options{.destinations = {"aside"}});
  g.add_node("aside", [] { return state_update{{"way", "aside"}}; });
  g.add_edge(START, "far");
  runtime rt;
  auto out = rt.load(g.compile()).invoke(value::map({{"n", 1}})).value();
  BOOST_TEST((out == value::map({{"n", 1}, {"draft", "up"}, {"way", "aside"}})));
  server.then(events(event_text("command", R"({"graph":"__parent__"})")));
  auto alone = far.try_invoke(value::map({{"n", 1}}));
  BOOST_REQUIRE(!alone);
  BOOST_TEST((alone.error().code() == errc::parent_command));
}

BOOST_AUTO_TEST_CASE(questions_that_come_alone_keep_the_state_and_are_counted_once) {
  fake_provider server;
  auto asked = R"({"__interrupt__":[{"id":"q","value":"Pay?"}]})";
  server.then(events(event_text("values", R"({"n":1})", "1")
                     + event_text("updates|sub:1", asked, "2") + event_text("updates", asked, "3")
                     + event_text("values", asked, "4") + event_text("end", "null")));
  remote_graph far{agent_client{options_for(server.url())}, "agent"};
  auto out = far.invoke(run_input{});
  BOOST_TEST((out.interrupts() == std::vector<interrupt>{{"q", "Pay?", {}}}));
  BOOST_TEST((out.value() == value::map({{"n", 1}})));
}

BOOST_AUTO_TEST_CASE(an_answer_that_did_not_reach_the_server_is_there_for_the_next_attempt) {
  fake_provider server;
  auto question = R"([{"id":"0123456789abcdef0123456789abcdef","value":"Pay?"}])";
  server.then(
    events(event_text("updates", std::string{R"({"__interrupt__":)"} + question + "}", "1")
           + event_text("end", "null")));
  server.then(test::json_reply(state_json(question, R"(["ask"])")));
  server.then(test::json_reply("{}", 503)); // the resuming run is refused
  server.then(test::json_reply(state_json(question, R"(["ask"])")));
  server.then(events(event_text("values", R"({"n":5})", "2") + event_text("end", "null")));
  stored_runtime here;
  auto app = here.rt.load(
    caller_of(remote_graph{agent_client{options_for(server.url())}, "agent"},
              node_options{.retry_policy = {.initial_interval = std::chrono::milliseconds{1},
                                            .jitter = false,
                                            .retry_on = [](const error&) { return true; }}}));
  BOOST_REQUIRE(app.invoke(value::map({{"n", 1}}), {.thread_id = "t1"}).paused());
  auto out = app.invoke(command{.resume = "yes"}, {.thread_id = "t1"}).value();
  BOOST_TEST((out["n"] == value(6)));
  auto last = server.requests().back();
  BOOST_TEST((last.body["command"]["resume"] == value("yes")));
}

BOOST_AUTO_TEST_CASE(a_refused_connection_fails_the_node) {
  std::string url;
  {
    fake_provider gone;
    url = gone.url();
  }
  runtime rt;
  auto failed = rt.load(caller_of(remote_graph{agent_client{options_for(url)}, "agent"}))
                  .try_invoke(value::map({{"n", 1}}));
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().type() == "HTTPError");
  BOOST_TEST(failed.error().message().find("node `far`") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
