// An X display as a computer, with programs in place of xdotool and import that write down their
// arguments.
#include "agents/computer/x11_keys.hpp"
#include "agents/workspace/child_process.hpp"

#include <troupe/agents/computer.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include <sys/stat.h>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;
using namespace std::chrono_literals;

// Programs of a folder that stands first on PATH.
class stub_programs {
public:
  stub_programs() {
    char name[] = "/tmp/troupe-x11-XXXXXX";
    folder_ = ::mkdtemp(name);
    ::setenv("PATH", folder_.c_str(), 1);
    ::setenv("TROUPE_TEST_SECRET", "of this process", 1);
    put("xdotool", R"(case "$1" in
getdisplaygeometry) echo "200 100" ;;
getmouselocation) printf 'X=51\nY=50\nSCREEN=0\n' ;;
esac)");
    put("import", "printf 'a picture'");
  }
  ~stub_programs() {
    ::setenv("PATH", path_.c_str(), 1);
    ::unsetenv("TROUPE_TEST_SECRET");
    std::filesystem::remove_all(folder_);
  }
  stub_programs(const stub_programs&) = delete;
  stub_programs& operator=(const stub_programs&) = delete;

  /// A script that writes its arguments down, each in brackets, and then does this.
  void put(const std::string& name, const std::string& then) const {
    std::ofstream{folder_ / name}
      << "#!/bin/sh\n{ printf '%s' " << name
      << "; for a in \"$@\"; do printf '[%s]' \"$a\"; done; echo; } >> '"
      << (folder_ / "told").string() << "'\n"
      << then << '\n';
    ::chmod((folder_ / name).c_str(), 0700);
  }
  void remove(const std::string& name) const { std::filesystem::remove(folder_ / name); }
  /// The arguments of the programs since the last call.
  std::string told() const {
    std::ifstream in{folder_ / "told"};
    std::string out{std::istreambuf_iterator<char>{in}, {}};
    std::filesystem::remove(folder_ / "told");
    return out;
  }
  std::filesystem::path folder() const { return folder_; }

private:
  std::filesystem::path folder_;
  std::string path_ = std::getenv("PATH");
};

x11_options display_99() {
  return {.display = ":99"};
}

std::string class_thrown(const std::function<void()>& by) {
  try {
    by();
  } catch (const node_error& e) {
    return e.type() + ": " + e.what();
  } catch (const error& e) {
    return (e.code() == errc::invalid_config ? "invalid_config: " : "other: ") + e.message();
  }
  return "nothing";
}

struct key_case {
  const char* name;
  const char* known;
};
std::ostream& operator<<(std::ostream& out, const key_case& c) {
  return out << c.name;
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_x11)

// ---- keys -----------------------------------------------------------------------------------

const std::vector<key_case> key_cases{
  {"a", "a"},
  {"Z", "Z"},
  {"7", "7"},
  {"/", "U002F"},
  {"-", "U002D"},
  {"ctrl", "Control_L"},
  {"Control_L", "Control_L"},
  {"cmd", "Super_L"},
  {"Enter", "Return"},
  {"Return", "Return"},
  {"Page_Down", "Next"},
  {"pagedown", "Next"},
  {"space", "space"},
  {"F12", "F12"},
  {"KP_0", "KP_0"},
  {"XF86AudioMute", "XF86AudioMute"},
};
BOOST_DATA_TEST_CASE(a_key_is_known_by_its_names, data::make(key_cases), c) {
  BOOST_TEST(x11_key(c.name).value_or("unknown") == c.known);
}

// xdotool would take them as what to do next.
const std::vector<std::string> commands{"exec",       "Exec",  "EXEC",    "type",
                                        "key",        "sleep", "click",   "search",
                                        "windowkill", "help",  "version", "getmouselocation",
                                        "--",         "",      "F123",    "get_desktop"};
BOOST_DATA_TEST_CASE(no_command_is_a_key, data::make(commands), name) {
  BOOST_TEST(!x11_key(name).has_value());
}

// ---- actions --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(each_action_is_told_to_xdotool) {
  stub_programs programs;
  auto on = make_x11_computer(display_99());
  BOOST_TEST(programs.told() == "import[-version]\nxdotool[getdisplaygeometry]\n");
  BOOST_TEST((on->display() == screen_size{200, 100}));
  auto told_by = [&](const std::function<void()>& act) {
    act();
    return programs.told();
  };
  using std::nullopt;
  BOOST_TEST(told_by([&] { on->mouse_move({3, 4}); }) == "xdotool[mousemove][3][4]\n");
  BOOST_TEST(told_by([&] { on->click(mouse_button::right, 1, nullopt, {}); })
             == "xdotool[click][--repeat][1][--delay][20][3]\n");
  BOOST_TEST(told_by([&] {
               on->click(mouse_button::left, 2, screen_point{5, 6}, {"ctrl", "alt"});
             })
             == "xdotool[keydown][Control_L][keydown][Alt_L][mousemove][5][6][click][--repeat][2]"
                "[--delay][20][1][keyup][Alt_L][keyup][Control_L]\n");
  BOOST_TEST(told_by([&] { on->mouse_down(); }) == "xdotool[mousedown][1]\n");
  BOOST_TEST(told_by([&] { on->mouse_up(); }) == "xdotool[mouseup][1]\n");
  BOOST_TEST(told_by([&] {
               on->drag({1, 2}, {3, 4});
             })
             == "xdotool[mousemove][1][2][mousedown][1][sleep][0.1][mousemove][3][4][sleep][0.1]"
                "[mouseup][1]\n");
  BOOST_TEST(told_by([&] { on->scroll(scroll_direction::down, 9, nullopt, {}); })
             == "xdotool[click][--repeat][9][--delay][20][5]\n");
  BOOST_TEST(told_by([&] {
               on->key({"ctrl", "s"});
             })
             == "xdotool[keydown][Control_L][keydown][s][keyup][s][keyup][Control_L]\n");
  BOOST_TEST(told_by([&] { on->hold_key({"a"}, 1005ms); })
             == "xdotool[keydown][a][sleep][1.005][keyup][a]\n");
  BOOST_TEST((on->cursor_position() == screen_point{51, 50}));
  BOOST_TEST(programs.told() == "xdotool[getmouselocation][--shell]\n");
  BOOST_TEST(on->screenshot() == "a picture");
  BOOST_TEST(programs.told() == "import[-silent][-window][root][-depth][8][png:-]\n");
}

BOOST_AUTO_TEST_CASE(a_text_is_one_word_whatever_is_in_it) {
  stub_programs programs;
  auto on = make_x11_computer(display_99());
  programs.told();
  on->type("--help; $(touch x) 'a' \"b\"\n`c` exec");
  BOOST_TEST(programs.told()
             == "xdotool[type][--delay][12][--][--help; $(touch x) 'a' \"b\"\n`c` exec]\n");
}

BOOST_AUTO_TEST_CASE(a_display_can_be_shown_smaller) {
  stub_programs programs;
  auto options = display_99();
  options.shown = screen_size{100, 50};
  auto on = make_x11_computer(options);
  programs.told();
  BOOST_TEST((on->display() == screen_size{100, 50}));
  on->mouse_move({99, 49});
  BOOST_TEST(programs.told() == "xdotool[mousemove][198][98]\n");
  BOOST_TEST((on->cursor_position() == screen_point{25, 25}));
  on->screenshot();
  on->zoom({{10, 20}, {30, 50}});
  BOOST_TEST(programs.told()
             == "xdotool[getmouselocation][--shell]\n"
                "import[-silent][-window][root][-resize][100x50!][-depth][8][png:-]\n"
                "import[-silent][-window][root][-crop][40x60+20+40][+repage][-resize][100x50>]"
                "[-depth][8][png:-]\n");
  options.shown = screen_size{201, 50};
  BOOST_TEST(class_thrown([&] { make_x11_computer(options); }).starts_with("invalid_config: "));
}

BOOST_AUTO_TEST_CASE(programs_see_the_display_and_little_else) {
  stub_programs programs;
  auto on = make_x11_computer(display_99());
  programs.put("import", "/usr/bin/env");
  auto seen = on->screenshot();
  BOOST_TEST(seen.find("DISPLAY=:99\n") != std::string::npos);
  BOOST_TEST(seen.find("TROUPE_TEST_SECRET") == std::string::npos);
}

// ---- what goes wrong ------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_missing_program_is_named_with_its_package) {
  for (const auto& [program, package] :
       {std::pair{"xdotool", "Debian: xdotool"}, std::pair{"import", "Debian: imagemagick"}}) {
    stub_programs programs;
    programs.remove(program);
    auto thrown = class_thrown([] { make_x11_computer(display_99()); });
    BOOST_TEST(thrown.starts_with("invalid_config: "));
    BOOST_TEST(thrown.find(program) != std::string::npos, thrown);
    BOOST_TEST(thrown.find(package) != std::string::npos, thrown);
  }
}

BOOST_AUTO_TEST_CASE(a_display_that_is_none_is_refused) {
  stub_programs programs;
  for (const auto* name : {"", "99", ":99 -x", ":9\n9", "$(x):0"})
    BOOST_TEST(
      class_thrown([&] { make_x11_computer({.display = name}); }).starts_with("invalid_config: "),
      name);
  BOOST_TEST(programs.told().empty());
  BOOST_TEST(class_thrown([] {
               make_x11_computer({.display = ":1", .timeout = 0ms});
             }).starts_with("invalid_config: "));
  programs.put("xdotool", "echo \"Error: Can't open display: :99\" >&2; exit 1");
  BOOST_TEST(class_thrown([] { make_x11_computer(display_99()); })
             == "invalid_config: use an X display: :99 does not answer: Error: Can't open display: "
                ":99");
  for (const auto* size : {"", "many", "0 0", "-5 5", "99999999999 5"}) {
    programs.put("xdotool", std::string{"echo '"} + size + "'");
    BOOST_TEST(class_thrown([] { make_x11_computer(display_99()); }).find("did not report its size")
                 != std::string::npos,
               size);
  }
}

BOOST_AUTO_TEST_CASE(what_a_program_complains_of_is_told) {
  stub_programs programs;
  auto on = make_x11_computer(display_99());
  auto click_after = [&](const std::string& script) {
    programs.put("xdotool", script);
    return class_thrown([&] { on->click(mouse_button::left, 1, std::nullopt, {}); });
  };
  BOOST_TEST(click_after("echo oh no >&2; exit 3") == "ToolError: xdotool: oh no");
  BOOST_TEST(click_after("exit 3") == "ToolError: xdotool: exit code 3");
  BOOST_TEST(click_after("echo \"(symbol) No such key name 'x'. Ignoring it.\" >&2")
             == "ToolError: (symbol) No such key name 'x'. Ignoring it.");
  BOOST_TEST(click_after("echo \"Error: Can't open display: :99\" >&2; exit 1")
             == "ComputerLostError: display :99 does not answer");
  programs.remove("xdotool");
  BOOST_TEST(class_thrown([&] { on->mouse_up(); }).starts_with("ToolError: xdotool was not run"));
  programs.put("import", "echo \"import: unable to open X server ':99' @ error\" >&2; exit 1");
  BOOST_TEST(class_thrown([&] { on->screenshot(); })
             == "ComputerLostError: display :99 does not answer");
}

BOOST_AUTO_TEST_CASE(an_unknown_key_is_told_and_nothing_is_pressed) {
  stub_programs programs;
  auto on = make_x11_computer(display_99());
  programs.told();
  BOOST_TEST(class_thrown([&] { on->key({"ctrl", "exec"}); }) == "ToolError: No such key: exec");
  BOOST_TEST(programs.told().empty());
}

BOOST_AUTO_TEST_CASE(a_program_that_hangs_is_stopped_and_keys_are_let_go) {
  stub_programs programs;
  auto options = display_99();
  options.timeout = 300ms;
  auto on = make_x11_computer(options);
  programs.told();
  programs.put("xdotool", "[ \"$1\" = keyup ] || /bin/sleep 1000");
  BOOST_TEST(class_thrown([&] { on->click(mouse_button::left, 1, std::nullopt, {"shift"}); })
             == "ToolError: xdotool was stopped: it took too long");
  BOOST_TEST(programs.told()
             == "xdotool[keydown][Shift_L][click][--repeat][1][--delay][20][1][keyup][Shift_L]\n"
                "xdotool[keyup][Shift_L]\n");
}

BOOST_AUTO_TEST_CASE(a_screenshot_without_end_is_refused) {
  stub_programs programs;
  auto on = make_x11_computer(display_99());
  programs.put("import", "/usr/bin/head -c 4000000 /dev/zero");
  BOOST_TEST(class_thrown([&] { on->screenshot(); }).find("larger than") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_factory_gives_its_display_and_no_other) {
  stub_programs programs;
  auto factory = x11_computers(display_99());
  BOOST_TEST(factory("").id == ":99");
  BOOST_TEST(factory(":99").id == ":99");
  BOOST_TEST(class_thrown([&] { factory(":98"); }).starts_with("ComputerLostError: "));
}

// ---- programs -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_a_program_says_is_kept_up_to_a_bound) {
  program_bounds bounds{10s, 5};
  auto how = run_program({"/bin/sh", "-c", "echo 1234567; echo oh >&2; exit 4"}, {}, bounds);
  BOOST_TEST(how.code.value_or(-1) == 4);
  BOOST_TEST(how.out == "12345");
  BOOST_TEST(how.err == "oh\n");
  BOOST_TEST(how.is_cut);
  BOOST_CHECK_THROW(run_program({"/no/such/program"}, {}, bounds), std::system_error);
}

BOOST_AUTO_TEST_CASE(a_program_whose_children_hold_its_outputs_is_over_when_it_is) {
  auto how = run_program({"/bin/sh", "-c", "/bin/sleep 1000 & echo done"}, {}, {60s, 100});
  BOOST_TEST(how.code.value_or(-1) == 0);
  BOOST_TEST(how.out == "done\n");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
