// See history.hpp.
#include "agents/history.hpp"

#include "agents/failure.hpp"
#include "agents/json_text.hpp"

#include <algorithm>
#include <span>

namespace troupe {
namespace {

constexpr std::size_t calls_shown = 3;

bool is_handoff(const value& call, const std::vector<std::string>& handoffs) {
  const auto& name = call["name"];
  return name.is_string() && std::ranges::find(handoffs, name.as_string()) != handoffs.end();
}

// Looks behind place `i` first, where answers stand.
bool is_answered(std::span<const value> messages, std::size_t i, const value& call) {
  auto answers_it = [&call](const value& m) { return is_answer_to(m, call); };
  return std::ranges::any_of(messages.subspan(i), answers_it)
         || std::ranges::any_of(messages.first(i), answers_it);
}

} // namespace

bool is_answer_to(const value& message, const value& call) {
  return message_role(message) == "tool" && message_member(message, "tool_call_id") == call["id"];
}

void require_answered_calls(const value& messages) {
  auto all = messages.items();
  std::vector<value> open;
  for (std::size_t i = 0; i < all.size(); ++i)
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
      "required by most LLM providers.\nFor troubleshooting, visit: "
      "https://docs.langchain.com/oss/python/langgraph/errors/INVALID_CHAT_HISTORY");
}

std::vector<value> unanswered_calls(const value& messages) {
  auto all = messages.items();
  auto last = std::ranges::find_if(all.rbegin(), all.rend(),
                                   [](const value& m) { return message_role(m) == "assistant"; });
  std::vector<value> out;
  if (last == all.rend())
    return out;
  for (const auto& call : message_tool_calls(*last).items())
    if (std::ranges::none_of(all, [&call](const value& m) { return is_answer_to(m, call); }))
      out.push_back(call);
  return out;
}

bool has_handoff(const std::vector<value>& calls, const std::vector<std::string>& handoffs) {
  return std::ranges::any_of(calls, [&](const value& c) { return is_handoff(c, handoffs); });
}

std::vector<value> due_calls(std::vector<value> open, const std::vector<std::string>& handoffs) {
  auto stays = [&](const value& c) { return !is_handoff(c, handoffs); };
  if (std::ranges::any_of(open, stays))
    std::erase_if(open, [&](const value& c) { return is_handoff(c, handoffs); });
  return open;
}

destination sent_together(const std::vector<value>& calls) {
  std::vector<value> list;
  for (const auto& call : calls)
    list.push_back(call.with("type", "tool_call"));
  return send{"tools", value::list(std::move(list))};
}

} // namespace troupe
