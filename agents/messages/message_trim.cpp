// message_trim: cutting a conversation to a number of tokens.
#include "agents/messages/message_lists.hpp"

#include <algorithm>
#include <span>

namespace troupe {
namespace {

using message_span = std::span<const value>;

value list_of(message_span messages) {
  return value::list(std::vector<value>(messages.begin(), messages.end()));
}

value reversed(message_span messages) {
  return value::list(std::vector<value>(messages.rbegin(), messages.rend()));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    auto end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    out.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return out;
}

value with_content(const value& message, value content) {
  return value::extension(value_kind::message,
                          message.payload().with("content", std::move(content)));
}

// Keeps the beginning of a list that fits. When the end is to be kept, the list is reversed.
class trimming {
public:
  trimming(const trim_options& options, std::int64_t budget, bool from_end)
    : options_{options},
      budget_{budget},
      from_end_{from_end} {}

  // The longest prefix that fits and ends with a message of an allowed type.
  std::vector<value> prefix(const value& messages, const std::vector<std::string>& end_on) const {
    auto kept = fitting(messages);
    std::vector<value> out(messages.items().begin(),
                           messages.items().begin() + static_cast<std::ptrdiff_t>(kept));
    if (options_.allow_partial && kept < messages.size())
      if (auto part = partial(out, messages[kept]))
        out.push_back(*part);
    if (!end_on.empty())
      while (!out.empty() && !is_of_type(out.back(), end_on))
        out.pop_back();
    return out;
  }

private:
  std::int64_t count(message_span messages) const {
    auto list = from_end_ ? reversed(messages) : list_of(messages);
    return options_.token_counter ? options_.token_counter(list) : count_tokens_approximately(list);
  }

  bool fits(message_span messages) const { return count(messages) <= budget_; }

  std::size_t fitting(const value& messages) const {
    std::size_t low = 0;
    for (std::size_t high = messages.size(); low < high;) {
      auto middle = (low + high + 1) / 2;
      if (fits(messages.items().first(middle)))
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }

  bool fits_with(std::vector<value>& before, value content, const value& message) const {
    before.push_back(with_content(message, std::move(content)));
    bool out = fits(before);
    before.pop_back();
    return out;
  }

  // The message at the cut, shortened at its far side; nullopt when nothing of it fits.
  std::optional<value> partial(std::vector<value> before, const value& message) const {
    const auto& content = message_member(message, "content");
    if (content.is_list()) {
      std::vector<value> blocks(content.items().begin(), content.items().end());
      while (blocks.size() > 1) {
        blocks.erase(from_end_ ? blocks.begin() : blocks.end() - 1);
        if (fits_with(before, value::list(blocks), message))
          return with_content(message, value::list(blocks));
      }
    }
    auto pieces = split(message_text(message));
    while (!pieces.empty()) {
      pieces.erase(from_end_ ? pieces.begin() : pieces.end() - 1);
      std::string text;
      for (const auto& piece : pieces)
        text += piece;
      if (!text.empty() && fits_with(before, text, message))
        return with_content(message, text);
    }
    return std::nullopt;
  }

  std::vector<std::string> split(const std::string& text) const {
    return options_.text_splitter ? options_.text_splitter(text) : lines_of(text);
  }

  const trim_options& options_;
  std::int64_t budget_;
  bool from_end_;
};

error refused(const char* text) {
  return {errc::invalid_value, text, "ValueError"};
}

value keep_last(const value& messages, const trim_options& options) {
  auto kept = messages.items();
  if (!options.end_on.empty())
    while (!kept.empty() && !is_of_type(kept.back(), options.end_on))
      kept = kept.first(kept.size() - 1);
  auto budget = options.max_tokens;
  std::vector<value> out;
  if (options.include_system && !kept.empty() && message_role(kept.front()) == "system") {
    out.push_back(kept.front());
    auto list = list_of(kept.first(1));
    auto tokens = options.token_counter ? options.token_counter(list)
                                        : count_tokens_approximately(list);
    budget = std::max<std::int64_t>(0, budget - tokens);
    kept = kept.subspan(1);
  }
  auto tail = trimming{options, budget, true}.prefix(reversed(kept), options.start_on);
  out.insert(out.end(), tail.rbegin(), tail.rend());
  return value::list(std::move(out));
}

} // namespace

value trim_messages(const value& messages, const trim_options& options) {
  bool first = options.strategy == trim_strategy::first;
  if (first && !options.start_on.empty())
    throw refused("start_on parameter is only valid with strategy='last'");
  if (first && options.include_system)
    throw refused("include_system parameter is only valid with strategy='last'");
  auto out = first ? value::list(
               trimming{options, options.max_tokens, false}.prefix(messages, options.end_on))
                   : keep_last(messages, options);
  return options.keep_pairs ? without_orphans(out) : out;
}

} // namespace troupe
