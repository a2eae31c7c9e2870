// The tools of examples/coder: what they do, and what they refuse.
#include "examples/coder/project.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fstream>
#include <string>

#include <sys/stat.h>

namespace troupe {
namespace {

struct coder_folder {
  std::filesystem::path path;
  coder::project_ptr project;

  coder_folder() {
    char name[] = "/tmp/troupe-coder-XXXXXX";
    path = ::mkdtemp(name);
    std::filesystem::create_directories(path / "project" / "src");
    std::ofstream{path / "secret"} << "secret\n";
    std::ofstream{path / "project" / "a.c"} << "one\ntwo\none more\n";
    std::ofstream{path / "project" / "src" / "b.c"} << "two\n";
    project = std::make_shared<coder::project>(path / "project");
  }
  ~coder_folder() { std::filesystem::remove_all(path); }
  coder_folder(const coder_folder&) = delete;
  coder_folder& operator=(const coder_folder&) = delete;

  /// What a tool says to a call, also when it refuses.
  std::string say(const std::string& name, const value& args) const {
    auto tools = coder::reading_tools(project);
    for (auto& t : coder::writing_tools(project))
      tools.push_back(t);
    state_graph<> g{{{"messages", add_messages}}};
    g.add_node("tools",
               tool_node{tools, {.handle_tool_errors = tool_errors::handler{[](const error& e) {
                                   return std::optional{e.text()};
                                 }}}});
    g.add_edge(START, "tools");
    runtime rt;
    auto call = ai_message("", {{.name = name, .args = args, .id = "c"}});
    auto out = rt.load(g.compile()).invoke(value{{"messages", value::list({call})}}).value();
    return message_text(out["messages"][1]);
  }
  std::string content(const char* name) const {
    std::ifstream in{path / "project" / name};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(coder_tools)

BOOST_AUTO_TEST_CASE(files_are_read_found_written_and_edited) {
  coder_folder f;
  BOOST_TEST(f.say("read", {{"path", "a.c"}, {"from", 2}, {"lines", 1}})
             == "     2\ttwo\n… 3 lines in all\n");
  BOOST_TEST(f.say("glob", {{"pattern", "*.c"}}) == "a.c\nsrc/b.c\n");
  BOOST_TEST(f.say("glob", {{"pattern", "src/*"}}) == "src/b.c\n");
  BOOST_TEST(f.say("grep", {{"text", "two"}}) == "a.c:2: two\nsrc/b.c:1: two\n");
  BOOST_TEST(f.say("grep", {{"text", "two"}, {"pattern", "a.*"}}) == "a.c:2: two\n");
  BOOST_TEST(f.say("grep", {{"text", "three"}}) == "nothing found");
  BOOST_TEST(f.say("write", {{"path", "new/c.c"}, {"text", "x"}}) == "Wrote new/c.c, 1 bytes");
  BOOST_TEST(f.content("new/c.c") == "x");
  BOOST_TEST(f.say("edit", {{"path", "a.c"}, {"old", "two"}, {"new", "2"}})
             == "Changed a.c:\n     1\tone\n     2\t2\n     3\tone more\n");
  BOOST_TEST(f.content("a.c") == "one\n2\none more\n");
}

BOOST_AUTO_TEST_CASE(an_edit_that_is_not_clear_changes_nothing) {
  coder_folder f;
  BOOST_TEST(f.say("edit", {{"path", "a.c"}, {"old", "one"}, {"new", "1"}}).find("several times")
             != std::string::npos);
  for (const char* text : {"three", ""})
    BOOST_TEST(f.say("edit", {{"path", "a.c"}, {"old", text}, {"new", "1"}}).find("exactly so")
               != std::string::npos);
  BOOST_TEST(f.content("a.c") == "one\ntwo\none more\n");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_replaced_keeps_its_mode) {
  coder_folder f;
  auto file = f.path / "project" / "a.c";
  ::chmod(file.c_str(), 0750);
  f.say("edit", {{"path", "a.c"}, {"old", "two"}, {"new", "2"}});
  struct stat what {};
  ::stat(file.c_str(), &what);
  BOOST_TEST((what.st_mode & 0777) == 0750U);
}

BOOST_AUTO_TEST_CASE(no_path_leads_out_of_the_project) {
  coder_folder f;
  std::filesystem::create_symlink(f.path / "secret", f.path / "project" / "link");
  std::filesystem::create_directory_symlink(f.path, f.path / "project" / "up");
  for (const std::string path :
       {"../secret", "src/../../secret", "/etc/passwd", "link", "up/secret", ".coder/data/x",
        "src/../.coder/x", "", ".", "src", "no/such"}) {
    for (const auto& [tool, args] :
         {std::pair{"read", value{{"path", path}}},
          std::pair{"write", value{{"path", path}, {"text", "theirs"}}},
          std::pair{"edit", value{{"path", path}, {"old", "secret"}, {"new", "theirs"}}}}) {
      if (tool == std::string{"write"} && path == "no/such")
        continue; // that is a new file
      auto text = f.say(tool, args);
      BOOST_TEST(text.find("ath") != std::string::npos, tool << " " << path << ": " << text);
      BOOST_TEST(text.find("secret\n") == std::string::npos, tool << " " << path);
    }
  }
  std::ifstream secret{f.path / "secret"};
  std::string text;
  std::getline(secret, text);
  BOOST_TEST(text == "secret");
  BOOST_TEST(std::filesystem::is_symlink(f.path / "project" / "link"));
  BOOST_TEST(f.say("grep", {{"text", "secret"}}) == "nothing found");
}

BOOST_AUTO_TEST_CASE(what_is_no_utf_8_is_shown_as_such) {
  BOOST_TEST(coder::readable("a\xc3\xa4\xff"
                             "b\xe2\x82")
             == "a\xc3\xa4\xef\xbf\xbd"
                "b\xef\xbf\xbd\xef\xbf\xbd");
  BOOST_TEST(coder::readable("\xed\xa0\x80\xf0\x9f\x98\x80")
             == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80");
  coder_folder f;
  f.say("write", {{"path", "b"}, {"text", std::string{"x\0y", 3}}});
  BOOST_TEST(f.say("read", {{"path", "b"}}) == "a binary file of 3 bytes");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
