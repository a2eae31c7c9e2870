// query: reading a target and its parameters.
#include "server/edge/query.hpp"

#include "server/edge/refusal.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <ranges>

namespace troupe::server {
namespace {

int hex_digit_of(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::string query_text(std::string_view encoded) {
  std::string blanks{encoded};
  std::ranges::replace(blanks, '+', ' ');
  return percent_decoded(blanks).value_or(std::move(blanks));
}

refusal refused_parameter(std::string_view name, std::string_view given, std::string_view wanted) {
  return {422, "Invalid query parameter '" + std::string{name} + "': '"
                 + shortened(std::string{given}, limits::server_echo_bytes_max) + "' is not "
                 + std::string{wanted}};
}

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [text](std::string_view word) {
    return std::ranges::equal(text, word, [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a | 0x20) : a) == b;
    });
  });
}

// The texts of a JSON list; nullopt for other texts.
std::optional<std::vector<std::string>> texts_of_json(const std::string& text) {
  if (!text.starts_with('['))
    return std::nullopt;
  auto read = from_json(text, json_form::plain);
  if (!read || !read->is_list()
      || !std::ranges::all_of(read->items(), [](const value& v) { return v.is_string(); }))
    return std::nullopt;
  std::vector<std::string> out;
  for (const auto& item : read->items())
    out.emplace_back(item.as_string());
  return out;
}

// The items of a parameter's list: joined by commas, or a JSON list of texts.
void add_items(const std::string& text, std::vector<std::string>& to) {
  if (auto texts = texts_of_json(text)) {
    to.insert(to.end(), texts->begin(), texts->end());
    return;
  }
  for (auto part : std::views::split(text, ','))
    if (!part.empty())
      to.emplace_back(part.begin(), part.end());
}

} // namespace

std::optional<absolute_target> read_absolute(std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"}) {
    auto is_same = [](char a, char lower) { return static_cast<char>(a | 0x20) == lower; };
    if (!std::ranges::equal(target.substr(0, scheme.size()), scheme, is_same))
      continue;
    target.remove_prefix(scheme.size());
    auto host = target.substr(0, target.find_first_of("/?"));
    auto path = target.substr(host.size());
    return absolute_target{std::string{host},
                           path.starts_with('/') ? std::string{path} : '/' + std::string{path}};
  }
  return std::nullopt;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size())
      return std::nullopt;
    auto high = hex_digit_of(text[i + 1]);
    auto low = hex_digit_of(text[i + 2]);
    if (high < 0 || low < 0)
      return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

bool is_utf8(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    auto first = static_cast<unsigned char>(bytes.front());
    std::size_t more = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : 3;
    if ((more == 3 && first >> 3 != 30) || bytes.size() <= more)
      return false;
    char32_t code = more == 0 ? first : first & (0x3fu >> more);
    for (auto c : bytes.substr(1, more)) {
      if ((static_cast<unsigned char>(c) & 0xc0) != 0x80)
        return false;
      code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
    }
    constexpr char32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      return false;
    bytes.remove_prefix(more + 1);
  }
  return true;
}

query_parameters::query_parameters(std::string_view encoded) {
  while (!encoded.empty()) {
    auto one = encoded.substr(0, encoded.find('&'));
    encoded.remove_prefix(std::min(encoded.size(), one.size() + 1));
    if (one.empty())
      continue;
    auto name = one.substr(0, one.find('='));
    auto text = one.substr(std::min(one.size(), name.size() + 1));
    all_.emplace_back(query_text(name), query_text(text));
  }
}

std::optional<std::string> query_parameters::text(std::string_view name) const {
  for (const auto& [key, text] : std::views::reverse(all_))
    if (key == name)
      return text;
  return std::nullopt;
}

value query_parameters::members() const {
  std::map<std::string, std::vector<std::string>> lists; // one pass, however many there are
  for (const auto& [name, text] : all_)
    add_items(text, lists[name]);
  std::vector<value::map_init> out;
  for (const auto& [name, texts] : lists)
    out.emplace_back(name, texts.size() == 1 ? value(texts[0])
                                             : value::list({texts.begin(), texts.end()}));
  return value::map(std::move(out));
}

bool query_parameters::has(std::string_view name) const {
  return text(name).has_value();
}

bool query_parameters::flag(std::string_view name, bool otherwise) const {
  auto given = text(name);
  if (!given)
    return otherwise;
  if (is_any_of(*given, {"true", "1", "yes", "on"}))
    return true;
  if (is_any_of(*given, {"false", "0", "no", "off"}))
    return false;
  throw refused_parameter(name, *given, "a boolean");
}

std::int64_t query_parameters::number(std::string_view name, std::int64_t otherwise,
                                      std::int64_t at_least, std::int64_t at_most) const {
  auto given = text(name);
  if (!given)
    return otherwise;
  std::int64_t out = 0;
  auto* end = given->data() + given->size();
  auto [stop, failed] = std::from_chars(given->data(), end, out);
  if (failed != std::errc{} || stop != end || out < at_least || out > at_most)
    throw refused_parameter(name, *given,
                            "an integer from " + std::to_string(at_least) + " to "
                              + std::to_string(at_most));
  return out;
}

std::vector<std::string> query_parameters::list(std::string_view name) const {
  std::vector<std::string> out;
  for (const auto& [key, text] : all_)
    if (key == name)
      add_items(text, out);
  return out;
}

} // namespace troupe::server
