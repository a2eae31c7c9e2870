// sse: server-sent events out of bytes. Pure.
#pragma once

#include <troupe/error.hpp>
#include <troupe/limits.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Shape:  `type` is empty where the stream names none. `data` has its lines joined by line feeds,
///         as the bytes came; whether they are UTF-8 was not checked. `id`: the last one in the
///         stream, perhaps from an earlier event.
struct sse_event {
  std::string type;
  std::string data;
  std::string id;
  friend bool operator==(const sse_event&, const sse_event&) = default;
};

struct sse_bounds {
  std::size_t line_bytes_max = limits::sse_line_bytes_max;
  std::size_t event_bytes_max = limits::sse_event_bytes_max; ///< of data and type together
};

/// Reads a stream that may be cut into pieces anywhere. Lines end with LF, CR or both. A byte order
/// mark and comments are skipped. An event that the stream's end cuts off does not count.
/// Cost:   linear, however small the pieces.
/// Source: WHATWG HTML, 9.2.6 "Interpreting an event stream".
class sse_decoder {
public:
  explicit sse_decoder(sse_bounds bounds = {}) : bounds_{bounds} {}

  /// Appends the events that end within `bytes`.
  /// Errors: node_failed of type StreamError for a line or event beyond its bound. `events` has the
  ///         events before it; the decoder must not be used any more.
  result<void> feed(std::string_view bytes, std::vector<sse_event>& events);

  /// The last wait before a reconnection that the stream asked for.
  std::optional<std::chrono::milliseconds> retry() const noexcept { return retry_; }

private:
  void take_line(std::string_view line, std::vector<sse_event>& events);
  void take_field(std::string_view name, std::string_view text);
  void end_event(std::vector<sse_event>& events);

  sse_bounds bounds_;
  std::string line_; // the beginning of an unfinished line
  sse_event event_;
  std::optional<std::chrono::milliseconds> retry_;
  bool has_data_ = false;
  bool at_start_ = true;
  bool behind_cr_ = false; // a line feed would belong to the line before
  bool too_large_ = false;
};

} // namespace troupe
