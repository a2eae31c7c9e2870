// sse: splitting a stream into lines, and lines into events.
#include "http/sse.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace troupe {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// The end of the first line; npos when it is not in `text`. Two passes of memchr are faster than
// one search for both characters.
std::size_t end_of_line(std::string_view text) {
  const auto* feed = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
  auto line = feed ? static_cast<std::size_t>(feed - text.data()) : text.size();
  const auto* cr = static_cast<const char*>(std::memchr(text.data(), '\r', line));
  if (cr)
    return static_cast<std::size_t>(cr - text.data());
  return feed ? line : std::string_view::npos;
}

std::optional<std::chrono::milliseconds> retry_in(std::string_view text) {
  std::int32_t count = 0;
  auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (bad != std::errc{} || end != text.data() + text.size() || count < 0)
    return std::nullopt;
  return std::chrono::milliseconds{count};
}

} // namespace

result<void> sse_decoder::feed(std::string_view bytes, std::vector<sse_event>& events) {
  while (!bytes.empty() && !too_large_) {
    if (std::exchange(behind_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    auto end = end_of_line(bytes);
    auto piece = bytes.substr(0, end);
    if (piece.size() > bounds_.line_bytes_max - line_.size()) {
      too_large_ = true;
      break;
    }
    if (end == bytes.npos) {
      line_.append(piece);
      break;
    }
    behind_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (line_.empty()) {
      take_line(piece, events);
    } else {
      line_.append(piece);
      take_line(line_, events);
      line_.clear();
    }
  }
  if (too_large_)
    return error{errc::node_failed,
                 "read a stream of events: a line or event is longer than "
                   + std::to_string(std::min(bounds_.line_bytes_max, bounds_.event_bytes_max))
                   + " bytes",
                 "StreamError"};
  return {};
}

void sse_decoder::take_line(std::string_view line, std::vector<sse_event>& events) {
  if (std::exchange(at_start_, false) && line.starts_with(byte_order_mark))
    line.remove_prefix(byte_order_mark.size());
  if (line.empty())
    return end_event(events);
  auto colon = line.find(':');
  auto text = colon == line.npos ? std::string_view{} : line.substr(colon + 1);
  if (text.starts_with(' '))
    text.remove_prefix(1);
  take_field(line.substr(0, colon), text); // the name of a comment is empty
}

void sse_decoder::take_field(std::string_view name, std::string_view text) {
  if (name == "data") {
    if (text.size() + event_.data.size() + event_.type.size() + has_data_
        > bounds_.event_bytes_max) {
      too_large_ = true;
      return;
    }
    if (std::exchange(has_data_, true))
      event_.data += '\n';
    event_.data += text;
  } else if (name == "event") {
    event_.type = text;
    too_large_ = text.size() + event_.data.size() > bounds_.event_bytes_max;
  } else if (name == "id") {
    if (text.find('\0') == text.npos)
      event_.id = text;
  } else if (name == "retry") {
    if (auto given = retry_in(text))
      retry_ = given;
  }
}

void sse_decoder::end_event(std::vector<sse_event>& events) {
  if (std::exchange(has_data_, false)) {
    events.push_back({std::move(event_.type), std::move(event_.data), event_.id});
    event_.data.clear();
  }
  event_.type.clear();
}

} // namespace troupe
