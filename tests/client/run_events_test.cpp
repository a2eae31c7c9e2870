// Streams of a run, over connections that break off.
#include "tests/client/scripted_server.hpp"
#include "tests/fixtures/coroutine_body.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using test::event_text;
using test::events;
using test::fake_provider;
using test::known_run;
using test::known_thread;
using test::names_of;
using test::options_for;
using test::resumable_run;
using test::run_path_here;
using test::run_with_status;

using event_names = std::vector<std::string>;

std::size_t count_of_posts(const fake_provider& server) {
  std::size_t out = 0;
  for (const auto& request : server.requests())
    out += request.method == "POST";
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(client_run_events)

BOOST_AUTO_TEST_CASE(events_come_in_order_and_the_run_is_known_from_the_head) {
  fake_provider server;
  server.then(events(event_text("metadata", R"({"run_id":"R","attempt":1})") + ": heartbeat\n"
                     + event_text("updates|child:1", R"({"a":{"n":2}})")));
  server.then(run_with_status("success"));
  agent_client client{options_for(server.url() + "/prefix/")};
  auto stream = client.runs.stream(known_thread, resumable_run());
  BOOST_TEST(server.requests().empty()); // nothing is sent before somebody reads
  auto first = stream.next();
  BOOST_REQUIRE(first.has_value());
  BOOST_TEST(first->event == "metadata");
  BOOST_TEST(stream.run_id() == known_run);
  BOOST_TEST(stream.thread_id() == known_thread);
  auto second = stream.next();
  BOOST_TEST(second->mode() == "updates");
  BOOST_TEST((second->ns() == event_names{"child:1"}));
  BOOST_TEST((second->data == value::map({{"a", value::map({{"n", 2}})}})));
  BOOST_TEST(!stream.next().has_value());
  BOOST_TEST(!stream.next().has_value());
  auto asked = server.requests();
  BOOST_REQUIRE(asked.size() == 2);
  BOOST_TEST(asked[0].target == "/prefix/threads/" + std::string{known_thread} + "/runs/stream");
  BOOST_TEST((asked[0].body["stream_resumable"] == value(true)));
  BOOST_TEST(!asked[0].body.contains("command"));
  BOOST_TEST(asked[1].target == "/prefix" + run_path_here());
}

BOOST_AUTO_TEST_CASE(a_lost_connection_joins_the_run_after_its_last_event) {
  fake_provider server;
  server.then(events(event_text("metadata", "{}", "1") + event_text("values", "1", "2"), true));
  server.then(events(event_text("values", "1", "2") + event_text("values", "2", "3"), true));
  server.then(events(event_text("values", "3", "4")));
  server.then(run_with_status("success"));
  agent_client client{options_for(server.url())};
  auto stream = client.runs.stream(known_thread, resumable_run());
  BOOST_TEST((names_of(stream) == event_names{"metadata#1", "values#2", "values#3", "values#4"}));
  BOOST_TEST(stream.last_event_id() == "4");
  BOOST_TEST(!stream.may_lack_events());
  auto asked = server.requests();
  BOOST_TEST(count_of_posts(server) == 1u);
  BOOST_TEST(asked.at(1).target == run_path_here() + "/stream");
  BOOST_TEST(asked.at(1).header_of("last-event-id") == "2");
  BOOST_TEST(asked.at(2).header_of("last-event-id") == "3");
}

BOOST_AUTO_TEST_CASE(a_stream_that_was_cut_before_its_first_event_asks_for_all_of_them) {
  fake_provider server;
  server.then(events("", true));
  server.then(events(event_text("values", "1", "1")));
  server.then(run_with_status("success"));
  agent_client client{options_for(server.url())};
  auto stream = client.runs.stream(known_thread, resumable_run());
  BOOST_TEST((names_of(stream) == event_names{"values#1"}));
  BOOST_TEST(server.requests().at(1).header_of("last-event-id") == "-1");
}

BOOST_AUTO_TEST_CASE(a_run_without_ids_is_joined_and_the_reader_learns_of_the_gap) {
  fake_provider server;
  server.then(events(event_text("metadata", "{}") + event_text("values", "1"), true));
  server.then(events(event_text("metadata", "{}") + event_text("values", "2")));
  server.then(run_with_status("success"));
  agent_client client{options_for(server.url())};
  auto request = resumable_run();
  request.stream_resumable = false;
  auto stream = client.runs.stream(known_thread, request);
  BOOST_TEST((names_of(stream) == event_names{"metadata", "values", "values"}));
  BOOST_TEST(stream.may_lack_events());
  BOOST_TEST(server.requests().at(1).header_of("last-event-id").empty());
}

BOOST_AUTO_TEST_CASE(a_stream_that_ends_while_its_run_goes_on_is_joined_again) {
  fake_provider server;
  server.then(events(event_text("values", "1", "1")));
  server.then(run_with_status("running"));
  server.then(events(event_text("values", "2", "2")));
  server.then(run_with_status("success"));
  agent_client client{options_for(server.url())};
  auto stream = client.runs.stream(known_thread, resumable_run());
  BOOST_TEST((names_of(stream) == event_names{"values#1", "values#2"}));
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_silent_for_too_long_counts_as_lost) {
  fake_provider server;
  test::gate never;
  server.then(test::replies(
    {.headers = {{"Content-Type", "text/event-stream"}, {"Location", run_path_here() + "/stream"}},
     .body = {test::send_bytes{event_text("values", "1", "1")}, test::wait_at{never}},
     .chunked = true}));
  server.then(events(event_text("values", "2", "2") + event_text("end", "null")));
  auto options = options_for(server.url());
  options.silence_max = std::chrono::milliseconds{20};
  agent_client client{options};
  auto stream = client.runs.stream(known_thread, resumable_run());
  BOOST_TEST((names_of(stream) == event_names{"values#1", "values#2"}));
}

BOOST_AUTO_TEST_CASE(a_server_that_begins_again_is_waited_for) {
  fake_provider server;
  server.then(events(event_text("values", "1", "1"), true));
  server.then(test::json_reply("{}", 503));
  server.then(test::json_reply("<html>", 200));
  server.then(events(event_text("values", "2", "2") + event_text("end", "null")));
  agent_client client{options_for(server.url())};
  auto stream = client.runs.stream(known_thread, resumable_run());
  BOOST_TEST((names_of(stream) == event_names{"values#1", "values#2"})); // `end` needs no question
  BOOST_TEST(server.requests().size() == 4u);
}

BOOST_AUTO_TEST_CASE(too_many_losses_without_an_event_are_an_error_and_then_the_end) {
  fake_provider server;
  server.then(events(event_text("values", "1", "1"), true));
  server.always(events("", true));
  auto options = options_for(server.url());
  options.reconnects_max = 3;
  agent_client client{options};
  auto stream = client.runs.stream(known_thread, resumable_run());
  BOOST_TEST(stream.next().has_value());
  auto failed = stream.try_next();
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().type() == "HTTPError");
  BOOST_TEST(failed.error().message().find("4 times") != std::string::npos);
  BOOST_TEST(server.requests().size() == 4u);
  BOOST_TEST(!stream.next().has_value());
  BOOST_TEST(server.requests().size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_run_that_is_gone_is_an_error_at_once) {
  fake_provider server;
  server.then(events(event_text("values", "1", "1"), true));
  server.then(test::json_reply(R"({"detail":"Run not found"})", 404));
  agent_client client{options_for(server.url())};
  auto stream = client.runs.stream(known_thread, resumable_run());
  stream.next();
  auto failed = stream.try_next();
  BOOST_REQUIRE(!failed);
  BOOST_TEST((failed.error().code() == errc::missing_key));
}

BOOST_AUTO_TEST_CASE(a_request_that_creates_a_run_is_never_sent_twice) {
  fake_provider server;
  server.then(test::raw({test::hang_up{}})); // after the request, before the answer
  server.always(events(event_text("values", "1")));
  agent_client client{options_for(server.url())};
  auto stream = client.runs.stream(known_thread, resumable_run());
  auto failed = stream.try_next();
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().type() == "HTTPError");
  BOOST_TEST(!stream.next().has_value());
  BOOST_TEST(server.requests().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_refused_connection_and_a_refused_request_are_errors) {
  std::string url;
  {
    fake_provider gone;
    url = gone.url();
  }
  auto lost = agent_client{options_for(url)}.runs.stream(known_thread, resumable_run()).try_next();
  BOOST_REQUIRE(!lost);
  BOOST_TEST(lost.error().type() == "HTTPError");
  fake_provider server;
  server.then(test::json_reply(R"({"detail":"Thread is already running a task."})", 409));
  auto busy =
    agent_client{options_for(server.url())}.runs.stream(known_thread, resumable_run()).try_next();
  BOOST_REQUIRE(!busy);
  BOOST_TEST((busy.error().code() == errc::conflict));
}

BOOST_AUTO_TEST_CASE(a_location_on_another_server_gets_no_request) {
  fake_provider other;
  fake_provider server;
  server.then(
    test::replies({.headers = {{"Content-Type", "text/event-stream"},
                               {"Location", other.url() + run_path_here() + "/stream"}},
                   .body = {test::send_bytes{event_text("values", "1", "1")}, test::hang_up{}},
                   .chunked = true}));
  auto options = options_for(server.url());
  options.api_key = "lsv2_secret";
  auto failed = agent_client{options}.runs.stream(known_thread, resumable_run()).try_next();
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().message().find("another server") != std::string::npos);
  BOOST_TEST(other.requests().empty());
}

BOOST_AUTO_TEST_CASE(garbage_in_a_stream_is_an_error_after_the_events_before_it) {
  fake_provider server;
  server.then(events(event_text("values", "1", "1") + event_text("values", "{nonsense", "2")));
  agent_client client{options_for(server.url())};
  auto stream = client.runs.stream(known_thread, resumable_run());
  BOOST_TEST(stream.next().has_value());
  auto failed = stream.try_next();
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().type() == "StreamError");
  BOOST_TEST(!stream.next().has_value());
  BOOST_TEST(server.requests().size() == 1u); // to ask again would give the same
}

BOOST_AUTO_TEST_CASE(an_event_beyond_its_bound_is_an_error_and_not_memory) {
  fake_provider server;
  server.then(test::raw({test::send_bytes{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                          "Location: "
                                          + run_path_here() + "/stream\r\n\r\ndata: \""},
                         test::send_again{std::string(64u << 10, 'x')}}));
  agent_client client{options_for(server.url())};
  auto failed = client.runs.stream(known_thread, resumable_run()).try_next();
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().type() == "StreamError");
}

BOOST_AUTO_TEST_CASE(a_body_that_awaits_events_holds_no_thread_and_joins_again_too) {
  fake_provider server;
  server.then(events(event_text("values", "1", "1"), true));
  server.then(events(event_text("values", "2", "2")));
  server.then(run_with_status("success"));
  agent_client client{options_for(server.url())};
  runtime rt;
  auto answer = test::try_body(rt, [client](context& ctx) -> coro<value> {
    auto stream = client.runs.stream(known_thread, resumable_run());
    auto sum = value::list();
    for (bool has_more = true; has_more;) {
      auto read = stream.next(ctx);
      auto event = co_await read;
      has_more = event.has_value();
      if (event)
        sum = sum.append(event->data);
    }
    co_return sum;
  });
  BOOST_TEST((answer.value() == value::list({1, 2})));
}

BOOST_AUTO_TEST_CASE(a_wait_joins_its_run_again_and_gives_what_it_gave) {
  fake_provider server;
  std::vector<test::header> heads{{"Content-Type", "application/json"},
                                  {"Location", run_path_here() + "/join"}};
  server.then(test::replies(
    {.headers = heads, .body = {test::send_bytes{"\n"}, test::hang_up{}}, .chunked = true}));
  server.then(test::json_reply("{}", 502));
  server.then(
    test::replies({.headers = heads, .body = {test::send_bytes{"\n{\"n\":2}"}}, .chunked = true}));
  agent_client client{options_for(server.url())};
  BOOST_TEST((client.runs.wait(known_thread, resumable_run()).get() == value::map({{"n", 2}})));
  BOOST_TEST(count_of_posts(server) == 1u);
  BOOST_TEST(server.requests().at(2).target == run_path_here() + "/join");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
