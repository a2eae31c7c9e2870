// Tools that work in a folder, and the patterns they look with.
#include "agents/workspace/text_pattern.hpp"

#include <troupe/agents/confined_folder.hpp>
#include <troupe/agents/workspace.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;

struct work_folder {
  std::filesystem::path path;

  work_folder() {
    char name[] = "/tmp/troupe-work-XXXXXX";
    path = ::mkdtemp(name);
    std::ofstream{path / "secret"} << "secret\n";
    put("a.c", "one\ntwo\none more\n", 100);
    put("src/b.c", "two\n", 300);
    put("src/deep/c.h", "#define ten 10\n", 200);
    put(".hidden", "two\n", 400);
    put("bin", std::string{"two\0", 4}, 500);
    std::filesystem::create_symlink(path / "secret", root() / "link");
    std::filesystem::create_directory_symlink(path, root() / "up");
  }
  ~work_folder() { std::filesystem::remove_all(path); }
  work_folder(const work_folder&) = delete;
  work_folder& operator=(const work_folder&) = delete;

  std::filesystem::path root() const { return path / "root"; }
  void put(const std::string& name, const std::string& text, long seconds) const {
    auto file = root() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream{file} << text;
    timespec both[2] = {{seconds, 0}, {seconds, 0}};
    ::utimensat(AT_FDCWD, file.c_str(), both, 0);
  }
  std::string content(const char* name) const {
    std::ifstream in{root() / name};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
};

// The tool's message to one call.
value message_of_call(const middleware& with, const std::string& tool, const value& args) {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("tools", tool_node{with.tools});
  g.add_edge(START, "tools");
  runtime rt;
  auto call = ai_message("", {{.name = tool, .args = args, .id = "c"}});
  auto out = rt.load(g.compile()).invoke(value{{"messages", value::list({call})}}).value();
  return out["messages"][1];
}
std::string said_by(const middleware& with, const std::string& tool, const value& args) {
  return message_text(message_of_call(with, tool, args));
}

// Neither gone nor dead and waiting to be reaped.
bool lives(int process) {
  std::ifstream file{"/proc/" + std::to_string(process) + "/stat"};
  std::string number;
  std::string name;
  char state = 'Z';
  file >> number >> name >> state;
  return state != 'Z' && state != 'X';
}

shell_options plain_shell() {
  return {.sandbox = shell_sandbox::none};
}

struct pattern_case {
  const char* pattern;
  const char* text;
  bool fits;
};
std::ostream& operator<<(std::ostream& out, const pattern_case& c) {
  return out << c.pattern << " in " << c.text;
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_workspace)

// ---- patterns -------------------------------------------------------------------------------

const std::vector<pattern_case> expression_cases{
  {"b", "abc", true},          {"^a.c$", "aäc", true},   {"^a{2}$", "aaa", false},
  {"(foo|bar)+b", "x", false}, {"[ä-ü]+b", "äöb", true}, {"(?i)HeLLo", "say hello", true},
};
BOOST_DATA_TEST_CASE(an_expression_fits_a_part_of_a_line, data::make(expression_cases), c) {
  auto pattern = text_pattern::expression(c.pattern);
  BOOST_REQUIRE(bool(pattern));
  BOOST_TEST(pattern->found_in(c.text) == c.fits);
}

const std::vector<pattern_case> glob_cases{
  {"*.py", "a.py", true},
  {"*.py", "d/a.py", false},
  {"**/*.py", "a.py", true},
  {"**/*.py", "d/e/a.py", true},
  {"src/**", "src/a/b", true},
  {"*.{ts,tsx}", "a.tsx", true},
  {"*.{ts,tsx}", "a.t", false},
  {"[!a]?", "bc", true},
  {"[!a]?", "ac", false},
  {"a.b", "axb", false},
  {"{", "{", true},
  {"a,b", "a,b", true},
  {"*(ä).c", "x(ä).c", true},
};
BOOST_DATA_TEST_CASE(a_glob_fits_a_whole_path, data::make(glob_cases), c) {
  auto pattern = text_pattern::glob(c.pattern);
  BOOST_REQUIRE(bool(pattern));
  BOOST_TEST(pattern->fits(c.text) == c.fits);
}

BOOST_AUTO_TEST_CASE(a_pattern_that_is_none_or_would_take_too_long_is_refused) {
  for (const char* pattern : {"(", "[a", "(a)\\1", "(?=x)", "a{1001}", "[z-a]", "\\pL{900}"})
    BOOST_TEST(!text_pattern::expression(pattern), pattern);
  BOOST_TEST(bool(text_pattern::expression(std::string(limits::search_pattern_bytes_max, 'a'))));
  BOOST_TEST(!text_pattern::expression(std::string(limits::search_pattern_bytes_max + 1, 'a')));
}

// ---- searching ------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(files_are_found_by_name_the_newest_first) {
  work_folder f;
  auto in = file_search(f.root());
  auto glob = [&](const value& args) { return said_by(in, "glob_search", args); };
  BOOST_TEST(glob({{"pattern", "**/*.[ch]"}}) == "/src/b.c\n/src/deep/c.h\n/a.c");
  BOOST_TEST(glob({{"pattern", "*"}}) == "/bin\n/a.c");
  BOOST_TEST(glob({{"pattern", "*.c"}, {"path", "/src"}}) == "/src/b.c");
  for (const char* path : {"..", "/src/..", "~", "/no/such", "up"})
    BOOST_TEST(glob({{"pattern", "**"}, {"path", path}}) == "No files found", path);
  BOOST_TEST(glob({{"pattern", "../*"}}) == "No files found");
}

BOOST_AUTO_TEST_CASE(files_are_found_by_their_lines) {
  work_folder f;
  auto in = file_search(f.root());
  auto grep = [&](const value& args) { return said_by(in, "grep_search", args); };
  BOOST_TEST(grep({{"pattern", "t[ew]"}}) == "/a.c\n/src/b.c\n/src/deep/c.h");
  BOOST_TEST(grep({{"pattern", "^one"}, {"output_mode", "content"}})
             == "/a.c:1:one\n/a.c:3:one more");
  BOOST_TEST(grep({{"pattern", "one"}, {"output_mode", "count"}}) == "/a.c:2");
  BOOST_TEST(grep({{"pattern", "two"}, {"include", "*.h"}}) == "No matches found");
  BOOST_TEST(grep({{"pattern", "two"}, {"path", "src"}}) == "/src/b.c");
  BOOST_TEST(grep({{"pattern", "secret"}}) == "No matches found");
  BOOST_TEST(grep({{"pattern", "("}}).starts_with("Invalid regex pattern: "));
  BOOST_TEST(grep({{"pattern", "a"}, {"include", "[z-a]"}}) == "Invalid include pattern");
  auto message = message_of_call(in, "grep_search", {{"pattern", "a"}, {"output_mode", "x"}});
  BOOST_TEST(message_member(message, "status") == value("error"));
}

BOOST_AUTO_TEST_CASE(a_search_shows_so_many_places_and_passes_over_large_files) {
  work_folder f;
  std::string many;
  for (std::size_t i = 0; i <= limits::search_hits_max; ++i)
    many += "hit\n";
  f.put("many", many, 1);
  auto said = said_by(file_search(f.root()), "grep_search",
                      {{"pattern", "hit"}, {"output_mode", "content"}});
  BOOST_TEST(said.find("/many:200:hit\n") != std::string::npos);
  BOOST_TEST(said.find("/many:201:") == std::string::npos);
  BOOST_TEST(said.ends_with("… and more: use a more specific pattern\n"));
  auto small = file_search(f.root(), {.file_bytes_max = many.size() - 1});
  BOOST_TEST(said_by(small, "grep_search", {{"pattern", "hit"}}) == "No matches found");
}

BOOST_AUTO_TEST_CASE(a_search_looks_at_so_many_files) {
  work_folder f;
  auto folder = f.root() / "many";
  std::filesystem::create_directory(folder);
  auto add = [&folder](std::size_t i) { std::ofstream{folder / std::to_string(10'000'000 + i)}; };
  for (std::size_t i = 0; i < limits::search_files_max; ++i)
    add(i);
  auto in = file_search(f.root());
  auto last = [&in] {
    return said_by(in, "glob_search", {{"pattern", "*19999"}, {"path", "many"}});
  };
  BOOST_TEST(last() == "/many/10019999");
  add(limits::search_files_max);
  BOOST_TEST(last().starts_with("/many/10019999\n… and more"));
}

// ---- files ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(files_are_listed_read_written_and_edited) {
  work_folder f;
  auto in = filesystem(f.root());
  auto say = [&](const char* tool, const value& args) { return said_by(in, tool, args); };
  BOOST_TEST(say("ls", value::map()) == ".hidden\na.c\nbin\nlink\nsrc/\nup");
  BOOST_TEST(say("read_file", {{"file_path", "/a.c"}, {"offset", 1}, {"limit", 1}})
             == "     2\ttwo\n… 3 lines in all\n");
  BOOST_TEST(say("read_file", {{"file_path", "bin"}}) == "a binary file of 4 bytes");
  BOOST_TEST(say("write_file", {{"file_path", "/new/x"}, {"content", "aXbXc"}})
             == "Updated file /new/x");
  BOOST_TEST(say("write_file", {{"file_path", "a.c"}, {"content", "x"}}).find("already exists")
             != std::string::npos);
  auto edit = [&](const char* old_text, bool all) {
    return say("edit_file", {{"file_path", "new/x"},
                             {"old_string", old_text},
                             {"new_string", "XY"},
                             {"replace_all", all}});
  };
  BOOST_TEST(edit("X", false).find("2 times") != std::string::npos);
  BOOST_TEST(edit("no", false).find("not found") != std::string::npos);
  BOOST_TEST(edit("", true).find("not found") != std::string::npos);
  BOOST_TEST(f.content("new/x") == "aXbXc");
  BOOST_TEST(edit("X", true).find("replaced 2 instance(s)") != std::string::npos);
  BOOST_TEST(f.content("new/x") == "aXYbXYc");
}

BOOST_AUTO_TEST_CASE(so_much_of_a_file_is_shown_at_once) {
  work_folder f;
  auto in = filesystem(f.root());
  auto read = [&](std::size_t lines, std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; i < lines; ++i)
      text += std::string(bytes, 'x') + "\n";
    f.put("large", text, 1);
    return said_by(in, "read_file", {{"file_path", "large"}});
  };
  BOOST_TEST(read(limits::file_lines_shown_max, 1).ends_with("  2000\tx\n"));
  BOOST_TEST(read(limits::file_lines_shown_max + 1, 1).ends_with("2000\tx\n… 2001 lines in all\n"));
  BOOST_TEST(read(1, limits::file_line_bytes_max).ends_with("x\n"));
  BOOST_TEST(read(1, limits::file_line_bytes_max + 1).ends_with("x […]\n"));
}

BOOST_AUTO_TEST_CASE(no_path_leads_out_of_an_agent_s_folder) {
  work_folder f;
  auto in = filesystem(f.root());
  for (const char* path : {"../secret", "src/../../secret", "/../secret", "link", "up/secret", "",
                           ".", "src", "a.c/x"}) {
    for (const auto& [tool, args] :
         {std::pair{"read_file", value{{"file_path", path}}},
          std::pair{"write_file", value{{"file_path", path}, {"content", "theirs"}}},
          std::pair{"edit_file",
                    value{{"file_path", path}, {"old_string", "secret"}, {"new_string", "x"}}}}) {
      auto message = message_of_call(in, tool, args);
      BOOST_TEST(message_member(message, "status") == value("error"), tool << ' ' << path);
      BOOST_TEST(message_text(message).find("secret\n") == std::string::npos);
    }
  }
  std::ifstream secret{f.path / "secret"};
  std::string text;
  std::getline(secret, text);
  BOOST_TEST(text == "secret");
}

BOOST_AUTO_TEST_CASE(hidden_names_are_none_to_an_agent_s_tools) {
  work_folder f;
  f.put(".own/x", "secret\n", 1);
  f.put("src/.own", "two\n", 1); // only names in the folder itself
  auto in = filesystem(f.root(), {.hidden = {".own", "bin"}});
  auto say = [&](const char* tool, const value& args) { return said_by(in, tool, args); };
  BOOST_TEST(say("ls", value::map()) == ".hidden\na.c\nlink\nsrc/\nup");
  BOOST_TEST(say("glob", {{"pattern", "*"}}) == "/a.c");
  BOOST_TEST(say("glob", {{"pattern", "*"}, {"path", ".own"}}) == "No files found");
  BOOST_TEST(say("grep", {{"pattern", "secret"}, {"path", "/.own"}}) == "No matches found");
  for (const char* path : {".own/x", "/.own/x", "./.own", ".own/./x", "bin"}) {
    BOOST_TEST(say("read_file", {{"file_path", path}}).ends_with(" is hidden"), path);
    BOOST_TEST(say("write_file", {{"file_path", path}, {"content", "x"}}).ends_with(" is hidden"));
    BOOST_TEST(
      say("edit_file", {{"file_path", path}, {"old_string", "secret"}, {"new_string", "theirs"}})
        .ends_with(" is hidden"));
  }
  BOOST_TEST(f.content(".own/x") == "secret\n");
  BOOST_TEST(say("read_file", {{"file_path", "src/.own"}}) == "     1\ttwo\n");
  for (const char* name : {"", ".", "..", "a/b"})
    BOOST_CHECK_EXCEPTION(filesystem(f.root(), {.hidden = {name}}), error,
                          [](const error& e) { return e.code() == errc::invalid_config; });
}

BOOST_AUTO_TEST_CASE(a_file_that_is_replaced_keeps_its_mode) {
  work_folder f;
  auto file = f.root() / "a.c";
  ::chmod(file.c_str(), 0750);
  said_by(filesystem(f.root()), "edit_file",
          {{"file_path", "a.c"}, {"old_string", "two"}, {"new_string", "2"}});
  struct stat what {};
  ::stat(file.c_str(), &what);
  BOOST_TEST((what.st_mode & 0777) == 0750U);
}

BOOST_AUTO_TEST_CASE(what_is_no_utf_8_is_shown_as_such) {
  BOOST_TEST(readable_text("a\xc3\xa4\xff"
                           "b\xe2\x82")
             == "a\xc3\xa4\xef\xbf\xbd"
                "b\xef\xbf\xbd\xef\xbf\xbd");
  BOOST_TEST(readable_text("\xed\xa0\x80\xf0\x9f\x98\x80")
             == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80");
}

BOOST_AUTO_TEST_CASE(an_agent_is_told_of_its_files_and_may_be_let_read_alone) {
  work_folder f;
  auto model = std::make_shared<scripted_model>(std::vector<scripted_model::answer>{"done"});
  runtime rt;
  auto app = rt.load(
    create_agent({.model = model, .middleware = {filesystem(f.root(), {.read_only = true})}}));
  app.invoke(value{{"messages", value::list({human_message("hi")})}});
  auto asked = model->requests()[0];
  BOOST_TEST(message_text(asked.messages[0]).starts_with("## Files"));
  BOOST_TEST(asked.tools.size() == 4u);
}

// ---- shell ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_command_says_what_it_prints_and_how_it_ended) {
  work_folder f;
  auto in = shell(f.root(), plain_shell());
  auto run = [&](const char* command) {
    return message_of_call(in, "shell", {{"command", command}});
  };
  BOOST_TEST(message_text(run("cat src/b.c")) == "two");
  BOOST_TEST(message_text(run("true")) == "<no output>");
  BOOST_TEST(message_text(run("printf wrong >&2")) == "[stderr] wrong");
  auto failed = run("echo a; exit 3");
  BOOST_TEST(message_text(failed) == "a\n\nExit code: 3");
  BOOST_TEST(message_member(failed, "status") == value("error"));
  BOOST_TEST(message_member(failed, "artifact")["exit_code"] == value(3));
  BOOST_TEST(message_member(run("true"), "status") != value("error"));
  BOOST_TEST(message_text(run("kill -9 $$")) == "<no output>\n\nExit code: 137");
  BOOST_TEST(message_text(run("printf 'a\\377'")) == "a\xef\xbf\xbd");
}

BOOST_AUTO_TEST_CASE(a_command_has_neither_the_process_s_variables_nor_its_time) {
  work_folder f;
  ::setenv("TROUPE_TEST_KEY", "secret", 1);
  auto options = plain_shell();
  options.environment = {{"LANG", "C"}, {"MINE", "1"}};
  auto in = shell(f.root(), options);
  auto said = said_by(in, "shell", {{"command", "env"}});
  BOOST_TEST(said.find("secret") == std::string::npos);
  BOOST_TEST(said.find("MINE=1") != std::string::npos);
  BOOST_TEST(said.find("LANG=C\n") != std::string::npos);
  // A process that a command leaves running delays nobody, and ends with the tool.
  BOOST_TEST(said_by(in, "shell", {{"command", "sleep 1000 & echo $! > left"}}) == "<no output>");
  auto left = std::stoi(f.content("left"));
  while (lives(left)) // its end is on its way
    std::this_thread::yield();
  options.timeout = std::chrono::seconds{1};
  auto late = message_of_call(shell(f.root(), options), "shell", {{"command", "sleep 1000"}});
  BOOST_TEST(message_text(late) == "Error: Command timed out after 1.0 seconds.");
  BOOST_TEST(message_member(late, "artifact")["timed_out"] == value(true));
}

BOOST_AUTO_TEST_CASE(so_much_of_what_a_command_prints_is_shown) {
  work_folder f;
  auto options = plain_shell();
  options.lines_max = 2;
  options.bytes_max = 8;
  auto in = shell(f.root(), options);
  auto lines = message_of_call(in, "shell", {{"command", "echo a; echo b; echo c"}});
  BOOST_TEST(message_text(lines) == "a\nb\n\n... Output truncated at 2 lines (observed 3).");
  BOOST_TEST(message_member(lines, "artifact")["truncated_by_lines"] == value(true));
  BOOST_TEST(said_by(in, "shell", {{"command", "echo 123456789"}})
             == "12345678\n\n... Output truncated at 8 bytes (observed 10).");
  auto long_one = said_by(in, "shell", {{"command", "head -c 3000000 /dev/zero | tr '\\0' x"}});
  BOOST_TEST(long_one == "xxxxxxxx\n\n... Output truncated at 8 bytes (observed 3000000).");
}

BOOST_AUTO_TEST_CASE(shells_and_commands_that_make_no_sense_are_refused) {
  work_folder f;
  auto refused = [&](auto change) {
    auto options = plain_shell();
    change(options);
    try {
      shell(f.root(), options);
    } catch (const error& e) {
      return e.code() == errc::invalid_config;
    }
    return false;
  };
  BOOST_TEST(refused([](auto& o) { o.timeout = std::chrono::seconds{0}; }));
  BOOST_TEST(refused([](auto& o) { o.timeout = limits::shell_timeout_max + o.timeout; }));
  BOOST_TEST(refused([](auto& o) { o.lines_max = 0; }));
  BOOST_TEST(refused([](auto& o) { o.hidden = {"a/b"}; }));
  if (!has_shell_sandbox())
    BOOST_TEST(refused([](auto& o) { o.sandbox = shell_sandbox::required; }));
  auto in = shell(f.root(), plain_shell());
  std::string longest(limits::shell_command_bytes_max, ' ');
  BOOST_TEST(said_by(in, "shell", {{"command", longest}}) == "<no output>");
  BOOST_TEST(said_by(in, "shell", {{"command", longest + ' '}}).starts_with("Error: The command"));
  BOOST_TEST(
    said_by(in, "shell", {{"command", std::string{"a\0b", 3}}}).starts_with("Error: The command"));
}

BOOST_AUTO_TEST_CASE(in_a_sandbox_a_command_writes_nothing_but_its_folder) {
  if (!has_shell_sandbox()) {
    BOOST_TEST_MESSAGE("no bubblewrap here");
    return;
  }
  work_folder f;
  std::filesystem::create_directory(f.root() / "own");
  f.put("own/notes", "mine", 1);
  auto in = shell(f.root(), {.hidden = {"own"}});
  said_by(in, "shell", {{"command", "echo x > inside; echo y > ../outside"}});
  BOOST_TEST(f.content("inside") == "x\n");
  BOOST_TEST(!std::filesystem::exists(f.path / "outside"));
  BOOST_TEST(said_by(in, "shell", {{"command", "ls own"}}) == "<no output>");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
