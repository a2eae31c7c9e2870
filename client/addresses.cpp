// addresses: encoding, and taking apart.
#include "client/addresses.hpp"

#include "http/exchange.hpp"

#include <algorithm>

namespace troupe {

namespace {

constexpr std::string_view hex_digits = "0123456789ABCDEF";

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'
         || c == '_' || c == '~' || c == '.';
}

void add_encoded(std::string& out, char c) {
  auto byte = static_cast<unsigned char>(c);
  out += {'%', hex_digits[byte >> 4], hex_digits[byte & 15]};
}

// The origin in lower case, without the port that its scheme has anyway.
std::string plain_origin(std::string_view url) {
  auto out = http_origin(url);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  std::string_view port = out.starts_with("https:") ? ":443" : ":80";
  if (out.ends_with(port))
    out.resize(out.size() - port.size());
  return out;
}

} // namespace

std::string escaped_segment(std::string_view text) {
  bool only_dots = text.find_first_not_of('.') == text.npos;
  std::string out;
  for (char c : text)
    if (is_unreserved(c) && !only_dots)
      out += c;
    else
      add_encoded(out, c);
  return out;
}

std::string path_of(const std::vector<std::string_view>& segments) {
  std::string out;
  for (auto segment : segments)
    out += '/' + escaped_segment(segment);
  return out;
}

queried_path& queried_path::add(std::string_view name, std::string_view text) {
  if (!text.empty()) {
    text_ += std::exchange(has_query_, true) ? '&' : '?';
    text_ += std::string{name} + '=' + escaped_segment(text);
  }
  return *this;
}

queried_path& queried_path::add(std::string_view name, std::uint64_t number) {
  return add(name, std::string_view{std::to_string(number)});
}

queried_path& queried_path::add_flag(std::string_view name, bool flag) {
  return add(name, std::string_view{flag ? "true" : ""});
}

std::optional<run_place> place_of_run(std::string_view content_location) {
  constexpr std::string_view runs = "/runs/";
  constexpr std::string_view threads = "/threads/";
  auto at = content_location.rfind(runs);
  if (at == content_location.npos)
    return std::nullopt;
  run_place out;
  out.run_id = content_location.substr(at + runs.size());
  if (out.run_id.empty() || out.run_id.find('/') != out.run_id.npos)
    return std::nullopt;
  if (auto from = content_location.substr(0, at).rfind(threads); from != content_location.npos)
    out.thread_id = content_location.substr(from + threads.size(), at - from - threads.size());
  out.path = (out.thread_id.empty() ? std::string{} : std::string{threads} + out.thread_id)
             + std::string{runs} + out.run_id;
  return out;
}

std::string run_url_of(std::string_view joining_url) {
  auto path = joining_url.substr(0, joining_url.find_first_of("?#"));
  for (std::string_view end : {"/stream", "/join"})
    if (path.ends_with(end)) {
      auto url = path.substr(0, path.size() - end.size());
      auto place = place_of_run(url);
      return place && !place->thread_id.empty() ? std::string{url} : std::string{};
    }
  return {};
}

bool has_same_origin(std::string_view a, std::string_view b) {
  return plain_origin(a) == plain_origin(b);
}

} // namespace troupe
