// The stream of all runs of a thread, and what a client gets that comes back.
#include "tests/server/served_rooms.hpp"

#include <algorithm>
#include <set>

namespace troupe::server::test {
namespace {

using troupe::test::raw_client;

// A thread of a server, and the clients of its stream.
class streamed_thread {
public:
  streamed_thread()
    : id_{server.post("/threads", value::map()).json()["thread_id"].as<std::string>()} {}

  std::string path(const char* rest) const { return "/threads/" + id_ + rest; }
  value body_of_run(const char* graph, const char* text, bool is_resumable) const {
    auto message = value::map({{"role", "user"}, {"content", text}});
    return value::map({{"assistant_id", graph},
                       {"input", value::map({{"messages", value::list({message})}})},
                       {"stream_resumable", is_resumable}});
  }
  void run(const char* text, bool is_resumable = true) {
    BOOST_TEST(server.post(path("/runs/wait"), body_of_run("chat", text, is_resumable)).status
               == 200);
  }
  // A client that was at this event; empty: a new one.
  std::unique_ptr<raw_client> follower(const std::string& last_event_id = {},
                                       const char* query = "") const {
    auto client = std::make_unique<raw_client>(server.edge->port());
    client->say(
      server.text_of("GET", path("/stream") + query, "",
                     last_event_id.empty() ? "" : "Last-Event-ID: " + last_event_id + "\r\n"));
    client->hear("\r\n\r\n");
    return client;
  }

  served_rooms server;

private:
  std::string id_;
};

// The ids of events, up to the end of so many runs.
std::vector<std::string> ids_until_end(raw_client& client, int runs) {
  std::vector<std::string> out;
  while (runs > 0) {
    client.hear("id: ");
    auto id = client.hear("\n");
    out.push_back(id.substr(0, id.size() - 1));
    runs -= id.ends_with(":end\n");
  }
  return out;
}

using ids = std::vector<std::string>;

ids rest_of(const ids& all, std::size_t first) {
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.end()};
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_thread_stream)

BOOST_AUTO_TEST_CASE(a_client_that_comes_back_gets_each_event_that_it_missed_once) {
  streamed_thread thread;
  auto first = thread.follower();
  thread.run("one");
  thread.run("two");
  auto all = ids_until_end(*first, 2);
  BOOST_TEST(std::set(all.begin(), all.end()).size() == all.size());
  for (std::size_t at = 0; at + 1 < all.size(); ++at) {
    auto missed = rest_of(all, at + 1);
    auto ends = std::ranges::count_if(missed, [](const auto& id) { return id.ends_with(":end"); });
    auto again = thread.follower(all[at]);
    BOOST_TEST(ids_until_end(*again, static_cast<int>(ends)) == missed,
               boost::test_tools::per_element());
  }
  auto later = thread.follower(all.back());
  thread.run("three");
  auto heard = ids_until_end(*later, 1);
  BOOST_TEST(heard == ids_until_end(*first, 1), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(runs_that_are_not_resumable_are_not_told_again) {
  streamed_thread thread;
  auto first = thread.follower();
  thread.run("one");
  thread.run("two", false);
  thread.run("three");
  auto all = ids_until_end(*first, 3);
  auto kept = ids_until_end(*thread.follower("-"), 2);
  auto run_of = [](const std::string& id) { return id.substr(0, id.find(':')); };
  auto second = run_of(
    *std::ranges::find_if(all, [&](const auto& id) { return run_of(id) != run_of(all.front()); }));
  std::erase_if(all, [&](const auto& id) { return run_of(id) == second; });
  BOOST_TEST(kept == all, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_run_in_flight_is_told_from_the_place_on_and_followed) {
  streamed_thread thread;
  auto first = thread.follower();
  thread.server.post(thread.path("/runs"), thread.body_of_run("chat", "wait", true));
  thread.server.at->wait_for(1);
  first->hear("id: ");
  auto begin = first->hear("\n");
  begin.pop_back();
  auto late = thread.follower(begin);
  auto whole = thread.follower("-");
  thread.server.at->open();
  auto rest = ids_until_end(*first, 1);
  BOOST_TEST(ids_until_end(*late, 1) == rest, boost::test_tools::per_element());
  auto all = ids_until_end(*whole, 1);
  BOOST_TEST(all.front() == begin);
  BOOST_TEST(rest_of(all, 1) == rest, boost::test_tools::per_element());
  thread.run("next"); // and the next run is followed, once
  auto next = ids_until_end(*first, 1);
  BOOST_TEST(ids_until_end(*late, 1) == next, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_unknown_place_is_now) {
  streamed_thread thread;
  thread.run("one");
  auto client = thread.follower("1795466367351-0");
  thread.run("two");
  auto heard = ids_until_end(*client, 1);
  auto all = ids_until_end(*thread.follower("-"), 2);
  BOOST_TEST(heard == rest_of(all, all.size() - heard.size()), boost::test_tools::per_element());
  BOOST_TEST(heard.front().ends_with(":1"));
}

BOOST_AUTO_TEST_CASE(of_a_lifecycle_its_events_alone_are_told_again) {
  streamed_thread thread;
  thread.run("one");
  auto heard = ids_until_end(*thread.follower("-", "?stream_modes=lifecycle"), 1);
  BOOST_REQUIRE(heard.size() == 2u);
  BOOST_TEST(heard[0].ends_with(":1"));
  BOOST_TEST(heard[1].ends_with(":end"));
}

BOOST_AUTO_TEST_CASE(a_stream_ends_before_a_thread_that_is_created_under_its_id) {
  streamed_thread thread;
  const auto path = thread.path("");
  auto client = thread.follower();
  thread.run("one");
  ids_until_end(*client, 1);
  BOOST_TEST(thread.server.ask("DELETE", path).status == 204);
  auto made = value::map({{"thread_id", path.substr(std::string{"/threads/"}.size())}});
  BOOST_TEST(thread.server.post("/threads", made).status == 200);
  thread.run("two");
  BOOST_TEST(client->hear_all().find("id: ") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_next_input_of_a_thread_with_a_question_is_its_answer) {
  streamed_thread thread;
  auto say = [&](const value& input, const char* assistant) {
    auto params = value::map({{"assistant_id", assistant}, {"input", input}});
    auto command = value::map({{"id", 1}, {"method", "run.start"}, {"params", params}});
    return thread.server.post(thread.path("/commands"), command).json();
  };
  auto start = [&](const value& input) {
    auto run = say(input, "chat")["result"]["run_id"];
    auto path = thread.path("/runs/") + run.as<std::string>();
    return thread.server.ask("GET", path).json()["kwargs"];
  };
  auto hello =
    value::map({{"messages", value::list({value::map({{"role", "user"}, {"content", "hi"}})})}});
  BOOST_TEST(start(hello)["input"] == hello); // nothing was asked yet
  thread.run("ask");
  BOOST_TEST(say("yes", "unknown")["type"] == value("error")); // the question stays
  auto answer = start("yes");
  BOOST_TEST(answer["command"]["resume"] == value("yes"));
  BOOST_TEST(answer["input"].is_null());
  BOOST_TEST(start(hello)["input"] == hello); // it was answered
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_refused_leaves_its_question_to_be_answered_once) {
  streamed_thread thread;
  thread.run("ask");
  auto state = thread.server.ask("GET", thread.path("/state")).json();
  auto question = state["interrupts"][0]["id"];
  auto to = [](const value& id) { return value::map({{"interrupt_id", id}, {"response", "yes"}}); };
  auto respond = [&](const std::vector<value>& responses, const value& config = {}) {
    auto params = value::map({{"responses", value::list(responses)}, {"config", config}});
    auto command = value::map({{"id", 1}, {"method", "input.respond"}, {"params", params}});
    return thread.server.post(thread.path("/commands"), command).json();
  };
  auto refused = respond({to(question), to("unknown")});
  BOOST_TEST(refused["error"] == value("no_such_interrupt"));
  BOOST_TEST(refused["message"] == value("Unknown or already-consumed interrupt: unknown"));
  auto nameless = respond({to(question), value::map({{"response", "yes"}})});
  BOOST_TEST(nameless["error"] == value("invalid_argument"));
  auto no_run = respond({to(question)}, "not a map");
  BOOST_TEST(no_run["message"].as<std::string>().starts_with("422: "), to_json(no_run));
  auto before = thread.server.with.hubs->at(thread.path("").substr(9))->last_seq();
  auto answered = respond({to(question)});
  BOOST_TEST(answered["type"] == value("success"));
  BOOST_TEST(answered["meta"]["applied_through_seq"] == value(before)); // not the new run's events
  BOOST_TEST(respond({to(question)})["error"] == value("no_such_interrupt"));
}

BOOST_AUTO_TEST_CASE(a_run_of_the_protocol_can_be_joined_later_and_shows_the_whole_state) {
  streamed_thread thread;
  auto start = [&](const char* strategy) {
    auto params = value::map({{"assistant_id", "narrow"},
                              {"input", value::map({{"shown", 1}, {"hidden", "mine"}})},
                              {"multitask_strategy", strategy}});
    auto command = value::map({{"id", 1}, {"method", "run.start"}, {"params", params}});
    return thread.server.post(thread.path("/commands"), command).json();
  };
  auto run = start("enqueue")["result"]["run_id"].as<std::string>();
  auto path = thread.path("/runs/") + run;
  thread.server.ask("GET", path + "/join");
  auto kwargs = thread.server.ask("GET", path).json()["kwargs"];
  BOOST_TEST(kwargs["resumable"] == value(true));
  auto events = thread.server.ask("GET", path + "/stream", "", "Last-Event-ID: -1\r\n").body;
  BOOST_TEST(events.find(R"({"hidden":"mine","shown":1})") != events.npos, events);
  BOOST_TEST(events.find(R"({"hidden":"secret","shown":2})") != events.npos, events);
  BOOST_TEST(events.find("\nid: 1\n") != events.npos, events);
  BOOST_TEST(start("unknown")["type"] == value("error")); // the name without a capital counts, too
}

BOOST_AUTO_TEST_CASE(an_answer_needs_a_response_and_a_thread) {
  streamed_thread thread;
  auto respond = [&](const value& responses, const std::string& path = {}) {
    auto params = value::map().with("responses", responses);
    auto command = value::map({{"id", 1}, {"method", "input.respond"}, {"params", params}});
    return thread.server.post(path.empty() ? thread.path("/commands") : path, command)
      .json()["error"];
  };
  auto to_nothing = value::list({value::map({{"interrupt_id", "x"}, {"response", "yes"}})});
  BOOST_TEST(respond(value::list()) == value("invalid_argument"));
  BOOST_TEST(respond(to_nothing, "/threads/7b0d7c9c-31a1-4f5f-8a38-0d5a2a3f2b14/commands")
             == value("no_such_run"));
  BOOST_TEST(respond(to_nothing) == value("no_such_interrupt"));
  BOOST_TEST(thread.server.ask("GET", thread.path("/runs")).json().size() == 0u);
}

BOOST_AUTO_TEST_CASE(an_event_stream_tells_proxies_once_that_they_must_not_gather) {
  streamed_thread thread;
  auto run = thread.server.post(thread.path("/runs/stream"),
                                thread.body_of_run("chat", "hi", false));
  auto first = run.head.find("X-Accel-Buffering: no\r\n");
  BOOST_REQUIRE(first != run.head.npos);
  BOOST_TEST(run.head.find("X-Accel-Buffering", first + 1) == run.head.npos, run.head);
}

BOOST_AUTO_TEST_CASE(a_subscription_without_channels_is_refused) {
  streamed_thread thread;
  for (const char* body : {"", "{", "[1]", "{}", R"({"channels":[]})"})
    BOOST_TEST(thread.server.ask("POST", thread.path("/stream/events"), body).status == 400, body);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
