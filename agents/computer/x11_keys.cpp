// x11_keys: the table of names.
#include "agents/computer/x11_keys.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace troupe {
namespace {

// By the name in lower case without `_`.
constexpr std::array<std::pair<std::string_view, std::string_view>, 55> key_names{{
  {"alt", "Alt_L"},
  {"altl", "Alt_L"},
  {"altr", "Alt_R"},
  {"arrowdown", "Down"},
  {"arrowleft", "Left"},
  {"arrowright", "Right"},
  {"arrowup", "Up"},
  {"backspace", "BackSpace"},
  {"capslock", "Caps_Lock"},
  {"cmd", "Super_L"},
  {"command", "Super_L"},
  {"control", "Control_L"},
  {"controll", "Control_L"},
  {"controlr", "Control_R"},
  {"ctrl", "Control_L"},
  {"del", "Delete"},
  {"delete", "Delete"},
  {"down", "Down"},
  {"end", "End"},
  {"enter", "Return"},
  {"esc", "Escape"},
  {"escape", "Escape"},
  {"home", "Home"},
  {"ins", "Insert"},
  {"insert", "Insert"},
  {"left", "Left"},
  {"menu", "Menu"},
  {"meta", "Meta_L"},
  {"minus", "minus"},
  {"next", "Next"},
  {"numlock", "Num_Lock"},
  {"option", "Alt_L"},
  {"pagedown", "Next"},
  {"pageup", "Prior"},
  {"pause", "Pause"},
  {"period", "period"},
  {"comma", "comma"},
  {"equal", "equal"},
  {"plus", "plus"},
  {"print", "Print"},
  {"printscreen", "Print"},
  {"prior", "Prior"},
  {"return", "Return"},
  {"right", "Right"},
  {"scrolllock", "Scroll_Lock"},
  {"shift", "Shift_L"},
  {"shiftl", "Shift_L"},
  {"shiftr", "Shift_R"},
  {"slash", "slash"},
  {"space", "space"},
  {"super", "Super_L"},
  {"superl", "Super_L"},
  {"tab", "Tab"},
  {"up", "Up"},
  {"win", "Super_L"},
}};

bool is_function_key(std::string_view name) {
  return (name.size() == 2 || name.size() == 3) && name[0] == 'F'
         && std::ranges::all_of(name.substr(1), [](char c) { return c >= '0' && c <= '9'; });
}

// Families of names that are not commands.
bool is_of_family(std::string_view name) {
  constexpr std::array<std::string_view, 4> families{"KP_", "XF86", "ISO_", "dead_"};
  return std::ranges::any_of(families, [name](auto f) { return name.starts_with(f); });
}

} // namespace

std::optional<std::string> x11_key(std::string_view name) {
  if (name.size() == 1) {
    auto c = static_cast<unsigned char>(name[0]);
    if (std::isalnum(c) != 0)
      return std::string{name};
    constexpr const char* digits = "0123456789ABCDEF";
    return std::string{"U00"} + digits[c >> 4] + digits[c & 15];
  }
  if (is_function_key(name) || is_of_family(name))
    return std::string{name};
  std::string plain;
  for (char c : name)
    if (c != '_')
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  auto known = std::ranges::find(key_names, plain, [](const auto& one) { return one.first; });
  if (known == key_names.end())
    return std::nullopt;
  return std::string{known->second};
}

} // namespace troupe
