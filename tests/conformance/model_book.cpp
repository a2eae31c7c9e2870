#include "tests/conformance/model_book.hpp"

#include <troupe/message.hpp>

#include <cctype>
#include <random>

namespace troupe::conformance {
namespace {

// As a uuid.
std::string generated_id() {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  for (auto& c : out)
    if (c == 'x')
      c = digits[random() % digits.size()];
  return out;
}

term::message_type with_id(term::message_type answer) {
  if (!member_of(answer.members, "id").is_true())
    answer.members.emplace_back("id", value(generated_id()));
  return answer;
}

// ---- parts ----------------------------------------------------------------------------------

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

// Each with the white space after it; white space at the beginning is one of its own.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  for (char c : text) {
    bool begins = out.empty() || (!is_space(c) && is_space(out.back().back()));
    if (begins)
      out.emplace_back();
    out.back() += c;
  }
  return out;
}

value part_with(const std::string& id, const value& content, const value& more) {
  return value::of(message{"assistant", content, id, more.with("chunk", true)});
}

value call_part(const std::string& id, const term& call, std::size_t index) {
  const auto* members = call.as_object();
  auto chunk = value::map({{"name", member_of(*members, "name").to_value()},
                           {"args", json_text(member_of(*members, "args"))},
                           {"id", member_of(*members, "id").to_value()},
                           {"index", static_cast<std::int64_t>(index)}});
  return part_with(id, "", value::map({{"tool_call_chunks", value::list({chunk})}}));
}

value with_usage(const value& part, const value& usage) {
  return value::extension(value_kind::message, part.payload().with("usage", usage));
}

} // namespace

std::vector<value> parts_of(const term::message_type& answer) {
  auto id = std::string{member_of(answer.members, "id").to_value().as<std::string>()};
  auto content = member_of(answer.members, "content").to_value();
  std::vector<value> out;
  for (auto& word : words_of(content.as_string()))
    out.push_back(part_with(id, value(std::move(word)), value::map()));
  if (const auto* calls = member_of(answer.members, "tool_calls").as_list())
    for (std::size_t i = 0; i < calls->size(); ++i)
      out.push_back(call_part(id, (*calls)[i], i));
  if (out.empty())
    out.push_back(part_with(id, "", value::map()));
  if (auto usage = member_of(answer.members, "usage").to_value(); !usage.is_null())
    out.back() = with_usage(out.back(), usage);
  return out;
}

const script_json& model_book::next(const std::string& name, const script_json& answers) {
  std::lock_guard guard{mutex_};
  auto i = given_[name]++;
  if (i >= answers.size())
    throw error{errc::missing_key, "ask a case's model: it has no answer left: " + name};
  return answers.at(i);
}

term model_book::answer(const std::string& name, const value& messages, scope& s) {
  auto model = declared_.find(name);
  if (model == declared_.end())
    throw error{errc::missing_key, "ask a case's model: there is none of this name: " + name};
  note_use("$model " + name, s);
  state_view input{messages};
  scope inner{s.shared, &input, s.task};
  auto said = say(name, *model, inner);
  if (!said.as_message())
    return said;
  const auto& answer = *said.as_message();
  if (streams(*model))
    for (const auto& part : parts_of(answer))
      task_of(s).stream_message(part);
  else
    task_of(s).stream_message(said.to_value());
  return said;
}

term model_book::say(const std::string& key, const script_json& model, scope& s) {
  auto said = evaluate(next(key, model.is_array() ? model : model.at("answers")), s);
  if (!said.as_message())
    return said;
  return with_id(*said.as_message());
}

bool streams(const script_json& model) {
  return model.is_object() && model.value("stream", false);
}

} // namespace troupe::conformance
