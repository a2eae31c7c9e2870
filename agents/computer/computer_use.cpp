// create_cua: the prebuilt agent that uses a computer.
//
// Invariants:
//  - the id of a computer is stored before its first action.
//  - a refused call does nothing.
#include <troupe/agents/computer.hpp>
#include <troupe/agents/middleware.hpp>

#include "agents/computer/attached_computers.hpp"
#include "agents/computer/computer_screen.hpp"
#include "agents/messages/failure.hpp"
#include "agents/messages/history.hpp"
#include "agents/messages/json_text.hpp"

#include <utility>

namespace troupe {
namespace {

constexpr const char* computer_name = "computer";
constexpr const char* instance_id = "instance_id";
constexpr const char* stream_url = "stream_url";

// The data that the hooks and the tool of one agent share.
struct computer_user {
  cua_options options;
  attached_computers computers;

  explicit computer_user(cua_options of)
    : options{std::move(of)},
      computers{options.computer, options.display} {}
};
using user_ptr = std::shared_ptr<computer_user>;

// ---- the tool's definition ------------------------------------------------------------------

value of_type(const char* type, const char* description) {
  return value::map({{"type", type}, {"description", description}});
}

value list_of_integers(std::int64_t count, const char* description) {
  return value::map({{"type", "array"},
                     {"items", value::map({{"type", "integer"}})},
                     {"minItems", count},
                     {"maxItems", count},
                     {"description", description}});
}

// For models that do not know the tool.
value computer_parameters(bool can_zoom) {
  auto actions =
    value::list({"screenshot", "cursor_position", "mouse_move", "left_click", "right_click",
                 "middle_click", "double_click", "triple_click", "left_click_drag",
                 "left_mouse_down", "left_mouse_up", "scroll", "type", "key", "hold_key", "wait"});
  std::vector<value::map_init> members{
    {"action",
     value::map({{"type", "string"}, {"enum", can_zoom ? actions.append("zoom") : actions}})},
    {"coordinate", list_of_integers(2, "[x, y] in pixels; the target of the mouse")},
    {"start_coordinate", list_of_integers(2, "For left_click_drag: the start point")},
    {"text", of_type("string", "For type: the text to type. For key and hold_key: keys by their "
                               "X11 names, like ctrl+s. For clicks and scroll: keys to hold")},
    {"scroll_direction",
     value::map({{"type", "string"}, {"enum", value::list({"up", "down", "left", "right"})}})},
    {"scroll_amount", of_type("integer", "For scroll: notches of the wheel")},
    {"duration", of_type("number", "For wait and hold_key: seconds")}};
  if (can_zoom)
    members.emplace_back("region", list_of_integers(4, "For zoom: [x0, y0, x1, y1]"));
  return value::map({{"type", "object"},
                     {"properties", value::map(std::move(members))},
                     {"required", value::list({"action"})}});
}

value provider_tool(const cua_options& o) {
  auto type = o.version == computer_tool_version::computer_20250124 ? "computer_20250124"
                                                                    : "computer_20251124";
  auto out = value::map({{"type", type},
                         {"display_width_px", o.display.width},
                         {"display_height_px", o.display.height}});
  return o.enable_zoom ? out.with("enable_zoom", true) : out;
}

// ---- actions --------------------------------------------------------------------------------

key_chord held_by(const computer_action& action) {
  return action.chords.empty() ? key_chord{} : action.chords.front();
}

void move_first(computer& on, const computer_action& action) {
  if (action.at)
    on.mouse_move(*action.at);
}

// Does the action. Result: the text for the model, or a screenshot.
std::string do_action(computer& on, const computer_action& a) {
  switch (a.verb) {
    case computer_verb::screenshot:
    case computer_verb::wait: break;
    case computer_verb::zoom: return on.zoom(a.region);
    case computer_verb::cursor_position: {
      auto at = on.cursor_position();
      return "X=" + std::to_string(at.x) + ",Y=" + std::to_string(at.y);
    }
    case computer_verb::mouse_move: move_first(on, a); break;
    case computer_verb::click: on.click(a.button, a.times, a.at, held_by(a)); break;
    case computer_verb::mouse_down:
      move_first(on, a);
      on.mouse_down();
      break;
    case computer_verb::mouse_up:
      move_first(on, a);
      on.mouse_up();
      break;
    case computer_verb::drag: on.drag(a.from, *a.at); break;
    case computer_verb::scroll: on.scroll(a.direction, a.notches, a.at, held_by(a)); break;
    case computer_verb::type: on.type(a.text); break;
    case computer_verb::key:
      for (const auto& chord : a.chords)
        on.key(chord);
      break;
    case computer_verb::hold_key: on.hold_key(held_by(a), a.duration); break;
  }
  return "Done.";
}

// Calls `use` with the computer of this id, while no other call uses it.
template <class F> auto with_computer(computer_user& user, const std::string& id, F use) {
  auto at_hand = user.computers.get(id);
  std::unique_lock alone{at_hand->in_use, std::try_to_lock};
  if (!alone)
    throw node_error{"ToolError", "The computer is still busy with an action that was given up. "
                                  "Wait, then take a screenshot."};
  try {
    return use(*at_hand->computer);
  } catch (const computer_lost&) {
    throw;
  } catch (const std::exception& why) {
    throw node_error{"ToolError", why.what()};
  }
}

bool shows_screen(const computer_user& user, const computer_action& action) {
  switch (action.verb) {
    case computer_verb::screenshot: return true;
    case computer_verb::zoom:
    case computer_verb::cursor_position: return false;
    default: return user.options.screenshot_after_action;
  }
}

coro<value> content_of_action(user_ptr user, computer_action action, std::string id,
                              tool_runtime& runtime) {
  std::vector<value> content;
  if (action.verb == computer_verb::wait) {
    auto pause = runtime.sleep_for(action.duration);
    co_await pause;
  } else if (action.verb != computer_verb::screenshot) {
    auto job = runtime.blocking([&] {
      return with_computer(*user, id, [&](computer& on) { return do_action(on, action); });
    });
    auto said = co_await job;
    content.push_back(action.verb == computer_verb::zoom ? screenshot_block(said, std::nullopt)
                                                         : text_block(said));
  }
  if (shows_screen(*user, action)) {
    if (action.verb != computer_verb::screenshot && user->options.settle.count() > 0) {
      auto pause = runtime.sleep_for(user->options.settle);
      co_await pause;
    }
    auto job = runtime.blocking(
      [&] { return with_computer(*user, id, [](computer& on) { return on.screenshot(); }); });
    auto png = co_await job;
    content.push_back(screenshot_block(png, user->options.display));
  }
  if (content.empty())
    content.push_back(text_block("Done."));
  co_return value::list(std::move(content));
}

// Reports the loss to the model; its next action begins another computer.
command without_computer(const value& call, const std::string& why) {
  auto told = tool_message("The computer was lost, with everything that was open on it: " + why
                             + ". The next action starts a new one.",
                           text_in(call["id"]), computer_name, "error");
  return {.update = state_update{}
                      .set("messages", value::list({told}))
                      .set(instance_id, value{})
                      .set(stream_url, value{}),
          .goto_ = {},
          .resume = std::nullopt,
          .graph = {}};
}

coro<tool_output> use_computer(user_ptr user, value args, tool_runtime& runtime) {
  const auto& o = user->options;
  auto action = parse_computer_action(args, o.display, o.enable_zoom);
  if (!action)
    throw node_error{action.error().type(), action.error().text()};
  auto id = text_in(runtime.state()[instance_id]);
  if (id.empty())
    throw node_error{
      "ToolError",
      "The computer was lost; the action was not done. Start a new one with a screenshot."};
  try {
    auto done = content_of_action(user, *action, id, runtime);
    auto content = co_await done;
    co_return tool_output{content};
  } catch (const computer_lost& why) {
    user->computers.let_go(id);
    co_return tool_output{without_computer(runtime.call(), why.what())};
  }
}

tool computer_tool(const user_ptr& user) {
  tool_body body;
  body.coroutine = [user](value args, tool_runtime& runtime) {
    return use_computer(user, std::move(args), runtime);
  };
  tool_options options;
  options.one_at_a_time = true;
  options.check_arguments = false;
  options.on_error = [](const error& e) -> std::optional<std::string> {
    if (e.type() == "ToolError")
      return e.text();
    return std::nullopt;
  };
  options.extras = provider_tool(user->options);
  return {computer_name,
          "Uses the mouse, the keyboard and the screen of a computer. Its display has "
            + std::to_string(user->options.display.width) + " x "
            + std::to_string(user->options.display.height) + " pixels.",
          computer_parameters(user->options.enable_zoom), std::move(body), std::move(options)};
}

// ---- from the beginning to the end ----------------------------------------------------------

std::vector<value> open_actions(const value& messages) {
  auto out = unanswered_calls(messages);
  std::erase_if(out, [](const value& call) { return call["name"] != value(computer_name); });
  return out;
}

std::vector<value> refused_actions(const std::vector<value>& open) {
  std::vector<value> out;
  for (auto i = limits::computer_actions_max; i < open.size(); ++i)
    out.push_back(tool_message("This action was not done: the limit of actions in one answer is "
                                 + std::to_string(limits::computer_actions_max),
                               text_in(open[i]["id"]), computer_name, "error"));
  return out;
}

coro<value> begin_computer(user_ptr user, value messages, bool begun, context& ctx) {
  auto open = open_actions(messages);
  std::vector<value::map_init> update;
  if (auto refused = refused_actions(open); !refused.empty())
    update.emplace_back("messages", value::list(std::move(refused)));
  if (!begun && !open.empty()) {
    auto job = ctx.blocking([&user] { return user->computers.begin(); });
    auto made = co_await job;
    update.emplace_back(instance_id, made.id);
    if (!made.stream_url.empty()) {
      ctx.write(value::map({{stream_url, made.stream_url}}));
      update.emplace_back(stream_url, made.stream_url);
    }
  }
  if (update.empty())
    co_return value{};
  co_return value::map(std::move(update));
}

coro<value> end_computer(user_ptr user, std::string id, context& ctx) {
  if (id.empty())
    co_return value{};
  auto job = ctx.blocking([&user, &id] {
    user->computers.let_go(id);
    if (user->options.release)
      user->options.release(id);
  });
  co_await job;
  if (!user->options.release)
    co_return value{};
  co_return value::map({{instance_id, value{}}, {stream_url, value{}}});
}

error no_computer_use(const std::string& why) {
  return {errc::invalid_config, "use a computer: " + why};
}

void require_usable(const cua_options& o) {
  auto fits = [](int edge) { return edge >= 1 && edge <= limits::computer_display_edge_max; };
  if (!o.computer)
    throw no_computer_use("the factory of computers is missing");
  if (!fits(o.display.width) || !fits(o.display.height))
    throw no_computer_use("a display must have edges of 1 to "
                          + std::to_string(limits::computer_display_edge_max) + " pixels");
  if (o.enable_zoom && o.version == computer_tool_version::computer_20250124)
    throw no_computer_use("computer_20250124 has no zoom");
  if (o.screenshots_max == 0)
    throw no_computer_use("screenshots_max must be at least 1");
  if (o.settle.count() < 0)
    throw no_computer_use("settle must not be negative");
}

} // namespace

std::string computer::zoom(const screen_region&) {
  throw node_error{"ToolError", "This computer can't zoom"};
}

middleware computer_use(cua_options options) {
  require_usable(options);
  auto user = std::make_shared<computer_user>(std::move(options));
  middleware out;
  out.name = "computer_use";
  out.state = {{instance_id, last_value}, {stream_url, last_value}};
  out.tools = {computer_tool(user)};
  out.wrap_model_call = [most = user->options.screenshots_max](model_call call,
                                                               model_executor run) {
    call.request.messages = with_recent_screenshots(call.request.messages, most);
    return run(std::move(call));
  };
  out.after_model = [user](const state_view& state, context& ctx) {
    return begin_computer(user, state["messages"], !text_in(state[instance_id]).empty(), ctx);
  };
  out.after_agent = [user](const state_view& state, context& ctx) {
    return end_computer(user, text_in(state[instance_id]), ctx);
  };
  return out;
}

compiled_graph create_cua(cua_options options) {
  agent_options out;
  out.model = options.model;
  out.tools = options.tools;
  out.system_prompt = options.prompt;
  out.tool_timeout = options.action_timeout;
  out.name = options.name;
  out.checkpointer = options.checkpointer;
  out.recursion_limit = options.recursion_limit;
  out.middleware.push_back(computer_use(options));
  if (options.sensitive) {
    review asked{.description = "An action on a computer requires approval"};
    asked.when = [sensitive = options.sensitive, display = options.display,
                  can_zoom = options.enable_zoom](const value& call, const value&) {
      auto action = parse_computer_action(call["args"], display, can_zoom);
      return action && sensitive(*action); // a refused action needs no approval
    };
    out.middleware.push_back(human_in_the_loop({{computer_name, std::move(asked)}}));
  }
  out.middleware.insert(out.middleware.end(), options.middleware.begin(), options.middleware.end());
  return create_agent(std::move(out));
}

} // namespace troupe
