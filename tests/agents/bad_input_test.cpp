// Models and tools that misbehave: the outcome, and that the thread continues.
#include <troupe/agents/agent.hpp>
#include <troupe/agents/model_providers.hpp>
#include <troupe/agents/teams.hpp>
#include <troupe/limits.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;

using bad_script = std::vector<scripted_model::answer>;

tool_call bad_call(std::string name, std::string id, value args = value::map()) {
  return {.name = std::move(name), .args = std::move(args), .id = std::move(id)};
}
value bad_answer(std::vector<tool_call> calls) {
  return ai_message("", calls);
}
tool_call adds(std::int64_t a, std::string id) {
  return bad_call("add", std::move(id), value{{"a", a}});
}

tool plain_adder() {
  return {"add", "", [](arg<"a", std::int64_t> a) { return *a + 1; }, {.lane = lane::standard}};
}

// Both prebuilt agents, which must bear the same.
enum class agent_kind : std::uint8_t { react_v1, react_v2, middleware };
constexpr agent_kind every_kind[] = {agent_kind::react_v1, agent_kind::react_v2,
                                     agent_kind::middleware};
std::ostream& operator<<(std::ostream& out, agent_kind k) {
  return out << static_cast<int>(k);
}

struct bad_setup {
  bad_script answers;
  std::vector<tool> tools = {plain_adder()};
  tool_node_options tool_node = {};
  std::chrono::milliseconds tool_timeout{0};
};

compiled_graph agent_of(agent_kind kind, bad_setup with) {
  auto model = std::make_shared<scripted_model>(std::move(with.answers));
  if (kind == agent_kind::middleware)
    return create_agent({.model = model,
                         .tools = std::move(with.tools),
                         .tool_node = std::move(with.tool_node),
                         .tool_timeout = with.tool_timeout});
  return create_react_agent({.model = model,
                             .tools = std::move(with.tools),
                             .version = kind == agent_kind::react_v1 ? "v1" : "v2",
                             .tool_node = std::move(with.tool_node),
                             .tool_timeout = with.tool_timeout});
}

// One thread with one agent.
class bad_talk {
public:
  bad_talk(agent_kind kind, bad_setup with)
    : rt_{{.saver = make_memory_saver()}},
      app_{rt_.load(agent_of(kind, std::move(with)))} {}

  /// The messages since the beginning, or the class of the failure.
  std::string say(const std::string& text, std::uint32_t steps = 25) {
    return outcome(value{{"messages", value::list({human_message(text)})}}, steps);
  }
  /// The same after messages of tools that answer the calls a failed run left open.
  std::string answer_open_and_say(const std::string& text) {
    std::vector<value> said;
    auto state = app_.get_state(config(25)).values;
    const auto& messages = state["messages"];
    for (const auto& call : message_tool_calls(messages[messages.size() - 1]).items())
      said.push_back(tool_message("cancelled", call["id"].as<std::string>(), "add", "error"));
    said.push_back(human_message(text));
    return outcome(value{{"messages", value::list(std::move(said))}}, 25);
  }
  const value& messages() const { return messages_; }
  errc code() const { return code_; }

private:
  static run_config config(std::uint32_t steps) {
    return {.thread_id = "t", .recursion_limit = steps};
  }
  std::string outcome(const run_input& input, std::uint32_t steps) {
    auto out = app_.try_invoke(input, config(steps));
    if (!out) {
      code_ = out.error().code();
      return reference_name(out.error());
    }
    messages_ = out->value()["messages"];
    std::string text;
    for (const auto& m : messages_.items())
      text += std::string{message_role(m)} + ": " + message_text(m).substr(0, 200) + "\n";
    return text;
  }

  runtime rt_;
  app<> app_;
  value messages_;
  errc code_{};
};

std::vector<std::string> ids_of_results(const value& messages) {
  std::vector<std::string> out;
  for (const auto& m : messages.items())
    if (message_role(m) == "tool")
      out.push_back(message_member(m, "tool_call_id").as<std::string>());
  return out;
}

// Captures the two outputs of this process during its lifetime.
class captured_outputs {
public:
  captured_outputs() {
    std::fflush(nullptr);
    char name[] = "/tmp/troupe-log-XXXXXX";
    int file = ::mkstemp(name);
    path_ = name;
    for (int fd : {1, 2})
      kept_[fd - 1] = ::dup(fd), ::dup2(file, fd);
    ::close(file);
  }
  ~captured_outputs() {
    restore();
    std::remove(path_.c_str());
  }
  captured_outputs(const captured_outputs&) = delete;
  captured_outputs& operator=(const captured_outputs&) = delete;

  std::string text() {
    restore();
    std::ifstream in{path_};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

private:
  void restore() {
    std::fflush(nullptr);
    for (int fd : {1, 2})
      if (int& kept = kept_[fd - 1]; kept >= 0) {
        ::dup2(kept, fd);
        ::close(kept);
        kept = -1;
      }
  }
  std::string path_;
  int kept_[2] = {-1, -1};
};

} // namespace

BOOST_AUTO_TEST_SUITE(agents_bad_input)

// ---- models ---------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_call_of_a_tool_there_is_not_is_answered, data::make(every_kind), kind) {
  bad_talk talk{kind, {{bad_answer({bad_call("fly", "1")}), "sorry", "yes"}}};
  BOOST_TEST(talk.say("hi")
             == "user: hi\nassistant: \ntool: Error: fly is not a valid tool, try one of "
                "[add].\nassistant: sorry\n");
  BOOST_TEST(talk.say("again").ends_with("assistant: sorry\nuser: again\nassistant: yes\n"));
}

BOOST_DATA_TEST_CASE(arguments_of_the_wrong_kind_are_answered, data::make(every_kind), kind) {
  bad_talk talk{kind, {{bad_answer({bad_call("add", "1", value{{"a", "x"}})}), "sorry"}}};
  BOOST_TEST(talk.say("hi").find("a: Input should be a valid integer") != std::string::npos);
}

BOOST_DATA_TEST_CASE(arguments_that_are_no_json_are_told_to_the_model, data::make(every_kind),
                     kind) {
  auto invalid = value::map(
    {{"name", "add"}, {"args", "{\"a\": "}, {"id", "bad"}, {"type", "invalid_tool_call"}});
  auto broken =
    value::extension(value_kind::message,
                     ai_message("").payload().with("invalid_tool_calls", value::list({invalid})));
  bad_talk talk{kind, {{broken, "better", "yes"}}};
  BOOST_TEST(talk.say("hi")
             == "user: hi\nassistant: \ntool: Tool call add with id bad could not be executed - "
                "arguments were malformed or truncated. Call it again with arguments that are one "
                "complete JSON object.\nassistant: better\n");
  BOOST_TEST(talk.say("again").ends_with("assistant: better\nuser: again\nassistant: yes\n"));
}

BOOST_DATA_TEST_CASE(calls_of_one_answer_with_one_id_all_run_and_are_told_apart,
                     data::make(every_kind), kind) {
  bad_talk talk{kind,
                {{bad_answer({adds(1, "x"), adds(2, "x"), adds(3, ""), adds(4, "")}), "done"}}};
  BOOST_TEST(talk.say("hi")
             == "user: hi\nassistant: \ntool: 2\ntool: 3\ntool: 4\ntool: 5\nassistant: done\n");
  auto ids = ids_of_results(talk.messages());
  BOOST_TEST(ids[0] == "x");
  BOOST_TEST(ids[1] == "x-2");
  BOOST_TEST(ids[2].starts_with("call-"));
  BOOST_TEST(ids[3] == ids[2].substr(0, ids[2].size()) + "-2");
}

BOOST_DATA_TEST_CASE(an_id_that_was_used_before_is_no_answered_call, data::make(every_kind), kind) {
  bad_talk talk{kind, {{bad_answer({adds(1, "x")}), bad_answer({adds(5, "x")}), "done"}}};
  BOOST_TEST(talk.say("hi")
             == "user: hi\nassistant: \ntool: 2\nassistant: \ntool: 6\nassistant: done\n");
}

BOOST_DATA_TEST_CASE(a_model_that_never_stops_calling_is_stopped_and_the_thread_goes_on,
                     data::make(every_kind), kind) {
  bad_script answers;
  for (int i = 0; i < 4; ++i)
    answers.emplace_back(bad_answer({adds(i, std::to_string(i))}));
  answers.emplace_back("done");
  bad_talk talk{kind, {std::move(answers)}};
  BOOST_TEST(talk.say("hi", 3) == "GraphRecursionError");
  BOOST_TEST((talk.code() == errc::graph_recursion));
  BOOST_TEST(talk.say("again").ends_with("assistant: done\n"));
}

BOOST_DATA_TEST_CASE(a_prompt_that_is_too_long_is_a_typed_error_and_the_thread_goes_on,
                     data::make(every_kind), kind) {
  scripted_model::function full = [](const value&) -> value {
    throw model_error{
      errc::invalid_value, "prompt is too long", "ContextOverflowError", {.status = 400}};
  };
  bad_talk talk{kind, {{full, "better"}}};
  BOOST_TEST(talk.say("hi") == "ContextOverflowError");
  BOOST_TEST((talk.code() == errc::invalid_value));
  BOOST_TEST(talk.say("again") == "user: hi\nuser: again\nassistant: better\n");
}

BOOST_DATA_TEST_CASE(what_is_no_answer_is_a_typed_error, data::make(every_kind), kind) {
  bad_talk talk{kind, {{human_message("I am the user"), "better"}}};
  BOOST_TEST(talk.say("hi") == "TypeError");
  BOOST_TEST((talk.code() == errc::invalid_value));
  BOOST_TEST(talk.say("again").ends_with("assistant: better\n"));
}

// ---- tools ----------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(what_a_tool_throws_is_a_typed_error_and_the_thread_goes_on,
                     data::make(every_kind), kind) {
  tool throws{"add", "", []() -> int { throw std::runtime_error{"broken"}; }};
  bad_talk talk{kind, {{bad_answer({adds(1, "x")}), "sorry"}, {throws}}};
  BOOST_TEST(talk.say("hi") == "std::runtime_error");
  BOOST_TEST((talk.code() == errc::node_failed));
  // An agent with middleware answers what was left open, the other one wants it answered.
  bool repairs = kind == agent_kind::middleware;
  BOOST_TEST((repairs ? talk.say("again") : talk.answer_open_and_say("again"))
               .ends_with("user: again\nassistant: sorry\n"));
}

BOOST_AUTO_TEST_CASE(what_is_thrown_and_no_exception_is_an_error_too) {
  tool throws{"add", "", []() -> int { throw 42; }};
  bad_talk talk{agent_kind::middleware, {{bad_answer({adds(1, "x")}), "sorry"}, {throws}}};
  talk.say("hi");
  BOOST_TEST((talk.code() == errc::node_failed));
}

BOOST_DATA_TEST_CASE(a_tool_that_hangs_is_answered_for_when_its_time_is_up, data::make(every_kind),
                     kind) {
  auto go_on = std::make_shared<std::promise<void>>();
  tool hangs{"add", "", [left = go_on->get_future().share()] {
               left.wait();
               return "too late";
             }};
  bad_talk talk{kind,
                {.answers = {bad_answer({adds(1, "x")}), "sorry"},
                 .tools = {hangs},
                 .tool_timeout = std::chrono::milliseconds{10}}};
  BOOST_TEST(talk.say("hi")
             == "user: hi\nassistant: \ntool: Error: tool 'add' was given up after 10 "
                "ms.\nassistant: sorry\n");
  BOOST_TEST(message_member(talk.messages()[2], "status") == value("error"));
  go_on->set_value();
}

BOOST_DATA_TEST_CASE(a_handoff_beside_a_tool_that_hangs_still_runs, data::make(every_kind), kind) {
  auto go_on = std::make_shared<std::promise<void>>();
  tool hangs{"add", "", [left = go_on->get_future().share()] { left.wait(); }};
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("first",
             agent_of(kind,
                      {.answers = {bad_answer({adds(1, "x"), bad_call("transfer_to_next", "h")})},
                       .tools = {hangs, create_handoff_tool({.agent = "next"})},
                       .tool_timeout = std::chrono::milliseconds{10}}));
  g.add_node("next", agent_of(kind, {.answers = {"here"}}));
  g.add_edge(START, "first");
  runtime rt;
  auto out = rt.load(g.compile()).invoke(value{{"messages", value::list({human_message("hi")})}});
  const auto& messages = out.value()["messages"];
  BOOST_REQUIRE(messages.size() == 5u);
  BOOST_TEST(message_text(messages[2]).find("given up") != std::string::npos);
  BOOST_TEST(message_text(messages[3]) == "Successfully transferred to next");
  BOOST_TEST(message_text(messages[4]) == "here");
  go_on->set_value();
}

BOOST_AUTO_TEST_CASE(what_a_tool_with_a_time_out_throws_is_still_its_own_error) {
  tool throws{"add", "", []() -> int { throw node_error{"KeyError", "k"}; }};
  bad_talk talk{agent_kind::middleware,
                {.answers = {bad_answer({adds(1, "x")})},
                 .tools = {throws},
                 .tool_timeout = std::chrono::minutes{1}}};
  BOOST_TEST(talk.say("hi") == "KeyError");
}

BOOST_DATA_TEST_CASE(a_result_that_is_too_large_is_refused, data::make(every_kind), kind) {
  tool gives{"add", "", [](arg<"a", std::int64_t> over) {
               return std::string(limits::tool_result_bytes_max + static_cast<std::size_t>(*over),
                                  'x');
             }};
  auto turn = [&](std::int64_t over, bool told) {
    bad_talk talk{kind,
                  {.answers = {bad_answer({adds(over, "x")}), "next"},
                   .tools = {gives},
                   .tool_node = {.handle_tool_errors = told ? tool_errors{true} : tool_errors{}}}};
    auto said = talk.say("hi");
    return said;
  };
  if (kind == agent_kind::middleware)
    BOOST_TEST(turn(0, false).ends_with("assistant: next\n"));
  BOOST_TEST(turn(1, false) == "ToolOutputError");
  BOOST_TEST(turn(1, true).find("tool: Error: ToolOutputError('tool add: its result has more "
                                "than 16777216 bytes (tool_result_bytes_max)')")
             != std::string::npos);
}

// ---- logs -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(nothing_of_a_conversation_is_logged) {
  captured_outputs outputs;
  tool leaky{"add", "", [](arg<"a", std::int64_t> a) {
               if (*a == 1)
                 throw std::runtime_error{"secret-error"};
               return "secret-result";
             }};
  for (auto kind : every_kind)
    for (bool told : {false, true}) {
      bad_talk talk{kind,
                    {.answers = {bad_answer({adds(1, "x")}), bad_answer({adds(2, "y")}),
                                 bad_answer({bad_call("secret-tool", "z")}), "secret-answer"},
                     .tools = {leaky},
                     .tool_node = {.handle_tool_errors = tool_errors{told}}}};
      talk.say("secret-prompt");
      talk.say("secret-prompt");
    }
  std::fputs("captured\n", stderr);
  auto text = outputs.text();
  BOOST_TEST(text.find("captured") != std::string::npos);
  BOOST_TEST(text.find("secret") == std::string::npos, text);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
