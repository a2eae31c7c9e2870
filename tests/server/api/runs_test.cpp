// Runs as clients see them: cancelled together, with an output schema, at breakpoints.
#include "tests/server/served_rooms.hpp"

#include <atomic>

namespace troupe::server::test {
namespace {

/// Answers some requests as if another update of the thread had come first.
class contested_saver : public forwarding_saver {
public:
  using forwarding_saver::forwarding_saver;
  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    if (refused > 0) {
      --refused;
      return done(error{errc::conflict, "another one came first"});
    }
    forwarding_saver::submit(std::move(request), when, std::move(done));
  }
  std::atomic<int> refused = 0;
};

} // namespace

BOOST_AUTO_TEST_SUITE(runs_api)

BOOST_AUTO_TEST_CASE(of_runs_that_are_cancelled_together_those_that_wait_come_first) {
  served_rooms server;
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto messages = value::list({value::map({{"role", "user"}, {"content", "wait"}})});
  auto request = value::map(
    {{"assistant_id", "chat"}, {"input", value::map({{"messages", std::move(messages)}})}});
  auto runs_path = "/threads/" + thread + "/runs";
  auto running = server.post(runs_path, request).json()["run_id"];
  server.at->wait_for(1);
  auto waiting = server.post(runs_path, request).json()["run_id"];

  auto both = value::map({{"thread_id", thread}, {"run_ids", value::list({running, waiting})}});
  BOOST_TEST(server.post("/runs/cancel", both).status == 204);

  auto stored = [&](const value& id) {
    return server.ask("GET", runs_path + '/' + id.as<std::string>()).json();
  };
  BOOST_TEST(stored(waiting)["status"] == value("interrupted"));
  BOOST_TEST(stored(waiting)["updated_at"].as<std::string>()
             < stored(running)["updated_at"].as<std::string>());
}

BOOST_AUTO_TEST_CASE(clients_see_the_channels_of_the_output_schema) {
  served_rooms server;
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto body = value::map({{"assistant_id", "narrow"}, {"input", value::map({{"shown", 1}})}});
  auto shown = value::map({{"shown", 2}});
  BOOST_TEST(server.post("/threads/" + thread + "/runs/wait", body).json() == shown);
  body = body.with("stream_mode", value::list({"values", "updates"}));
  auto events = server.post("/threads/" + thread + "/runs/stream", body).body;
  BOOST_TEST(events.find("{\"shown\":4}") != events.npos); // the thread had 2
  BOOST_TEST(events.find("hidden") == events.npos);
  auto state = server.ask("GET", "/threads/" + thread + "/state").json();
  BOOST_TEST(state["values"]["hidden"] == value("secret")); // the state is all of it
}

BOOST_AUTO_TEST_CASE(a_graph_gets_the_members_of_its_context_among_what_a_client_configures) {
  served_rooms server;
  auto hidden = [&](const char* member, const value& given) {
    auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
    auto body = value::map({{"assistant_id", "narrow"}, {"input", value::map()}});
    auto output = server.post("/threads/" + thread + "/runs/wait", body.with(member, given)).json();
    BOOST_TEST(output == (value{{"shown", 1}}), to_json(output));
    return server.ask("GET", "/threads/" + thread + "/state").json()["values"]["hidden"];
  };
  auto others = value::map({{"thread_id", "t"}, {"cron_id", "c"}, {"model", "m"}});
  BOOST_TEST(hidden("config", value::map().with("configurable", others)) == value("secret"));
  BOOST_TEST(hidden("config", value::map().with("configurable", others.with("user_id", "ada")))
             == value("ada"));
  BOOST_TEST(hidden("context", value::map({{"user_id", "bob"}, {"other", 1}})) == value("bob"));
}

BOOST_AUTO_TEST_CASE(a_thread_shows_the_question_of_a_node_that_a_command_went_to) {
  served_rooms server;
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto path = "/threads/" + thread;
  auto run = [&](const char* member, const value& given) {
    return server
      .post(path + "/runs/wait", value::map({{"assistant_id", "ask"}}).with(member, given))
      .json();
  };
  run("input", value::map({{"shown", 5}}));
  run("command", value::map({{"resume", "yes"}}));
  auto asked = run("command", value::map({{"goto", "ask"}}))["__interrupt__"];
  BOOST_TEST(asked[0]["value"] == value("sure?"));
  auto shown = server.ask("GET", path).json();
  BOOST_TEST(shown["status"] == value("interrupted"));
  BOOST_REQUIRE(shown["interrupts"].size() == 1u);
  BOOST_TEST(shown["interrupts"].entries()[0].val == asked);
  run("command", value::map({{"resume", "no"}}));
  shown = server.ask("GET", path).json();
  BOOST_TEST(shown["status"] == value("idle"));
  BOOST_TEST(shown["interrupts"] == value::map());
  BOOST_TEST(shown["values"]["hidden"] == value("no"));
}

BOOST_AUTO_TEST_CASE(a_run_that_asks_shows_its_checkpoint_and_the_state_what_was_written_beside) {
  served_rooms server;
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto path = "/threads/" + thread;
  auto body = value::map({{"assistant_id", "ask"}, {"input", value::map({{"shown", 5}})}});
  auto output = server.post(path + "/runs/wait", body).json();
  BOOST_TEST(output["__interrupt__"][0]["value"] == value("sure?"));
  BOOST_TEST(output.without("__interrupt__") == value::map({{"shown", 5}}));
  auto run = server.ask("GET", path + "/runs").json()[0]["run_id"].as<std::string>();
  auto joined = server.ask("GET", path + "/runs/" + run + "/join").json();
  BOOST_TEST(joined["__interrupt__"] == output["__interrupt__"]);
  BOOST_TEST(server.ask("GET", path).json()["values"] == value::map({{"shown", 5}}));
  BOOST_TEST(server.ask("GET", path + "/state").json()["values"] == value::map({{"shown", 6}}));
  auto answer = value::map({{"assistant_id", "ask"}, {"command", value::map({{"resume", "yes"}})}});
  BOOST_TEST(server.post(path + "/runs/wait", answer).json() == value::map({{"shown", 6}}));
  BOOST_TEST(server.ask("GET", path).json()["values"]["hidden"] == value("yes"));
}

BOOST_AUTO_TEST_CASE(a_run_that_asks_again_shows_its_question_to_those_who_join_it_later) {
  served_rooms server;
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto path = "/threads/" + thread + "/runs";
  auto body = value::map({{"assistant_id", "ask"}, {"input", value::map({{"shown", 5}})}});
  server.post(path + "/wait", body);
  auto answer =
    value::map({{"assistant_id", "ask"}, {"command", value::map({{"resume", "maybe"}})}});
  auto output = server.post(path + "/wait", answer).json();
  BOOST_TEST(output["__interrupt__"][0]["value"] == value("really?"));
  auto runs = server.ask("GET", path).json();
  BOOST_REQUIRE(runs.size() == 2u);
  for (std::size_t i = 0; i < 2; ++i) // the thread's question, whichever run is joined
    BOOST_TEST(server.ask("GET", path + '/' + runs[i]["run_id"].as<std::string>() + "/join").json()
               == output);
}

BOOST_AUTO_TEST_CASE(a_run_that_wrote_nothing_ends_with_the_state) {
  served_rooms server;
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto body = value::map({{"assistant_id", "silent"}, {"input", value::map()}});
  BOOST_TEST(server.post("/threads/" + thread + "/runs/wait", body).json()
             == (value{{"items", value::list()}}));
}

BOOST_AUTO_TEST_CASE(a_run_of_a_graph_that_is_not_served_is_refused_or_waits) {
  served_rooms server;
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto path = "/threads/" + thread;
  const auto gone = default_assistant_id("gone"); // of a server before
  server.add_assistant(gone, "gone", "gone");
  const auto body = value::map({{"assistant_id", gone}, {"input", value::map()}});
  auto refused = server.post(path + "/runs", body);
  BOOST_TEST(refused.status == 404);
  BOOST_TEST(refused.body.find("'plain'") != std::string::npos, refused.body);
  BOOST_TEST(server.ask("GET", path).json()["metadata"] == value::map());

  auto stored = server.runs.create(thread, read_run_request(body),
                                   {.assistant_id = gone, .graph_id = "gone"}); // as a cron does
  auto status = [&] { return server.ask("GET", path + "/runs/" + stored.run_id).json()["status"]; };
  BOOST_TEST(status() == value("pending"));
  auto plain = value::map({{"assistant_id", "plain"}, {"input", value::map()}});
  server.post(path + "/runs", plain); // waits after it
  BOOST_TEST(status() == value("pending"));
  BOOST_TEST(server.post(path + "/runs/" + stored.run_id + "/cancel?wait=1", {}).status < 300);
  auto state = server.post(path + "/runs/wait", plain).json();
  BOOST_TEST(state["count"] == value(2));
}

BOOST_AUTO_TEST_CASE(a_history_at_a_checkpoint_is_that_checkpoint) {
  served_rooms server;
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto path = "/threads/" + thread;
  auto body = value::map({{"assistant_id", "plain"}, {"input", value::map()}});
  BOOST_TEST(server.post(path + "/runs/wait", body).status == 200);
  auto all = server.post(path + "/history", value::map()).json();
  BOOST_REQUIRE(all.size() == 3u);
  auto at = [&](const value& checkpoint) {
    return server.post(path + "/history", value::map({{"checkpoint", checkpoint}})).json();
  };
  BOOST_TEST(at(all[1]["checkpoint"]) == value::list({all[1]}));
  BOOST_TEST(at(value::map({{"checkpoint_ns", ""}})) == all);
}

BOOST_AUTO_TEST_CASE(a_breakpoint_after_the_last_node_leaves_the_thread_idle) {
  served_rooms server;
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto body = value::map(
    {{"assistant_id", "plain"}, {"input", value::map()}, {"interrupt_after", value::list({"a"})}});
  BOOST_TEST(server.post("/threads/" + thread + "/runs/wait", body).status == 200);
  BOOST_TEST(server.ask("GET", "/threads/" + thread).json()["status"] == value("idle"));
}

BOOST_AUTO_TEST_CASE(a_breakpoint_at_a_node_that_the_graph_does_not_have_is_ignored) {
  served_rooms server;
  auto body = value::map({{"assistant_id", "plain"},
                          {"input", value::map({{"count", 1}})},
                          {"interrupt_before", value::list({"nowhere"})},
                          {"interrupt_after", value::list({"elsewhere", "a"})}});
  auto answer = server.post("/runs/wait", body);
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.json()["count"] == value(2));
}

BOOST_AUTO_TEST_CASE(an_update_of_a_state_comes_after_those_that_came_first) {
  auto checkpoints = std::make_shared<contested_saver>(make_memory_saver());
  served_rooms server{checkpoints};
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto run = value::map({{"assistant_id", "plain"}, {"input", value::map({{"count", 1}})}});
  BOOST_TEST(server.post("/threads/" + thread + "/runs/wait", run).status == 200);
  const auto path = "/threads/" + thread + "/state";
  const auto update = value::map({{"values", value::map({{"count", 5}})}, {"as_node", "a"}});
  checkpoints->refused = 3;
  BOOST_TEST(server.post(path, update).status == 200);
  BOOST_TEST(server.ask("GET", path).json()["values"]["count"] == value(7));
  checkpoints->refused = 1000; // it gives up
  BOOST_TEST(server.post(path, update).status == 409);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
