// How a model's answer ended, for people: a refused, filtered or cut answer looks like any other.
#pragma once

#include <troupe/agents/messages.hpp>

#include <ranges>
#include <string>

namespace troupe::cli {

/// Why an answer is not whole; empty for one that is. Either provider's words are known.
/// Shape:  `answer` an assistant's message.
inline std::string why_not_whole(const value& answer) {
  const auto& about = message_member(answer, "response_metadata");
  const auto& word = about["finish_reason"].is_string() ? about["finish_reason"]
                                                        : about["stop_reason"];
  const auto& refusal = message_member(answer, "additional_kwargs")["refusal"];
  auto reason = word.is_string() ? word.as<std::string>() : std::string{};
  if (refusal.is_string() && !refusal.empty())
    return "the model refused to answer: " + refusal.as<std::string>();
  if (reason == "refusal")
    return "the model refused to answer (refusal)";
  if (reason == "content_filter")
    return "the provider's filter held the answer back (content_filter)";
  if (reason == "length" || reason == "max_tokens")
    return "the answer was cut at its token limit (" + reason + ')';
  if (reason == "model_context_window_exceeded")
    return "the answer was cut: the conversation fills the model's context (" + reason + ')';
  return {};
}

/// Likewise of the last answer of a conversation; empty when the last message of a person has none.
/// Shape:  `messages` a list of messages, or null.
inline std::string why_last_not_whole(const value& messages) {
  if (!messages.is_list())
    return {};
  for (const auto& m : std::views::reverse(messages.items()))
    if (message_role(m) == "assistant")
      return why_not_whole(m);
    else if (message_role(m) == "user")
      break;
  return {};
}

} // namespace troupe::cli
