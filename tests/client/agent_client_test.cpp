// The client against a server of this process, and what it sends to one that a test writes.
#include "tests/client/served_graphs.hpp"
#include "tests/fixtures/coroutine_body.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>

namespace troupe {
namespace {

using test::known_thread;
using test::options_for;
using test::served_graphs;

template <class T> errc code_of(const result<T>& how) {
  return how ? errc::ok : how.error().code();
}

} // namespace

BOOST_AUTO_TEST_SUITE(client_agent_client)

BOOST_FIXTURE_TEST_CASE(assistants_are_made_found_changed_and_removed, served_graphs) {
  auto found = client.assistants.search({.graph_id = "adder"}).get();
  BOOST_REQUIRE(found.size() == 1u);
  BOOST_TEST(found[0].name == "adder");
  BOOST_TEST((found[0].raw["graph_id"] == value("adder")));
  auto made =
    client.assistants
      .create({.graph_id = "adder", .metadata = value::map({{"team", "blue"}}), .name = "second"})
      .get();
  BOOST_TEST(made.version == 1);
  auto changed = client.assistants.update(made.assistant_id, {.name = "third"}).get();
  BOOST_TEST(changed.version == 2);
  BOOST_TEST(client.assistants.versions(made.assistant_id).get().size() == 2u);
  BOOST_TEST(client.assistants.set_latest(made.assistant_id, 1).get().name == "second");
  BOOST_TEST(client.assistants.count({.metadata = value::map({{"team", "blue"}})}).get() == 1);
  client.assistants.remove(made.assistant_id).get();
  BOOST_TEST((code_of(client.assistants.get(made.assistant_id).try_get()) == errc::missing_key));
  BOOST_TEST(client.assistants.schemas("adder").get().contains("input_schema"));
  BOOST_TEST(client.assistants.subgraphs("nested").get().contains("inner"));
  BOOST_TEST(client.assistants.graph("adder").get()["nodes"].size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(a_thread_has_runs_a_state_and_a_past, served_graphs) {
  auto thread = client.threads.create({.metadata = value::map({{"who", "me"}})}).get();
  BOOST_TEST(thread.status == "idle");
  auto out = client.runs
               .wait(thread.thread_id, {.assistant_id = "adder", .input = value::map({{"n", 5}})})
               .get();
  BOOST_TEST((out == value::map({{"n", 6}})));
  auto state = client.threads.get_state(thread.thread_id).get();
  BOOST_TEST((state.values == value::map({{"n", 6}})));
  BOOST_TEST(state.config.thread_id == thread.thread_id);
  BOOST_TEST(state.next.empty());
  auto past = client.threads.get_history(thread.thread_id).get();
  BOOST_REQUIRE(past.size() == 3u);
  BOOST_TEST(past[0].parent_id == past[1].config.checkpoint_id);
  auto before = client.threads
                  .get_history(thread.thread_id,
                               {.before = past[0].config.checkpoint_id, .limit = 1})
                  .get();
  BOOST_REQUIRE(before.size() == 1u);
  BOOST_TEST(before[0].config.checkpoint_id == past[1].config.checkpoint_id);
  auto earlier = client.threads.get_state(thread.thread_id, past[1].config).get();
  BOOST_TEST((earlier.values == value::map({{"n", 5}})));
  auto written =
    client.threads.update_state(thread.thread_id, value::map({{"n", 10}}), "add").get();
  BOOST_TEST(written.thread_id == thread.thread_id);
  BOOST_TEST((client.threads.get_state(thread.thread_id).get().values == value::map({{"n", 16}})));
  auto copy = client.threads.copy(thread.thread_id).get();
  BOOST_TEST((client.threads.get_state(copy.thread_id).get().values == value::map({{"n", 16}})));
  BOOST_TEST(client.threads.search({.metadata = value::map({{"who", "me"}})}).get().size() == 2u);
  BOOST_TEST(client.threads.count({.status = "idle"}).get() == 2);
  auto changed = client.threads.update(copy.thread_id, value::map({{"who", "you"}})).get();
  BOOST_TEST((changed.metadata["who"] == value("you")));
  client.threads.remove(copy.thread_id).get();
  BOOST_TEST((code_of(client.threads.get(copy.thread_id).try_get()) == errc::missing_key));
  auto pruned = client.threads.prune({thread.thread_id}).get();
  BOOST_TEST((pruned["pruned_count"] == value(1)));
}

BOOST_FIXTURE_TEST_CASE(a_run_is_created_joined_listed_and_removed, served_graphs) {
  auto thread = client.threads.create().get();
  auto run = client.runs
               .create(thread.thread_id, {.assistant_id = "adder",
                                          .input = value::map({{"n", 1}}),
                                          .metadata = value::map({{"k", "v"}}),
                                          .stream_resumable = true})
               .get();
  BOOST_TEST(run.thread_id == thread.thread_id);
  BOOST_TEST((client.runs.join(thread.thread_id, run.run_id).get() == value::map({{"n", 2}})));
  BOOST_TEST(client.runs.get(thread.thread_id, run.run_id).get().status == "success");
  auto all = client.runs.list(thread.thread_id, "success").get();
  BOOST_REQUIRE(all.size() == 1u);
  BOOST_TEST((all[0].metadata["k"] == value("v")));
  auto again = client.runs.join_stream(thread.thread_id, run.run_id, "-1", {"values"});
  auto names = test::names_of(again);
  BOOST_REQUIRE(!names.empty());
  BOOST_TEST(names.back().starts_with("values#"));
  BOOST_TEST((code_of(client.runs.cancel(thread.thread_id, run.run_id).try_get())
              == errc::missing_key)); // it has ended
  client.runs.remove(thread.thread_id, run.run_id).get();
  BOOST_TEST(
    (code_of(client.runs.get(thread.thread_id, run.run_id).try_get()) == errc::missing_key));
  auto batch = client.runs
                 .create_batch({{.assistant_id = "adder", .input = value::map({{"n", 1}})},
                                {.assistant_id = "adder", .input = value::map({{"n", 2}})}})
                 .get();
  BOOST_TEST(batch.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_run_streams_its_events_with_ids_when_they_are_kept, served_graphs) {
  remote_run_request request{.assistant_id = "adder", .input = value::map({{"n", 1}})};
  request.stream_mode = {"values", "updates"};
  request.stream_resumable = true;
  auto thread = client.threads.create().get();
  auto stream = client.runs.stream(thread.thread_id, request);
  std::vector<std::string> modes;
  while (auto event = stream.next()) {
    modes.push_back(event->event);
    BOOST_TEST(!event->id.empty());
  }
  BOOST_TEST((modes == std::vector<std::string>{"metadata", "values", "updates", "values"}));
  BOOST_TEST(!stream.run_id().empty());
  auto stateless = client.runs.stream("",
                                      {.assistant_id = "adder", .input = value::map({{"n", 1}})});
  BOOST_TEST(test::names_of(stateless).size() == 3u);
  BOOST_TEST(stateless.thread_id().empty());
}

BOOST_FIXTURE_TEST_CASE(a_question_is_answered_by_a_command, served_graphs) {
  auto thread = client.threads.create().get();
  auto asked =
    client.runs.wait(thread.thread_id, {.assistant_id = "approval", .input = value::map()}).get();
  BOOST_TEST((asked["__interrupt__"][0]["value"]["question"] == value("hello")));
  auto waiting = client.threads.get(thread.thread_id).get();
  BOOST_TEST(waiting.status == "interrupted");
  BOOST_REQUIRE(waiting.interrupts.size() == 1u);
  BOOST_TEST((waiting.interrupts[0].value["question"] == value("hello")));
  auto answered = client.runs
                    .wait(thread.thread_id,
                          {.assistant_id = "approval", .command = command{.resume = "yes"}})
                    .get();
  BOOST_TEST((answered["answer"] == value("yes")));
}

BOOST_FIXTURE_TEST_CASE(a_failed_run_is_an_error_with_its_class, served_graphs) {
  auto thread = client.threads.create().get();
  auto failed =
    client.runs.wait(thread.thread_id, {.assistant_id = "failing", .input = value::map({{"n", 1}})})
      .try_get();
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().type() == "ValueError");
  BOOST_TEST(failed.error().message().find("boom happened") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(crons_are_made_found_changed_and_removed, served_graphs) {
  auto made = client.crons
                .create({.schedule = "0 5 * * *",
                         .run = {.assistant_id = "adder", .input = value::map({{"n", 1}})}})
                .get();
  BOOST_TEST(made.schedule == "0 5 * * *");
  BOOST_TEST(!made.next_run_date.empty());
  auto changed = client.crons.update(made.cron_id, {.enabled = false}).get();
  BOOST_TEST(!changed.enabled);
  BOOST_TEST(client.crons.search().get().size() == 1u);
  BOOST_TEST(client.crons.count().get() == 1);
  client.crons.remove(made.cron_id).get();
  BOOST_TEST(client.crons.count().get() == 0);
  BOOST_TEST(
    (code_of(client.crons.create({.schedule = "never", .run = {.assistant_id = "adder"}}).try_get())
     == errc::invalid_value));
}

BOOST_FIXTURE_TEST_CASE(items_are_stored_found_and_removed, served_graphs) {
  client.store.put({"users", "ann"}, "colour", value::map({{"likes", "blue"}})).get();
  auto item = client.store.get({"users", "ann"}, "colour").get();
  BOOST_REQUIRE(item.has_value());
  BOOST_TEST((item->value["likes"] == value("blue")));
  BOOST_TEST((item->ns == std::vector<std::string>{"users", "ann"}));
  BOOST_TEST(client.store.search({.prefix = {"users"}}).get().size() == 1u);
  BOOST_TEST(
    (client.store.namespaces().get() == std::vector<std::vector<std::string>>{{"users", "ann"}}));
  client.store.remove({"users", "ann"}, "colour").get();
  BOOST_TEST(!client.store.get({"users", "ann"}, "colour").get().has_value());
  BOOST_CHECK_THROW(client.store.get({"a.b"}, "k"), error);
}

BOOST_FIXTURE_TEST_CASE(refusals_of_the_server_keep_its_text, served_graphs) {
  auto missing = client.threads.get(known_thread).try_get();
  BOOST_TEST((code_of(missing) == errc::missing_key));
  BOOST_TEST(missing.error().type() == "NotFoundError");
  BOOST_TEST((code_of(client.threads.get("not-a-uuid").try_get()) == errc::invalid_value));
  client.threads.create({.thread_id = known_thread}).get();
  auto twice = client.threads.create({.thread_id = known_thread}).try_get();
  BOOST_TEST((code_of(twice) == errc::conflict));
  BOOST_TEST(!twice.error().details()["detail"].as<std::string>().empty());
  auto bad = client.runs
               .create(known_thread, {.assistant_id = "adder", .multitask_strategy = "perhaps"})
               .try_get();
  BOOST_TEST((code_of(bad) == errc::invalid_value));
}

BOOST_FIXTURE_TEST_CASE(a_body_awaits_answers_and_refusals, served_graphs) {
  runtime rt;
  auto answer = test::try_body(rt, [with = client](context& ctx) -> coro<value> {
    auto making = with.threads.create().get(ctx);
    auto thread = co_await making;
    remote_run_request request{.assistant_id = "adder", .input = value::map({{"n", 1}})};
    auto running = with.runs.wait(thread.thread_id, request).get(ctx);
    auto out = co_await running;
    errc code = errc::ok;
    try {
      auto asking = with.threads.get(known_thread).get(ctx);
      co_await asking;
    } catch (const error& e) {
      code = e.code();
    }
    co_return value::list({out["n"], code == errc::missing_key});
  });
  BOOST_TEST((answer.value() == value::list({2, true})));
}

BOOST_AUTO_TEST_CASE(the_key_and_headers_go_with_each_request_and_into_no_error) {
  test::fake_provider server;
  server.always(test::json_reply(R"({"detail":"no entry for lsv2_secret, tenant-7"})", 403));
  auto options = options_for(server.url());
  options.api_key = "lsv2_secret";
  options.headers = {{"X-Tenant", "tenant-7"}};
  agent_client client{options};
  auto failed = client.threads.get("a/b").try_get();
  BOOST_REQUIRE(!failed);
  BOOST_TEST((failed.error().code() == errc::invalid_config));
  BOOST_TEST(failed.error().message().find("lsv2") == std::string::npos);
  BOOST_TEST(failed.error().message().find("tenant-7") == std::string::npos);
  auto seen = server.requests().at(0);
  BOOST_TEST(seen.target == "/threads/a%2Fb");
  BOOST_TEST(seen.header_of("x-api-key") == "lsv2_secret");
  BOOST_TEST(seen.header_of("x-tenant") == "tenant-7");
}

BOOST_AUTO_TEST_CASE(the_environment_has_a_key_unless_it_must_not_be_asked) {
  test::fake_provider server;
  server.always(test::json_reply("[]"));
  ::setenv("LANGGRAPH_API_KEY", " \"from-env\" ", 1);
  auto options = options_for(server.url());
  agent_client{options}.threads.search().get();
  options.key_from_environment = true;
  agent_client{options}.threads.search().get();
  ::unsetenv("LANGGRAPH_API_KEY");
  auto seen = server.requests();
  BOOST_TEST(seen.at(0).header_of("x-api-key").empty());
  BOOST_TEST(seen.at(1).header_of("x-api-key") == "from-env");
}

BOOST_AUTO_TEST_CASE(options_that_cannot_be_used_are_refused_when_the_client_is_made) {
  auto is_bad_config = [](const error& e) { return e.code() == errc::invalid_config; };
  BOOST_CHECK_EXCEPTION(agent_client{options_for("ftp://host")}, error, is_bad_config);
  BOOST_CHECK_EXCEPTION(agent_client{options_for("http://me:secret@host")}, error, is_bad_config);
  auto options = options_for("http://127.0.0.1:1");
  options.headers = {{"X-Api-Key", "k"}};
  BOOST_CHECK_EXCEPTION(agent_client{options}, error, is_bad_config);
  options.headers.clear();
  options.api_key = "two\r\nlines";
  BOOST_CHECK_EXCEPTION(agent_client{options}, error, is_bad_config);
}

BOOST_AUTO_TEST_CASE(answers_that_are_not_what_they_should_be_are_errors) {
  test::fake_provider server;
  agent_client client{options_for(server.url())};
  server.then(test::json_reply("<html>"));
  BOOST_TEST((code_of(client.threads.get("t").try_get()) == errc::invalid_value));
  server.then(test::json_reply("[1]"));
  BOOST_TEST((code_of(client.threads.get("t").try_get()) == errc::invalid_value));
  server.then(test::json_reply("{}"));
  BOOST_TEST((code_of(client.threads.count().try_get()) == errc::invalid_value));
}

BOOST_AUTO_TEST_CASE(a_server_that_is_not_there_is_an_error_of_the_connection) {
  std::string url;
  {
    test::fake_provider gone;
    url = gone.url();
  }
  auto failed = agent_client{options_for(url)}.threads.get("t").try_get();
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().type() == "HTTPError");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
