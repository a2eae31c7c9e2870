// Middleware for limits: bounds on the number of calls.
#include <troupe/agents/middleware.hpp>

#include "agents/messages/history.hpp"

namespace troupe {
namespace {

std::int64_t count_of(const value& v) {
  return v.is_int() ? v.as_int() : 0;
}

void require_bound(const call_limits& limits, const char* of) {
  if (!limits.thread && !limits.run)
    throw error{errc::invalid_config,
                std::string{"limit calls of "} + of + ": set a bound for the thread or for a run"};
  if (limits.thread && limits.run && *limits.run > *limits.thread)
    throw error{errc::invalid_config,
                std::string{"limit calls of "} + of
                  + ": the bound for a run must not exceed that for the thread"};
}

// ---- the model ------------------------------------------------------------------------------

constexpr const char* thread_calls = "thread_model_call_count";
constexpr const char* run_calls = "run_model_call_count";

// The bounds that are reached, as text; empty when none is.
std::string reached(const call_limits& limits, const state_view& state) {
  std::string out;
  auto look = [&](const char* what, const std::optional<std::int64_t>& bound, const char* channel) {
    if (auto n = count_of(state[channel]); bound && n >= *bound)
      out += (out.empty() ? "" : ", ") + std::string{what} + " limit (" + std::to_string(n) + '/'
             + std::to_string(*bound) + ')';
  };
  look("thread", limits.thread, thread_calls);
  look("run", limits.run, run_calls);
  return out;
}

// ---- tools ----------------------------------------------------------------------------------

constexpr const char* thread_tools = "thread_tool_call_count";
constexpr const char* run_tools = "run_tool_call_count";

struct tool_limit {
  std::string tool; // empty: all tools
  call_limits limits;
  limit_exit at_limit;

  std::string key() const { return tool.empty() ? "__all__" : tool; }

  value with_count(const value& counts, std::int64_t n) const {
    return (counts.is_map() ? counts : value::map()).with(key(), n);
  }

  std::string refusal() const {
    return "Tool call limit exceeded. Do not "
           + (tool.empty() ? "make additional tool calls." : "call '" + tool + "' again.");
  }

  std::string ending(std::int64_t thread, std::int64_t run) const {
    std::string out = tool.empty() ? "Tool call limit reached: "
                                   : '\'' + tool + "' tool call limit reached: ";
    auto part = [](const char* what, std::int64_t n, std::int64_t bound) {
      return std::string{what} + " limit exceeded (" + std::to_string(n) + '/'
             + std::to_string(bound) + " calls)";
    };
    bool of_thread = limits.thread && thread > *limits.thread;
    bool of_run = limits.run && run > *limits.run;
    if (of_thread)
      out += part("thread", thread, *limits.thread);
    if (of_run)
      out += (of_thread ? " and " : "") + part("run", run, *limits.run);
    return out + '.';
  }

  value after_model(const state_view& state) const;
};

value text_of(const value& v) {
  return v.is_string() ? v : value("");
}

value refused_call(const value& call, const std::string& text) {
  auto id = text_of(call["id"]);
  auto name = text_of(call["name"]);
  return tool_message(text, id.as_string(), name.as_string(), "error");
}

value tool_limit::after_model(const state_view& state) const {
  auto before = count_of(state[thread_tools][key()]);
  auto thread = before;
  auto run = count_of(state[run_tools][key()]);
  std::vector<value> blocked;
  std::vector<value> others;
  for (const auto& call : unanswered_calls(state["messages"])) {
    if (!tool.empty() && call["name"] != value(tool)) {
      others.push_back(call);
      continue;
    }
    bool too_many = (limits.thread && thread + 1 > *limits.thread)
                    || (limits.run && run + 1 > *limits.run);
    ++run;
    thread += too_many ? 0 : 1;
    (too_many ? blocked : others).push_back(call);
  }
  auto refused = static_cast<std::int64_t>(blocked.size());
  if (refused > 0 && at_limit == limit_exit::fail)
    throw node_error{"ToolCallLimitExceededError", ending(thread + refused, run)};
  std::vector<value> messages;
  for (const auto& call : blocked)
    messages.push_back(refused_call(call, refusal()));
  bool ends = refused > 0 && at_limit == limit_exit::end;
  if (ends) {
    for (const auto& call : others)
      messages.push_back(refused_call(call, "Execution stopped before this tool call could run "
                                            "because another tool call in the same batch exceeded "
                                            "the limit."));
    messages.push_back(ai_message(ending(thread + refused, run)));
    thread = before;
  }
  auto out = value::map({{thread_tools, with_count(state[thread_tools], thread)},
                         {run_tools, with_count(state[run_tools], run)}});
  if (!messages.empty())
    out = out.with("messages", value::list(std::move(messages)));
  return ends ? out.with("jump_to", "end") : out;
}

} // namespace

middleware model_call_limit(call_limits limits, limit_exit at_limit) {
  require_bound(limits, "the model");
  middleware out;
  out.name = "model_call_limit";
  out.hidden = {{thread_calls, last_value}, {run_calls, last_value}};
  out.before_agent = [] { return value::map({{run_calls, 0}}); };
  out.before_model = agent_hook{
    [limits, at_limit](const state_view& state) -> value {
      auto text = reached(limits, state);
      if (text.empty())
        return {};
      text = "Model call limits exceeded: " + text;
      if (at_limit == limit_exit::fail)
        throw node_error{"ModelCallLimitExceededError", text};
      return value::map({{"jump_to", "end"}, {"messages", value::list({ai_message(text)})}});
    },
    {"end"}};
  out.after_model = [](const state_view& state) {
    return value::map({{thread_calls, count_of(state[thread_calls]) + 1},
                       {run_calls, count_of(state[run_calls]) + 1}});
  };
  return out;
}

middleware tool_call_limit(std::string tool, call_limits limits, limit_exit at_limit) {
  require_bound(limits, tool.empty() ? "tools" : tool.c_str());
  tool_limit limit{std::move(tool), limits, at_limit};
  middleware out;
  out.name = limit.tool.empty() ? "tool_call_limit" : "tool_call_limit[" + limit.tool + ']';
  out.hidden = {{thread_tools, last_value}, {run_tools, last_value}};
  out.before_agent = [limit](const state_view& state) {
    return value::map({{run_tools, limit.with_count(state[run_tools], 0)}});
  };
  out.after_model =
    agent_hook{[limit](const state_view& state) { return limit.after_model(state); }, {"end"}};
  return out;
}

} // namespace troupe
