// See history_rules.hpp.
#include "tests/provider/history_rules.hpp"

#include <algorithm>
#include <vector>

namespace troupe::test {

namespace {

using id_list = std::vector<std::string>; // sorted

id_list sorted(id_list ids) {
  std::ranges::sort(ids);
  return ids;
}

std::string string_or_nothing(const value& v) {
  return v.is_string() ? v.as<std::string>() : std::string{};
}

std::string listed(const id_list& ids) {
  std::string out;
  for (const auto& id : ids)
    out += ' ' + id;
  return out.empty() ? " none" : out;
}

// The open calls, and the messages that must answer them.
std::string mismatch(std::size_t at, const id_list& called, const id_list& answered) {
  if (called == answered)
    return {};
  return "messages." + std::to_string(at) + ": calls" + listed(called) + ", answered"
         + listed(answered);
}

// ---- Anthropic ------------------------------------------------------------------------------

id_list ids_in(const value& message, const char* type, const char* member) {
  id_list out;
  for (const auto& block : message["content"].items())
    if (block["type"] == value(type))
      out.push_back(string_or_nothing(block[member]));
  return sorted(std::move(out));
}

std::string anthropic_fault(std::span<const value> messages) {
  id_list open;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& m = messages[i];
    if (m["content"].empty())
      return "messages." + std::to_string(i) + ": content is empty";
    auto answered = ids_in(m, "tool_result", "tool_use_id");
    if (auto fault = mismatch(i, open, answered); !fault.empty())
      return fault;
    bool assistant = m["role"] == value("assistant");
    if (!assistant && m["role"] != value("user"))
      return "messages." + std::to_string(i) + ": neither the user's nor the assistant's";
    if (assistant && i == 0)
      return "messages.0: the first one is not the user's";
    open = assistant ? ids_in(m, "tool_use", "id") : id_list{};
  }
  return mismatch(messages.size(), open, {});
}

// ---- OpenAI ---------------------------------------------------------------------------------

std::string openai_fault(std::span<const value> messages) {
  id_list open;
  id_list answered;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& m = messages[i];
    if (m["role"] == value("tool")) {
      answered.push_back(string_or_nothing(m["tool_call_id"]));
      continue;
    }
    if (auto fault = mismatch(i, open, sorted(std::move(answered))); !fault.empty())
      return fault;
    answered.clear();
    open.clear();
    for (const auto& call : m["tool_calls"].items())
      open.push_back(string_or_nothing(call["id"]));
    open = sorted(std::move(open));
    if (m["content"].is_null() && open.empty())
      return "messages." + std::to_string(i) + ": content is empty";
  }
  return mismatch(messages.size(), open, sorted(std::move(answered)));
}

// ---- OpenAI's responses ---------------------------------------------------------------------

std::string responses_fault(std::span<const value> items) {
  id_list called, answered;
  for (const auto& item : items) {
    if (item["type"] == value("function_call"))
      called.push_back(string_or_nothing(item["call_id"]));
    if (item["type"] == value("function_call_output"))
      answered.push_back(string_or_nothing(item["call_id"]));
  }
  return mismatch(items.size(), sorted(std::move(called)), sorted(std::move(answered)));
}

} // namespace

std::string history_fault(model_format format, const value& body) {
  if (format == model_format::responses)
    return responses_fault(body["input"].items());
  auto messages = body["messages"].items();
  if (messages.empty())
    return "messages: none";
  return format == model_format::anthropic ? anthropic_fault(messages) : openai_fault(messages);
}

} // namespace troupe::test
