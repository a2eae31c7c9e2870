// Server-sent events: the same events however the stream is cut, and never more than its bounds.
#include "http/sse.hpp"
#include "tests/fuzz_bytes/target.hpp"

namespace troupe::fuzz_bytes {

namespace {

constexpr sse_bounds small{.line_bytes_max = 64, .event_bytes_max = 96};

struct read_stream {
  std::vector<sse_event> events;
  bool refused = false;
  friend bool operator==(const read_stream&, const read_stream&) = default;
};

read_stream decoded(std::string_view bytes, std::size_t piece) {
  sse_decoder decoder{small};
  read_stream out;
  for (std::size_t at = 0; at < bytes.size() && !out.refused; at += piece)
    out.refused = !decoder.feed(bytes.substr(at, piece), out.events);
  return out;
}

} // namespace

void try_bytes(std::string_view bytes) {
  auto whole = decoded(bytes, bytes.size() + 1);
  for (std::size_t piece : {1u, 2u, 7u})
    require(decoded(bytes, piece) == whole, "a stream means the same however it is cut");
  for (const auto& event : whole.events)
    require(event.data.size() + event.type.size() <= small.event_bytes_max
              && event.id.size() <= small.line_bytes_max,
            "an event is within its bounds");
}

std::vector<std::string> seeds() {
  return {"data: a\n\n", "event: t\r\ndata: a\r\ndata: b\r\n\r\n",
          "\xEF\xBB\xBFid: 1\rdata\r\r: comment\rretry: 10\r",
          "data: " + std::string(58, 'x') + "\ndata: " + std::string(30, 'y') + "\n\n",
          "data: \xF0\x9F\x98\x80\n\ndata: cut off"};
}

} // namespace troupe::fuzz_bytes
