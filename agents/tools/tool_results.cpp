// tool_results: checking and combining results.
#include "agents/tools/tool_results.hpp"

#include "agents/messages/failure.hpp"
#include "agents/messages/json_text.hpp"
#include "agents/messages/message_lists.hpp"

#include <troupe/agents/schema_check.hpp>
#include <troupe/limits.hpp>

#include <algorithm>
#include <array>

namespace troupe {
namespace {

constexpr std::string_view root_channel = "__root__";

// ---- content --------------------------------------------------------------------------------

bool is_content_block(const value& v) {
  constexpr std::array<std::string_view, 8> types{"text",          "image_url",
                                                  "image",         "json",
                                                  "search_result", "custom_tool_call_output",
                                                  "document",      "file"};
  const auto& type = v["type"];
  return type.is_string() && std::ranges::find(types, type.as_string()) != types.end();
}

value content_of(const value& given) {
  if (given.is_string()
      || (given.is_list() && std::ranges::all_of(given.items(), is_content_block)))
    return given;
  return spaced_json(given);
}

error bad_output(errc code, const std::string& text) {
  return {code, text, "ToolOutputError", text};
}

// The bytes of texts and bytes in a value; counting stops above the limit.
std::size_t bytes_in(const value& v, std::size_t depth = 0) {
  constexpr std::size_t enough = limits::tool_result_bytes_max + 1;
  if (depth > limits::value_depth_max)
    return enough;
  if (v.is_string() || v.is_bytes())
    return v.size();
  std::size_t out = 0;
  auto add = [&](const value& inner) { out += sizeof(value) + bytes_in(inner, depth + 1); };
  for (const auto& item : v.items())
    if (out < enough)
      add(item);
  for (const auto& e : v.entries())
    if (out < enough) {
      out += e.key().size();
      add(e.val);
    }
  return out;
}

void require_bounded(const value& message, const value& call) {
  auto size = bytes_in(message_member(message, "content"))
              + bytes_in(message_member(message, "artifact"));
  if (size > limits::tool_result_bytes_max)
    throw bad_output(errc::invalid_value, "tool " + text_in(call["name"])
                                            + ": its result has more than "
                                            + std::to_string(limits::tool_result_bytes_max)
                                            + " bytes (tool_result_bytes_max)");
}

bool is_tool_message(const value& v) {
  return message_role(v) == "tool";
}

// ---- commands -------------------------------------------------------------------------------

bool answers_call(const value& message, const value& call) {
  return is_tool_message(message) && message_member(message, "tool_call_id") == call["id"];
}

bool removes_all(const value& messages) {
  return messages.size() == 1 && messages[0].is(value_kind::remove_message)
         && messages[0].payload() == value(REMOVE_ALL_MESSAGES);
}

// The messages, with the tool's name in those that answer the call.
value answer_named(const value& messages, const value& call, std::size_t& answers) {
  if (answers_call(messages, call)) {
    ++answers;
    return with_member(messages, "name", call["name"]);
  }
  if (!messages.is_list())
    return messages;
  std::vector<value> out;
  for (const auto& m : messages.items())
    out.push_back(answers_call(m, call) ? (++answers, with_member(m, "name", call["name"])) : m);
  return value::list(std::move(out));
}

node_error unanswered(const command& given, const value& call, bool state) {
  auto shown = given.update ? to_json(given.update->to_value()) : std::string{};
  return value_error(
    "Expected to have a matching ToolMessage in Command.update for tool '" + text_in(call["name"])
    + "', got: " + shown
    + ". Every tool call (LLM requesting to call a tool) in the message history MUST have a "
      "corresponding ToolMessage. You can fix it by modifying the tool to return "
    + (state
         ? "`command{.update = {{\"messages\", value::list({tool_message(\"Success\", call_id), "
           "…})}}}`."
         : "`command{.update = state_update{value::list({tool_message(\"Success\", call_id), "
           "…})}}`."));
}

bool sends_to_parent(const command& c) {
  return c.graph == command::PARENT && !c.goto_.empty()
         && std::ranges::all_of(c.goto_.list(), [](const destination& d) {
              return std::holds_alternative<send>(d);
            });
}

// Commands that only send tasks to the parent graph, as one command.
struct parent_sends {
  std::optional<command> all;

  void add(const command& c) {
    if (!all)
      all = command{.update = std::nullopt, .goto_ = {}, .resume = std::nullopt, .graph = c.graph};
    auto gotos = all->goto_.list();
    gotos.insert(gotos.end(), c.goto_.list().begin(), c.goto_.list().end());
    all->goto_ = destinations{std::move(gotos)};
    if (!c.update)
      return;
    auto writes = all->update.value_or(state_update{});
    for (const auto& [channel, v] : c.update->entries())
      writes.set(channel, v);
    all->update = std::move(writes);
  }
};

} // namespace

void require_output(const value& schema, const tool_output& given) {
  const auto* v = std::get_if<value>(&given.parts().front());
  if (schema.is_null() || given.is_list() || !v || is_message(*v))
    return;
  auto wrong = check_schema(schema, *v);
  if (wrong.empty())
    return;
  auto text = (wrong[0].path.empty() ? "" : wrong[0].path + ": ") + wrong[0].message;
  throw bad_output(errc::node_failed, "the result does not fit: " + text);
}

value failed_tool_message(std::string content, const value& call) {
  return tool_message(content, text_in(call["id"]), text_in(call["name"]), "error");
}

value tool_results::checked_message(const value& given, const value& call) const {
  if (is_tool_message(given))
    return with_member(given, "content", content_of(message_member(given, "content")));
  throw node_error{"TypeError", "Tool " + text_in(call["name"])
                                  + " returned unexpected type: " + to_json(given)};
}

command tool_results::checked_command(command given, const value& call, std::size_t& answers,
                                      bool& exempt) const {
  if (given.update) {
    std::vector<state_update::entry> entries;
    for (const auto& [channel, v] : given.update->entries()) {
      bool whole = channel == root_channel;
      if (whole != (kind == tool_input::messages))
        throw value_error(whole ? "Tools can provide a list of messages in command::update only "
                                  "when the tool node's input is a list of messages, got: "
                                    + to_json(v) + " for tool '" + text_in(call["name"]) + "'"
                                : "Tools can provide a map in command::update only when the tool "
                                  "node's input is a map with '"
                                    + messages_key + "', got: " + to_json(given.update->to_value())
                                    + " for tool '" + text_in(call["name"]) + "'");
      bool messages = whole || channel == messages_key;
      exempt |= messages && removes_all(v);
      entries.emplace_back(channel, messages ? answer_named(v, call, answers) : v);
    }
    given.update = state_update{std::move(entries)};
  }
  return given;
}

std::vector<tool_output::part> tool_results::checked(const tool_output& given,
                                                     const value& call) const {
  auto out = sorted(given, call);
  for (const auto& part : out)
    if (const auto* message = std::get_if<value>(&part))
      require_bounded(*message, call);
  return out;
}

std::vector<tool_output::part> tool_results::sorted(const tool_output& given,
                                                    const value& call) const {
  std::vector<tool_output::part> out;
  std::size_t answers = 0;
  bool exempt = false;
  auto one = [&](const tool_output::part& part) -> tool_output::part {
    if (const auto* c = std::get_if<command>(&part))
      return checked_command(*c, call, answers, exempt);
    return checked_message(std::get<value>(part), call);
  };
  auto is_part = [](const tool_output::part& part) {
    return std::holds_alternative<command>(part) || is_tool_message(std::get<value>(part));
  };
  auto all = [&](const std::vector<tool_output::part>& parts) {
    if (!std::ranges::all_of(parts, is_part))
      throw node_error{"TypeError",
                       "Tool " + text_in(call["name"])
                         + " returned a list with invalid element types: expected all Command or "
                           "ToolMessage"};
    for (const auto& part : parts)
      out.push_back(one(part));
    auto direct = std::ranges::count_if(out, [&call](const tool_output::part& part) {
      const auto* v = std::get_if<value>(&part);
      return v && answers_call(*v, call);
    });
    if (auto n = answers + static_cast<std::size_t>(direct); n != 1)
      throw value_error("Tool " + text_in(call["name"]) + " returned a list with "
                        + std::to_string(n) + " messages bound to tool_call_id '"
                        + text_in(call["id"]) + "'; expected exactly one terminating ToolMessage.");
  };
  if (given.is_list()) {
    all(given.parts());
    return out;
  }
  const auto& only = given.parts().front();
  const auto* v = std::get_if<value>(&only);
  if (!v) {
    out.push_back(one(only));
    const auto& c = std::get<command>(out.back());
    if (answers == 0 && !exempt && c.graph.empty() && c.update)
      throw unanswered(c, call, kind != tool_input::messages);
  } else if (is_message(*v)) {
    out.push_back(one(only));
  } else if (v->is_list() && !v->empty() && std::ranges::all_of(v->items(), is_message)) {
    all({v->items().begin(), v->items().end()});
  } else {
    auto message = tool_message(content_of(*v), text_in(call["id"]), text_in(call["name"]));
    out.emplace_back(
      given.artifact().is_null() ? message : with_member(message, "artifact", given.artifact()));
  }
  return out;
}

// ---- the node's output ----------------------------------------------------------------------

state_update tool_results::message_update(std::vector<value> messages) const {
  auto list = value::list(std::move(messages));
  if (kind == tool_input::messages)
    return state_update{list};
  return state_update{}.set(messages_key, std::move(list));
}

node_output tool_results::combined(std::vector<std::vector<tool_output::part>> results) const {
  node_output out;
  bool commands = std::ranges::any_of(results, [](const auto& parts) {
    return std::ranges::any_of(parts, [](const auto& part) {
      return std::holds_alternative<command>(part);
    });
  });
  std::vector<value> messages;
  parent_sends sends;
  for (auto& parts : results)
    for (auto& part : parts) {
      auto* c = std::get_if<command>(&part);
      if (!commands)
        messages.push_back(std::get<value>(std::move(part)));
      else if (!c)
        out.parts.emplace_back(message_update({std::get<value>(std::move(part))}));
      else if (sends_to_parent(*c))
        sends.add(*c);
      else
        out.parts.emplace_back(std::move(*c));
    }
  if (!commands)
    out.parts.emplace_back(message_update(std::move(messages)));
  if (sends.all)
    out.parts.emplace_back(std::move(*sends.all));
  return out;
}

} // namespace troupe
