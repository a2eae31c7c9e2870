// A computer in memory that writes down what is done with it, and agents that use it.
#pragma once

#include <troupe/agents/chat_model.hpp>
#include <troupe/agents/computer.hpp>
#include <troupe/runtime.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::cua_test {

using log_lines = std::vector<std::string>;

inline constexpr screen_size small_screen{100, 80};

// The beginning of one is all that anybody here looks at.
inline std::string png_of(const screen_size& size, std::size_t more = 0) {
  auto number = [](int n) {
    return std::string{static_cast<char>(n >> 24), static_cast<char>(n >> 16),
                       static_cast<char>(n >> 8), static_cast<char>(n)};
  };
  return std::string{"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16} + number(size.width) + number(size.height)
         + std::string(more, 'x');
}

// The actions on all computers of a test, in order.
struct computer_log {
  void add(std::string what) {
    std::lock_guard guard{mutex};
    lines.push_back(std::move(what));
  }
  log_lines read() {
    std::lock_guard guard{mutex};
    return lines;
  }
  std::mutex mutex;
  log_lines lines;
};

inline std::string in_words(const screen_point& p) {
  return std::to_string(p.x) + "," + std::to_string(p.y);
}
inline std::string in_words(const key_chord& keys) {
  std::string out;
  for (const auto& key : keys)
    out += (out.empty() ? "" : "+") + key;
  return out;
}

class logging_computer final : public computer {
public:
  explicit logging_computer(std::shared_ptr<computer_log> log) : log_{std::move(log)} {}

  std::function<void()> on_click = {};
  std::function<std::string()> on_screenshot = {};

  screen_size display() const override { return small_screen; }
  std::string screenshot() override {
    return on_screenshot ? on_screenshot() : png_of(small_screen);
  }
  std::string zoom(const screen_region& r) override {
    log_->add("zoom " + in_words(r.from) + "-" + in_words(r.to));
    return png_of({5, 5});
  }
  screen_point cursor_position() override { return {3, 4}; }
  void mouse_move(const screen_point& to) override { log_->add("move " + in_words(to)); }
  void click(mouse_button b, unsigned times, const std::optional<screen_point>& at,
             const key_chord& held) override {
    log_->add("click " + std::to_string(static_cast<int>(b)) + "*" + std::to_string(times)
              + (at ? " " + in_words(*at) : "") + (held.empty() ? "" : " " + in_words(held)));
    if (on_click)
      on_click();
  }
  void mouse_down() override { log_->add("down"); }
  void mouse_up() override { log_->add("up"); }
  void drag(const screen_point& from, const screen_point& to) override {
    log_->add("drag " + in_words(from) + "-" + in_words(to));
  }
  void scroll(scroll_direction d, unsigned notches, const std::optional<screen_point>&,
              const key_chord&) override {
    log_->add("scroll " + std::to_string(static_cast<int>(d)) + "*" + std::to_string(notches));
  }
  void type(const std::string& text) override { log_->add("type " + text); }
  void key(const key_chord& keys) override { log_->add("key " + in_words(keys)); }
  void hold_key(const key_chord& keys, std::chrono::milliseconds time) override {
    log_->add("hold " + in_words(keys) + " " + std::to_string(time.count()));
  }

private:
  std::shared_ptr<computer_log> log_;
};

// Computers that outlive whoever uses them, as machines elsewhere do.
struct computer_room {
  std::shared_ptr<computer_log> log = std::make_shared<computer_log>();
  std::function<void(logging_computer&)> prepare = {};
  std::set<std::string> there = {};
  int begun = 0;

  computer_instance operator()(const std::string& id) {
    auto known = id;
    if (id.empty()) {
      known = "pc-" + std::to_string(++begun);
      there.insert(known);
    } else if (!there.contains(id)) {
      throw std::runtime_error{"no computer " + id};
    }
    log->add((id.empty() ? "begin " : "attach ") + known);
    auto made = std::make_shared<logging_computer>(log);
    if (prepare)
      prepare(*made);
    return {made, known, "http://watch/" + known};
  }
};

struct bench {
  computer_room room;
  log_lines done() { return room.log->read(); }

  cua_options options(chat_model_ptr model) {
    cua_options out;
    out.model = std::move(model);
    out.computer = [this](const std::string& id) { return room(id); };
    out.display = small_screen;
    out.settle = std::chrono::milliseconds{0};
    return out;
  }
};

using cua_script = std::vector<scripted_model::answer>;

inline std::shared_ptr<scripted_model> script_of(cua_script all) {
  return std::make_shared<scripted_model>(std::move(all));
}

// An answer that asks for these actions, as JSON, with ids from `first`.
inline value acting(const log_lines& actions, int first = 1) {
  std::vector<tool_call> calls;
  for (const auto& one : actions)
    calls.push_back(
      {.name = "computer", .args = from_json(one).value(), .id = "c" + std::to_string(first++)});
  return ai_message("", std::move(calls));
}

inline const std::string look_at_it = R"({"action":"screenshot"})";
inline const std::string click = R"({"action":"left_click","coordinate":[1,2]})";

inline value told_to_work() {
  return value{{"messages", value::list({human_message("work")})}};
}

inline value result_of_call(const value& messages, const std::string& id) {
  for (const auto& m : messages.items())
    if (message_role(m) == "tool" && message_member(m, "tool_call_id") == value(id))
      return m;
  return {};
}
inline bool is_failure(const value& message) {
  return message_member(message, "status") == value("error");
}
inline std::size_t images_in(const value& messages) {
  std::size_t out = 0;
  for (const auto& m : messages.items())
    for (const auto& block : message_member(m, "content").items())
      out += block["type"] == value("image") ? 1 : 0;
  return out;
}

// All messages of one run.
inline value worked(cua_options options, const run_config& config = {}) {
  runtime rt;
  return rt.load(create_cua(std::move(options))).invoke(told_to_work(), config).value()["messages"];
}

} // namespace troupe::cua_test
