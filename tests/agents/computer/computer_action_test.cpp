// The action that a model wants of a computer, read from the arguments of its call.
#include <troupe/agents/computer.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string>
#include <vector>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;
using namespace std::chrono_literals;

constexpr screen_size read_screen{100, 80};

struct action_case {
  const char* args;
  computer_action expected;
};
std::ostream& operator<<(std::ostream& out, const action_case& c) {
  return out << c.args;
}
struct refused_case {
  const char* args;
  const char* why;
};
std::ostream& operator<<(std::ostream& out, const refused_case& c) {
  return out << c.args;
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_computer_action)

using verb = computer_verb;
const std::vector<action_case> known_actions{
  {R"({"action":"screenshot","coordinate":[900,900]})", {}},
  {R"({"action":"cursor_position"})", {.verb = verb::cursor_position}},
  {R"({"action":"mouse_move","coordinate":[99,79]})",
   {.verb = verb::mouse_move, .at = screen_point{99, 79}}},
  {R"({"action":"left_click"})", {.verb = verb::click}},
  {R"({"action":"right_click","coordinate":[1.0,2]})",
   {.verb = verb::click, .at = screen_point{1, 2}, .button = mouse_button::right}},
  {R"({"action":"middle_click","key":"shift"})",
   {.verb = verb::click, .button = mouse_button::middle, .chords = {{"shift"}}}},
  {R"({"action":"double_click","coordinate":null})", {.verb = verb::click, .times = 2}},
  {R"({"action":"triple_click","text":"ctrl+alt"})",
   {.verb = verb::click, .times = 3, .chords = {{"ctrl", "alt"}}}},
  {R"({"action":"left_click_drag","start_coordinate":[1,2],"coordinate":[3,4]})",
   {.verb = verb::drag, .at = screen_point{3, 4}, .from = {1, 2}}},
  {R"({"action":"left_mouse_down"})", {.verb = verb::mouse_down}},
  {R"({"action":"left_mouse_up","coordinate":[0,0]})",
   {.verb = verb::mouse_up, .at = screen_point{0, 0}}},
  {R"({"action":"scroll","scroll_direction":"left","scroll_amount":100})",
   {.verb = verb::scroll, .direction = scroll_direction::left, .notches = 100}},
  {R"({"action":"type","text":"--help; $(x)\n\tß"})",
   {.verb = verb::type, .text = "--help; $(x)\n\tß"}},
  {R"({"action":"key","text":"ctrl+s Return ctrl++ /"})",
   {.verb = verb::key, .chords = {{"ctrl", "s"}, {"Return"}, {"ctrl", "+"}, {"/"}}}},
  {R"({"action":"hold_key","text":"a","duration":0.25})",
   {.verb = verb::hold_key, .chords = {{"a"}}, .duration = 250ms}},
  {R"({"action":"wait","duration":100})", {.verb = verb::wait, .duration = 100s}},
  {R"({"action":"zoom","region":[0,0,100,80]})",
   {.verb = verb::zoom, .region = {{0, 0}, {100, 80}}}},
};
BOOST_DATA_TEST_CASE(an_action_is_read, data::make(known_actions), c) {
  auto got = parse_computer_action(from_json(c.args).value(), read_screen, true);
  BOOST_REQUIRE(got.has_value());
  BOOST_TEST((*got == c.expected));
}

const std::vector<refused_case> bad_actions{
  {"[]", "Invalid action: ''"},
  {R"({"action":7})", "Invalid action: ''"},
  {R"({"action":"format_disk"})", "Invalid action: 'format_disk'"},
  {R"({"action":"zoom","region":[0,0,5,5]})", "Invalid action: 'zoom'"},
  {R"({"action":"mouse_move"})", "coordinate is required for mouse_move"},
  {R"({"action":"mouse_move","coordinate":[100,0]})", "out of bounds: the display has 100 x 80"},
  {R"({"action":"mouse_move","coordinate":[0,80]})", "out of bounds"},
  {R"({"action":"mouse_move","coordinate":[9223372036854775807,0]})", "out of bounds"},
  {R"({"action":"mouse_move","coordinate":[-1,0]})", "list of 2 whole numbers"},
  {R"({"action":"mouse_move","coordinate":[1.5,0]})", "list of 2 whole numbers"},
  {R"({"action":"mouse_move","coordinate":[1e300,0]})", "list of 2 whole numbers"},
  {R"({"action":"mouse_move","coordinate":[1,2,3]})", "list of 2 whole numbers"},
  {R"({"action":"mouse_move","coordinate":"1,2"})", "list of 2 whole numbers"},
  {R"({"action":"left_click","coordinate":[1]})", "list of 2 whole numbers"},
  {R"({"action":"left_click","text":5})", "must name the keys"},
  {R"({"action":"left_click","text":"ctrl -x"})", "No such key"},
  {R"({"action":"left_click_drag","coordinate":[1,2]})", "start_coordinate is required"},
  {R"({"action":"scroll","scroll_amount":1})", "scroll_direction must be"},
  {R"({"action":"scroll","scroll_direction":"up"})", "scroll_amount must be"},
  {R"({"action":"scroll","scroll_direction":"up","scroll_amount":101})", "from 1 to 100"},
  {R"({"action":"scroll","scroll_direction":"up","scroll_amount":0})", "from 1 to 100"},
  {R"({"action":"type"})", "text is required for type"},
  {R"({"action":"type","text":""})", "text is required for type"},
  {R"({"action":"type","text":"\u001b[2J"})", "control characters"},
  {R"({"action":"type","text":"a\u0000b"})", "control characters"},
  {R"({"action":"key","text":" "})", "must name a key"},
  {R"({"action":"key","text":"ctrl+"})", "No such key"},
  {R"({"action":"key","text":"--help"})", "No such key"},
  {R"({"action":"key","text":"a;b"})", "No such key"},
  {R"({"action":"key","text":"a+b+c+d+e+f+g+h+i"})", "At most 8 keys"},
  {R"({"action":"hold_key","text":"a"})", "duration must be"},
  {R"({"action":"hold_key","text":"a b","duration":1})", "No such key"},
  {R"({"action":"wait","duration":-1})", "from 0 to 100"},
  {R"({"action":"wait","duration":100.5})", "from 0 to 100"},
  {R"({"action":"wait","duration":"1"})", "from 0 to 100"},
};
BOOST_DATA_TEST_CASE(an_action_that_makes_no_sense_is_refused, data::make(bad_actions), c) {
  auto got = parse_computer_action(from_json(c.args).value(), read_screen, false);
  BOOST_REQUIRE(!got);
  BOOST_TEST(got.error().type() == "ToolError");
  BOOST_TEST(got.error().text().find(c.why) != std::string::npos, got.error().text());
}

BOOST_AUTO_TEST_CASE(texts_and_keys_without_end_and_empty_regions_are_refused) {
  auto refused = [](value args) {
    return !parse_computer_action(args, read_screen, true).has_value();
  };
  auto typing = [](std::size_t bytes) {
    return value{{"action", "type"}, {"text", std::string(bytes, 'x')}};
  };
  BOOST_TEST(!refused(typing(limits::computer_text_bytes_max)));
  BOOST_TEST(refused(typing(limits::computer_text_bytes_max + 1)));
  std::string many;
  for (std::size_t i = 0; i <= limits::computer_chords_max; ++i)
    many += "a ";
  BOOST_TEST(refused(value{{"action", "key"}, {"text", many}}));
  BOOST_TEST(refused(
    value{{"action", "key"}, {"text", std::string(limits::computer_key_bytes_max + 1, 'a')}}));
  for (const auto* region :
       {"[5,5,5,9]", "[5,5,9,5]", "[9,5,5,9]", "[0,0,101,5]", "[0,0,5,81]", "[0,0,5]", "null"})
    BOOST_TEST(refused(value{{"action", "zoom"}, {"region", from_json(region).value()}}), region);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
