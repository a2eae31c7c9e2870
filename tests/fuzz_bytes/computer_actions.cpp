// The actions that a model wants of a computer: JSON of a call's arguments.
#include "tests/fuzz_bytes/target.hpp"

#include "agents/computer/x11_keys.hpp"

#include <troupe/agents/computer.hpp>

#include <algorithm>
#include <array>
#include <cctype>

namespace troupe::fuzz_bytes {

namespace {

constexpr screen_size fuzzed_screen{640, 480};

bool is_on(const screen_point& p) {
  return p.x >= 0 && p.y >= 0 && p.x < fuzzed_screen.width && p.y < fuzzed_screen.height;
}

bool is_command(std::string name) {
  constexpr std::array<std::string_view, 12> commands{"exec",    "type",  "key",     "keydown",
                                                      "keyup",   "sleep", "click",   "search",
                                                      "mouseup", "help",  "version", "mousedown"};
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(commands, name) != commands.end();
}

void check_action(const computer_action& a) {
  require(!a.at || is_on(*a.at), "a place is on the display");
  require(is_on(a.from), "a drag begins on the display");
  if (a.verb == computer_verb::zoom)
    require(is_on(a.region.from) && a.region.from.x < a.region.to.x
              && a.region.from.y < a.region.to.y && a.region.to.x <= fuzzed_screen.width
              && a.region.to.y <= fuzzed_screen.height,
            "a region is on the display, and not empty");
  require(a.text.size() <= limits::computer_text_bytes_max, "a text is bounded");
  require(a.notches <= limits::computer_scroll_max && a.times >= 1 && a.times <= 3, "a count is");
  require(a.duration.count() >= 0 && a.duration <= limits::computer_wait_max, "a time is");
  require(a.chords.size() <= limits::computer_chords_max, "keys are");
  for (const auto& chord : a.chords) {
    require(!chord.empty() && chord.size() <= limits::computer_chord_keys_max, "chords are");
    for (const auto& name : chord)
      if (auto key = x11_key(name))
        require(!key->empty() && key->front() != '-' && !is_command(*key), "a key is no command");
  }
}

} // namespace

void try_bytes(std::string_view bytes) {
  auto args = from_json(bytes);
  if (!args)
    return;
  for (bool can_zoom : {false, true}) {
    auto got = parse_computer_action(*args, fuzzed_screen, can_zoom);
    if (got)
      check_action(*got);
    else
      require(got.error().type() == "ToolError" && !got.error().text().empty(),
              "a refusal is told to the model");
  }
}

std::vector<std::string> seeds() {
  return {R"({"action":"left_click","coordinate":[1,2],"text":"ctrl+alt"})",
          R"({"action":"left_click_drag","start_coordinate":[1.0,2],"coordinate":[639,479]})",
          R"({"action":"scroll","scroll_direction":"left","scroll_amount":100,"key":"shift"})",
          R"({"action":"type","text":"--help\n"})",
          R"({"action":"key","text":"ctrl+s Return F12 KP_0 exec ctrl++"})",
          R"({"action":"hold_key","text":"a","duration":1e-3})",
          R"({"action":"wait","duration":100})",
          R"({"action":"zoom","region":[0,0,640,480]})"};
}

} // namespace troupe::fuzz_bytes
