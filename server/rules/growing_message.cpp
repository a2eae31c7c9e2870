// growing_message: adding pieces, and reading what has come of their tool calls.
#include "server/rules/growing_message.hpp"

#include "server/rules/wire_form.hpp"

#include <troupe/agents/messages.hpp>

#include <string>
#include <utility>
#include <vector>

namespace troupe::server {
namespace {

// {tool_calls, invalid_tool_calls} of the pieces of calls.
value calls_so_far(const value& pieces) {
  std::vector<value> good, bad;
  for (const auto& piece : pieces.items()) {
    const auto& text = piece["args"];
    bool is_text = text.is_string() && !text.as_string().empty();
    auto args = is_text ? parse_partial_json(text.as_string()).value_or(value{}) : value::map();
    bool fits = args.is_map();
    auto call = value::map({{"name", fits && piece["name"].is_null() ? value("") : piece["name"]},
                            {"args", fits ? args : text},
                            {"id", piece["id"]},
                            {"type", fits ? "tool_call" : "invalid_tool_call"}});
    if (fits)
      good.push_back(std::move(call));
    else
      bad.push_back(call.with("error", nullptr));
  }
  return value::map({{"tool_calls", value::list(std::move(good))},
                     {"invalid_tool_calls", value::list(std::move(bad))}});
}

} // namespace

bool is_piece(const value& message) noexcept {
  return message.is(value_kind::message) && message.payload()["chunk"] == value(true);
}

void growing_message::add(const value& message) {
  if (!is_piece(sum_) || !is_piece(message)) {
    sum_ = message;
    return;
  }
  try {
    sum_ = add_chunks(sum_, message);
  } catch (const error&) {
    sum_ = message;
  }
}

value growing_message::form() const {
  if (!is_piece(sum_))
    return wire_form(sum_);
  auto whole = sum_.payload().without("chunk").without("chunk_position");
  if (const auto& pieces = whole["tool_call_chunks"]; pieces.is_list()) {
    auto calls = calls_so_far(pieces);
    whole = whole.without("tool_call_chunks");
    for (const auto& e : calls.entries())
      if (!e.val.empty())
        whole = whole.with(e.key(), e.val);
  }
  return wire_form(value::extension(value_kind::message, std::move(whole)));
}

} // namespace troupe::server
