// The two formats: whole answers, and answers in parts.
#include "tests/provider/model_wire.hpp"

#include "tests/provider/responses_wire.hpp"

#include <algorithm>
#include <utility>

namespace troupe::test {

// Each word with the white space after it.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    auto gap = text.find_first_of(" \n");
    auto next = gap == text.npos ? text.npos : text.find_first_not_of(" \n", gap);
    out.emplace_back(text.substr(0, next));
    text.remove_prefix(std::min(next, text.size()));
  }
  return out;
}

// Pieces of about `bytes`, none of which ends within a character.
std::vector<std::string> pieces_of(std::string_view text, std::size_t bytes) {
  std::vector<std::string> out;
  while (!text.empty()) {
    auto end = std::min(bytes, text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u)
      ++end;
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

namespace {

using entries = std::vector<value::map_init>;

// ---- Anthropic ------------------------------------------------------------------------------

value arguments_value(const std::string& arguments) {
  auto parsed = from_json(arguments);
  return parsed ? *parsed : value(arguments);
}

value anthropic_usage(const model_usage& u, std::int64_t output) {
  return value::map({{"input_tokens", u.input},
                     {"output_tokens", output},
                     {"cache_read_input_tokens", u.cache_read},
                     {"cache_creation_input_tokens", u.cache_write}});
}

std::string anthropic_stop(const model_answer& a) {
  return !a.stop.empty() ? a.stop : a.calls.empty() ? "end_turn" : "tool_use";
}

value anthropic_message(const model_answer& a, std::vector<value> content, value stop,
                        std::int64_t output) {
  return value::map({{"id", a.id},
                     {"type", "message"},
                     {"role", "assistant"},
                     {"model", a.model},
                     {"content", value::list(std::move(content))},
                     {"stop_reason", std::move(stop)},
                     {"stop_sequence", value{}},
                     {"usage", anthropic_usage(a.usage, output)}});
}

value anthropic_call(const model_call& c, value input) {
  return value::map(
    {{"type", "tool_use"}, {"id", c.id}, {"name", c.name}, {"input", std::move(input)}});
}

std::string anthropic_whole(const model_answer& a) {
  std::vector<value> content;
  if (!a.thinking.empty())
    content.push_back(
      value::map({{"type", "thinking"}, {"thinking", a.thinking}, {"signature", a.signature}}));
  if (!a.text.empty())
    content.push_back(value::map({{"type", "text"}, {"text", a.text}}));
  for (const auto& c : a.calls)
    content.push_back(anthropic_call(c, arguments_value(c.arguments)));
  return to_json(anthropic_message(a, std::move(content), anthropic_stop(a), a.usage.output));
}

// The events of one answer as they are added.
class anthropic_events {
public:
  void add(const char* type, entries data = {}) {
    data.emplace_back("type", type);
    out_.push_back(std::string{"event: "} + type + "\ndata: " + to_json(value::map(std::move(data)))
                   + "\n\n");
  }
  void begin(value block) {
    add("content_block_start", {{"index", index_}, {"content_block", std::move(block)}});
  }
  void part(const char* type, const char* key, const std::string& text) {
    add("content_block_delta",
        {{"index", index_}, {"delta", value::map({{"type", type}, {key, text}})}});
  }
  void end() {
    add("content_block_stop", {{"index", index_}});
    ++index_;
  }
  std::vector<std::string> take() { return std::move(out_); }

private:
  std::vector<std::string> out_;
  std::int64_t index_ = 0;
};

std::vector<std::string> anthropic_streamed(const model_answer& a, std::size_t piece_bytes) {
  anthropic_events out;
  out.add("message_start", {{"message", anthropic_message(a, {}, value{}, 1)}});
  out.add("ping");
  if (!a.thinking.empty()) {
    out.begin(value::map({{"type", "thinking"}, {"thinking", ""}, {"signature", ""}}));
    for (const auto& word : words_of(a.thinking))
      out.part("thinking_delta", "thinking", word);
    out.part("signature_delta", "signature", a.signature);
    out.end();
  }
  if (!a.text.empty()) {
    out.begin(value::map({{"type", "text"}, {"text", ""}}));
    for (const auto& word : words_of(a.text))
      out.part("text_delta", "text", word);
    out.end();
  }
  for (const auto& c : a.calls) {
    out.begin(anthropic_call(c, value::map()));
    out.part("input_json_delta", "partial_json", "");
    for (const auto& piece : pieces_of(c.arguments, piece_bytes))
      out.part("input_json_delta", "partial_json", piece);
    out.end();
  }
  out.add("message_delta",
          {{"delta", value::map({{"stop_reason", anthropic_stop(a)}, {"stop_sequence", value{}}})},
           {"usage", value::map({{"output_tokens", a.usage.output}})}});
  out.add("message_stop");
  return out.take();
}

const char* anthropic_error_type(int status) {
  switch (status) {
    case 400: return "invalid_request_error";
    case 401: return "authentication_error";
    case 402: return "billing_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 504: return "timeout_error";
    case 529: return "overloaded_error";
    default: return "api_error";
  }
}

// ---- OpenAI ---------------------------------------------------------------------------------

value openai_usage(const model_usage& u) {
  return value::map({{"prompt_tokens", u.input},
                     {"completion_tokens", u.output},
                     {"total_tokens", u.input + u.output},
                     {"prompt_tokens_details", value::map({{"cached_tokens", u.cache_read}})}});
}

std::string openai_stop(const model_answer& a) {
  return !a.stop.empty() ? a.stop : a.calls.empty() ? "stop" : "tool_calls";
}

value openai_call(const model_call& c, std::string_view arguments) {
  return value::map({{"id", c.id},
                     {"type", "function"},
                     {"function", value::map({{"name", c.name}, {"arguments", arguments}})}});
}

value openai_answer(const model_answer& a, const char* object, std::vector<value> choices,
                    value usage) {
  entries out{{"id", a.id},
              {"object", object},
              {"created", 1'700'000'000},
              {"model", a.model},
              {"choices", value::list(std::move(choices))}};
  if (!usage.is_null())
    out.emplace_back("usage", std::move(usage));
  return value::map(std::move(out));
}

std::string openai_whole(const model_answer& a) {
  entries message{{"role", "assistant"},
                  {"content", a.text.empty() ? value{} : value(a.text)},
                  {"refusal", value{}}};
  if (!a.thinking.empty())
    message.emplace_back("reasoning_content", a.thinking);
  std::vector<value> calls;
  for (const auto& c : a.calls)
    calls.push_back(openai_call(c, c.arguments));
  if (!calls.empty())
    message.emplace_back("tool_calls", value::list(std::move(calls)));
  auto choice = value::map({{"index", 0},
                            {"message", value::map(std::move(message))},
                            {"logprobs", value{}},
                            {"finish_reason", openai_stop(a)}});
  return to_json(openai_answer(a, "chat.completion", {std::move(choice)}, openai_usage(a.usage)));
}

class openai_events {
public:
  explicit openai_events(const model_answer& a) : answer_{&a} {}
  void part(entries delta, value finish = {}) {
    add({value::map({{"index", 0},
                     {"delta", value::map(std::move(delta))},
                     {"finish_reason", std::move(finish)}})});
  }
  void call_part(std::size_t index, value call) {
    part({{"tool_calls", value::list({call.with("index", value(index))})}});
  }
  void add(std::vector<value> choices, value usage = {}) {
    out_.push_back("data: "
                   + to_json(openai_answer(*answer_, "chat.completion.chunk", std::move(choices),
                                           std::move(usage)))
                   + "\n\n");
  }
  std::vector<std::string> take() {
    out_.emplace_back("data: [DONE]\n\n");
    return std::move(out_);
  }

private:
  const model_answer* answer_;
  std::vector<std::string> out_;
};

std::vector<std::string> openai_streamed(const model_answer& a, bool with_usage,
                                         std::size_t piece_bytes) {
  openai_events out{a};
  out.part({{"role", "assistant"}, {"content", ""}});
  for (const auto& word : words_of(a.thinking))
    out.part({{"reasoning_content", word}});
  for (const auto& word : words_of(a.text))
    out.part({{"content", word}});
  for (std::size_t i = 0; i < a.calls.size(); ++i) {
    out.call_part(i, openai_call(a.calls[i], ""));
    for (const auto& piece : pieces_of(a.calls[i].arguments, piece_bytes))
      out.call_part(i, value::map({{"function", value::map({{"arguments", piece}})}}));
  }
  out.part({}, openai_stop(a));
  if (with_usage)
    out.add({}, openai_usage(a.usage));
  return out.take();
}

} // namespace

model_format format_of(std::string_view target) {
  target = target.substr(0, target.find('?'));
  return target.ends_with("/messages")    ? model_format::anthropic
         : target.ends_with("/responses") ? model_format::responses
                                          : model_format::openai;
}

std::string whole_answer(model_format format, const model_answer& answer) {
  switch (format) {
    case model_format::anthropic: return anthropic_whole(answer);
    case model_format::responses: return responses_whole(answer);
    default: return openai_whole(answer);
  }
}

std::vector<std::string> streamed_answer(model_format format, const model_answer& answer,
                                         bool with_usage, std::size_t piece_bytes) {
  switch (format) {
    case model_format::anthropic: return anthropic_streamed(answer, piece_bytes);
    case model_format::responses: return responses_streamed(answer, piece_bytes);
    default: return openai_streamed(answer, with_usage, piece_bytes);
  }
}

std::string error_body(model_format format, int status, std::string_view message) {
  if (format == model_format::anthropic)
    return to_json(value::map(
      {{"type", "error"},
       {"error", value::map({{"type", anthropic_error_type(status)}, {"message", message}})}}));
  return to_json(value::map({{"error", value::map({{"message", message},
                                                   {"type", status == 429  ? "rate_limit_exceeded"
                                                            : status < 500 ? "invalid_request_error"
                                                                           : "server_error"},
                                                   {"param", value{}},
                                                   {"code", value{}}})}}));
}

} // namespace troupe::test
