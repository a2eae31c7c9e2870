// Threads and crons as clients see them: forms of ids, paths to extract, super-steps, removals.
#include "tests/server/served_rooms.hpp"

namespace troupe::server::test {
namespace {

constexpr const char* cron_line = "0 0 1 1 *";

class threads_world {
public:
  std::string make_thread() const {
    return server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  }
  // The path of a new cron, at `place`: /runs/crons or that of a thread.
  std::string make_cron(const std::string& place, const value& assistant_id) const {
    auto body = value::map({{"assistant_id", assistant_id}, {"schedule", cron_line}});
    auto made = server.post(place, body);
    BOOST_REQUIRE_MESSAGE(made.status == 200, made.body);
    return "/runs/crons/" + made.json()["cron_id"].as<std::string>();
  }
  int status_of(const std::string& path) const { return server.ask("GET", path).status; }

  served_rooms server;
};

value supersteps(const value& update) {
  auto step = value::map({{"updates", value::list({update})}});
  return value::map(
    {{"metadata", value::map({{"graph_id", "plain"}})}, {"supersteps", value::list({step})}});
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(threads_api, threads_world)

BOOST_AUTO_TEST_CASE(an_id_may_have_any_form_of_a_uuid) {
  const std::string id = "6beb4c90-60ab-4cdf-93ab-07163ad8d63b";
  auto made = server.post("/threads",
                          value::map({{"thread_id", "6BEB4C9060AB4CDF93AB07163AD8D63B"}}));
  BOOST_TEST(made.json()["thread_id"] == value(id));
  for (const char* form :
       {"6beb4c9060ab4cdf93ab07163ad8d63b", "%7B6beb4c90-60ab-4cdf-93ab-07163ad8d63b%7D",
        "urn:uuid:6beb4c90-60ab-4cdf-93ab-07163ad8d63b"})
    BOOST_TEST(server.ask("GET", std::string{"/threads/"} + form).status == 200, form);
  for (const char* form : {"6beb4c9060ab4cdf93ab07163ad8d63", "6beb4c9060ab4cdf93ab07163ad8d63g"})
    BOOST_TEST(server.ask("GET", std::string{"/threads/"} + form).status == 422, form);
}

BOOST_AUTO_TEST_CASE(a_path_with_a_last_slash_is_redirected_with_its_query) {
  auto heard = server.ask("POST", "/threads/search/?limit=1", "{}");
  BOOST_TEST(heard.status == 307);
  BOOST_TEST(heard.has_header("Location: /threads/search?limit=1\r\n"), heard.head);
  BOOST_TEST(server.ask("GET", "/threads/").has_header("Location: /threads\r\n"));
}

BOOST_AUTO_TEST_CASE(what_is_extracted_begins_with_a_member_of_a_thread) {
  make_thread();
  auto extract = [&](const value& path) {
    return server.post("/threads/search", value::map({{"extract", value::map({{"a", path}})}}));
  };
  for (const char* path : {"values", "values.count", "metadata.x[0]", "config", "interrupts"})
    BOOST_TEST(extract(path).status == 200, path);
  for (const auto& path : {value(5), value("input.x"), value("valuesx"), value("")})
    BOOST_TEST(extract(path).status == 422, to_json(path));
}

BOOST_AUTO_TEST_CASE(a_superstep_takes_values_pairs_or_a_command) {
  auto count_after = [&](const value& update) {
    return server.post("/threads", supersteps(update.with("as_node", "a")))
      .json()["values"]["count"];
  };
  auto pair = value::list({"count", 3});
  auto values = value::map({{"count", 3}});
  BOOST_TEST(count_after(value::map({{"values", values}})) == value(3));
  BOOST_TEST(count_after(value::map({{"values", value::list({pair, pair})}})) == value(6));
  BOOST_TEST(count_after(value::map({{"command", value::map({{"update", values}})}})) == value(3));
  auto answer = value::map({{"command", value::map({{"resume", "a"}})}});
  BOOST_TEST(server.post("/threads", supersteps(answer)).status == 422);
  for (const auto& wrong : {value::list({value::list({"count"})}), value(5)})
    BOOST_TEST(server.post("/threads", supersteps(value::map({{"values", wrong}}))).status == 422);
}

BOOST_AUTO_TEST_CASE(a_superstep_goes_to_the_nodes_of_its_command) {
  auto next_after = [&](const value& to, const std::string& as_node = "a") {
    auto update =
      value::map({{"command", value::map({{"goto", to}, {"update", value::map({{"count", 2}})}})},
                  {"as_node", as_node}});
    auto made = server.post("/threads", supersteps(update));
    if (made.status != 200)
      return std::to_string(made.status);
    auto path = "/threads/" + made.json()["thread_id"].as<std::string>() + "/state";
    auto state = server.ask("GET", path).json();
    BOOST_TEST(state["values"]["count"] == value(2));
    return to_json(state["next"]);
  };
  BOOST_TEST(next_after("a") == R"(["a"])");
  BOOST_TEST(next_after("__end__") == "[]");
  auto sent = value::map({{"node", "a"}, {"input", value::map({{"count", 5}})}});
  BOOST_TEST(next_after(sent) == R"(["a"])");
  BOOST_TEST(next_after(value::list({"a", sent})) == R"(["a","a"])");
  BOOST_TEST(next_after("nowhere") == "400");
  BOOST_TEST(next_after("a", "__input__") == "400");
  BOOST_TEST(next_after("a", "__end__") == "400");
  BOOST_TEST(next_after(5) == "422");
}

BOOST_AUTO_TEST_CASE(a_state_of_a_graph_that_is_not_served_is_named) {
  auto thread = make_thread();
  auto path = "/threads/" + thread;
  server.post(path + "/runs/wait",
              value::map({{"assistant_id", "plain"}, {"input", value::map()}}));
  server.ask("PATCH", path, R"({"metadata":{"graph_id":"gone"}})");
  auto values = value::map({{"values", value::map({{"count", 1}})}});
  for (const auto& heard :
       {server.ask("GET", path + "/state"), server.ask("GET", path + "/history"),
        server.post(path + "/state", values)}) {
    BOOST_TEST(heard.status == 404);
    BOOST_TEST(heard.json()["detail"]
               == value("Graph 'gone' of thread '" + thread + "' is not served here"));
  }
  BOOST_TEST(server.ask("GET", path).status == 200);
}

BOOST_AUTO_TEST_CASE(crons_go_with_their_thread_or_assistant) {
  auto assistant =
    server.post("/assistants", value::map({{"graph_id", "plain"}})).json()["assistant_id"];
  auto first = make_thread(), second = make_thread();
  auto stays = make_cron("/runs/crons", "plain");
  auto of_assistant = make_cron("/runs/crons", assistant);
  auto of_first = make_cron("/threads/" + first + "/runs/crons", "plain");
  auto of_second = make_cron("/threads/" + second + "/runs/crons", "plain");
  server.ask("DELETE", "/threads/" + first);
  BOOST_TEST(status_of(of_first) == 404);
  BOOST_TEST(status_of(of_second) == 200);
  server.post("/threads/prune", value::map({{"thread_ids", value::list({second})}}));
  BOOST_TEST(status_of(of_second) == 404);
  BOOST_TEST(status_of(of_assistant) == 200);
  server.ask("DELETE", "/assistants/" + assistant.as<std::string>());
  BOOST_TEST(status_of(of_assistant) == 404);
  BOOST_TEST(status_of(stays) == 200);
}

BOOST_AUTO_TEST_CASE(a_cron_keeps_its_assistant_and_its_thread) {
  auto path = make_cron("/runs/crons", "plain");
  auto before = server.ask("GET", path).json();
  auto change = server.ask("PATCH", path,
                           R"({"assistant_id":"fail","thread_id":"x","enabled":false})");
  BOOST_TEST(change.json()["assistant_id"] == before["assistant_id"]);
  BOOST_TEST(change.json()["payload"]["assistant_id"] == before["payload"]["assistant_id"]);
  BOOST_TEST(change.json()["thread_id"].is_null());
  BOOST_TEST(server.post("/runs/crons/search", value::map({{"assistant_id", "plain"}})).status
             == 422);
  auto same = value::map({{"assistant_id", before["assistant_id"]}});
  BOOST_TEST(server.post("/runs/crons/count", same).json() == value(1));
}

BOOST_AUTO_TEST_CASE(the_webhook_of_a_cron_is_checked_when_it_is_made_and_changed) {
  server.with.check_webhook = [](const std::string& url) {
    if (url == "ftp://x")
      throw refusal{422, "no"};
  };
  auto body =
    value::map({{"assistant_id", "plain"}, {"schedule", cron_line}, {"webhook", "ftp://x"}});
  BOOST_TEST(server.post("/runs/crons", body).status == 422);
  auto path = make_cron("/runs/crons", "plain");
  BOOST_TEST(server.ask("PATCH", path, R"({"webhook":"ftp://x"})").status == 422);
  BOOST_TEST(server.ask("PATCH", path, R"({"webhook":"https://x"})").status == 200);
  server.with.check_webhook = [](const std::string&) { throw refusal{422, "no"}; };
  BOOST_TEST(server.ask("PATCH", path, R"({"enabled":false})").status == 200); // the URL stays
}

BOOST_AUTO_TEST_CASE(members_of_the_wrong_kind_are_refused) {
  auto run = value::map({{"assistant_id", "plain"}, {"input", value::map()}});
  BOOST_TEST(server.post("/runs/wait", run.with("context", 5)).status == 422);
  BOOST_TEST(server.post("/runs/wait", run.with("feedback_keys", "x")).status == 422);
  BOOST_TEST(server.ask("DELETE", "/store/items").status == 422);
}

BOOST_AUTO_TEST_CASE(a_search_by_ids_takes_uuids_alone) {
  auto found = [&](const char* id) {
    return server.post("/threads/search", value::map({{"ids", value::list({id})}}));
  };
  const std::string id = "6beb4c90-60ab-4cdf-93ab-07163ad8d63b";
  server.post("/threads", value::map().with("thread_id", id));
  BOOST_TEST(found("6BEB4C9060AB4CDF93AB07163AD8D63B").json().size() == 1u);
  BOOST_TEST(found("x").status == 422);
  BOOST_TEST(server.post("/threads/count", value::map({{"ids", value::list({"x"})}})).status
             == 422);
}

BOOST_AUTO_TEST_CASE(members_of_runs_are_selected_by_their_names) {
  auto path = "/threads/" + make_thread() + "/runs";
  server.post(path + "/wait", value::map({{"assistant_id", "plain"}, {"input", value::map()}}));
  auto one = server.ask("GET", path + "?select=status").json();
  BOOST_TEST(to_json(one) == R"([{"status":"success"}])");
  BOOST_TEST(server.ask("GET", path + "?select=foo").status == 422);
}

BOOST_AUTO_TEST_CASE(an_answer_needs_a_thread) {
  auto answer =
    value::map({{"assistant_id", "chat"}, {"command", value::map({{"resume", "yes"}})}});
  for (const char* path : {"/runs", "/runs/wait", "/runs/stream"})
    BOOST_TEST(server.post(path, answer).status == 400, path);
}

BOOST_AUTO_TEST_CASE(a_subscription_over_http_cannot_be_ended) {
  auto command = value::map({{"id", 1},
                             {"method", "subscription.unsubscribe"},
                             {"params", value::map({{"subscription_id", "x"}})}});
  auto heard = server.post("/threads/" + make_thread() + "/commands", command).json();
  BOOST_TEST(heard["error"] == value("no_such_subscription"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
