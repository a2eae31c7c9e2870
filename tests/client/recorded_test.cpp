// Answers of LangGraph's own server to its RemoteGraph, read by this one.
#include "tests/client/scripted_server.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace troupe {
namespace {

using test::fake_provider;
using test::options_for;

struct recording {
  value request;
  value response;
};

recording recording_named(const std::string& name) {
  auto folder = std::filesystem::path{TROUPE_SOURCE_DIR} / "tests/server/recordings";
  std::ifstream file{folder / (name + ".json")};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  auto json = from_json(text, json_form::plain).value();
  return {json["request"], json["response"]};
}

// The recorded answer, byte for byte where it was a stream.
test::responder answer_of(const recording& recorded) {
  test::http_reply reply;
  reply.status = static_cast<int>(recorded.response["status"].as_int());
  for (const auto& header : recorded.response["headers"].entries())
    if (std::string name{header.key()};
        name == "content-type" || name == "location" || name == "content-location")
      reply.headers.emplace_back(name, header.val.as<std::string>());
  const auto& stream = recorded.response["sse_raw"];
  reply.body.emplace_back(test::send_bytes{
    stream.is_string() ? stream.as<std::string>() : to_json(recorded.response["body"])});
  reply.chunked = stream.is_string();
  return test::replies(std::move(reply));
}

struct recorded_server {
  fake_provider server;
  agent_client client{options_for(server.url())};
  std::string thread = recording_named("567-remotegraph-stream")
                         .request["path"]
                         .as<std::string>()
                         .substr(std::string_view{"/threads/"}.size(), 36);

  recording play(const std::string& name) {
    auto recorded = recording_named(name);
    server.then(answer_of(recorded));
    return recorded;
  }
  // The last request has the recorded one's method and path.
  void check_asked(const recording& recorded) {
    auto seen = server.requests().back();
    BOOST_TEST((value(seen.method) == recorded.request["method"]));
    BOOST_TEST((value(seen.target.substr(0, seen.target.find('?'))) == recorded.request["path"]));
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(client_recorded, recorded_server)

BOOST_AUTO_TEST_CASE(a_run_without_a_thread_gives_its_last_state) {
  auto recorded = play("565-remotegraph-invoke-stateless");
  auto out = remote_graph{client, "plain"}.invoke(value::map({{"count", 1}}));
  check_asked(recorded);
  BOOST_TEST((out.value() == value::map({{"count", 12}, {"log", value::list({"a", "b"})}})));
  BOOST_TEST(!out.paused());
  for (const auto* member : {"assistant_id", "input", "stream_mode", "if_not_exists"})
    BOOST_TEST((server.requests().back().body[member] == recorded.request["body"][member]));
}

BOOST_AUTO_TEST_CASE(a_run_that_asks_gives_its_question_and_its_state) {
  auto recorded = play("567-remotegraph-stream");
  server.then(test::run_with_status("success"));
  auto out = remote_graph{client, "approval"}.invoke(run_input{}, {.thread_id = thread});
  BOOST_TEST(server.requests().size() == 2u);
  BOOST_TEST((value(server.requests().front().target) == recorded.request["path"]));
  BOOST_REQUIRE(out.interrupts().size() == 1u);
  BOOST_TEST(out.interrupts()[0].id == "33ac10b8256a1353629177e580b3c2cf");
  BOOST_TEST((out.interrupts()[0].value["question"] == value("approve?")));
  BOOST_TEST((out.value() == value::map({{"draft", "hello"}, {"log", value::list({"write"})}})));
}

BOOST_AUTO_TEST_CASE(a_state_and_a_history_are_snapshots) {
  auto recorded = play("570-remotegraph-getstate-get-subgraphs");
  auto state = client.threads.get_state(thread, {}, true).get();
  check_asked(recorded);
  BOOST_TEST(state.config.thread_id == thread);
  BOOST_TEST((state.next == std::vector<std::string>{"review"}));
  BOOST_REQUIRE(state.interrupts.size() == 1u);
  BOOST_TEST(state.tasks.at(0).name == "review");
  BOOST_TEST(!state.parent_id.empty());
  BOOST_TEST(!state.created_at.empty());
  recorded = play("571-remotegraph-history");
  auto past = remote_graph{client, "approval"}.get_state_history({.thread_id = thread}).get();
  check_asked(recorded);
  BOOST_TEST(past.size() == recorded.response["body"].size());
  BOOST_TEST(past.at(0).config.checkpoint_id == state.config.checkpoint_id);
}

BOOST_AUTO_TEST_CASE(an_update_gives_the_place_of_its_checkpoint) {
  auto recorded = play("572-remotegraph-updatestate");
  auto at = remote_graph{client, "approval"}
              .update_state({.thread_id = thread}, {{"draft", "changed"}}, "write")
              .get();
  check_asked(recorded);
  BOOST_TEST((value(at.checkpoint_id) == recorded.response["body"]["checkpoint"]["checkpoint_id"]));
}

BOOST_AUTO_TEST_CASE(a_graph_is_drawn) {
  auto recorded = play("573-remotegraph-getgraph");
  auto graph = remote_graph{client, "approval"}.get_graph(xray_all).get();
  check_asked(recorded);
  BOOST_TEST(graph.nodes().size() == recorded.response["body"]["nodes"].size() - 2);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
