// history: finding open calls, and answering them.
#include "agents/messages/history.hpp"

#include "agents/messages/failure.hpp"
#include "agents/messages/json_text.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t calls_shown = 3;
constexpr std::size_t message_id_shown = 24; // in an id that is made here

bool is_call_of(const value& call, const std::vector<std::string>& tools) {
  const auto& name = call["name"];
  return name.is_string() && std::ranges::find(tools, name.as_string()) != tools.end();
}

// Looks after place `i` first, where answers usually stand.
bool is_answered(std::span<const value> messages, std::size_t i, const value& call) {
  auto answers_it = [&call](const value& m) { return is_answer_to(m, call); };
  return std::ranges::any_of(messages.subspan(i), answers_it)
         || std::ranges::any_of(messages.first(i), answers_it);
}

// The message after message `i` that answers its call, before another message has a call of the
// same id.
std::optional<std::size_t> place_of_answer(std::span<const value> messages, std::size_t i,
                                           const value& call) {
  const auto& id = call["id"];
  for (++i; i < messages.size(); ++i) {
    if (is_answer_to(messages[i], call))
      return i;
    auto same = [&id](const value& later) { return later["id"] == id; };
    if (std::ranges::any_of(message_tool_calls(messages[i]).items(), same))
      return std::nullopt;
  }
  return std::nullopt;
}

// Ids of the calls of one message, in order.
struct call_ids {
  std::string message;
  std::vector<value> seen = {};
  bool changed = false;

  // The list with a new id in each element that satisfies `is_call` and has no id, or one that was
  // seen.
  template <class Is> value distinct(const value& list, Is is_call) {
    std::vector<value> out;
    for (const auto& item : list.items())
      out.push_back(is_call(item) ? item.with("id", next(item["id"])) : item);
    return value::list(std::move(out));
  }

  value next(const value& id) {
    bool given = id.is_string() && !id.empty();
    auto out = given ? id : value("call-" + message.substr(0, message_id_shown) + "-1");
    auto stem = given ? id.as<std::string>() : out.as<std::string>();
    for (std::size_t n = 2; std::ranges::find(seen, out) != seen.end(); ++n)
      out = value(stem + '-' + std::to_string(n));
    changed |= out != id;
    seen.push_back(out);
    return out;
  }
};

} // namespace

std::size_t answered_messages(const value& messages) {
  auto all = messages.items();
  auto settled = detail::list_mark::of(messages);
  auto end = settled; // of the messages that are needed as answers
  for (auto i = settled; i < all.size(); ++i) {
    for (const char* member : {"tool_calls", "invalid_tool_calls"})
      for (const auto& call : message_member(all[i], member).items()) {
        auto answer = place_of_answer(all, i, call);
        if (!answer)
          return settled;
        end = std::max(end, *answer + 1);
      }
    if (end <= i + 1)
      detail::list_mark::raise(messages, settled = i + 1);
  }
  return settled;
}

bool is_answer_to(const value& message, const value& call) {
  return message_role(message) == "tool" && message_member(message, "tool_call_id") == call["id"];
}

void require_answered_calls(const value& messages) {
  auto all = messages.items();
  std::vector<value> open;
  for (auto i = answered_messages(messages); i < all.size(); ++i)
    for (const auto& call : message_tool_calls(all[i]).items())
      if (!is_answered(all, i, call))
        open.push_back(call);
  if (open.empty())
    return;
  open.resize(std::min(open.size(), calls_shown));
  throw value_error(
    "Found AIMessages with tool_calls that do not have a corresponding ToolMessage. Here are the "
    "first few of those tool calls: "
    + spaced_json(value::list(std::move(open)))
    + ".\n\nEvery tool call (LLM requesting to call a tool) in the message history MUST have a "
      "corresponding ToolMessage (result of a tool invocation to return to the LLM) - this is "
      "required by most LLM providers.");
}

std::vector<value> unanswered_calls(const value& messages) {
  auto all = messages.items();
  auto last = std::ranges::find_if(all.rbegin(), all.rend(),
                                   [](const value& m) { return message_role(m) == "assistant"; });
  std::vector<value> out;
  if (last == all.rend())
    return out;
  auto behind = std::span<const value>{last.base(), all.end()};
  for (const auto& call : message_tool_calls(*last).items())
    if (std::ranges::none_of(behind, [&call](const value& m) { return is_answer_to(m, call); }))
      out.push_back(call);
  return out;
}

std::vector<std::string> tools_that_ran(const value& messages) {
  auto all = messages.items();
  auto last = std::ranges::find_if(all.rbegin(), all.rend(),
                                   [](const value& m) { return message_role(m) == "assistant"; });
  std::vector<std::string> out;
  if (last == all.rend())
    return out;
  auto after = std::span<const value>{last.base(), all.end()};
  for (const auto& call : message_tool_calls(*last).items()) {
    auto answer = std::ranges::find_if(after,
                                       [&](const value& m) { return is_answer_to(m, call); });
    auto name = answer == after.end() ? std::string{} : text_in(message_member(*answer, "name"));
    out.push_back(name.empty() ? text_in(call["name"]) : name);
  }
  return out;
}

value patched_tool_calls(const value& messages) {
  auto all = messages.items();
  if (answered_messages(messages) == all.size())
    return messages;
  std::vector<value> out, owed;
  bool is_patched = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (message_role(all[i]) != "tool") { // after the answers that exist
      out.insert(out.end(), owed.begin(), owed.end());
      owed.clear();
    }
    out.push_back(all[i]);
    for (const auto& call : message_tool_calls(all[i]).items())
      if (!is_answered_behind(all, i, call))
        owed.push_back(tool_message("Cancelled by the user.", text_in(call["id"]),
                                    text_in(call["name"]), "error"));
    is_patched |= !owed.empty();
  }
  out.insert(out.end(), owed.begin(), owed.end());
  return is_patched ? value::list(std::move(out)) : messages;
}

std::vector<value> patch_of_tool_calls(const value& messages) {
  auto patched = patched_tool_calls(messages);
  auto before = messages.items(), after = patched.items();
  if (before.size() == after.size())
    return {};
  if (std::ranges::equal(before, after.first(before.size())))
    return {after.begin() + std::ssize(before), after.end()};
  std::vector<value> out{remove_message(REMOVE_ALL_MESSAGES)};
  out.insert(out.end(), after.begin(), after.end());
  return out;
}

bool is_answered_behind(std::span<const value> messages, std::size_t i, const value& call) {
  return place_of_answer(messages, i, call).has_value();
}

value with_distinct_calls(const value& answer) {
  call_ids ids{text_in(message_member(answer, "id"))};
  auto is_any = [](const value&) { return true; };
  auto calls = ids.distinct(message_tool_calls(answer), is_any);
  bool same_calls = !std::exchange(ids.changed, false);
  const auto& given = message_member(answer, "invalid_tool_calls");
  auto unread = given.is_list() ? ids.distinct(given, is_any) : given;
  auto members = ids.changed ? answer.payload().with("invalid_tool_calls", unread)
                             : answer.payload();
  if (same_calls)
    return ids.changed ? value::extension(value_kind::message, std::move(members)) : answer;
  call_ids of_blocks{text_in(message_member(answer, "id"))};
  const auto& content = message_member(answer, "content");
  auto blocks = content.is_list() ? of_blocks.distinct(
                  content, [](const value& block) { return block["type"] == value("tool_use"); })
                                  : content;
  return value::extension(
    value_kind::message,
    members.with("tool_calls", std::move(calls)).with("content", std::move(blocks)));
}

bool has_handoff(const std::vector<value>& calls, const std::vector<std::string>& handoffs) {
  return std::ranges::any_of(calls, [&](const value& c) { return is_call_of(c, handoffs); });
}

bool runs_tools_again(const value& messages, const tool_turns& turns) {
  auto open = unanswered_calls(messages);
  if (open.empty() || has_handoff(open, turns.handoffs))
    return !open.empty();
  auto all = messages.items();
  auto last = std::ranges::find_if(all.rbegin(), all.rend(),
                                   [](const value& m) { return message_role(m) == "assistant"; });
  return std::ranges::any_of(message_tool_calls(*last).items(),
                             [&](const value& c) { return is_call_of(c, turns.one_at_a_time); });
}

tool_turns turns_of(const std::vector<tool>& tools) {
  tool_turns out;
  for (const auto& t : tools) {
    if (t.runs_here() && !t.options().handoff_to.empty())
      out.handoffs.push_back(t.name());
    else if (t.runs_here() && t.options().one_at_a_time)
      out.one_at_a_time.push_back(t.name());
  }
  return out;
}

std::vector<value> due_calls(std::vector<value> open, const tool_turns& turns) {
  auto stays = [&](const value& c) { return !is_call_of(c, turns.handoffs); };
  if (std::ranges::any_of(open, stays))
    std::erase_if(open, [&](const value& c) { return is_call_of(c, turns.handoffs); });
  bool first = true;
  std::erase_if(open, [&](const value& c) {
    return is_call_of(c, turns.one_at_a_time) && !std::exchange(first, false);
  });
  return open;
}

value input_of_calls(const std::vector<value>& calls) {
  std::vector<value> list;
  for (const auto& call : calls)
    list.push_back(call.with("type", "tool_call"));
  return value::list(std::move(list));
}

destination sent_together(const std::vector<value>& calls) {
  return send{"tools", input_of_calls(calls)};
}

} // namespace troupe
