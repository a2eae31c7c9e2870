// computer_action: the action that a model asks for, out of a call's arguments. Every argument is
// checked.
#include <troupe/agents/computer.hpp>
#include <troupe/agents/confined_folder.hpp>

#include "agents/messages/json_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace troupe {
namespace {

struct action_form {
  std::string_view name;
  computer_verb verb;
  mouse_button button = mouse_button::left;
  unsigned times = 1;
};

constexpr std::array action_forms{
  action_form{"screenshot", computer_verb::screenshot},
  action_form{"cursor_position", computer_verb::cursor_position},
  action_form{"mouse_move", computer_verb::mouse_move},
  action_form{"left_click", computer_verb::click},
  action_form{"right_click", computer_verb::click, mouse_button::right},
  action_form{"middle_click", computer_verb::click, mouse_button::middle},
  action_form{"double_click", computer_verb::click, mouse_button::left, 2},
  action_form{"triple_click", computer_verb::click, mouse_button::left, 3},
  action_form{"left_click_drag", computer_verb::drag},
  action_form{"left_mouse_down", computer_verb::mouse_down},
  action_form{"left_mouse_up", computer_verb::mouse_up},
  action_form{"scroll", computer_verb::scroll},
  action_form{"type", computer_verb::type},
  action_form{"key", computer_verb::key},
  action_form{"hold_key", computer_verb::hold_key},
  action_form{"wait", computer_verb::wait},
  action_form{"zoom", computer_verb::zoom},
};

constexpr std::size_t shown_bytes_max = 80; // of a model's text in a message

[[noreturn]] void refuse_action(std::string why) {
  throw node_error{"ToolError", std::move(why)};
}

bool is_key_name(std::string_view name) {
  bool mark = name.size() == 1 && name[0] > ' ' && name[0] < '\x7f';
  auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return mark
         || (!name.empty() && name.size() <= limits::computer_key_bytes_max
             && std::ranges::all_of(name, in_name));
}

// "ctrl+shift+t"; a `+` where a key should begin is that key.
key_chord chord_of(std::string_view text) {
  key_chord out;
  for (auto rest = text;;) {
    auto end = std::min(rest.find('+', 1), rest.size());
    auto name = rest.substr(0, end);
    if (!is_key_name(name))
      refuse_action("No such key: " + readable_text(text.substr(0, shown_bytes_max)));
    out.emplace_back(name);
    if (end >= rest.size())
      break;
    rest.remove_prefix(end + 1);
  }
  if (out.size() > limits::computer_chord_keys_max)
    refuse_action("At most " + std::to_string(limits::computer_chord_keys_max)
                  + " keys can be held at a time");
  return out;
}

std::vector<key_chord> chords_of(std::string_view text) {
  std::vector<key_chord> out;
  while (!text.empty()) {
    auto end = std::min(text.find(' '), text.size());
    if (end > 0)
      out.push_back(chord_of(text.substr(0, end)));
    if (out.size() > limits::computer_chords_max)
      refuse_action("At most " + std::to_string(limits::computer_chords_max)
                    + " keys can be pressed by one action");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Reads the members of one call.
class action_reader {
public:
  action_reader(const value& args, const screen_size& display)
    : args_{args},
      display_{display},
      action_{text_in(args["action"])} {}

  std::optional<screen_point> point(const char* name) const {
    if (args_[name].is_null())
      return std::nullopt;
    auto numbers = whole_numbers(name, 2);
    screen_point out{numbers[0], numbers[1]};
    if (out.x >= display_.width || out.y >= display_.height)
      refuse_action(beyond(name));
    return out;
  }
  screen_point required_point(const char* name) const {
    auto out = point(name);
    if (!out)
      refuse_action(missing(name));
    return *out;
  }
  screen_region region() const {
    auto n = whole_numbers("region", 4);
    if (n[2] > display_.width || n[3] > display_.height)
      refuse_action(beyond("region"));
    if (n[0] >= n[2] || n[1] >= n[3])
      refuse_action("region is empty: it must be [x0, y0, x1, y1] with x0 < x1 and y0 < y1");
    return {{n[0], n[1]}, {n[2], n[3]}};
  }
  std::string text() const {
    if (!args_["text"].is_string() || args_["text"].empty())
      refuse_action(missing("text"));
    auto out = text_in(args_["text"]);
    if (out.size() > limits::computer_text_bytes_max)
      refuse_action("text is too long: " + std::to_string(out.size()) + " bytes, at most "
                    + std::to_string(limits::computer_text_bytes_max)
                    + "; type it in several actions");
    return out;
  }
  std::string typed_text() const {
    auto out = text();
    auto is_control = [](char c) {
      return (c >= '\0' && c < ' ' && c != '\n' && c != '\t') || c == '\x7f';
    };
    if (std::ranges::any_of(out, is_control))
      refuse_action("text has control characters; press keys with the action key");
    return out;
  }
  // The keys in `text`, or in `key` as older versions of the tool have it; may be empty.
  std::vector<key_chord> held() const {
    const auto& given = args_["text"].is_null() ? args_["key"] : args_["text"];
    if (given.is_null() || given == value(""))
      return {};
    if (!given.is_string())
      refuse_action("text must name the keys that are held");
    return {chord_of(given.as_string())};
  }
  scroll_direction direction() const {
    constexpr std::array<std::string_view, 4> names{"up", "down", "left", "right"};
    auto found = std::ranges::find(names, text_in(args_["scroll_direction"]));
    if (found == names.end())
      refuse_action("scroll_direction must be up, down, left or right");
    return static_cast<scroll_direction>(found - names.begin());
  }
  unsigned notches() const {
    auto out = whole(args_["scroll_amount"]);
    if (!out || *out < 1 || *out > limits::computer_scroll_max)
      refuse_action("scroll_amount must be a whole number from 1 to "
                    + std::to_string(limits::computer_scroll_max));
    return static_cast<unsigned>(*out);
  }
  std::chrono::milliseconds duration() const {
    using seconds = std::chrono::duration<double>;
    const auto& given = args_["duration"];
    constexpr seconds most = limits::computer_wait_max;
    double out = given.is_int()      ? static_cast<double>(given.as_int())
                 : given.is_double() ? given.as_double()
                                     : -1.0;
    if (!(out >= 0 && out <= most.count()))
      refuse_action("duration must be a number of seconds from 0 to "
                    + std::to_string(static_cast<int>(most.count())));
    return std::chrono::round<std::chrono::milliseconds>(seconds{out});
  }

private:
  static std::optional<std::int64_t> whole(const value& v) {
    constexpr double most = 1e9;
    if (v.is_int())
      return v.as_int();
    if (v.is_double() && std::abs(v.as_double()) <= most
        && std::trunc(v.as_double()) == v.as_double())
      return static_cast<std::int64_t>(v.as_double());
    return std::nullopt;
  }
  std::vector<int> whole_numbers(const char* name, std::size_t count) const {
    const auto& given = args_[name];
    if (given.is_null())
      refuse_action(missing(name));
    std::vector<int> out;
    for (const auto& item : given.items())
      if (auto n = whole(item); n && *n >= 0)
        out.push_back(
          static_cast<int>(std::min<std::int64_t>(*n, limits::computer_display_edge_max + 1)));
    if (!given.is_list() || given.size() != count || out.size() != count)
      refuse_action(std::string{name} + " must be a list of " + std::to_string(count)
                    + " whole numbers from 0");
    return out;
  }
  std::string missing(const char* name) const {
    return std::string{name} + " is required for " + action_;
  }
  std::string beyond(const char* name) const {
    return std::string{name} + " is out of bounds: the display has "
           + std::to_string(display_.width) + " x " + std::to_string(display_.height)
           + " pixels, counted from 0";
  }

  const value& args_;
  const screen_size& display_;
  std::string action_;
};

const action_form& form_of(const value& args, bool can_zoom) {
  auto name = text_in(args["action"]);
  auto found = std::ranges::find(action_forms, name, &action_form::name);
  if (found == action_forms.end() || (found->verb == computer_verb::zoom && !can_zoom))
    refuse_action("Invalid action: " + quoted_text(readable_text(name.substr(0, shown_bytes_max))));
  return *found;
}

void read_members(computer_action& into, const action_reader& in) {
  switch (into.verb) {
    case computer_verb::screenshot:
    case computer_verb::cursor_position: return;
    case computer_verb::zoom: into.region = in.region(); return;
    case computer_verb::mouse_move: into.at = in.required_point("coordinate"); return;
    case computer_verb::mouse_down:
    case computer_verb::mouse_up: into.at = in.point("coordinate"); return;
    case computer_verb::click:
      into.at = in.point("coordinate");
      into.chords = in.held();
      return;
    case computer_verb::drag:
      into.from = in.required_point("start_coordinate");
      into.at = in.required_point("coordinate");
      return;
    case computer_verb::scroll:
      into.at = in.point("coordinate");
      into.direction = in.direction();
      into.notches = in.notches();
      into.chords = in.held();
      return;
    case computer_verb::type: into.text = in.typed_text(); return;
    case computer_verb::key:
      into.chords = chords_of(in.text());
      if (into.chords.empty())
        refuse_action("text must name a key");
      return;
    case computer_verb::hold_key:
      into.chords = {chord_of(in.text())};
      into.duration = in.duration();
      return;
    case computer_verb::wait: into.duration = in.duration(); return;
  }
}

} // namespace

result<computer_action> parse_computer_action(const value& args, const screen_size& display,
                                              bool can_zoom) {
  try {
    const auto& form = form_of(args, can_zoom);
    computer_action out{.verb = form.verb, .button = form.button, .times = form.times};
    read_members(out, action_reader{args, display});
    return out;
  } catch (const node_error& why) {
    return error{errc::node_failed, why.what(), why.type(), why.what()};
  }
}

} // namespace troupe
