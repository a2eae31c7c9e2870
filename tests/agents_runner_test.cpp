// The loop without a graph, compaction, and the memory tool.
#include <troupe/limits.hpp>
#include <troupe/memory_tool.hpp>
#include <troupe/runtime.hpp>
#include <troupe/tool_runner.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace troupe {
namespace {

using script = std::vector<scripted_model::answer>;

std::shared_ptr<scripted_model> answering(script answers) {
  return std::make_shared<scripted_model>(std::move(answers));
}

value asked(std::string id, std::string text = {}) {
  return ai_message(text, {{.name = "add", .args = value{{"a", 1}}, .id = id}});
}

value with(const value& message, std::string_view member, const value& v) {
  return value::extension(value_kind::message, message.payload().with(member, v));
}

value used(const value& message, std::int64_t tokens) {
  return with(message, "usage", value{{"input_tokens", tokens - 1}, {"output_tokens", 1}});
}

tool counter() {
  return {"add", "", [](arg<"a", std::int64_t> a) { return *a + 1; }, {.lane = lane::standard}};
}

value question() {
  return value::list({human_message("hi")});
}

std::string lines_of(const value& messages) {
  std::string out;
  for (const auto& m : messages.items())
    out += std::string{message_role(m)} + ": " + message_text(m) + "\n";
  return out;
}

// Runs `body` in a node, and gives what the runner holds then.
std::string conversation(tool_runner runner,
                         const std::function<coro<bool>(tool_runner&, context&)>& body) {
  state_graph<> g{{{"text", last_value}}};
  g.add_node("run", [&](const state_view&, context& ctx) -> coro<value> {
    auto running = body(runner, ctx);
    co_await running;
    co_return value{{"text", lines_of(runner.messages())}};
  });
  g.add_edge(START, "run");
  runtime rt;
  auto out = rt.load(g.compile()).try_invoke({});
  return out ? out->value()["text"].as<std::string>() : reference_name(out.error());
}

coro<bool> to_the_end(tool_runner& runner, context& ctx) {
  auto running = runner.until_done(ctx);
  co_await running;
  co_return true;
}

// ---- memory ---------------------------------------------------------------------------------

struct memory_folder {
  std::filesystem::path path;
  std::shared_ptr<memory_backend> memory;

  memory_folder() {
    char name[] = "/tmp/troupe-memory-XXXXXX";
    path = ::mkdtemp(name);
    memory = make_folder_memory(path);
  }
  ~memory_folder() { std::filesystem::remove_all(path); }
  memory_folder(const memory_folder&) = delete;
  memory_folder& operator=(const memory_folder&) = delete;

  // What a command says, or what it refuses with.
  template <class F> std::string said(F command) const {
    try {
      return command(*memory);
    } catch (const node_error& e) {
      BOOST_TEST(e.type() == "ToolError");
      return e.what();
    }
  }
  std::string view(const std::string& file,
                   std::optional<memory_backend::line_range> lines = {}) const {
    return said([&](auto& m) { return m.view(file, lines); });
  }
  std::string create(const std::string& file, const std::string& text) const {
    return said([&](auto& m) { return m.create(file, text); });
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(agents_runner)

BOOST_AUTO_TEST_CASE(a_runner_asks_until_no_tool_is_called_for) {
  tool_runner runner{answering({asked("1"), "done"}), {counter()}, question()};
  BOOST_TEST(conversation(std::move(runner), to_the_end)
             == "user: hi\nassistant: \ntool: 2\nassistant: done\n");
}

BOOST_AUTO_TEST_CASE(a_runner_ends_after_so_many_answers_without_the_last_one_s_tools) {
  tool_runner runner{
    answering({asked("1"), asked("2"), "done"}), {counter()}, question(), {.max_iterations = 2}};
  BOOST_TEST(conversation(std::move(runner), to_the_end) == "user: hi\nassistant: \ntool: 2\n");
}

BOOST_AUTO_TEST_CASE(an_answer_that_was_cut_off_calls_for_nothing) {
  auto cut = with(asked("1", "half"), "response_metadata", value{{"stop_reason", "max_tokens"}});
  tool_runner runner{answering({cut, "never"}), {counter()}, question()};
  BOOST_TEST(conversation(std::move(runner), to_the_end) == "user: hi\nassistant: half\n");
}

BOOST_AUTO_TEST_CASE(who_adds_messages_between_turns_adds_the_answer_too) {
  tool_runner runner{answering({asked("1"), "done"}), {counter()}, question()};
  auto own = [](tool_runner& r, context& ctx) -> coro<bool> {
    auto turn = r.next(ctx);
    auto answer = co_await turn;
    r.append_messages({*answer, tool_message("by hand", "1")});
    auto rest = r.until_done(ctx);
    co_await rest;
    co_return true;
  };
  BOOST_TEST(conversation(std::move(runner), own)
             == "user: hi\nassistant: \ntool: by hand\nassistant: done\n");
}

BOOST_AUTO_TEST_CASE(the_tools_of_a_turn_run_once) {
  int runs = 0;
  tool counting{
    "add", "", [&runs](arg<"a", std::int64_t>) { return ++runs; }, {.lane = lane::standard}};
  tool_runner runner{answering({asked("1"), "done"}), {counting}, question()};
  auto look = [](tool_runner& r, context& ctx) -> coro<bool> {
    auto turn = r.next(ctx);
    co_await turn;
    for (int i = 0; i < 2; ++i) {
      auto running = r.tool_response(ctx);
      auto results = co_await running;
      BOOST_TEST(lines_of(results) == "tool: 1\n");
    }
    auto rest = r.until_done(ctx);
    co_await rest;
    co_return true;
  };
  BOOST_TEST(conversation(std::move(runner), look)
             == "user: hi\nassistant: \ntool: 1\nassistant: done\n");
}

// ---- compaction -----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_long_conversation_becomes_its_summary_with_what_the_last_answer_said) {
  auto writer = answering({"<summary>all</summary>"});
  auto compact = [&](std::int64_t tokens) {
    tool_runner_options options;
    options.compaction = {.enabled = true, .context_token_threshold = 10, .model = writer};
    return conversation(
      {answering({used(asked("1", "thinking"), tokens), used(ai_message("done"), 99)}),
       {counter()},
       question(),
       options},
      to_the_end);
  };
  BOOST_TEST(compact(9) == "user: hi\nassistant: thinking\ntool: 2\nassistant: done\n");
  BOOST_TEST(compact(10) == "user: <summary>all</summary>\nassistant: done\n");
  auto asked = writer->requests()[0].messages;
  BOOST_REQUIRE(asked.size() == 3u);
  BOOST_TEST(message_text(asked[1]) == "thinking");
  BOOST_TEST(message_tool_calls(asked[1]).empty());
}

BOOST_AUTO_TEST_CASE(tokens_of_the_cache_count) {
  auto usage = value{{"input_tokens", 1},
                     {"cache_creation_input_tokens", 10},
                     {"cache_read_input_tokens", 100},
                     {"output_tokens", 1000}};
  BOOST_TEST(context_tokens(with(ai_message("x"), "usage", usage)) == 1111);
  BOOST_TEST(context_tokens(ai_message("x")) == 0);
}

// ---- memory ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(files_are_made_seen_edited_moved_and_deleted) {
  memory_folder f;
  BOOST_TEST(f.create("/memories/d/a.txt", "one\ntwo\n")
             == "File created successfully at: /memories/d/a.txt");
  BOOST_TEST(f.create("/memories/d/a.txt", "x") == "File /memories/d/a.txt already exists");
  BOOST_TEST(f.view("/memories/d/a.txt")
             == "Here's the content of /memories/d/a.txt with line numbers:\n"
                "     1\tone\n     2\ttwo\n     3\t");
  BOOST_TEST(f.view("/memories/d/a.txt", {{2, 2}})
             == "Here's the content of /memories/d/a.txt with line numbers:\n     2\ttwo");
  BOOST_TEST(f.said([](auto& m) { return m.str_replace("/memories/d/a.txt", "two", "2"); })
             == "The memory file has been edited. Here is the snippet showing the change (with "
                "line numbers):\n     1\tone\n     2\t2\n     3\t");
  BOOST_TEST(f.said([](auto& m) { return m.insert("/memories/d/a.txt", 0, "zero\n"); })
             == "The file /memories/d/a.txt has been edited.");
  BOOST_TEST(f.said([](auto& m) { return m.rename("/memories/d/a.txt", "/memories/b.txt"); })
             == "Successfully renamed /memories/d/a.txt to /memories/b.txt");
  BOOST_TEST(f.view("/memories/b.txt")
             == "Here's the content of /memories/b.txt with line numbers:\n"
                "     1\tzero\n     2\tone\n     3\t2\n     4\t");
  auto folder = f.view("/memories/");
  BOOST_TEST(folder.starts_with("Here're the files and directories up to 2 levels deep in "
                                "/memories, excluding hidden items:\n"));
  BOOST_TEST(folder.find("\n11B\t/memories/b.txt\n") != std::string::npos);
  BOOST_TEST(folder.ends_with("\t/memories/d/"));
  BOOST_TEST(f.said([](auto& m) { return m.remove("/memories/d"); })
             == "Successfully deleted /memories/d");
  BOOST_TEST(f.view("/memories/d")
             == "The path /memories/d does not exist. Please provide a valid path.");
}

BOOST_AUTO_TEST_CASE(edits_that_do_not_fit_are_refused) {
  memory_folder f;
  f.create("/memories/a", "x\ny\nx\n");
  auto replace = [&f](const char* old_text) {
    return f.said([&](auto& m) { return m.str_replace("/memories/a", old_text, "z"); });
  };
  BOOST_TEST(replace("x").find("in lines: 1, 3. Please") != std::string::npos);
  BOOST_TEST(replace("q").find("did not appear verbatim") != std::string::npos);
  BOOST_TEST(f.said([](auto& m) { return m.insert("/memories/a", 99, "q"); })
             == "Invalid `insert_line` parameter: 99. It should be within the range [0, 3].");
  BOOST_TEST(f.said([](auto& m) { return m.remove("/memories"); })
             == "Cannot delete the /memories directory itself");
}

BOOST_AUTO_TEST_CASE(no_path_leads_out_of_the_folder) {
  memory_folder f;
  std::ofstream{f.path / "secret"} << "secret";
  std::filesystem::create_symlink(f.path / "secret", f.path / "memories" / "link");
  std::filesystem::create_directory_symlink(f.path, f.path / "memories" / "up");
  for (const std::string path : {"/memories/../secret", "/memoriesX/y", "secret", "/memories/link",
                                 "/memories/up/secret", "/etc/passwd"}) {
    auto text = f.view(path);
    BOOST_TEST(text.find("Path") == 0u, path << ": " << text);
    BOOST_TEST(text.find("secret\n") == std::string::npos);
  }
  BOOST_TEST(f.create("/memories/up/new", "x").find("symlink") != std::string::npos);
  BOOST_TEST(!std::filesystem::exists(f.path / "new"));
}

BOOST_AUTO_TEST_CASE(a_path_is_so_deep_and_no_deeper) {
  memory_folder f;
  auto deep = [](std::size_t names) {
    std::string out = "/memories";
    for (std::size_t i = 0; i < names; ++i)
      out += "/d";
    return out;
  };
  BOOST_TEST(f.create(deep(limits::value_depth_max), "x").starts_with("File created"));
  BOOST_TEST(f.create(deep(limits::value_depth_max + 1), "x").find("too deep")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_tool_carries_out_commands_and_says_what_is_refused) {
  memory_folder f;
  auto memory = memory_tool(f.memory);
  BOOST_TEST(memory.definition()["type"] == value("memory_20250818"));
  auto command = [](std::string id, value args) {
    return ai_message("", {{.name = "memory", .args = std::move(args), .id = std::move(id)}});
  };
  tool_runner runner{
    answering(
      {command("1", value{{"command", "create"}, {"path", "/memories/a"}, {"file_text", "x"}}),
       command("2", value{{"command", "view"}, {"path", "/memories/b"}}),
       command("3", value{{"command", "view"}}), "done"}),
    {memory},
    question()};
  BOOST_TEST(conversation(std::move(runner), to_the_end)
             == "user: hi\nassistant: \ntool: File created successfully at: /memories/a\n"
                "assistant: \ntool: The path /memories/b does not exist. Please provide a valid "
                "path.\nassistant: \ntool: Field required: path\nassistant: done\n");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
