// The computer: agents that look at a screen, move a mouse and type, as a person does.
//
//     auto model = troupe::init_chat_model("anthropic:claude-opus-4-6");
//     auto agent = troupe::create_cua({.model = model,
//                                      .computer = troupe::x11_computers({.display = ":99"})});
#pragma once

#include <troupe/agents/agent.hpp>
#include <troupe/limits.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

// ---- a computer -----------------------------------------------------------------------------

/// A point on a display, measured from its upper left corner.
/// Units:  pixels as the model sees them, from 0.
/// Errors: none.
/// Source: troupe.
struct screen_point {
  int x = 0;
  int y = 0;
  friend bool operator==(const screen_point&, const screen_point&) = default;
};
/// Units:  pixels, at least 1.
/// Errors: none.
/// Source: troupe.
struct screen_size {
  int width = 0;
  int height = 0;
  friend bool operator==(const screen_size&, const screen_size&) = default;
};
/// The pixels from `from` to before `to`.
/// Shape:  never empty.
/// Errors: none.
/// Source: troupe.
struct screen_region {
  screen_point from;
  screen_point to;
  friend bool operator==(const screen_region&, const screen_region&) = default;
};

/// A button of the mouse, and a direction of its wheel.
/// Errors: none.
/// Source: troupe.
enum class mouse_button : std::uint8_t { left, middle, right };
enum class scroll_direction : std::uint8_t { up, down, left, right };
/// Keys that are held together, by their X11 names: {"ctrl", "s"}, {"Return"}, {"/"}.
/// Shape:  each a letter, digit or mark of ASCII, or letters, digits and `_`.
/// Errors: none.
/// Source: troupe.
using key_chord = std::vector<std::string>;

/// A computer with a display, a mouse and a keyboard. Arguments are checked before: points are on
/// the display, names of keys and texts are within the limits.
/// Shape:  screenshots are PNG of the display's size; a zoomed region is PNG of any size.
/// Units:  `notches` of the wheel; `times` 1 to 3.
/// Blocks: as long as the computer takes; members run on the blocking lane.
/// Thread: one member at a time, on any thread.
/// Errors: the model gets a member's exception as a message with status error; computer_lost also
///         detaches the computer.
/// Source: troupe; the actions of Anthropic's computer use tool.
class computer {
public:
  computer() = default;
  computer(const computer&) = delete;
  computer& operator=(const computer&) = delete;
  virtual ~computer() = default;

  virtual screen_size display() const = 0;
  virtual std::string screenshot() = 0;
  /// The default implementation refuses.
  virtual std::string zoom(const screen_region& region);
  virtual screen_point cursor_position() = 0;
  virtual void mouse_move(const screen_point& to) = 0;
  /// `at` unset: where the mouse is. `held`: keys held meanwhile; may be empty.
  virtual void click(mouse_button button, unsigned times, const std::optional<screen_point>& at,
                     const key_chord& held) = 0;
  /// The left button, where the mouse is.
  virtual void mouse_down() = 0;
  virtual void mouse_up() = 0;
  /// With the left button held.
  virtual void drag(const screen_point& from, const screen_point& to) = 0;
  virtual void scroll(scroll_direction direction, unsigned notches,
                      const std::optional<screen_point>& at, const key_chord& held) = 0;
  virtual void type(const std::string& text) = 0;
  virtual void key(const key_chord& keys) = 0;
  virtual void hold_key(const key_chord& keys, std::chrono::milliseconds duration) = 0;
};

/// The exception of a computer that is gone for good, or can't be reached any more. The model is
/// informed, and its next action gets another computer.
/// Errors: none.
/// Source: troupe.
class computer_lost : public node_error {
public:
  explicit computer_lost(std::string why) : node_error{"ComputerLostError", std::move(why)} {}
};

// ---- actions --------------------------------------------------------------------------------

/// The kinds of actions.
/// Errors: none.
/// Source: troupe; the actions of Anthropic's computer use tool.
enum class computer_verb : std::uint8_t {
  screenshot,
  zoom,
  cursor_position,
  mouse_move,
  click,
  mouse_down,
  mouse_up,
  drag,
  scroll,
  type,
  key,
  hold_key,
  wait,
};

/// An action that a model requests.
/// Shape:  members that the verb does not use have their default. `from`: where a drag begins.
///         `chords` of `key` in their order; other verbs have at most one.
/// Errors: none.
/// Source: troupe; the actions of Anthropic's computer use tool.
struct computer_action {
  computer_verb verb = computer_verb::screenshot;
  std::optional<screen_point> at = std::nullopt;
  screen_point from = {};
  screen_region region = {};
  mouse_button button = mouse_button::left;
  unsigned times = 1;
  scroll_direction direction = scroll_direction::down;
  unsigned notches = 0;
  std::string text = {};
  std::vector<key_chord> chords = {};
  std::chrono::milliseconds duration{0};
  friend bool operator==(const computer_action&, const computer_action&) = default;
};

/// The action in a call's arguments, in Anthropic's form: {action, coordinate?, …}. Members that
/// the action does not use are ignored.
/// Errors: node_failed of class ToolError, for the model:
///         - an unknown action (or zoom when not enabled)
///         - a member that is missing or of another type
///         - a point beyond the display, or a value beyond a limit (limits::computer_…)
/// Source: anthropic-quickstarts, computer_use_demo/tools/computer.py.
result<computer_action> parse_computer_action(const value& args, const screen_size& display,
                                              bool can_zoom);

// ---- the agent ------------------------------------------------------------------------------

/// A computer and its identity.
/// Shape:  `id` of 1 to limits::computer_instance_id_bytes_max bytes; `stream_url`: where people
///         can watch, or empty.
/// Errors: none here; see create_cua.
/// Source: troupe.
struct computer_instance {
  std::shared_ptr<troupe::computer> computer;
  std::string id;
  std::string stream_url = {};
};
/// Starts a computer when `instance_id` is empty. Otherwise finds the computer of this id again:
/// after a restart, in the thread's next run, or because too many were attached. The id comes from
/// the state, which everyone who may update the thread can change.
/// Blocks: as long as that takes, on the blocking lane.
/// Thread: several at once.
/// Errors: an exception for a new computer ends the run; for an existing id, that computer is lost.
/// Source: troupe.
using computer_factory = std::function<computer_instance(const std::string& instance_id)>;

/// Anthropic's versions of the tool; a model's documentation names the one it knows.
/// Errors: none.
/// Source: anthropic-quickstarts, computer_use_demo/tools/computer.py.
enum class computer_tool_version : std::uint8_t { computer_20250124, computer_20251124 };

/// The parts of an agent that uses a computer.
/// Shape:  `display`: the size of the factory's computers, which the model sees; its coordinates
///         are used unchanged. Anthropic's models work best with 1024x768 to 1280x800. These models
///         scale down images of more than 1568 pixels (newer ones: 2576) a side, and clicks miss.
/// Errors: see create_cua.
/// Source: langgraph_cua/graph.py, create_cua.
struct cua_options {
  chat_model_ptr model;
  computer_factory computer;
  screen_size display{1024, 768};
  computer_tool_version version = computer_tool_version::computer_20251124;
  bool enable_zoom = false; ///< computer_20251124 only
  /// Called with the id when a run ends well; the thread's next run then starts another computer.
  /// Unset: the thread keeps its computer, as in the reference. After a crash it may be called
  /// twice. A run that fails or is cut off keeps its computer for the thread's next run.
  std::function<void(const std::string& instance_id)> release = {};
  /// Whether the result of an action shows the screen, and how long after the action it is taken.
  bool screenshot_after_action = true;
  std::chrono::milliseconds settle = limits::computer_settle_default;
  /// The model sees at most this many screenshots of the conversation, the last ones. Older ones
  /// are dropped several at a time, so that a provider's cache stays valid longer.
  std::size_t screenshots_max = limits::computer_screenshots_default;
  /// Actions that a person must approve first; unset: none. The function must be pure. Question and
  /// answer are those of human_in_the_loop, batched.
  std::function<bool(const computer_action& action)> sensitive = {};
  std::string prompt = {};
  std::vector<tool> tools = {};                    ///< besides the computer
  std::vector<troupe::middleware> middleware = {}; ///< after the agent's own
  std::chrono::milliseconds action_timeout = limits::computer_action_timeout; ///< of any tool call
  std::string name = "computer_use_agent";
  troupe::checkpointer checkpointer = {};
  /// Super-steps: a round of the model and an action takes three.
  std::uint32_t recursion_limit = limits::computer_recursion_limit;
};

/// The agent as a graph over `messages`, `instance_id` and `stream_url`: that of create_agent, with
/// a tool `computer`.
/// Shape:  the result of an action is a text and, if it shows the screen, an image. A model that is
///         not Anthropic's gets the tool as a function with a schema, and must accept images in
///         results. OpenAI's computer_use_preview is not supported: it is a tool of the Responses
///         API.
/// Order:  the computer starts with the tool's first call, in a step of its own, so that its id is
///         stored before its first action. Actions of one answer run one after the other, each in a
///         step of its own. An action with a stored result is not repeated after a restart; one
///         that was cut off is.
/// Owns:   a run's computer, from its first action until the run ends well; at most
///         limits::computers_attached_max idle ones. The thread keeps all screenshots, some 100 KB
///         each and together at most limits::value_size_bytes_max; the middleware `summarization`
///         helps.
/// Errors: throws error{invalid_config} without a factory, for a display of no size or beyond
///         limits::computer_display_edge_max, and for zoom with the older tool; else as
///         create_agent.
///         A run fails with
///         - the factory's exception for a new computer, and the exception of `release`
///         - invalid_config when a new computer has another display or an invalid id
///         The model gets as messages
///         - a computer's exception
///         - a screenshot that is not a PNG, of another size than the display's, or too large
///         - a computer that is lost, or still busy with an action that was given up
/// Source: langgraph_cua/graph.py, create_cua; langgraph_cua/nodes.
compiled_graph create_cua(cua_options options);
/// The same as middleware, for the caller's own agent.
/// Shape:  only the options of the computer are used.
/// Order:  put it first in the list: then the computer starts after other middleware has examined
///         the calls.
/// Errors: as create_cua.
/// Source: troupe.
middleware computer_use(cua_options options);

// ---- X11 ------------------------------------------------------------------------------------

/// An X display as a computer.
/// Shape:  `display` as in DISPLAY: ":99". `shown`: the size in which the model sees it; unset: the
///         display's own. Screenshots are scaled to that size, and coordinates back from it. A
///         zoomed region has the display's own pixels, as far as they fit. Screenshots don't show
///         the mouse.
/// Units:  `timeout` of each program that is run, without the time that keys are held.
/// Errors: see make_x11_computer.
/// Source: troupe.
struct x11_options {
  std::string display;
  std::optional<screen_size> shown = std::nullopt;
  std::chrono::milliseconds timeout = limits::computer_program_timeout;
};
/// Makes a computer that runs xdotool (Debian: xdotool) and import (Debian: imagemagick), found on
/// PATH, for each action. No shell is used, and no text of the model is an option or a command for
/// them. Both programs see only PATH and DISPLAY (XAUTHORITY, HOME) of the environment.
/// Blocks: some 10 ms an action, 200 ms a screenshot.
/// Errors: throws error{invalid_config} for an invalid display name, a missing program (the message
///         names its package), a display that does not answer. Members throw node_error of class
///         ToolError with the program's output; computer_lost when the display is gone.
/// Source: anthropic-quickstarts, computer_use_demo/tools/computer.py.
std::shared_ptr<computer> make_x11_computer(x11_options options);
/// A factory that gives this display; the id is the display's name.
/// Errors: a call fails as make_x11_computer, and with computer_lost for another id.
/// Source: troupe.
computer_factory x11_computers(x11_options options);

} // namespace troupe
