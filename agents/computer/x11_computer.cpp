// x11_computer: an X display as a computer, by one run of xdotool or import for each action.
#include <troupe/agents/computer.hpp>
#include <troupe/agents/confined_folder.hpp>

#include "agents/computer/x11_keys.hpp"
#include "agents/workspace/child_process.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <system_error>

namespace troupe {
namespace {

using std::chrono::milliseconds;
using program_words = child_process::words;

constexpr milliseconds typing_delay{12};       // between two keys
constexpr std::size_t said_bytes_max = 500;    // of a program's message to a model
constexpr std::size_t answer_bytes_max = 4096; // of xdotool
constexpr const char* left_button = "1";

error no_display(const std::string& why) {
  return {errc::invalid_config, "use an X display: " + why};
}

bool is_display_name(std::string_view name) {
  auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.'
           || c == ':' || c == '-' || c == '_' || c == '/';
  };
  return name.find(':') != name.npos && name.size() <= limits::computer_instance_id_bytes_max
         && std::ranges::all_of(name, fits);
}

program_words environment_for(const std::string& display) {
  program_words out{"PATH=" + path_of_programs(), "DISPLAY=" + display, "LANG=C.UTF-8"};
  for (const auto* name : {"XAUTHORITY", "HOME"})
    if (const char* text = std::getenv(name))
      out.push_back(std::string{name} + '=' + text);
  return out;
}

std::string in_seconds(milliseconds time) {
  auto rest = std::to_string(time.count() % 1000);
  return std::to_string(time.count() / 1000) + '.' + std::string(3 - rest.size(), '0') + rest;
}

std::string geometry(const screen_size& size) {
  return std::to_string(size.width) + 'x' + std::to_string(size.height);
}

// The whole numbers after these marks.
std::optional<std::pair<int, int>> two_numbers(std::string_view text, std::string_view first,
                                               std::string_view second) {
  auto number = [&text](std::string_view mark) -> std::optional<int> {
    auto at = text.find(mark);
    if (at == text.npos)
      return std::nullopt;
    text.remove_prefix(at + mark.size());
    int out = 0;
    auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (wrong != std::errc{} || out < 0)
      return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return out;
  };
  auto a = number(first);
  auto b = a ? number(second) : std::nullopt;
  return b ? std::optional{std::pair{*a, *b}} : std::nullopt;
}

// The error text of a program.
std::string complaint(const program_end& how) {
  auto said = readable_text(how.err.substr(0, said_bytes_max));
  while (said.ends_with('\n'))
    said.pop_back();
  return said.empty() ? "exit code " + std::to_string(how.code.value_or(-1)) : said;
}

bool lost_display(const program_end& how) {
  return how.err.find("open display") != std::string::npos
         || how.err.find("open X server") != std::string::npos;
}

class x11_computer final : public computer {
public:
  explicit x11_computer(x11_options options) : options_{std::move(options)} {
    if (!is_display_name(options_.display))
      throw no_display("not the name of a display: `" + readable_text(options_.display) + '`');
    if (options_.timeout.count() <= 0)
      throw no_display("timeout must be above 0");
    environment_ = environment_for(options_.display);
    require_program("import", "imagemagick", {"import", "-version"});
    auto answer = require_program("xdotool", "xdotool", {"xdotool", "getdisplaygeometry"});
    auto size = two_numbers(answer, "", " ");
    if (!size || size->first < 1 || size->second < 1)
      throw no_display(options_.display + " did not report its size");
    real_ = {size->first, size->second};
    shown_ = options_.shown.value_or(real_);
    if (shown_.width < 1 || shown_.height < 1 || shown_.width > real_.width
        || shown_.height > real_.height)
      throw no_display(options_.display + " can't be shown in " + geometry(shown_) + ": it has "
                       + geometry(real_));
  }

  screen_size display() const override { return shown_; }

  std::string screenshot() override {
    program_words words{"import", "-silent", "-window", "root"};
    if (shown_ != real_)
      words.insert(words.end(), {"-resize", geometry(shown_) + '!'});
    return picture(std::move(words));
  }
  std::string zoom(const screen_region& region) override {
    auto from = to_real(region.from);
    auto to = to_real(region.to);
    screen_size size{std::max(1, to.x - from.x), std::max(1, to.y - from.y)};
    auto crop = geometry(size) + '+' + std::to_string(from.x) + '+' + std::to_string(from.y);
    return picture({"import", "-silent", "-window", "root", "-crop", crop, "+repage", "-resize",
                    geometry(shown_) + '>'});
  }
  screen_point cursor_position() override {
    auto answer = xdotool({"getmouselocation", "--shell"});
    auto at = two_numbers(answer, "X=", "Y=");
    if (!at)
      throw node_error{"ToolError", "xdotool did not report the position of the mouse"};
    return {scaled(at->first, shown_.width, real_.width),
            scaled(at->second, shown_.height, real_.height)};
  }
  void mouse_move(const screen_point& to) override { xdotool(move_to(to)); }
  void click(mouse_button button, unsigned times, const std::optional<screen_point>& at,
             const key_chord& held) override {
    constexpr const char* numbers[] = {left_button, "2", "3"};
    click_button(numbers[static_cast<int>(button)], times, at, held);
  }
  void mouse_down() override { xdotool({"mousedown", left_button}); }
  void mouse_up() override { xdotool({"mouseup", left_button}); }
  void drag(const screen_point& from, const screen_point& to) override {
    auto words = move_to(from);
    words.insert(words.end(), {"mousedown", left_button, "sleep", "0.1"});
    for (auto& word : move_to(to)) // programs react to the movement itself
      words.push_back(std::move(word));
    words.insert(words.end(), {"sleep", "0.1", "mouseup", left_button});
    xdotool(std::move(words));
  }
  void scroll(scroll_direction direction, unsigned notches, const std::optional<screen_point>& at,
              const key_chord& held) override {
    constexpr const char* numbers[] = {"4", "5", "6", "7"};
    click_button(numbers[static_cast<int>(direction)], notches, at, held);
  }
  void type(const std::string& text) override {
    // Two delays a character: for the character and its modifier.
    auto time = 2 * typing_delay * static_cast<long>(text.size());
    xdotool({"type", "--delay", std::to_string(typing_delay.count()), "--", text}, time);
  }
  void key(const key_chord& keys) override { with_keys(keys, {}, milliseconds{0}); }
  void hold_key(const key_chord& keys, milliseconds duration) override {
    with_keys(keys, {"sleep", in_seconds(duration)}, duration);
  }

private:
  static int scaled(int n, int to, int from) {
    return static_cast<int>(static_cast<std::int64_t>(n) * to / from);
  }
  screen_point to_real(const screen_point& p) const {
    return {scaled(p.x, real_.width, shown_.width), scaled(p.y, real_.height, shown_.height)};
  }
  program_words move_to(const screen_point& p) const {
    auto at = to_real(p);
    return {"mousemove", std::to_string(at.x), std::to_string(at.y)};
  }

  void click_button(const char* number, unsigned times, const std::optional<screen_point>& at,
                    const key_chord& held) {
    auto words = at ? move_to(*at) : program_words{};
    words.insert(words.end(),
                 {"click", "--repeat", std::to_string(times), "--delay", "20", number});
    with_keys(held, words, milliseconds{20} * times);
  }

  // Runs these words of xdotool while the keys are held.
  void with_keys(const key_chord& keys, const program_words& words, milliseconds time) {
    program_words down;
    program_words up;
    for (const auto& name : keys) {
      auto key = x11_key(name);
      if (!key)
        throw node_error{"ToolError", "No such key: " + name};
      down.insert(down.end(), {"keydown", *key});
      up.insert(up.begin(), {"keyup", *key});
    }
    auto all = down;
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), up.begin(), up.end());
    try {
      xdotool(std::move(all), time);
    } catch (const computer_lost&) {
      throw;
    } catch (const node_error&) {
      if (!up.empty())
        run({program_words{"xdotool"}, std::move(up)}, options_.timeout, answer_bytes_max);
      throw;
    }
  }

  std::string xdotool(program_words words, milliseconds time = milliseconds{0}) {
    auto how = run({program_words{"xdotool"}, std::move(words)}, options_.timeout + time,
                   answer_bytes_max);
    // xdotool continues when it does not know a key, so its messages are checked.
    if (how.err.find("No such key") != std::string::npos)
      throw node_error{"ToolError", complaint(how)};
    return ended_well("xdotool", std::move(how));
  }
  std::string picture(program_words words) {
    words.insert(words.end(), {"-depth", "8", "png:-"});
    auto how = run({std::move(words)}, options_.timeout, limits::computer_screenshot_bytes_max + 1);
    if (how.is_cut)
      throw node_error{"ToolError", "The screenshot is larger than "
                                      + std::to_string(limits::computer_screenshot_bytes_max)
                                      + " bytes"};
    return ended_well("import", std::move(how));
  }

  std::string ended_well(const std::string& program, program_end how) const {
    if (!how.code)
      throw node_error{"ToolError", program + " was stopped: it took too long"};
    if (*how.code != 0 && lost_display(how))
      throw computer_lost{"display " + options_.display + " does not answer"};
    if (*how.code != 0)
      throw node_error{"ToolError", program + ": " + complaint(how)};
    return std::move(how.out);
  }

  program_end run(std::vector<program_words> parts, milliseconds time, std::size_t most) const {
    program_words words;
    for (auto& part : parts)
      words.insert(words.end(), std::make_move_iterator(part.begin()),
                   std::make_move_iterator(part.end()));
    auto program = words.front();
    try {
      return run_program(std::move(words), environment_, {time, most});
    } catch (const std::system_error& why) {
      throw node_error{"ToolError", program + " was not run: " + why.what()};
    }
  }

  // The program's output. Checked at the start, so that a missing program is reported before the
  // first action.
  std::string require_program(const std::string& name, const char* package, program_words words) {
    try {
      auto how = run_program(std::move(words), environment_, {options_.timeout, answer_bytes_max});
      if (how.code == 0)
        return how.out;
      throw no_display(options_.display + " does not answer: " + complaint(how));
    } catch (const std::system_error& why) {
      throw no_display(name + " can't be run (Debian: " + package + "): " + why.what());
    }
  }

  x11_options options_;
  program_words environment_;
  screen_size real_;
  screen_size shown_;
};

} // namespace

std::shared_ptr<computer> make_x11_computer(x11_options options) {
  return std::make_shared<x11_computer>(std::move(options));
}

computer_factory x11_computers(x11_options options) {
  return [options = std::move(options)](const std::string& instance_id) -> computer_instance {
    if (!instance_id.empty() && instance_id != options.display)
      throw computer_lost{"unknown display " + readable_text(instance_id)};
    return {make_x11_computer(options), options.display};
  };
}

} // namespace troupe
