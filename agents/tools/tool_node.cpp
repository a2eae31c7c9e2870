// tool_node: running the tools that a model called.
//
// Invariants:
//  - results stand in the order of the calls, whatever the order in which they ended.
//  - a call that asks a question or runs a graph does so in its turn. The questions of a task are
//    identified by their number, which must not depend on the order of ends.
//  - injected arguments come from the run alone: tool::check drops all arguments of the model that
//    are not declared.
#include <troupe/agents/tool_node.hpp>

#include "agents/messages/failure.hpp"
#include "agents/messages/history.hpp"
#include "agents/messages/json_text.hpp"
#include "agents/tools/tool_results.hpp"
#include "agents/tools/tool_turn.hpp"

#include <troupe/limits.hpp>
#include <troupe/message.hpp>
#include <troupe/runtime.hpp>
#include <troupe/when_all.hpp>

#include <algorithm>
#include <deque>
#include <map>

namespace troupe {

struct tool_node::parts {
  std::vector<tool> tools;
  std::map<std::string, const tool*, std::less<>> by_name; // tools that run here
  tool_node_options options;
};

namespace {

// ---- the input ------------------------------------------------------------------------------

constexpr std::string_view with_context = "tool_call_with_context";

struct given_calls {
  std::vector<value> calls;
  tool_input kind = tool_input::state;
  value state;
};

// The calls of the last assistant's message without an answer.
std::vector<value> open_calls(const value& messages) {
  if (std::ranges::none_of(messages.items(),
                           [](const value& m) { return message_role(m) == "assistant"; }))
    throw value_error("No AIMessage found in input");
  return unanswered_calls(messages);
}

given_calls read_list(const value& list, const context& ctx) {
  if (list.empty())
    throw value_error("No message found in input");
  const auto& last = list[list.size() - 1];
  if (last.is_map() && last["type"] == value("tool_call"))
    return {
      {list.items().begin(), list.items().end()}, tool_input::calls, ctx.graph_state().to_value()};
  return {open_calls(list), tool_input::messages, list};
}

given_calls read_input(const state_view& input, const std::string& messages_key,
                       const context& ctx) {
  if (!input.by_field()) {
    auto whole = input.to_value();
    if (whole.is_list())
      return read_list(whole, ctx);
    if (whole["__type"] == value(with_context))
      return {{whole["tool_call"]}, tool_input::calls, whole["state"]};
  }
  const auto& messages = input[messages_key];
  if (!messages.is_list() || messages.empty())
    throw value_error("No message found in input");
  return {open_calls(messages), tool_input::state, input.to_value()};
}

// ---- what is injected -----------------------------------------------------------------------

// The state for tools that read fields of it.
value visible_state(const value& state, tool_input kind, const std::string& messages_key) {
  return kind == tool_input::messages ? value::map({{messages_key, state}}) : state;
}

void require_injected(const tool& t, const tool_runtime& runtime, tool_input kind) {
  const auto& needed = t.options().needs.fields;
  std::string fields;
  for (const auto& field : needed)
    fields += (fields.empty() ? "" : ", ") + field.name;
  bool messages_alone = needed.size() == 1 && runtime.state().contains(needed.front().name);
  if (kind == tool_input::messages && !needed.empty() && !messages_alone)
    throw value_error("Invalid input to ToolNode. Tool " + t.name()
                      + " requires the graph's state as input, a map. State should contain fields "
                      + fields + ".");
  for (const auto& field : needed)
    if (!field.optional && !runtime.state().contains(field.name))
      throw node_error{"KeyError", field.name};
  if (t.options().needs.store && !runtime.store())
    throw value_error("Tool " + t.name()
                      + " needs a store, and the runtime has none: set "
                        "runtime_options::store or data_dir (Cannot inject store into tools).");
}

// ---- one call -------------------------------------------------------------------------------

// In a catch-all handler: throws an exception that is not a std::exception as a failure of its
// class. The runtime's own exceptions pass unchanged.
[[noreturn]] void raise_as_exception() {
  try {
    throw;
  } catch (const std::exception&) {
    throw;
  } catch (const detail::body_exit&) {
    throw;
  } catch (...) {
    throw node_error{class_in_flight(), "a tool threw something that is not a std::exception"};
  }
}

tool_output run_plain(const tool& t, const value& args, tool_runtime& runtime) {
  try {
    return t.body().plain(args, runtime);
  } catch (...) {
    raise_as_exception();
  }
}

coro<tool_output> run_tool_body(const tool& t, value args, tool_runtime& runtime, context& ctx) {
  if (t.body().coroutine) {
    std::optional<tool_output> out;
    try {
      auto body = t.body().coroutine(std::move(args), runtime);
      out = co_await body;
    } catch (...) {
      raise_as_exception();
    }
    co_return std::move(*out);
  }
  auto job = ctx.blocking([&t, &args, &runtime] { return run_plain(t, args, runtime); });
  auto out = co_await job;
  co_return out;
}

value event_of(const char* name, const value& call) {
  return value::map({{"event", name}, {"tool_call_id", call["id"]}, {"tool_name", call["name"]}});
}

void tell(const tool_runtime& runtime, const value& call, const char* name, const char* member,
          const value& v) {
  if (runtime.info().is_streaming(stream_mode::tools))
    detail::tool_events::tell(runtime, event_of(name, call).with(member, v));
}

value shown_result(const tool_output& out) {
  const auto* v = std::get_if<value>(&out.parts().front());
  return v ? *v : value{};
}

// The data that all calls of a task share.
struct running_calls {
  const std::vector<tool>& tools;
  const std::map<std::string, const tool*, std::less<>>& by_name;
  const tool_node_options& options;
  tool_results results;
  value state;
  context& ctx;
};

std::string known_names(const std::vector<tool>& tools) {
  std::string out;
  for (const auto& t : tools)
    if (t.runs_here())
      out += (out.empty() ? "" : ", ") + t.name();
  return out;
}

// The parts as one output: a wrapper sees a tool's result as messages and commands.
tool_output as_output(std::vector<tool_output::part> parts) {
  if (parts.size() != 1)
    return tool_output{std::move(parts)};
  if (auto* c = std::get_if<command>(&parts.front()))
    return tool_output{std::move(*c)};
  return tool_output{std::get<value>(std::move(parts.front()))};
}

// The message for a failure; nullopt when the failure ends the run.
std::optional<tool_output> handled(const running_calls& all, const tool* t, const error& failure,
                                   const value& call) {
  if (ends_the_run(failure))
    return std::nullopt;
  std::optional<std::string> content;
  if (t && t->options().on_error && failure.type() != "ToolInvocationError")
    content = t->options().on_error(failure);
  if (!content)
    content = all.options.handle_tool_errors.content(failure, call);
  if (!content)
    return std::nullopt;
  return tool_output{failed_tool_message(std::move(*content), call)};
}

tool_output unknown_tool(const running_calls& all, const value& call) {
  return failed_tool_message("Error: " + text_in(call["name"])
                               + " is not a valid tool, try one of [" + known_names(all.tools)
                               + "].",
                             call);
}

// The arguments with which a tool is called.
value begin(const tool_runtime& runtime, const tool& t, const value& call) {
  auto args = t.check(call["args"]);
  if (!args)
    throw args.error();
  tell(runtime, call, "tool-started", "input", *args);
  return std::move(*args);
}

tool_output end(const running_calls& all, const tool& t, const tool_output& given,
                const value& call, const tool_runtime& runtime) {
  require_output(t.options().output, given);
  auto parts = all.results.checked(given, call);
  if (runtime.info().is_streaming(stream_mode::tools)) // the event and the state have one id
    for (auto& part : parts)
      if (auto* message = std::get_if<value>(&part); message && message->is(value_kind::message))
        *message = with_message_id(*message);
  auto out = as_output(std::move(parts));
  tell(runtime, call, "tool-finished", "output", shown_result(out));
  return out;
}

// In a handler: the message for the exception; nullopt when it ends the run.
std::optional<tool_output> caught(const running_calls& all, const tool& t, const value& call,
                                  const tool_runtime& runtime, const std::exception& thrown) {
  auto failure = failure_of(thrown);
  if (failure.code() != errc::graph_drained)
    tell(runtime, call, "tool-error", "message", failure.text());
  return handled(all, &t, failure, call);
}

bool runs_at_once(const tool& t) {
  return t.body().plain && t.options().lane == lane::standard;
}

// Runs a tool that does not suspend. Not a coroutine, so that a thousand calls need no more stack
// than one.
tool_output execute_at_once(const running_calls& all, const tool* t, const value& call,
                            tool_runtime& runtime) {
  if (!t)
    return unknown_tool(all, call);
  require_injected(*t, runtime, all.results.kind);
  try {
    auto args = begin(runtime, *t, call);
    return end(all, *t, run_plain(*t, args, runtime), call, runtime);
  } catch (const std::exception& thrown) {
    if (auto out = caught(all, *t, call, runtime, thrown))
      return *out;
    throw;
  }
}

// Runs the tool of a request; its exceptions become messages where the node's options ask for that.
coro<tool_output> execute(running_calls& all, tool_call_request request) {
  const auto& call = request.call();
  const auto* t = request.tool() ? &*request.tool() : nullptr;
  if (!t || runs_at_once(*t))
    co_return execute_at_once(all, t, call, request.runtime());
  require_injected(*t, request.runtime(), all.results.kind);
  std::exception_ptr raised;
  std::optional<tool_output> out;
  try {
    auto args = begin(request.runtime(), *t, call);
    auto body = run_tool_body(*t, std::move(args), request.runtime(), all.ctx);
    auto given = co_await body;
    out = end(all, *t, given, call, request.runtime());
  } catch (const std::exception& thrown) {
    out = caught(all, *t, call, request.runtime(), thrown);
    if (!out)
      raised = std::current_exception();
  }
  if (raised)
    std::rethrow_exception(raised);
  co_return std::move(*out);
}

// A call, from its beginning to its result.
struct call_run {
  value call;
  const tool* known = nullptr;
  detail::tool_turn turn;
  tool_runtime runtime;
  bool ended = false;
  std::vector<tool_output::part> parts;
  std::exception_ptr failure;

  call_run(value c, const tool* t, running_calls& all)
    : call(std::move(c)),
      known{t},
      runtime{all.ctx, visible_state(all.state, all.results.kind, all.options.messages_key), call,
              all.tools, turn} {}
  call_run(const call_run&) = delete;
  call_run& operator=(const call_run&) = delete;

  bool may_run_aside(const tool_node_options& options) const {
    bool in_turn = known && known->options().one_at_a_time;
    return !in_turn
           && (options.wrap_tool_call
               || (known && (known->body().coroutine || known->options().lane == lane::blocking)));
  }
};

coro<tool_output> run_wrapped(running_calls& all, call_run& one) {
  auto request = tool_call_request{one.call, one.known ? std::optional{*one.known} : std::nullopt,
                                   one.runtime};
  if (!all.options.wrap_tool_call) {
    auto plain = execute(all, std::move(request));
    auto out = co_await plain;
    co_return out;
  }
  std::optional<tool_output> out;
  std::exception_ptr raised;
  try {
    tool_executor executor = [&all](tool_call_request r) { return execute(all, std::move(r)); };
    auto wrapped = all.options.wrap_tool_call(std::move(request), std::move(executor));
    out = co_await wrapped;
  } catch (const std::exception& thrown) {
    out = handled(all, nullptr, failure_of(thrown), one.call);
    if (!out)
      raised = std::current_exception();
  }
  if (raised)
    std::rethrow_exception(raised);
  co_return std::move(*out);
}

// Runs the call if its tool does not suspend. Result: whether it did.
bool run_at_once(running_calls& all, call_run& one) {
  if (all.options.wrap_tool_call || (one.known && !runs_at_once(*one.known)))
    return false;
  try {
    one.parts = execute_at_once(all, one.known, one.call, one.runtime).parts();
  } catch (...) {
    one.failure = std::current_exception();
  }
  one.ended = true;
  return true;
}

coro<bool> attempt(running_calls& all, call_run& one) {
  try {
    auto run = run_wrapped(all, one);
    auto out = co_await run;
    one.parts = out.parts();
    one.ended = true;
  } catch (const out_of_turn&) {
    one.ended = false;
  } catch (...) {
    one.failure = std::current_exception();
    one.ended = true;
  }
  co_return one.ended;
}

coro<bool> run_aside(running_calls& all, std::deque<call_run>& calls) {
  std::vector<coro<bool>> side_by_side;
  for (auto& one : calls)
    if (one.may_run_aside(all.options)) {
      one.turn.open = false;
      side_by_side.push_back(attempt(all, one));
    }
  if (side_by_side.size() < 2)
    co_return false;
  auto together = when_all(std::move(side_by_side));
  co_await together;
  co_return true;
}

} // namespace

// ---- the node -------------------------------------------------------------------------------

tool_node::tool_node(std::vector<tool> tools, tool_node_options options) {
  auto made = std::make_shared<parts>();
  made->tools = std::move(tools);
  made->options = std::move(options);
  for (const auto& t : made->tools)
    if (t.runs_here() && !made->by_name.emplace(t.name(), &t).second)
      throw error{errc::invalid_graph,
                  "make a tool node: two tools have the same name: " + t.name()};
  parts_ = std::move(made);
}

const std::vector<tool>& tool_node::tools() const noexcept {
  return parts_->tools;
}

coro<node_output> tool_node::operator()(const state_view& input, context& ctx) const {
  auto kept = parts_; // the node may be destroyed while the body is suspended
  auto given = read_input(input, kept->options.messages_key, ctx);
  if (given.calls.size() > limits::tool_calls_max)
    throw error{errc::invalid_value, "run tools: " + std::to_string(given.calls.size())
                                       + " calls in one message (tool_calls_max)"};
  running_calls all{.tools = kept->tools,
                    .by_name = kept->by_name,
                    .options = kept->options,
                    .results = {.kind = given.kind, .messages_key = kept->options.messages_key},
                    .state = std::move(given.state),
                    .ctx = ctx};
  std::deque<call_run> calls;
  for (auto& call : given.calls) {
    auto found = kept->by_name.find(text_in(call["name"]));
    calls.emplace_back(std::move(call), found == kept->by_name.end() ? nullptr : found->second,
                       all);
  }
  auto aside = run_aside(all, calls);
  co_await aside;
  for (auto& one : calls) {
    if (one.ended)
      continue;
    one.turn.open = true;
    if (run_at_once(all, one))
      continue;
    auto run = attempt(all, one);
    co_await run;
  }
  std::vector<std::vector<tool_output::part>> results;
  for (auto& one : calls) {
    if (one.failure)
      std::rethrow_exception(one.failure);
    results.push_back(std::move(one.parts));
  }
  co_return all.results.combined(std::move(results));
}

node_options late_calls_answered(const tool_node_options& options, std::chrono::milliseconds after,
                                 const tool_turns& turns, std::string next) {
  node_options out;
  if (after.count() == 0)
    return out;
  out.timeout = after;
  out.error_handler = [key = options.messages_key, after, turns,
                       next = std::move(next)](const state_view& input, context& ctx) {
    const auto& why = ctx.failure()->failure;
    if (why.code() != errc::node_timeout)
      throw why;
    auto given = read_input(input, key, ctx);
    std::vector<value> messages;
    auto due = given.kind == tool_input::calls ? given.calls : due_calls(given.calls, turns);
    for (const auto& call : due)
      messages.push_back(failed_tool_message("Error: tool '" + text_in(call["name"])
                                               + "' was given up after "
                                               + std::to_string(after.count()) + " ms.",
                                             call));
    return command{.update = state_update{}.set(key, value::list(std::move(messages))),
                   .goto_ = next,
                   .resume = std::nullopt,
                   .graph = {}};
  };
  return out;
}

value tool_call_with_context(const value& call, const value& state) {
  return value::map(
    {{"__type", with_context}, {"tool_call", call.with("type", "tool_call")}, {"state", state}});
}

std::string tools_condition::operator()(const state_view& state) const {
  auto whole = state.by_field() ? value{} : state.to_value();
  const auto& messages = whole.is_list() ? whole : state[messages_key];
  if (!messages.is_list() || messages.empty())
    throw value_error("No messages found in input state to tool_edge: "
                      + to_json(state.to_value()));
  return message_tool_calls(messages[messages.size() - 1]).empty() ? END : "tools";
}

} // namespace troupe
