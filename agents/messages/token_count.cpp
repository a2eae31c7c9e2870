// token_count: an estimate of a conversation's tokens.
#include "agents/messages/json_text.hpp"

#include <troupe/agents/messages.hpp>

#include <algorithm>
#include <cmath>

namespace troupe {
namespace {

constexpr double image_tokens = 85;
constexpr double scale_max = 1.25;

std::size_t block_characters(const value& block, double& tokens) {
  if (block.is_string())
    return character_count(block.as_string());
  const auto& type = block["type"];
  if (type == value("text"))
    return block["text"].is_string() ? character_count(block["text"].as_string()) : 0;
  if (type == value("image") || type == value("image_url")) {
    tokens += image_tokens;
    return 0;
  }
  return character_count(spaced_json(block));
}

std::size_t text_size(const value& v) {
  return v.is_string() ? character_count(v.as_string()) : 0;
}

value counted_calls(const value& calls) {
  std::vector<value> out;
  for (const auto& call : calls.items())
    out.push_back(call.with("type", "tool_call"));
  return value::list(std::move(out));
}

double message_tokens(const value& message, const token_estimate& how) {
  double tokens = 0;
  std::size_t characters = 0;
  const auto& content = message_member(message, "content");
  characters += text_size(content);
  for (const auto& block : content.items())
    characters += block_characters(block, tokens);
  const auto& calls = message_tool_calls(message);
  if (content.is_string() && !calls.empty())
    characters += character_count(spaced_json(counted_calls(calls)));
  characters += text_size(message_member(message, "tool_call_id"));
  characters += message_role(message).size();
  if (how.count_name)
    characters += text_size(message_member(message, "name"));
  return tokens + std::ceil(static_cast<double>(characters) / how.chars_per_token)
         + how.extra_tokens_per_message;
}

// The ratio of the last answer's usage to the estimate; 1 when it is not known.
double usage_scale(const value& messages, const token_estimate& how) {
  if (messages.size() < 2)
    return 1.0;
  double so_far = 0;
  double scale = 1.0;
  value provider;
  for (const auto& message : messages.items()) {
    so_far += message_tokens(message, how);
    if (message_role(message) != "assistant")
      continue;
    const auto& named = message_member(message, "response_metadata")["model_provider"];
    if (named.is_null() || (!provider.is_null() && provider != named))
      return 1.0;
    provider = named;
    if (const auto& total = message_member(message, "usage")["total_tokens"]; total.is_number())
      scale = std::clamp(total.as_double() / so_far, 1.0, scale_max);
  }
  return scale;
}

} // namespace

std::int64_t count_tokens_approximately(const value& messages, const token_estimate& how) {
  double total = 0;
  if (!how.tools.is_null())
    total +=
      std::ceil(static_cast<double>(character_count(spaced_json(how.tools))) / how.chars_per_token);
  for (const auto& message : messages.items())
    total += message_tokens(message, how);
  if (how.use_usage_metadata_scaling)
    total *= usage_scale(messages, how);
  return static_cast<std::int64_t>(std::ceil(total));
}

} // namespace troupe
