// socket_commands: the line and its limits.
#include "server/protocol/socket_commands.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace troupe::server {

static_assert(limits::server_socket_commands_bytes_max >= limits::http_socket_message_bytes_max,
              "a command alone is always kept");

std::string_view socket_commands::add(std::string& text) {
  if (waiting_.size() >= limits::server_socket_commands_max)
    return "server_socket_commands_max";
  if (text.size() > limits::server_socket_commands_bytes_max - bytes_)
    return "server_socket_commands_bytes_max";
  bytes_ += text.size();
  waiting_.push_back(std::exchange(text, {}));
  return {};
}

std::string socket_commands::next() {
  auto out = std::move(waiting_.front());
  waiting_.pop_front();
  bytes_ -= out.size();
  return out;
}

namespace {

std::string_view without_space(std::string_view json) {
  json.remove_prefix(std::min(json.find_first_not_of(" \t\r\n"), json.size()));
  return json;
}

// The place of the quote that ends the text which begins at `at`; the size for a text without one.
std::size_t end_of_text(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at)
    if (json[at] == '\\')
      ++at;
  return std::min(at, json.size());
}

// An integer that a member ends with.
value leading_integer(std::string_view json) {
  std::int64_t number = 0;
  const auto* last = json.data() + json.size();
  auto [end, wrong] = std::from_chars(json.data(), last, number);
  auto rest = without_space({end, static_cast<std::size_t>(last - end)});
  bool is_whole = wrong == std::errc{} && (rest.starts_with(',') || rest.starts_with('}'));
  return is_whole ? value(number) : value{};
}

} // namespace

value command_id(std::string_view json) {
  int depth = 0;
  for (std::size_t at = 0; at < json.size(); ++at) {
    switch (json[at]) {
      case '{':
      case '[': ++depth; break;
      case '}':
      case ']': --depth; break;
      case '"': {
        auto begin = std::exchange(at, end_of_text(json, at)) + 1;
        if (depth != 1 || json.substr(begin, at - begin) != "id")
          break;
        auto rest = without_space(json.substr(std::min(at + 1, json.size())));
        if (rest.starts_with(':')) // else it is a value
          return leading_integer(without_space(rest.substr(1)));
        break;
      }
      default: break;
    }
  }
  return {};
}

} // namespace troupe::server
