// malformed_calls: errors for calls that could not be read.
#include "agents/messages/malformed_calls.hpp"

#include "agents/messages/history.hpp"
#include "agents/messages/json_text.hpp"

#include <algorithm>
#include <string>

namespace troupe {
namespace {

constexpr const char* malformed = "arguments were malformed or truncated.";
constexpr std::size_t reason_bytes_max = 300; // of a parser's reason in the error of a run

std::string name_or(const value& v, const char* otherwise) {
  return v.is_string() && !v.empty() ? v.as<std::string>() : otherwise;
}

value not_executed(const value& call, const std::string& why) {
  return tool_message("Tool call " + name_or(call["name"], "unknown") + " with id "
                        + name_or(call["id"], "unknown") + " could not be executed - " + why,
                      name_or(call["id"], ""), name_or(call["name"], ""), "error");
}

const value& malformed_calls(const value& answer) {
  return message_member(answer, "invalid_tool_calls");
}

// Most conversations need no answer: their new messages are looked at before each model call, and
// all are copied from the first answer on.
std::optional<value> answered(const value& messages, bool also_open) {
  auto all = messages.items();
  std::vector<value> out;
  std::size_t copied = 0;
  for (auto i = answered_messages(messages); i < all.size(); ++i) {
    auto answer_open = [&](const value& calls, const char* why) {
      for (const auto& call : calls.items())
        if (call["id"].is_string() && !is_answered_behind(all, i, call)) {
          for (; copied <= i; ++copied)
            out.push_back(all[copied]);
          out.push_back(with_message_id(not_executed(call, why)));
        }
    };
    answer_open(malformed_calls(all[i]), malformed);
    if (also_open)
      answer_open(message_tool_calls(all[i]), "it was never run.");
  }
  if (copied == 0)
    return std::nullopt;
  for (; copied < all.size(); ++copied)
    out.push_back(all[copied]);
  return value::list(std::move(out));
}

// The reason for which an answer ended, in either provider's word.
std::string end_of(const value& answer) {
  const auto& about = message_member(answer, "response_metadata");
  for (const auto* name : {"finish_reason", "stop_reason"})
    if (about[name].is_string())
      return about[name].as<std::string>();
  return {};
}

std::string first_line_of(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  auto end = std::min(text.size(), reason_bytes_max);
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end; // not within a character
  return text.substr(0, end);
}

} // namespace

bool is_malformed(const value& answer) {
  return !malformed_calls(answer).empty() && message_tool_calls(answer).empty();
}

std::vector<value> malformed_call_errors(const value& answer) {
  std::vector<value> out;
  for (const auto& call : malformed_calls(answer).items())
    if (call["id"].is_string())
      out.push_back(with_message_id(not_executed(
        call, std::string{malformed}
                + " Call it again with arguments that are one complete JSON object.")));
  return out;
}

std::size_t malformed_in_a_row(const value& messages) {
  auto all = messages.items();
  std::size_t out = 0;
  for (auto at = all.rbegin(); at != all.rend() && message_role(*at) != "user"; ++at) {
    if (message_role(*at) != "assistant")
      continue;
    if (!is_malformed(*at))
      break;
    ++out;
  }
  return out;
}

node_error malformed_too_often(const value& answer, std::size_t count) {
  const auto& call = malformed_calls(answer)[0];
  auto text = "The model called tools with arguments that are not a JSON object, "
              + std::to_string(count) + (count == 1 ? " time" : " times in a row")
              + "; the last call was of `" + name_or(call["name"], "unknown") + '`';
  if (auto why = first_line_of(text_in(call["error"])); !why.empty())
    text += " (" + why + ")";
  if (auto end = end_of(answer); end == "length" || end == "max_tokens")
    text += ". The answer was cut at its token limit: raise max_tokens";
  return {"MalformedToolCallError", text + ". malformed_answers_max bounds the attempts."};
}

std::optional<value> with_malformed_answered(const value& messages) {
  return answered(messages, false);
}

std::optional<value> repaired_history(const value& messages) {
  return answered(messages, true);
}

} // namespace troupe
