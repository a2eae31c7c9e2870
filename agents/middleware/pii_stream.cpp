// pii_stream: keeping back and cleaning texts in pieces.
#include "agents/middleware/pii_stream.hpp"

#include <troupe/limits.hpp>

#include <algorithm>

namespace troupe {
namespace {

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

value part_with_content(const value& part, value content) {
  return value::extension(value_kind::message, part.payload().with("content", std::move(content)));
}

// Whether a part has nothing but its text.
bool is_text_alone(const value& part) {
  return std::ranges::all_of(part.payload().entries(), [](const auto& e) {
    return e.key() == "role" || e.key() == "content" || e.key() == "id" || e.key() == "chunk"
           || e.val.is_null();
  });
}

bool is_last(const value& part) {
  return message_member(part, "chunk_position") == value("last");
}

} // namespace

std::string pii_text::take(const pii_guard& by, std::string_view more, bool last) {
  held_ += more;
  auto text = before_ + held_;
  auto shown = before_.size();
  auto edge = last ? text.size()
                   : std::max(shown, text.size() - std::min(text.size(), limits::pii_held_bytes));
  auto found = by.find(text);
  std::erase_if(found, [shown](const auto& place) { return place.second <= shown; });
  for (const auto& [begin, end] : found)
    if (!last && end > edge) // it may continue
      edge = std::min(edge, std::max(begin, shown));
  while (!last && edge > shown && continues_character(text[edge]))
    --edge;
  blocked_ |= by.options.strategy == pii_strategy::block && !found.empty();
  std::string out;
  auto done = shown;
  for (auto [begin, end] : found)
    if (end <= edge) {
      out += text.substr(done, std::max(begin, shown) - done);
      out += by.hidden(std::string_view{text}.substr(begin, end - begin));
      done = end;
    }
  out += text.substr(done, edge - done);
  held_ = text.substr(edge);
  before_ = text.substr(edge - std::min(edge, limits::pii_held_bytes),
                        std::min(edge, limits::pii_held_bytes));
  return blocked_ ? std::string{} : out;
}

value pii_stream::cleaned(const value& content) {
  if (content.is_string())
    return value(text_.take(*by_, content.as_string()));
  if (!content.is_list())
    return content;
  std::vector<value> blocks;
  for (const auto& block : content.items()) {
    if (!block["text"].is_string()) {
      blocks.push_back(block);
      continue;
    }
    auto& [first, text] = blocks_[to_json(block["index"])];
    if (first.is_null())
      first = block;
    blocks.push_back(block.with("text", text.take(*by_, block["text"].as_string())));
  }
  return value::list(std::move(blocks));
}

void pii_stream::part(const value& part) {
  auto shown = part_with_content(part, cleaned(message_member(part, "content")));
  last_ = shown;
  if (is_last(shown))
    finish();
  bool says_nothing = message_text(shown).empty() && !message_text(part).empty();
  if (!says_nothing || !is_text_alone(shown))
    out_(shown);
}

void pii_stream::finish() {
  if (last_.is_null())
    return;
  auto tell = [this](value content) {
    out_(value::extension(value_kind::message, value::map({{"role", "assistant"},
                                                           {"content", std::move(content)},
                                                           {"id", message_member(last_, "id")},
                                                           {"chunk", true}})));
  };
  if (auto rest = text_.take(*by_, {}, true); !rest.empty())
    tell(value(rest));
  std::vector<value> blocks;
  for (auto& [index, held] : blocks_)
    if (auto rest = held.second.take(*by_, {}, true); !rest.empty())
      blocks.push_back(held.first.with("text", value(rest)));
  if (!blocks.empty())
    tell(value::list(std::move(blocks)));
}

// ---- tools ----------------------------------------------------------------------------------

namespace {

value clean_texts(const pii_guard& by, const value& v) {
  if (v.is_string()) {
    auto text = by.clean(v.as_string());
    return text ? value(*text) : v;
  }
  if (is_message(v)) {
    auto message = by.clean_message(v);
    return message ? *message : v;
  }
  if (v.is_list()) {
    std::vector<value> items;
    for (const auto& item : v.items())
      items.push_back(clean_texts(by, item));
    return value::list(std::move(items));
  }
  auto out = v;
  for (const auto& e : v.entries())
    out = out.with(e.key(), clean_texts(by, e.val));
  return out;
}

} // namespace

value pii_tool_events::cleaned(const value& v) const {
  try {
    return clean_texts(*by_, v);
  } catch (const node_error&) { // the data is to be blocked
    return {};
  }
}

void pii_tool_events::event(const value& event, const std::function<void(const value&)>& out) {
  if (event["delta"].is_string()) {
    last_piece_ = event;
    if (auto shown = text_.take(*by_, event["delta"].as_string()); !shown.empty())
      out(event.with("delta", shown));
    return;
  }
  if (auto rest = text_.holds() ? text_.take(*by_, {}, true) : std::string{}; !rest.empty())
    out(last_piece_.with("delta", rest));
  text_ = {};
  for (const auto* member : {"delta", "output", "message"})
    if (event.contains(member))
      return out(event.with(member, cleaned(event[member])));
  out(event);
}

} // namespace troupe
