// openai_echo: gathering the data, and sending it back.
#include "agents/models/openai_echo.hpp"

#include "agents/messages/json_text.hpp"
#include "agents/models/model_wire.hpp"

#include <troupe/limits.hpp>

#include <algorithm>

namespace troupe {
namespace {

constexpr const char* reasoning = "reasoning_content";
constexpr const char* reasoning_details = "reasoning_details";
constexpr const char* extra_content = "extra_content"; // of a call, or of a message
constexpr const char* sent_back = "sent_back";

bool comes_in_pieces(std::string_view member) {
  return member == "text" || member == "summary";
}

value with_extras_of_calls(const value& sent, const value& message) {
  auto calls = message_tool_calls(message).items();
  std::vector<value> out;
  for (auto call : sent["tool_calls"].items()) {
    auto said = std::ranges::find(calls, call["id"], [](const value& c) { return c["id"]; });
    if (said != calls.end() && (*said)["extras"].contains(extra_content))
      call = call.with(extra_content, (*said)["extras"][extra_content]);
    out.push_back(std::move(call));
  }
  return out.empty() ? sent : sent.with("tool_calls", value::list(std::move(out)));
}

} // namespace

std::string endpoint_of(std::string_view base_url) {
  if (auto scheme = base_url.find("://"); scheme != base_url.npos)
    base_url.remove_prefix(scheme + 3);
  auto host = base_url.substr(0, base_url.find('/'));
  if (auto user = host.rfind('@'); user != host.npos)
    host.remove_prefix(user + 1);
  return std::string{host};
}

void openai_echo::hear(const value& said) {
  if (endpoint_.empty())
    return;
  has_thoughts_ |= !text_in(said[reasoning]).empty();
  for (const auto& call : said["tool_calls"].items()) {
    has_calls_ = true;
    has_signed_calls_ |= call[extra_content].is_map();
  }
  if (said[extra_content].is_map())
    extra_content_ = said[extra_content];
  for (const auto& piece : said[reasoning_details].items())
    if (piece.is_map())
      hear_detail(piece);
}

openai_echo::detail& openai_echo::detail_of(const value& piece) {
  if (piece["index"].is_int())
    for (auto& begun : details_)
      if (begun.known["index"] == piece["index"] && begun.known["type"] == piece["type"])
        return begun;
  if (details_.size() >= limits::model_blocks_max)
    throw broken_answer("it has too many reasoning_details");
  return details_.emplace_back();
}

void openai_echo::hear_detail(const value& piece) {
  auto& all = detail_of(piece);
  for (const auto& e : piece.entries()) {
    if (comes_in_pieces(e.key()) && e.val.is_string())
      all.texts[std::string{e.key()}] += e.val.as_string();
    else if (!e.val.is_null() || !all.known.contains(e.key()))
      all.known = all.known.with(e.key(), e.val);
  }
}

value openai_echo::details() const {
  std::vector<value> out;
  for (const auto& one : details_) {
    out.push_back(one.known);
    for (const auto& [name, text] : one.texts)
      out.back() = out.back().with(name, text);
  }
  return value::list(std::move(out));
}

void openai_echo::keep_in(answer_builder& into) const {
  std::vector<value> members;
  if (!details_.empty()) {
    members.emplace_back(reasoning_details);
    into.set_extra(reasoning_details, details());
  } else if (has_thoughts_ && has_calls_) {
    members.emplace_back(reasoning); // the answer has it already
  }
  if (!extra_content_.is_null())
    into.set_extra(extra_content, extra_content_);
  if (!extra_content_.is_null() || has_signed_calls_)
    members.emplace_back(extra_content);
  if (!members.empty())
    into.set_metadata(
      sent_back, value::map({{"to", endpoint_}, {"members", value::list(std::move(members))}}));
}

value call_extras(const value& call) {
  const auto& more = call[extra_content];
  return more.is_map() ? value::map({{extra_content, more}}) : value::map();
}

value with_echo(value sent, const value& message, std::string_view endpoint) {
  const auto& kept = message_member(message, "response_metadata")[sent_back];
  if (endpoint.empty() || kept["to"] != value(endpoint))
    return sent;
  auto members = kept["members"].items();
  for (const auto* name : {reasoning, reasoning_details, extra_content}) {
    if (std::ranges::find(members, value(name)) == members.end())
      continue;
    if (const auto& said = message_member(message, "additional_kwargs")[name]; !said.is_null())
      sent = sent.with(name, said);
    if (name == extra_content)
      sent = with_extras_of_calls(sent, message);
  }
  return sent;
}

} // namespace troupe
