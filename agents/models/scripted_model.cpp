// scripted_model: models that need no network.
#include <troupe/agents/chat_model.hpp>

#include "agents/messages/json_text.hpp"

#include <troupe/message.hpp>

#include <cctype>

namespace troupe {
namespace {

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

// Words, each with the white space after it; white space at the beginning is a word of its own.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  for (char c : text) {
    if (out.empty() || (!is_space(c) && is_space(out.back().back())))
      out.emplace_back();
    out.back() += c;
  }
  return out;
}

value part(const value& id, value content) {
  return value::map(
    {{"role", "assistant"}, {"content", std::move(content)}, {"id", id}, {"chunk", true}});
}

value call_part(const value& id, const value& call, std::size_t index) {
  auto piece = value::map({{"name", call["name"]},
                           {"args", spaced_json(call["args"])},
                           {"id", call["id"]},
                           {"index", static_cast<std::int64_t>(index)}});
  return part(id, "").with("tool_call_chunks", value::list({piece}));
}

// An entry of a script as an assistant's message.
value as_answer(const value& said, const model_request& request) {
  if (is_message(said))
    return said;
  if (request.response_schema.is_null() && said.is_string())
    return ai_message(said);
  return value::extension(value_kind::message,
                          ai_message(to_json(said)).payload().with("parsed", said));
}

value give(value answer, const model_request& request, bool stream) {
  answer = with_message_id(answer);
  if (stream && request.on_part)
    for (const auto& one : parts_of_message(answer))
      request.on_part(one);
  return answer;
}

} // namespace

std::vector<value> parts_of_message(const value& message) {
  const auto& id = message_member(message, "id");
  const auto& content = message_member(message, "content");
  std::vector<value> parts;
  if (content.is_string())
    for (const auto& word : words_of(content.as_string()))
      parts.push_back(part(id, word));
  else if (!content.empty())
    parts.push_back(part(id, content));
  const auto& calls = message_tool_calls(message);
  for (std::size_t i = 0; i < calls.size(); ++i)
    parts.push_back(call_part(id, calls[i], i));
  if (parts.empty())
    parts.push_back(part(id, ""));
  if (const auto& usage = message_member(message, "usage"); !usage.is_null())
    parts.back() = parts.back().with("usage", usage);
  for (auto& one : parts)
    one = value::extension(value_kind::message, std::move(one));
  return parts;
}

scripted_model::scripted_model(std::vector<answer> answers, scripted_options options)
  : answers_{std::move(answers)},
    options_{std::move(options)} {}

scripted_model::answer scripted_model::next(const model_request& request) {
  std::lock_guard guard{mutex_};
  auto i = asked_++;
  if (options_.repeat && !answers_.empty())
    i %= answers_.size();
  if (i >= answers_.size())
    throw error{errc::missing_key, "ask model `" + options_.name + "`: it has no answer left"};
  if (!options_.repeat) {
    requests_.push_back(request);
    requests_.back().on_part = nullptr;
  }
  return answers_[i];
}

std::vector<model_request> scripted_model::requests() const {
  std::lock_guard guard{mutex_};
  return requests_;
}

coro<value> scripted_model::invoke(model_request request, context& /*ctx*/) {
  auto prepared = next(request);
  const auto* f = std::get_if<function>(&prepared);
  auto said = f ? (*f)(request.messages) : std::get<value>(prepared);
  co_return give(as_answer(said, request), request, options_.stream);
}

coro<value> echo_model::invoke(model_request request, context& /*ctx*/) {
  std::string text;
  for (const auto& m : request.messages.items())
    if (message_role(m) == "user")
      text = message_text(m);
  co_return give(ai_message(text), request, true);
}

} // namespace troupe
