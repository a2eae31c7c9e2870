// text_pattern: compiling patterns and globs.
#include "agents/workspace/text_pattern.hpp"

#include <troupe/limits.hpp>

#include <re2/re2.h>

namespace troupe {

result<text_pattern> text_pattern::made_of(std::string_view expression) {
  re2::RE2::Options how;
  how.set_log_errors(false);
  how.set_max_mem(limits::search_pattern_memory_max);
  auto made = std::make_shared<const re2::RE2>(expression, how);
  if (!made->ok())
    return error{errc::invalid_value, made->error()};
  return text_pattern{std::move(made)};
}

result<text_pattern> text_pattern::expression(std::string_view pattern) {
  if (pattern.size() > limits::search_pattern_bytes_max)
    return error{errc::invalid_value, "the pattern has more than "
                                        + std::to_string(limits::search_pattern_bytes_max)
                                        + " bytes"};
  return made_of(pattern);
}

result<text_pattern> text_pattern::glob(std::string_view pattern) {
  if (pattern.size() > limits::search_pattern_bytes_max)
    return expression(pattern); // an error
  return made_of("(?s)" + expression_of_glob(pattern));
}

bool text_pattern::found_in(std::string_view text) const {
  return re2::RE2::PartialMatch(text, *made_);
}

bool text_pattern::fits(std::string_view text) const {
  return re2::RE2::FullMatch(text, *made_);
}

std::string expression_of_glob(std::string_view glob) {
  std::string out;
  std::size_t open = 0;
  for (std::size_t i = 0; i < glob.size(); ++i) {
    auto rest = glob.substr(i);
    char c = glob[i];
    if (rest.starts_with("**/")) {
      out += "(?:.*/)?";
      i += 2;
    } else if (rest.starts_with("**")) {
      out += ".*";
      ++i;
    } else if (c == '*' || c == '?') {
      out += c == '*' ? "[^/]*" : "[^/]";
    } else if (c == '[' && rest.find(']', 2) != std::string_view::npos) {
      auto end = rest.find(']', 2);
      auto inner = std::string{rest.substr(1, end - 1)};
      if (inner.front() == '!')
        inner.front() = '^';
      out += '[' + inner + ']';
      i += end;
    } else if (c == '{' && rest.find('}') != std::string_view::npos) {
      ++open;
      out += "(?:";
    } else if (open > 0 && (c == ',' || c == '}')) {
      open -= c == '}';
      out += c == ',' ? '|' : ')';
    } else {
      out += re2::RE2::QuoteMeta(std::string_view{&c, 1});
    }
  }
  return out;
}

} // namespace troupe
