// Features of Anthropic's models: caching, the text editor, bash.
#include "agents/models/anthropic_wire.hpp"
#include "tests/fixtures/coroutine_body.hpp"

#include <troupe/agents/anthropic.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <stdlib.h>

namespace troupe {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<scripted_model> claude(std::vector<scripted_model::answer> answers,
                                       const std::string& name = "anthropic:claude") {
  return std::make_shared<scripted_model>(std::move(answers), scripted_options{.name = name});
}

tool plain_tool(const std::string& name) {
  return {name, "", [](arg<"a", std::int64_t> a) { return *a; }, {.lane = lane::standard}};
}

result<run_result> cached_run(const std::shared_ptr<scripted_model>& model,
                              prompt_caching_options options = {}) {
  runtime rt;
  auto agent = create_agent({.model = model,
                             .tools = {plain_tool("first"), plain_tool("last")},
                             .system_prompt = "Be brief.",
                             .middleware = {anthropic_prompt_caching(std::move(options))}});
  return rt.load(agent).try_invoke(value{{"messages", value::list({human_message("hi")})}});
}

// A folder that goes with the test.
class scratch_folder {
public:
  scratch_folder() {
    std::string name = (fs::temp_directory_path() / "troupe-anthropic-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()));
    path = name;
  }
  ~scratch_folder() { fs::remove_all(path); }
  std::string text(const std::string& name) const {
    std::ifstream in{path / name};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
  fs::path path;
};

// The messages of these calls, run one after the other.
std::vector<value> results_of_calls(const tool& t, const std::vector<value>& arguments) {
  std::vector<value> out;
  tool_node node{{t}, {.handle_tool_errors = true}};
  for (const auto& args : arguments) {
    runtime rt;
    state_graph<> g{{{"messages", add_messages}}};
    g.add_node("tools", node);
    g.add_edge(START, "tools");
    auto call = ai_message("", {{.name = t.name(), .args = args, .id = "1"}});
    auto done = rt.load(g.compile()).invoke(value{{"messages", value::list({call})}});
    const auto& messages = done.value()["messages"];
    out.push_back(messages[messages.size() - 1]);
  }
  return out;
}

std::string texts_of_results(const std::vector<value>& messages) {
  std::string out;
  for (const auto& m : messages)
    out += (message_member(m, "status") == value("error") ? "! " : "") + message_text(m) + "\n";
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_anthropic)

// ---- caching ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(marks_stand_in_the_settings_the_system_message_and_the_last_tool) {
  auto model = claude({"done"});
  BOOST_REQUIRE(cached_run(model, {.ttl = "1h"}));
  auto asked = model->requests().at(0);
  auto body = anthropic_request("claude", {}, asked, false);
  const value mark{{"type", "ephemeral"}, {"ttl", "1h"}};
  BOOST_TEST((body["cache_control"] == mark));
  BOOST_TEST((body["system"][0]["cache_control"] == mark));
  BOOST_TEST((body["system"][0]["text"] == value("Be brief.")));
  BOOST_TEST((body["tools"][1]["cache_control"] == mark));
  BOOST_TEST(!body["tools"][0].contains("cache_control"));
}

BOOST_AUTO_TEST_CASE(short_conversations_are_not_cached) {
  auto model = claude({"done"});
  BOOST_REQUIRE(cached_run(model, {.min_messages_to_cache = 3}));
  BOOST_TEST(!model->requests().at(0).settings.contains("cache_control"));
  auto longer = claude({"done"});
  BOOST_REQUIRE(cached_run(longer, {.min_messages_to_cache = 2})); // the system message counts
  BOOST_TEST(longer->requests().at(0).settings.contains("cache_control"));
}

BOOST_AUTO_TEST_CASE(models_of_others_are_asked_without_a_cache_or_refused) {
  auto other = claude({"done"}, "openai:gpt");
  BOOST_REQUIRE(cached_run(other));
  BOOST_TEST(!other->requests().at(0).settings.contains("cache_control"));
  auto refused = cached_run(claude({"done"}, "openai:gpt"),
                            {.unsupported_model_behavior = unsupported_model::raise});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().type() == "ValueError");
  BOOST_TEST(refused.error().message().find("openai:gpt") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_reader_is_warned_about_a_model_of_others) {
  runtime rt;
  auto warned = [&rt](unsupported_model behavior) {
    auto agent = create_agent(
      {.model = claude({"done"}, "openai:gpt"),
       .middleware = {anthropic_prompt_caching({.unsupported_model_behavior = behavior})}});
    std::size_t out = 0;
    value hello{{"messages", value::list({human_message("hi")})}};
    for (auto& part : rt.load(agent).stream(hello, {}, {stream_mode::custom}))
      out += part.data.contains("warning") ? 1 : 0;
    return out;
  };
  BOOST_TEST(warned(unsupported_model::warn) == 1u);
  BOOST_TEST(warned(unsupported_model::ignore) == 0u);
}

BOOST_AUTO_TEST_CASE(unknown_kinds_of_caches_are_refused) {
  BOOST_CHECK_EXCEPTION(anthropic_prompt_caching({.ttl = "2h"}), error, [](const error& e) {
    return e.code() == errc::invalid_config && e.message().find("2h") != std::string::npos;
  });
  BOOST_CHECK_THROW(anthropic_prompt_caching({.type = "forever"}), error);
}

// ---- the text editor ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_text_editor_carries_out_commands) {
  scratch_folder folder;
  auto editor = text_editor_tool(folder.path);
  BOOST_TEST(
    texts_of_results(results_of_calls(
      editor,
      {value{{"command", "create"}, {"path", "/src/a.txt"}, {"file_text", "one\ntwo\n"}},
       value{{"command", "view"}, {"path", "/src/a.txt"}},
       value{
         {"command", "str_replace"}, {"path", "/src/a.txt"}, {"old_str", "two"}, {"new_str", "2"}},
       value{
         {"command", "insert"}, {"path", "/src/a.txt"}, {"insert_line", 1}, {"insert_text", "1.5"}},
       value{{"command", "view"}, {"path", "/src/a.txt"}, {"view_range", value::list({2, -1})}},
       value{{"command", "view"}, {"path", "/"}}, value{{"command", "view"}, {"path", "/src"}}}))
    == "File created: /src/a.txt\n1|one\n2|two\nString replaced in /src/a.txt\n"
       "Text inserted in /src/a.txt\n2|1.5\n3|2\n/src/\n/src/a.txt\n");
  BOOST_TEST(folder.text("src/a.txt") == "one\n1.5\n2\n");
}

BOOST_AUTO_TEST_CASE(text_goes_in_after_any_line_of_a_file) {
  scratch_folder folder;
  auto editor = text_editor_tool(folder.path);
  auto insert = [](std::int64_t line) {
    return value{{"command", "insert"}, {"path", "a"}, {"insert_line", line}, {"insert_text", "x"}};
  };
  results_of_calls(editor, {value{{"command", "create"}, {"path", "a"}, {"file_text", "one\ntwo"}},
                            insert(0), insert(3)});
  BOOST_TEST(folder.text("a") == "x\none\ntwo\nx\n");
  BOOST_TEST(texts_of_results(results_of_calls(editor, {insert(5), insert(-1)}))
             == "! Error: insert_line must be 0 to 4: 5\n"
                "! Error: insert_line must be 0 to 4: -1\n");
}

BOOST_AUTO_TEST_CASE(edits_that_do_not_fit_are_messages_to_the_model) {
  scratch_folder folder;
  const auto beside = folder.path.filename().string() + "-beside";
  auto editor = text_editor_tool(folder.path,
                                 {.allowed_prefixes = {"/ok", "/../"}, .file_bytes_max = 8});
  auto edit = [](const std::string& path, const char* old_text) {
    return value{
      {"command", "str_replace"}, {"path", path}, {"old_str", old_text}, {"new_str", "b"}};
  };
  results_of_calls(editor,
                   {value{{"command", "create"}, {"path", "/ok/a"}, {"file_text", "aa"}},
                    value{{"command", "create"}, {"path", "/ok/big"}, {"file_text", "123456789"}}});
  auto said = texts_of_results(results_of_calls(
    editor, {edit("/ok/a", "x"), edit("/ok/a", "a"), edit("/ok/none", "a"), edit("/ok/big", "1"),
             edit("/etc/passwd", "a"), edit("/../" + beside, "a"), edit("/ok/a", ""),
             value{{"command", "create"}, {"path", "/ok/b"}}}));
  BOOST_TEST(said.find("! Error: String not found in file: x\n") == 0u);
  for (const auto* part :
       {"String occurs more than once in file: a", "File not found: /ok/none", "File too large",
        "Path must start with one of ['/ok', '/../']: /etc/passwd", "Field required: file_text"})
    BOOST_TEST_CONTEXT(part) BOOST_TEST(said.find(part) != std::string::npos);
  BOOST_TEST(folder.text("ok/a") == "aa");
  BOOST_TEST(!fs::exists(folder.path.parent_path() / beside));
}

// ---- definitions --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(anthropic_gets_the_types_that_its_models_know) {
  scratch_folder folder;
  model_request request{value::list({human_message("hi")})};
  request.tools = tool_definitions(
    {text_editor_tool(folder.path), bash_tool(folder.path, {.sandbox = shell_sandbox::none})});
  auto tools = anthropic_request("claude", {}, request, false)["tools"];
  BOOST_TEST(to_json(tools[0])
             == R"({"name":"str_replace_based_edit_tool","type":"text_editor_20250728"})");
  BOOST_TEST(to_json(tools[1]) == R"({"name":"bash","type":"bash_20250124"})");
}

BOOST_AUTO_TEST_CASE(bash_runs_commands_and_confirms_a_restart) {
  scratch_folder folder;
  auto tool = bash_tool(folder.path, {.sandbox = shell_sandbox::none});
  BOOST_TEST(texts_of_results(
               results_of_calls(tool, {value{{"command", "echo hi"}}, value{{"restart", true}},
                                       value::map(), value{{"command", "exit 3"}}}))
             == "hi\nBash session restarted.\n! Error: Field required: command\n"
                "! <no output>\n\nExit code: 3\n");
  BOOST_TEST(bash(folder.path, {.sandbox = shell_sandbox::none}).tools.size() == 1u);
  BOOST_TEST(text_editor(folder.path).tools.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
