// Asking a person before tools run.
#include <troupe/middleware.hpp>

#include "agents/failure.hpp"
#include "agents/history.hpp"
#include "agents/json_text.hpp"

#include <algorithm>

namespace troupe {
namespace {

constexpr const char* edited_calls = "hitl_edited_tool_calls";

using reviews = std::vector<std::pair<std::string, review>>;

const review* review_of(const reviews& all, const value& call) {
  auto at = std::ranges::find(all, text_in(call["name"]),
                              [](const auto& r) -> const std::string& { return r.first; });
  return at == all.end() ? nullptr : &at->second;
}

std::vector<value> reviewed_calls(const reviews& all, const state_view& state) {
  std::vector<value> out;
  for (const auto& call : unanswered_calls(state["messages"]))
    if (const auto* r = review_of(all, call); r && (!r->when || r->when(call, state.to_value())))
      out.push_back(call);
  return out;
}

value question_of(const reviews& all, const std::vector<value>& calls) {
  std::vector<value> requests;
  std::vector<value> configs;
  for (const auto& call : calls) {
    const auto* r = review_of(all, call);
    requests.push_back(
      value::map({{"name", call["name"]},
                  {"args", call["args"]},
                  {"description", r->description + "\n\nTool: " + text_in(call["name"])
                                    + "\nArgs: " + spaced_json(call["args"])}}));
    configs.push_back(
      value::map({{"action_name", call["name"]}, {"allowed_decisions", value::of(r->decisions)}}));
  }
  return value::map({{"action_requests", value::list(std::move(requests))},
                     {"review_configs", value::list(std::move(configs))}});
}

void require_allowed(const review& r, const value& call, const value& decision) {
  auto type = text_in(decision["type"]);
  if (std::ranges::find(r.decisions, type) == r.decisions.end())
    throw value_error("Unexpected human decision: " + spaced_json(decision) + ". Decision type '"
                      + type + "' is not allowed for tool '" + text_in(call["name"])
                      + "'. Expected one of " + spaced_json(value::of(r.decisions))
                      + " based on the tool's configuration.");
}

std::string rejection(const value& call, const value& decision) {
  auto head = "User rejected the tool call for `" + text_in(call["name"]) + '`';
  if (auto why = text_in(decision["message"]); !why.empty())
    return head + " with reason: " + why;
  return head + " with id " + text_in(call["id"])
         + ". The tool was not executed. Do not retry this tool call unless the user explicitly "
           "requests it.";
}

// What the decisions say of each call.
struct verdicts {
  std::vector<value> messages;
  value edited = value::map();

  void add(const value& call, const value& decision) {
    auto type = text_in(decision["type"]);
    auto answer = [&](std::string text, const char* status) {
      messages.push_back(tool_message(text, text_in(call["id"]), text_in(call["name"]), status));
    };
    if (type == "edit")
      edited = edited.with(text_in(call["id"]), decision["edited_action"]);
    else if (type == "reject")
      answer(rejection(call, decision), "error");
    else if (type == "respond")
      answer(text_in(decision["message"]), "success");
  }

  value update(const value& edited_before) && {
    auto out = value::map();
    if (!messages.empty())
      out = out.with("messages", value::list(std::move(messages)));
    if (edited.empty())
      return out;
    auto all = edited_before.is_map() ? edited_before : value::map();
    for (const auto& e : edited.entries())
      all = all.with(e.key(), e.val);
    return out.with(edited_calls, all);
  }
};

value ask_person(const reviews& all, const state_view& state, context& ctx) {
  auto calls = reviewed_calls(all, state);
  if (calls.empty())
    return {};
  auto answer = ctx.interrupt(question_of(all, calls));
  const auto& decisions = answer["decisions"];
  if (decisions.size() != calls.size())
    throw value_error("Number of human decisions (" + std::to_string(decisions.size())
                      + ") does not match number of hanging tool calls ("
                      + std::to_string(calls.size()) + ").");
  verdicts out;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    require_allowed(*review_of(all, calls[i]), calls[i], decisions[i]);
    out.add(calls[i], decisions[i]);
  }
  return std::move(out).update(state[edited_calls]);
}

// ---- edited calls ---------------------------------------------------------------------------

std::string notice(const value& action) {
  return "Note: a human reviewer replaced this tool call before it ran. The call recorded in your "
         "message is the one you produced, not the one that executed. This was intentional and "
         "authorized. Do not re-issue your original call. Executed instead: "
         + text_in(action["name"]) + " with arguments " + spaced_json(action["args"])
         + ".\n\nTool response:\n";
}

value with_notice(const value& message, const std::string& text) {
  const auto& content = message_member(message, "content");
  auto out = content.is_list()
               ? value::list({text_block(text)}).append_all(content.items())
               : value(text + (content.is_string() ? content.as<std::string>() : to_json(content)));
  return value::extension(value_kind::message, message.payload().with("content", out));
}

coro<tool_output> run_edited(tool_call_request request, tool_executor run, value action) {
  const auto& tools = request.runtime().tools();
  auto name = text_in(action["name"]);
  auto known = std::ranges::find(tools, name, &tool::name);
  if (known == tools.end()) {
    std::string names;
    for (const auto& t : tools)
      names += (names.empty() ? "" : ", ") + t.name();
    throw value_error("Reviewer edited tool call '" + text_in(request.call()["id"]) + "' to '"
                      + name + "', which is not an available tool. Available tools: {" + names
                      + "}.");
  }
  auto edited = request.with_tool(*known).with_call(
    request.call().with("name", name).with("args", action["args"]));
  auto called = run(std::move(edited));
  auto out = co_await called;
  const auto* message = out.is_list() ? nullptr : std::get_if<value>(&out.parts().front());
  if (!message || !is_message(*message))
    co_return out;
  co_return tool_output{with_notice(*message, notice(action))};
}

} // namespace

middleware human_in_the_loop(std::vector<std::pair<std::string, review>> tools) {
  for (const auto& [name, r] : tools)
    if (r.decisions.empty())
      throw error{errc::invalid_config, "review calls of `" + name + "`: no decision is allowed"};
  middleware out;
  out.name = "human_in_the_loop";
  out.hidden = {{edited_calls, last_value}};
  out.after_model = [all = std::move(tools)](const state_view& state, context& ctx) {
    return ask_person(all, state, ctx);
  };
  out.wrap_tool_call = [](tool_call_request request, tool_executor run) {
    auto action = request.state()[edited_calls][text_in(request.call()["id"])];
    if (action.is_null())
      return run(std::move(request));
    return run_edited(std::move(request), std::move(run), std::move(action));
  };
  return out;
}

} // namespace troupe
