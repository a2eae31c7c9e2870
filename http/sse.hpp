// Server-sent events out of bytes. Pure.
#pragma once

#include <troupe/error.hpp>
#include <troupe/limits.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Shape:  `type` is empty where the stream names none; `data` has its lines joined by line feeds,
///         as the bytes came: nobody has looked whether they are UTF-8. `id`: the last one that was
///         given, perhaps by an event before.
struct sse_event {
  std::string type;
  std::string data;
  std::string id;
  friend bool operator==(const sse_event&, const sse_event&) = default;
};

struct sse_bounds {
  std::size_t line_bytes_max = limits::sse_line_bytes_max;
  std::size_t event_bytes_max = limits::sse_event_bytes_max; ///< its data and type
};

/// Reads a stream that may be cut into pieces anywhere. Lines end with LF, CR or both; a byte order
/// mark and comments are skipped; what the stream's end cuts off is no event.
/// Cost:   linear, however small the pieces.
/// Source: WHATWG HTML, 9.2.6 "Interpreting an event stream".
class sse_decoder {
public:
  explicit sse_decoder(sse_bounds bounds = {}) : bounds_{bounds} {}

  /// Appends the events that end within `bytes`.
  /// Errors: node_failed of type StreamError for a line or event beyond its bound; `events` has
  ///         those before it, and the decoder is of no more use.
  result<void> feed(std::string_view bytes, std::vector<sse_event>& events);

  /// What the stream said last of how long to wait before it is asked for again.
  std::optional<std::chrono::milliseconds> retry() const noexcept { return retry_; }

private:
  void take_line(std::string_view line, std::vector<sse_event>& events);
  void take_field(std::string_view name, std::string_view text);
  void end_event(std::vector<sse_event>& events);

  sse_bounds bounds_;
  std::string line_; // the beginning of one that is not there as a whole
  sse_event event_;
  std::optional<std::chrono::milliseconds> retry_;
  bool has_data_ = false;
  bool at_start_ = true;
  bool behind_cr_ = false; // a line feed now belongs to the line before
  bool too_large_ = false;
};

} // namespace troupe
