// An agent that uses a computer: it looks at the screen, clicks and types. Without arguments the
// computer is simulated and the model is a script. --display uses an X display, and --model a real
// model:
//
//     Xvfb :99 -screen 0 1024x768x24 & DISPLAY=:99 xterm &
//     computer --display :99 --model anthropic:claude-opus-4-6 "List the files in /tmp"
//
// The agent acts with your rights: give it a container or a machine of its own.
#include <troupe/agents.hpp>

#include <CLI/CLI.hpp>

#include <iostream>

namespace {

using troupe::screen_point;
using troupe::value;

// A grey PNG of 64 x 48 pixels.
constexpr std::string_view grey{
  "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x30\x08\3\0\0\0\x96\x95\x8c\x2d"
  "\0\0\0\3PLTE\xcc\xcc\xcc\xca\x52\x44\x27\0\0\0\x1aIDAT\x48\xc7\xed\xc1\x81\0\0\0\0\xc3"
  "\xa0\xf9S\x5f\xe0\x08U\1\0\0\x7c\3\x0c\x30\0\1\xcb\xc0\x42\x63\0\0\0\0IEND\xae\x42\x60\x82",
  98};

// A screen with a text field only.
class pretended_computer final : public troupe::computer {
public:
  troupe::screen_size display() const override { return {64, 48}; }
  std::string screenshot() override { return std::string{grey}; }
  screen_point cursor_position() override { return mouse_; }
  void mouse_move(const screen_point& to) override { mouse_ = to; }
  void click(troupe::mouse_button, unsigned, const std::optional<screen_point>& at,
             const troupe::key_chord&) override {
    mouse_ = at.value_or(mouse_);
    has_focus_ = true;
  }
  void mouse_down() override {}
  void mouse_up() override {}
  void drag(const screen_point&, const screen_point& to) override { mouse_ = to; }
  void scroll(troupe::scroll_direction, unsigned, const std::optional<screen_point>&,
              const troupe::key_chord&) override {}
  void type(const std::string& text) override { field_ += has_focus_ ? text : ""; }
  void key(const troupe::key_chord& keys) override {
    if (keys == troupe::key_chord{"Return"})
      std::cout << "  the field says: " << field_ << "\n";
  }
  void hold_key(const troupe::key_chord&, std::chrono::milliseconds) override {}

private:
  screen_point mouse_;
  bool has_focus_ = false;
  std::string field_;
};

// A script: looks, clicks into the middle of the screen, types, and ends.
std::shared_ptr<troupe::scripted_model> typing_model(const troupe::screen_size& screen) {
  auto action = [](const char* id, value args) {
    return troupe::tool_call{.name = "computer", .args = std::move(args), .id = id};
  };
  auto middle = value::list({screen.width / 2, screen.height / 2});
  return std::make_shared<troupe::scripted_model>(std::vector<troupe::scripted_model::answer>{
    troupe::ai_message("Let me look.", {action("1", {{"action", "screenshot"}})}),
    troupe::ai_message("", {action("2", {{"action", "left_click"}, {"coordinate", middle}}),
                            action("3", {{"action", "type"}, {"text", "hello, world"}}),
                            action("4", {{"action", "key"}, {"text", "Return"}})}),
    "I typed hello, world."});
}

// Prints the model's texts and calls, and the errors of calls.
void show(const value& message) {
  bool result = troupe::message_role(message) == "tool";
  if (auto text = troupe::message_text(message); !text.empty())
    if (!result || troupe::message_member(message, "status") == value("error"))
      std::cout << (result ? "  " : "") << text << "\n";
  for (const auto& call : troupe::message_tool_calls(message).items())
    std::cout << "  " << troupe::to_json(call["args"]) << "\n";
}

} // namespace

int main(int argc, char** argv) try {
  std::string display;
  std::string model_name;
  std::string task = "Type hello, world";
  CLI::App arguments{"An agent that uses a computer"};
  arguments.add_option("--display", display, "An X display, like :99");
  arguments.add_option("--model", model_name, "A model, like anthropic:NAME")->needs("--display");
  arguments.add_option("task", task, "The task");
  CLI11_PARSE(arguments, argc, argv);

  troupe::cua_options options;
  if (display.empty()) {
    auto pretended = std::make_shared<pretended_computer>();
    options.computer = [pretended](const std::string&) -> troupe::computer_instance {
      return {pretended, "pretended"};
    };
    options.display = pretended->display();
    options.settle = std::chrono::milliseconds{0};
  } else {
    options.computer = troupe::x11_computers({.display = display});
    options.display = troupe::make_x11_computer({.display = display})->display();
    options.enable_zoom = true;
  }
  options.model = model_name.empty() ? typing_model(options.display)
                                     : troupe::init_chat_model(model_name, {.max_tokens = 2000});

  troupe::runtime rt;
  auto agent = rt.load(troupe::create_cua(options));
  auto parts = agent.stream({{"messages", {{"user", task}}}}, {}, {troupe::stream_mode::updates});
  for (auto& part : parts)
    for (const auto& node : part.data.entries())
      for (const auto& message : node.val["messages"].items())
        show(message);
} catch (const troupe::error& e) {
  std::cerr << "computer: " << e.what() << "\n";
  return 1;
}
