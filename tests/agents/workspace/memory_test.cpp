// The memory tool, over a folder and over a store: the same texts, and no way out of either.
#include <troupe/agents/memory_tool.hpp>
#include <troupe/agents/tool_runner.hpp>
#include <troupe/limits.hpp>
#include <troupe/runtime.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace troupe {
namespace {

using line_range = memory_backend::line_range;

// A memory whose commands return their answer or their refusal.
struct memory_probe {
  std::shared_ptr<memory_backend> memory;

  template <class F> std::string said(F command) const {
    try {
      return command(*memory);
    } catch (const node_error& e) {
      BOOST_TEST(e.type() == "ToolError");
      return e.what();
    }
  }
  std::string view(const std::string& path, std::optional<line_range> lines = {}) const {
    return said([&](auto& m) { return m.view(path, lines); });
  }
  std::string create(const std::string& path, const std::string& text) const {
    return said([&](auto& m) { return m.create(path, text); });
  }
  std::string replace(const std::string& path, const std::string& from,
                      const std::string& to) const {
    return said([&](auto& m) { return m.str_replace(path, from, to); });
  }
  std::string insert(const std::string& path, std::int64_t line, const std::string& text) const {
    return said([&](auto& m) { return m.insert(path, line, text); });
  }
  std::string remove(const std::string& path) const {
    return said([&](auto& m) { return m.remove(path); });
  }
  std::string rename(const std::string& from, const std::string& to) const {
    return said([&](auto& m) { return m.rename(from, to); });
  }
  // Without its heading.
  std::string text(const std::string& path, std::optional<line_range> lines = {}) const {
    auto all = view(path, lines);
    return all.substr(all.find('\n') + 1);
  }
};

struct in_a_folder : memory_probe {
  std::filesystem::path path;

  in_a_folder() {
    char name[] = "/tmp/troupe-memory-XXXXXX";
    path = ::mkdtemp(name);
    memory = make_folder_memory(path);
  }
  ~in_a_folder() { std::filesystem::remove_all(path); }
  in_a_folder(const in_a_folder&) = delete;
  in_a_folder& operator=(const in_a_folder&) = delete;
};

struct in_a_store : memory_probe {
  std::shared_ptr<store> where = make_memory_store();
  in_a_store() { memory = make_store_memory(where, {"memories", "ann"}); }
};

using backends = boost::mpl::list<in_a_folder, in_a_store>;

constexpr const char* edited = "The memory file has been edited. Here is the snippet showing the "
                               "change (with line numbers):\n";

} // namespace

BOOST_AUTO_TEST_SUITE(agents_memory)

// ---- commands -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(files_are_made_seen_edited_moved_and_deleted, Backend, backends) {
  Backend m;
  BOOST_TEST(m.create("/memories/d/a.txt", "one\ntwo\n")
             == "File created successfully at: /memories/d/a.txt");
  BOOST_TEST(m.view("/memories/d/a.txt")
             == "Here's the content of /memories/d/a.txt with line numbers:\n"
                "     1\tone\n     2\ttwo\n     3\t");
  BOOST_TEST(m.replace("/memories/d/a.txt", "two", "2")
             == std::string{edited} + "     1\tone\n     2\t2\n     3\t");
  BOOST_TEST(m.insert("/memories/d/a.txt", 0, "zero\n")
             == "The file /memories/d/a.txt has been edited.");
  BOOST_TEST(m.rename("/memories/d/a.txt", "/memories/b.txt")
             == "Successfully renamed /memories/d/a.txt to /memories/b.txt");
  BOOST_TEST(m.text("/memories/b.txt") == "     1\tzero\n     2\tone\n     3\t2\n     4\t");
  BOOST_TEST(m.remove("/memories/b.txt") == "Successfully deleted /memories/b.txt");
  BOOST_TEST(m.view("/memories/b.txt")
             == "The path /memories/b.txt does not exist. Please provide a valid path.");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_folder_shows_two_levels_sorted_without_hidden_names, Backend,
                              backends) {
  Backend m;
  m.create("/memories/b.txt", "123456789");
  m.create("/memories/a/deep/deeper.txt", "x");
  m.create("/memories/a/near.txt", std::string(4096, 'x'));
  m.create("/memories/.hidden/x", "x");
  m.create("/memories/half", std::string(1536, 'x'));
  for (const auto* path : {"/memories", "/memories/"}) {
    auto shown = m.view(path);
    BOOST_TEST(shown.starts_with("Here're the files and directories up to 2 levels deep in "
                                 "/memories, excluding hidden items:\n"));
    // The sizes of folders are the file system's.
    std::string names;
    std::istringstream lines{shown.substr(shown.find('\n') + 1)};
    for (std::string line; std::getline(lines, line);)
      names += line.substr(line.find('\t') + 1) + ' ';
    BOOST_TEST(names
               == "/memories /memories/a/ /memories/a/deep/ /memories/a/near.txt /memories/b.txt "
                  "/memories/half ");
    BOOST_TEST(shown.find("\n4K\t/memories/a/near.txt\n") != std::string::npos);
    BOOST_TEST(shown.find("\n9B\t/memories/b.txt\n") != std::string::npos);
    BOOST_TEST(shown.find("\n1.5K\t/memories/half") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_view_may_be_of_some_lines, Backend, backends) {
  Backend m;
  m.create("/memories/f", "a\nb\nc");
  BOOST_TEST(m.text("/memories/f", line_range{2, 3}) == "     2\tb\n     3\tc");
  BOOST_TEST(m.text("/memories/f", line_range{2, -1}) == "     2\tb\n     3\tc");
  BOOST_TEST(m.text("/memories/f", line_range{-5, 1}) == "     1\ta");
  BOOST_TEST(m.text("/memories/f", line_range{1, 99}).ends_with("     3\tc"));
  for (auto none : {line_range{3, 2}, {7, 9}, {1, 0}, {1, -2}})
    BOOST_TEST(m.view("/memories/f", none)
               == "Here's the content of /memories/f with line numbers:\n");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_file_is_made_once, Backend, backends) {
  Backend m;
  m.create("/memories/a", "x");
  BOOST_TEST(m.create("/memories/a", "y") == "File /memories/a already exists");
  BOOST_TEST(m.create("/memories", "y") == "File /memories already exists");
  BOOST_TEST(m.create("/memories/.", "y") == "File /memories/. already exists");
  m.create("/memories/d/a", "x");
  BOOST_TEST(m.create("/memories/d", "y") == "File /memories/d already exists");
  BOOST_TEST(m.text("/memories/a") == "     1\tx");
  BOOST_TEST(m.create("/memories/a/b", "y")
             == "Part of the path /memories/a/b is not a directory.");
  BOOST_TEST(m.rename("/memories/d/a", "/memories/a/b")
             == "Part of the path /memories/a/b is not a directory.");
  BOOST_TEST(m.view("/memories/a/b")
             == "The path /memories/a/b does not exist. Please provide a valid path.");
  BOOST_TEST(m.text("/memories/a") == "     1\tx");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(edits_that_do_not_fit_are_refused, Backend, backends) {
  Backend m;
  m.create("/memories/a", "x\ny\nx\n");
  m.create("/memories/d/f", "x");
  BOOST_TEST(m.replace("/memories/a", "x", "z")
             == "No replacement was performed. Multiple occurrences of old_str `x` in lines: 1, 3. "
                "Please ensure it is unique");
  for (const auto* absent : {"q", ""})
    BOOST_TEST(m.replace("/memories/a", absent, "z")
               == "No replacement was performed, old_str `" + std::string{absent}
                    + "` did not appear verbatim in /memories/a.");
  BOOST_TEST(m.replace("/memories/none", "x", "z")
             == "The path /memories/none does not exist. Please provide a valid path.");
  BOOST_TEST(m.replace("/memories/d", "x", "z") == "The path /memories/d is not a file.");
  for (std::int64_t line : {-1, 4, 99})
    BOOST_TEST(m.insert("/memories/a", line, "q")
               == "Invalid `insert_line` parameter: " + std::to_string(line)
                    + ". It should be within the range [0, 3].");
  BOOST_TEST(m.insert("/memories/none", 0, "q")
             == "The path /memories/none does not exist. Please provide a valid path.");
  BOOST_TEST(m.insert("/memories/d", 0, "q") == "The path /memories/d is not a file.");
  BOOST_TEST(m.text("/memories/a") == "     1\tx\n     2\ty\n     3\tx\n     4\t");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_change_is_shown_with_two_lines_around_it, Backend, backends) {
  Backend m;
  m.create("/memories/a", "1\n2\n3\n4\n5\n6\n7");
  BOOST_TEST(m.replace("/memories/a", "4", "four\nand a half")
             == std::string{edited}
                  + "     2\t2\n     3\t3\n     4\tfour\n     5\tand a half\n     6\t5\n     7\t6");
  m.create("/memories/empty", "");
  BOOST_TEST(m.replace("/memories/empty", "", "new") == std::string{edited} + "     1\tnew");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(lines_go_in_behind_any_line, Backend, backends) {
  Backend m;
  m.create("/memories/a", "1\n2");
  m.insert("/memories/a", 2, "3\n\n"); // its line ends are dropped, and the file gets one
  m.insert("/memories/a", 1, "1b");
  BOOST_TEST(m.text("/memories/a") == "     1\t1\n     2\t1b\n     3\t2\n     4\t3\n     5\t");
  m.create("/memories/empty", "");
  m.insert("/memories/empty", 0, "x");
  BOOST_TEST(m.text("/memories/empty") == "     1\tx\n     2\t");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(folders_are_moved_and_deleted_with_all_that_is_in_them, Backend,
                              backends) {
  Backend m;
  m.create("/memories/d/a", "A");
  m.create("/memories/d/e/b", "B");
  m.create("/memories/dx", "not in it");
  m.create("/memories/other", "x");
  BOOST_TEST(m.rename("/memories/d", "/memories/other")
             == "The destination /memories/other already exists");
  BOOST_TEST(m.rename("/memories/d", "/memories/new/place")
             == "Successfully renamed /memories/d to /memories/new/place");
  BOOST_TEST(m.text("/memories/new/place/e/b") == "     1\tB");
  BOOST_TEST(m.view("/memories/d/a").find("does not exist") != std::string::npos);
  BOOST_TEST(m.remove("/memories/new/place") == "Successfully deleted /memories/new/place");
  BOOST_TEST(m.view("/memories/new/place/a").find("does not exist") != std::string::npos);
  BOOST_TEST(m.text("/memories/dx") == "     1\tnot in it");
  BOOST_TEST(m.remove("/memories/gone") == "The path /memories/gone does not exist");
  BOOST_TEST(m.remove("/memories/no/gone") == "The path /memories/no/gone does not exist");
  BOOST_TEST(m.rename("/memories/no/gone", "/memories/made/x")
             == "The path /memories/no/gone does not exist");
  BOOST_TEST(m.view("/memories/made").find("does not exist") != std::string::npos);
  BOOST_TEST(m.rename("/memories/gone", "/memories/x") == "The path /memories/gone does not exist");
  for (const auto* root : {"/memories", "/memories/", "/memories/./."})
    BOOST_TEST(m.remove(root) == "Cannot delete the /memories directory itself");
  BOOST_TEST(m.rename("/memories", "/memories/x")
             == "Cannot rename the /memories directory itself");
  BOOST_TEST(m.rename("/memories/dx", "/memories")
             == "Cannot rename the /memories directory itself");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_folder_does_not_go_into_itself, Backend, backends) {
  Backend m;
  m.create("/memories/d/a", "A");
  BOOST_TEST(m.rename("/memories/d", "/memories/d/e") == "Cannot move /memories/d into itself");
  BOOST_TEST(m.text("/memories/d/a") == "     1\tA");
}

// ---- paths ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(paths_that_lead_elsewhere_are_refused_by_every_command, Backend,
                              backends) {
  Backend m;
  m.create("/memories/a", "x");
  for (const std::string path :
       {"/memories/../secret", "/memories/d/../../secret", "/memories/..", "/memoriesX/y", "secret",
        "/etc/passwd", "", "/", "memories/a", "//memories/a", "/memories\\..\\secret"}) {
    bool elsewhere = !path.starts_with("/memories/") && path != "/memories";
    auto expected = elsewhere ? "Path must start with /memories, got: " + path
                              : "Path " + path + " would escape /memories directory";
    BOOST_TEST(m.view(path) == expected);
    BOOST_TEST(m.create(path, "x") == expected);
    BOOST_TEST(m.replace(path, "x", "y") == expected);
    BOOST_TEST(m.insert(path, 0, "y") == expected);
    BOOST_TEST(m.remove(path) == expected);
    BOOST_TEST(m.rename("/memories/a", path) == expected);
    BOOST_TEST(m.rename(path, "/memories/b") == expected);
  }
  auto with_nul = std::string{"/memories/a"} + '\0' + "/../../secret";
  BOOST_TEST(m.view(with_nul).starts_with("Path /memories/a"));
  BOOST_TEST(m.text("/memories/a") == "     1\tx");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nobody_decodes_a_path, Backend, backends) {
  Backend m;
  for (const std::string path : {"/memories/%2e%2e/secret", "/memories/..%2fsecret",
                                 "/memories/\xc0\xae\xc0\xae/secret", "/memories/.../secret"}) {
    BOOST_TEST(m.view(path).find("does not exist") != std::string::npos);
    BOOST_TEST(m.create(path, "mine").starts_with("File created"));
    BOOST_TEST(m.text(path) == "     1\tmine");
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_path_is_so_deep_and_no_deeper, Backend, backends) {
  Backend m;
  auto deep = [](std::size_t names) {
    std::string out = "/memories";
    for (std::size_t i = 0; i < names; ++i)
      out += "/d";
    return out;
  };
  BOOST_TEST(m.create(deep(limits::value_depth_max), "x").starts_with("File created"));
  BOOST_TEST(m.create(deep(limits::value_depth_max + 1), "x").find("too deep")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_file_is_so_long_and_no_longer, Backend, backends) {
  Backend m;
  m.create("/memories/a", std::string(999'998, '\n')); // one line more than line ends
  BOOST_TEST(m.view("/memories/a", line_range{999'999, -1}).ends_with("\n999999\t"));
  m.insert("/memories/a", 0, "x");
  BOOST_TEST(m.view("/memories/a", line_range{1, 1})
             == "File /memories/a exceeds maximum line limit of 999,999 lines.");
  BOOST_TEST(m.create("/memories/b", std::string(limits::value_size_bytes_max + 1, 'x'))
             == "File /memories/b is too large.");
}

// ---- both -----------------------------------------------------------------------------------

// The same commands say the same everywhere. Folders stay as they are: only in a file system there
// are empty ones.
BOOST_AUTO_TEST_CASE(a_folder_and_a_store_agree) {
  in_a_folder folder;
  in_a_store in_store;
  std::minstd_rand random{7};
  auto pick = [&random](std::initializer_list<const char*> all) {
    return std::string{*(all.begin() + random() % all.size())};
  };
  auto both = [&](auto command) {
    auto expected = command(static_cast<memory_probe&>(folder));
    BOOST_TEST(command(static_cast<memory_probe&>(in_store)) == expected);
  };
  for (const auto* kept : {"/memories/.k", "/memories/d/.k", "/memories/d/e/.k"})
    both([&](auto& m) { return m.create(kept, "k"); });
  for (int i = 0; i < 300; ++i) {
    auto where = pick({"/", "/d/", "/d/e/", "/d/./", "/none/../"});
    auto path = "/memories" + where + pick({"f", "g"});
    auto other = "/memories" + pick({"/", "/d/", "/d/e/"}) + pick({"f", "g", "h"});
    auto text = pick({"a\nb", "a\na\n", "", "b\n"});
    auto line = static_cast<std::int64_t>(random() % 4);
    auto word = pick({"a", "b", "", "a\n"});
    switch (random() % 7) {
      case 0: both([&](auto& m) { return m.view(path); }); break;
      case 6: both([&](auto& m) { return m.view(path + "/below"); }); break;
      case 1: both([&](auto& m) { return m.create(path, text); }); break;
      case 2: both([&](auto& m) { return m.replace(path, word, text); }); break;
      case 3: both([&](auto& m) { return m.insert(path, line, text); }); break;
      case 4: both([&](auto& m) { return m.remove(path); }); break;
      default: both([&](auto& m) { return m.rename(path, other); });
    }
  }
}

// ---- a folder -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(no_link_leads_out_of_the_folder) {
  in_a_folder f;
  std::ofstream{f.path / "secret"} << "secret";
  std::filesystem::create_symlink(f.path / "secret", f.path / "memories" / "link");
  std::filesystem::create_directory_symlink(f.path, f.path / "memories" / "up");
  for (const std::string path : {"/memories/link", "/memories/up/secret"}) {
    BOOST_TEST(f.view(path) == "Path would escape /memories directory via symlink");
    BOOST_TEST(f.replace(path, "secret", "known")
               == "Path would escape /memories directory via symlink");
  }
  BOOST_TEST(f.create("/memories/up/new", "x")
             == "Path would escape /memories directory via symlink");
  BOOST_TEST(f.remove("/memories/link") == "Successfully deleted /memories/link");
  BOOST_TEST(f.remove("/memories/up") == "Successfully deleted /memories/up");
  BOOST_TEST(std::filesystem::file_size(f.path / "secret") == 6u);
  BOOST_TEST(!std::filesystem::exists(f.path / "new"));
}

BOOST_AUTO_TEST_CASE(only_the_owner_may_read_what_is_kept_in_a_folder) {
  in_a_folder f;
  f.create("/memories/d/a", "x");
  using std::filesystem::perms;
  auto mode = [&f](const char* name) {
    return std::filesystem::status(f.path / "memories" / name).permissions();
  };
  BOOST_TEST((mode("") == perms::owner_all));
  BOOST_TEST((mode("d") == perms::owner_all));
  BOOST_TEST((mode("d/a") == (perms::owner_read | perms::owner_write)));
}

BOOST_AUTO_TEST_CASE(what_is_no_file_is_not_read) {
  in_a_folder f;
  BOOST_REQUIRE(::mkfifo((f.path / "memories" / "pipe").c_str(), 0600) == 0);
  BOOST_TEST(f.view("/memories/pipe") == "Unsupported file type for /memories/pipe");
}

// ---- a store --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(memories_of_a_store_are_apart_and_outlive_their_tool) {
  in_a_store ann;
  memory_probe bob{make_store_memory(ann.where, {"memories", "bob"})};
  memory_probe inner{make_store_memory(ann.where, {"memories", "ann", "inner"})};
  ann.create("/memories/a", "Ann's");
  inner.create("/memories/b", "x");
  BOOST_TEST(bob.view("/memories/a").find("does not exist") != std::string::npos);
  BOOST_TEST(ann.view("/memories").find("/memories/b") == std::string::npos);
  memory_probe again{make_store_memory(ann.where, {"memories", "ann"})};
  BOOST_TEST(again.text("/memories/a") == "     1\tAnn's");
  auto item = ann.where->get({"memories", "ann"}, "a").value();
  BOOST_REQUIRE(item);
  BOOST_TEST((item->value == value{{"text", "Ann's"}}));
}

BOOST_AUTO_TEST_CASE(a_memory_wants_a_store_and_a_namespace_that_can_be) {
  BOOST_CHECK_THROW(make_store_memory(nullptr, {"a"}), error);
  auto nowhere = make_store_memory(make_memory_store(), {"a.b"});
  BOOST_CHECK_THROW(nowhere->create("/memories/a", "x"), error);
}

BOOST_AUTO_TEST_CASE(a_path_that_is_no_key_is_refused_and_a_long_one_too) {
  in_a_store m;
  auto path = "/memories/" + std::string(limits::store_key_bytes_max, 'x');
  BOOST_TEST(m.create(path, "x").starts_with("File created"));
  BOOST_TEST(m.create(path + "x", "x").find("too long") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_memory_in_a_store_is_not_embedded) {
  int embedded = 0;
  store_options options;
  options.index = store_index{.dims = 1, .embed = [&](const std::vector<std::string>& texts) {
                                embedded += static_cast<int>(texts.size());
                                return std::vector<std::vector<float>>(texts.size(), {1.0f});
                              }};
  memory_probe m{make_store_memory(make_memory_store(options), {"memories"})};
  BOOST_TEST(m.create("/memories/empty", "").starts_with("File created"));
  BOOST_TEST(embedded == 0);
}

// ---- the tool -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_tool_carries_out_commands_and_says_what_is_refused) {
  in_a_folder f;
  auto memory = memory_tool(f.memory);
  BOOST_TEST(memory.definition()["type"] == value("memory_20250818"));
  BOOST_TEST(memory.definition()["name"] == value("memory"));
  struct step {
    value args;
    std::string said;
  };
  const std::vector<step> steps{
    {value{{"command", "create"}, {"path", "/memories/a"}, {"file_text", "x\ny"}},
     "File created successfully at: /memories/a"},
    {value{{"command", "view"}, {"path", "/memories/a"}, {"view_range", value::list({2, -1})}},
     "Here's the content of /memories/a with line numbers:\n     2\ty"},
    {value{{"command", "str_replace"}, {"path", "/memories/a"}, {"old_str", "x"}, {"new_str", ""}},
     std::string{edited} + "     1\t\n     2\ty"},
    {value{
       {"command", "insert"}, {"path", "/memories/a"}, {"insert_line", 1}, {"insert_text", "z"}},
     "The file /memories/a has been edited."},
    {value{{"command", "rename"}, {"old_path", "/memories/a"}, {"new_path", "/memories/b"}},
     "Successfully renamed /memories/a to /memories/b"},
    {value{{"command", "delete"}, {"path", "/memories/b"}}, "Successfully deleted /memories/b"},
    {value{{"command", "view"}, {"path", "/memories/b"}},
     "The path /memories/b does not exist. Please provide a valid path."},
    {value{{"command", "view"}}, "Field required: path"},
    {value{{"command", "insert"}, {"path", "/memories/b"}, {"insert_text", "z"}},
     "Field required: insert_line"},
    {value{{"command", "forget"}, {"path", "/memories/b"}},
     "'view', 'create', 'str_replace', 'insert', 'delete' or 'rename'"},
  };
  std::vector<scripted_model::answer> answers;
  std::size_t number = 0;
  for (const auto& one : steps)
    answers.emplace_back(
      ai_message("", {{.name = "memory", .args = one.args, .id = "c" + std::to_string(number++)}}));
  answers.emplace_back("done");
  tool_runner runner{std::make_shared<scripted_model>(std::move(answers)),
                     {memory},
                     value::list({human_message("hi")})};
  state_graph<> g{{{"said", last_value}}};
  g.add_node("run", [&](const state_view&, context& ctx) -> coro<value> {
    auto running = runner.until_done(ctx);
    co_await running;
    co_return value{{"said", runner.messages()}};
  });
  g.add_edge(START, "run");
  runtime rt;
  auto said = rt.load(g.compile()).invoke({}).value()["said"];
  BOOST_REQUIRE(said.size() == 2 * steps.size() + 2);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& result = said[2 + 2 * i];
    if (i + 1 < steps.size())
      BOOST_TEST(message_text(result) == steps[i].said);
    else // what it may say instead
      BOOST_TEST(message_text(result).find(steps[i].said) != std::string::npos);
    bool fails = i >= 6;
    BOOST_TEST((message_member(result, "status") == value("error")) == fails);
  }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
