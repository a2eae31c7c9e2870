// Events of a run, as LangChain's tracers have them.
#include "server/rules/run_tracing.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe::server::test {
namespace {

using place = std::vector<std::string>;

value read(const std::string& json) {
  return from_json(json, json_form::plain).value();
}

// A run with its events, a line each: the event, its name, its parents, its own id.
struct tracing_world {
  tracing_world()
    : tracing{{.run_id = "root",
               .name = "g",
               .input = read(R"({"n":1})"),
               .metadata = read(R"({"user":"u"})"),
               .nested = {{"sub", "inner"}}},
              [this] { return "r" + std::to_string(++made); }} {}

  void take(stream_mode mode, const std::string& data, const place& ns = {}) {
    for (auto& one : tracing.part({mode, ns, read(data)}))
      seen.push_back(std::move(one));
  }
  void begin(const std::string& name, const std::string& input = R"({"n":1})",
             const place& ns = {}) {
    take(stream_mode::debug,
         R"({"type":"task","step":1,"payload":{"id":"t-)" + name + R"(","name":")" + name
           + R"(","triggers":["x"],"input":)" + input + "}}",
         ns);
  }
  void end(const std::string& name, const std::string& members = R"("result":{"n":2})",
           const place& ns = {}) {
    take(stream_mode::debug,
         R"({"type":"task_result","step":1,"payload":{"id":"t-)" + name + R"(","name":")" + name
           + R"(","error":null,"interrupts":[],)" + members + "}}",
         ns);
  }
  void say(const std::string& task, const std::string& text, bool is_last = false) {
    auto payload =
      value::map({{"role", "assistant"}, {"id", "m"}, {"content", text}, {"chunk", true}});
    if (is_last)
      payload = payload.with("chunk_position", "last");
    auto metadata =
      value::map({{"langgraph_checkpoint_ns", task + ":t-" + task}, {"ls_model_name", "parrot"}});
    auto part = value::list({value::extension(value_kind::message, payload), metadata});
    for (auto& one : tracing.part({stream_mode::messages, {}, part}))
      seen.push_back(std::move(one));
  }
  std::string told() {
    std::string out;
    for (const auto& one : seen) {
      out += one["event"].as<std::string>().substr(3) + ' ' + one["name"].as<std::string>() + '/';
      for (const auto& parent : one["parent_ids"].items())
        out += parent.as<std::string>() + '/';
      out += one["run_id"].as<std::string>() + '\n';
    }
    seen.clear();
    return out;
  }

  int made = 0;
  run_tracing tracing;
  std::vector<value> seen;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(server_run_tracing, tracing_world)

BOOST_AUTO_TEST_CASE(a_run_begins_and_ends) {
  auto began = tracing.began();
  BOOST_TEST(to_json(began)
             == R"({"data":{"input":{"n":1}},"event":"on_chain_start","metadata":{"user":"u"},)"
                R"("name":"g","parent_ids":[],"run_id":"root","tags":[]})");
  auto ended = tracing.ended(read(R"({"n":3})"));
  BOOST_TEST(ended["event"] == value("on_chain_end"));
  BOOST_TEST(to_json(ended["data"]) == R"({"output":{"n":3}})");
}

BOOST_AUTO_TEST_CASE(a_task_has_its_input_its_writes_and_its_place) {
  begin("a");
  BOOST_TEST(to_json(seen[0]["tags"]) == R"(["graph:step:1"])");
  BOOST_TEST(
    to_json(seen[0]["metadata"])
    == R"({"langgraph_checkpoint_ns":"a:t-a","langgraph_node":"a",)"
       R"("langgraph_path":["__pregel_pull","a"],"langgraph_step":1,"langgraph_triggers":["x"],"user":"u"})");
  BOOST_TEST(to_json(seen[0]["data"]) == R"({"input":{"n":1}})");
  end("a");
  BOOST_TEST(to_json(seen[1]["data"]) == R"({"chunk":{"n":2}})");
  BOOST_TEST(to_json(seen[2]["data"]) == R"({"input":{"n":1},"output":{"n":2}})");
  BOOST_TEST(told() == "chain_start a/root/r1\nchain_stream a/root/r1\nchain_end a/root/r1\n");
}

BOOST_AUTO_TEST_CASE(a_task_that_fails_or_asks_has_no_end) {
  for (const char* how :
       {R"("error":"E","result":null)", R"("interrupts":[{"value":1}],"result":null)"}) {
    begin("a");
    seen.clear();
    take(stream_mode::debug,
         std::string{R"({"type":"task_result","payload":{"id":"t-a",)"} + how + "}}");
    BOOST_TEST(told() == "");
  }
  end("never begun");
  take(stream_mode::debug, R"({"type":"checkpoint","payload":{}})");
  BOOST_TEST(told() == "");
}

BOOST_AUTO_TEST_CASE(a_nested_graph_begins_with_its_first_task_and_ends_with_its_own) {
  begin("sub");
  begin("x", "{}", {"sub:t-sub"});
  end("x", R"("result":null)", {"sub:t-sub"});
  begin("y", "{}", {"sub:t-sub"});
  end("y", R"("result":null)", {"sub:t-sub"});
  end("sub");
  BOOST_TEST(told()
             == "chain_start sub/root/r1\n"
                "chain_start inner/root/r1/r2\n"
                "chain_start x/root/r1/r2/r3\n"
                "chain_stream x/root/r1/r2/r3\n"
                "chain_end x/root/r1/r2/r3\n"
                "chain_start y/root/r1/r2/r4\n"
                "chain_stream y/root/r1/r2/r4\n"
                "chain_end y/root/r1/r2/r4\n"
                "chain_end inner/root/r1/r2\n"
                "chain_stream sub/root/r1\n"
                "chain_end sub/root/r1\n");
}

BOOST_AUTO_TEST_CASE(a_model_streams_within_its_task) {
  begin("a", R"({"messages":["hi"]})");
  seen.clear();
  say("a", "Hel");
  BOOST_TEST(to_json(seen[0]["data"]) == R"({"input":{"messages":[["hi"]]}})");
  BOOST_TEST(seen[0]["metadata"]["langgraph_node"] == value("a"));
  say("a", "lo", true);
  BOOST_TEST(seen.back()["data"]["output"]["content"] == value("Hello"));
  BOOST_TEST(seen.back()["data"]["output"]["type"] == value("ai"));
  BOOST_TEST(told()
             == "chat_model_start parrot/root/r1/r2\n"
                "chat_model_stream parrot/root/r1/r2\n"
                "chat_model_stream parrot/root/r1/r2\n"
                "chat_model_end parrot/root/r1/r2\n");
  say("a", "no last piece");
  seen.clear();
  end("a");
  BOOST_TEST(told()
             == "chat_model_end parrot/root/r1/r3\nchain_stream a/root/r1\nchain_end a/root/r1\n");
  say("a", "after its task");
  BOOST_TEST(told() == "");
}

BOOST_AUTO_TEST_CASE(a_tool_runs_within_the_task_that_has_its_call) {
  auto call = [this](const std::string& id, const std::string& more) {
    take(stream_mode::tools,
         R"({"tool_call_id":")" + id + R"(","tool_name":"f","event":)" + more + "}");
  };
  begin("one", R"({"calls":[{"id":"c1"}]})");
  begin("two", R"({"calls":[{"id":"c2"}]})");
  seen.clear();
  call("c1", R"("tool-started","input":{"x":1})");
  call("c2", R"("tool-started","input":{})");
  call("c1", R"("tool-output-delta","delta":"p")");
  call("c1", R"("tool-finished","output":"done")");
  BOOST_TEST(to_json(seen[2]["data"]) == R"({"input":{"x":1},"output":"done"})");
  call("c2", R"("tool-error","message":"no")");
  call("c2", R"("tool-finished","output":"too late")");
  BOOST_TEST(told() == "tool_start f/root/r1/r3\ntool_start f/root/r2/r4\ntool_end f/root/r1/r3\n");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
