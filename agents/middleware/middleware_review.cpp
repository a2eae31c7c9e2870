// Middleware for review: asks a person before tools run.
#include <troupe/agents/middleware.hpp>

#include "agents/messages/failure.hpp"
#include "agents/messages/history.hpp"
#include "agents/messages/json_text.hpp"

#include <algorithm>

namespace troupe {
namespace {

// Calls that a reviewer edited: {id of the call: {name, args, message_id}}.
constexpr const char* edited_calls = "hitl_edited_tool_calls";
constexpr const char* edited_in = "message_id";

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

std::string description_of(const review& r, const value& call) {
  return r.description + "\n\nTool: " + text_in(call["name"])
         + "\nArgs: " + spaced_json(call["args"]);
}

value question_of(const reviews& all, const std::vector<value>& calls) {
  std::vector<value> requests;
  std::vector<value> configs;
  for (const auto& call : calls) {
    const auto* r = review_of(all, call);
    requests.push_back(value::map(
      {{"name", call["name"]}, {"args", call["args"]}, {"description", description_of(*r, call)}}));
    configs.push_back(
      value::map({{"action_name", call["name"]}, {"allowed_decisions", value::of(r->decisions)}}));
  }
  return value::map({{"action_requests", value::list(std::move(requests))},
                     {"review_configs", value::list(std::move(configs))}});
}

// The member that a decision of this type lacks, as a description; empty when it has all.
std::string missing_in(const value& decision, std::string_view type) {
  const auto& action = decision["edited_action"];
  if (type == "edit" && !(action["name"].is_string() && action["args"].is_map()))
    return "`edited_action`, an object with `name` (text) and `args` (object)";
  if (type == "respond" && !decision["message"].is_string())
    return "`message`, a text";
  if (type == "reject" && !decision["message"].is_null() && !decision["message"].is_string())
    return "`message` as a text, or no `message` at all";
  return {};
}

// The reason why a decision can't be followed; empty when it can.
std::string objection(const review& r, const value& call, const value& decision) {
  auto type = text_in(decision["type"]);
  auto unexpected = [&] { return "Unexpected human decision: " + spaced_json(decision) + ". "; };
  if (std::ranges::find(r.decisions, type) == r.decisions.end())
    return unexpected() + "Decision type '" + type + "' is not allowed for tool '"
           + text_in(call["name"]) + "'. Expected one of " + spaced_json(value::of(r.decisions))
           + " based on the tool's configuration.";
  auto missing = missing_in(decision, type);
  return missing.empty()
           ? std::string{}
           : unexpected() + "A decision of type '" + type + "' needs " + missing + ".";
}

// The same for the answer to a question about several calls.
std::string objection(const reviews& all, const std::vector<value>& calls, const value& answer) {
  const auto& decisions = answer["decisions"];
  if (!decisions.is_list())
    return "Unexpected answer: " + spaced_json(answer)
           + ". Expected {\"decisions\": [...]} with one decision for each of the "
           + std::to_string(calls.size()) + " tool calls, in their order.";
  if (decisions.size() != calls.size())
    return "Number of human decisions (" + std::to_string(decisions.size())
           + ") does not match number of hanging tool calls (" + std::to_string(calls.size())
           + ").";
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (auto why = objection(*review_of(all, calls[i]), calls[i], decisions[i]); !why.empty())
      return why;
  return {};
}

// Refuses the answer: the question stays open, and this answer is forgotten.
[[noreturn]] void refuse(context& ctx, const std::string& why) {
  try {
    ctx.refuse_answer(why);
  } catch (const error& e) {
    throw error{e.code(), e.message(), "ValueError", why};
  }
}

std::string rejection(const value& call, const value& decision) {
  auto head = "User rejected the tool call for `" + text_in(call["name"]) + '`';
  if (auto why = text_in(decision["message"]); !why.empty())
    return head + " with reason: " + why;
  return head + " with id " + text_in(call["id"])
         + ". The tool was not executed. Do not retry this tool call unless the user explicitly "
           "requests it.";
}

// The message that a decision puts in place of the tool's; null when the tool runs.
value message_of(const value& call, const value& decision) {
  auto answer = [&call](const std::string& text, const char* status) {
    return tool_message(text, text_in(call["id"]), text_in(call["name"]), status);
  };
  auto type = text_in(decision["type"]);
  if (type == "reject")
    return answer(rejection(call, decision), "error");
  if (type == "respond")
    return answer(text_in(decision["message"]), "success");
  return {};
}

// The id of the answer that made the calls. An edit counts for the calls of that answer only,
// because a later answer may use their ids again.
value id_of_last_answer(const value& messages) {
  auto all = messages.items();
  auto last = std::ranges::find_if(all.rbegin(), all.rend(),
                                   [](const value& m) { return message_role(m) == "assistant"; });
  return last == all.rend() ? value{} : message_member(*last, "id");
}

// The results of the decisions for the calls.
struct verdicts {
  value answer_id;
  std::vector<value> messages = {};
  value edited = value::map();

  void add(const value& call, const value& decision) {
    if (auto message = message_of(call, decision); !message.is_null())
      messages.push_back(std::move(message));
    else if (text_in(decision["type"]) == "edit")
      edited = edited.with(text_in(call["id"]),
                           decision["edited_action"].with(edited_in, answer_id));
  }

  // Edits of earlier answers are dropped.
  value update(const value& edited_before) && {
    auto out = value::map();
    if (!messages.empty())
      out = out.with("messages", value::list(std::move(messages)));
    return edited.empty() && edited_before.empty() ? out : out.with(edited_calls, edited);
  }
};

value ask_person(const reviews& all, const state_view& state, context& ctx) {
  auto calls = reviewed_calls(all, state);
  if (calls.empty() && state[edited_calls].empty())
    return {};
  verdicts out{id_of_last_answer(state["messages"])};
  if (!calls.empty()) {
    auto answer = ctx.interrupt(question_of(all, calls));
    if (auto why = objection(all, calls, answer); !why.empty())
      refuse(ctx, why);
    for (std::size_t i = 0; i < calls.size(); ++i)
      out.add(calls[i], answer["decisions"][i]);
  }
  return std::move(out).update(state[edited_calls]);
}

// The call that a reviewer put in place of this one; null without an edit.
value edit_of(const tool_call_request& request) {
  const auto& action = request.state()[edited_calls][text_in(request.call()["id"])];
  bool same = action[edited_in] == id_of_last_answer(request.state()["messages"]);
  return same ? action : value{};
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

// The same for the messages in a command that answer the call.
command with_notice(command given, const value& call, const std::string& text) {
  if (!given.update)
    return given;
  std::vector<state_update::entry> entries;
  for (const auto& [channel, v] : given.update->entries()) {
    std::vector<value> items;
    for (const auto& m : v.items())
      items.push_back(is_answer_to(m, call) ? with_notice(m, text) : m);
    entries.emplace_back(channel, v.is_list() ? value::list(std::move(items)) : v);
  }
  given.update = state_update{std::move(entries)};
  return given;
}

tool_output with_notice(const tool_output& out, const value& call, const std::string& text) {
  std::vector<tool_output::part> parts;
  for (const auto& part : out.parts())
    if (const auto* c = std::get_if<command>(&part))
      parts.emplace_back(with_notice(*c, call, text));
    else if (const auto& v = std::get<value>(part); is_answer_to(v, call))
      parts.emplace_back(with_notice(v, text));
    else
      parts.push_back(part);
  if (out.is_list())
    return tool_output{std::move(parts)};
  if (auto* c = std::get_if<command>(&parts.front()))
    return tool_output{std::move(*c)};
  return tool_output{std::get<value>(std::move(parts.front()))};
}

coro<tool_output> run_edited(tool_call_request request, tool_executor run, value action,
                             bool notices) {
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
  if (!notices)
    co_return out;
  auto told = with_notice(out, request.call(), notice(action));
  co_return told;
}

// ---- one question a call --------------------------------------------------------------------

value answer_schema(const review& r, const tool_call_request& request) {
  std::vector<value> shapes;
  for (const auto& decision : r.decisions) {
    auto members = value::map({{"type", value::map({{"const", decision}})}});
    auto required = value::list({"type"});
    if (decision == "edit") {
      auto args = request.tool() ? request.tool()->definition()["parameters"] : value::map();
      auto name = value::map({{"const", request.call()["name"]}});
      members = members.with(
        "edited_action",
        value::map({{"type", "object"},
                    {"properties", value::map({{"name", name}, {"args", std::move(args)}})},
                    {"required", value::list({"name", "args"})}}));
      required = value::list({"type", "edited_action"});
    } else if (decision == "respond") {
      members = members.with("message", value::map({{"type", "string"}}));
      required = value::list({"type", "message"});
    }
    shapes.push_back(value::map(
      {{"type", "object"}, {"properties", std::move(members)}, {"required", std::move(required)}}));
  }
  return value::map({{"oneOf", value::list(std::move(shapes))}});
}

// The questions before each kind of call, and whether the model is informed of edits.
struct call_reviews {
  reviews all;
  bool notices = true;
};

coro<tool_output> ask_about_call(std::shared_ptr<const call_reviews> by, tool_call_request request,
                                 tool_executor run) {
  const auto& call = request.call();
  const auto* r = review_of(by->all, call);
  if (!r || (r->when && !r->when(call, request.state()))) {
    auto called = run(std::move(request));
    auto out = co_await called;
    co_return out;
  }
  auto question = value::map({{"type", "tool_approval"},
                              {"tool_call_id", call["id"]},
                              {"name", call["name"]},
                              {"args", call["args"]},
                              {"description", description_of(*r, call)}});
  auto decision = request.runtime().interrupt(question, answer_schema(*r, request));
  auto why = objection(*r, call, decision);
  bool edit = text_in(decision["type"]) == "edit";
  auto action = edit ? decision["edited_action"] : value{};
  if (edit && why.empty() && action["name"] != call["name"])
    why = "An edit of this call must keep the tool '" + text_in(call["name"]) + "'.";
  if (!why.empty())
    refuse(request.runtime().task(), why);
  if (auto message = message_of(call, decision); !message.is_null())
    co_return tool_output{std::move(message)};
  auto called = action.is_null()
                  ? run(std::move(request))
                  : run_edited(std::move(request), std::move(run), action, by->notices);
  auto out = co_await called;
  co_return out;
}

} // namespace

middleware human_in_the_loop(std::vector<std::pair<std::string, review>> tools, review_mode mode,
                             bool edit_notice) {
  for (const auto& [name, r] : tools)
    if (r.decisions.empty())
      throw error{errc::invalid_config,
                  "review calls of `" + name + "`: the list of allowed decisions is empty"};
  middleware out;
  out.name = "human_in_the_loop";
  if (mode == review_mode::per_call) {
    auto by = std::make_shared<const call_reviews>(call_reviews{std::move(tools), edit_notice});
    out.wrap_tool_call = [by](tool_call_request request, tool_executor run) {
      return ask_about_call(by, std::move(request), std::move(run));
    };
    return out;
  }
  out.hidden = {{edited_calls, last_value}};
  out.after_model = [all = std::move(tools)](const state_view& state, context& ctx) {
    return ask_person(all, state, ctx);
  };
  out.wrap_tool_call = [edit_notice](tool_call_request request, tool_executor run) {
    auto action = edit_of(request);
    if (action.is_null())
      return run(std::move(request));
    return run_edited(std::move(request), std::move(run), std::move(action), edit_notice);
  };
  return out;
}

} // namespace troupe
