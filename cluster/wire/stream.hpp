// A reliable, ordered stream of frames in both directions over links that break. Pure: it is told
// what came and what time it is, and says what is to be sent.
//
// Frames are cut into segments, each with the next number of its lane. They are kept until the
// other side has acknowledged them, and sent again when a link has come back. Who dials numbers the
// links; what comes over an older one is dropped. A link begins with a `resume` each way, which
// says what has arrived so far.
//
//   dialer ── resume ──▶ acceptor        link 1, or one that replaces a broken one
//   dialer ◀── resume ── acceptor
//   both   ── segment, ack ──▶ the other
//
// Invariants:
//  - A frame arrives once, whole, and in the order of its lane, or not at all.
//  - Control segments go before bulk ones, and no more than a window of either is on its way, so
//    that a large frame delays a small control frame by about limits::cluster_window_delay.
//  - What is held is bounded: cluster_lane_bytes_max a lane out, cluster_frame_bytes_max a lane
//  in.
#pragma once

#include "cluster/wire/wire.hpp"

#include <array>
#include <deque>

namespace troupe::cluster {

enum class packet_kind : std::uint8_t { resume = 0, segment = 1, ack = 2 };

/// All that a link carries. Everything in one from a peer is a claim until the stream has checked
/// it, so its fields are plain numbers.
struct packet {
  std::uint64_t stream = 0;                // drawn by who dials; another one for each new stream
  std::uint32_t link = 0;                  // of the stream, from 1
  std::uint8_t kind = 0;                   // a packet_kind
  std::uint8_t lane = 0;                   // of a segment, else 0
  std::uint8_t last = 0;                   // 1: the segment ends its frame
  std::uint64_t sequence = 0;              // of a segment in its lane, from 1; else 0
  std::array<std::uint64_t, 2> expected{}; // of each lane: all below it have arrived
  bytes data;                              // of a segment, else empty
  friend bool operator==(const packet&, const packet&) = default;
};

class stream {
public:
  using time_point = std::chrono::steady_clock::time_point;

  enum class side { dialer, acceptor };

  struct received_frame {
    cluster::lane on = lane::control;
    bytes data;
  };

  /// `number`: the same on both sides; not 0.
  stream(side here, std::uint64_t number);

  std::uint64_t number() const noexcept { return number_; }

  /// Takes a frame to be sent.
  /// Errors: overloaded when limits::cluster_lane_bytes_max of the lane wait or are not
  ///         acknowledged; invalid_value past limits::cluster_frame_bytes_max. It was not taken:
  ///         `frame` is as before.
  result<void> send(lane on, bytes&& frame);

  /// The next packet to hand to the link, until there is none for now. Call it after everything
  /// else.
  std::optional<packet> next_packet(time_point now);

  /// Takes what came. At most one frame ends with a packet.
  /// Shape:  nothing for a packet that completes no frame, was seen before, or is of an older link.
  /// Errors: protocol_mismatch for another stream, a gap, an unknown kind or lane, or a peer that
  ///         has forgotten what it acknowledged; invalid_value for a segment or frame of a wrong
  ///         length. Nothing has changed: break the link; after a gap a new one goes on, else the
  ///         stream is at its end.
  result<std::optional<received_frame>> receive(packet p, time_point now);

  /// A new link is there. Of the dialer; the acceptor learns of it from the resume that comes.
  void link_up();
  /// Nothing is sent until there is another link.
  void link_down();

  /// Whether both sides have said what they expect on this link.
  bool is_open() const noexcept { return state_ == link_state::open; }
  std::uint32_t link() const noexcept { return link_; }
  /// Whether everything taken by send() has been acknowledged.
  bool is_quiet() const noexcept;
  /// What waits or is not acknowledged.
  std::size_t queued_bytes(lane on) const noexcept;

private:
  enum class link_state { down, resuming, open }; // resuming: the peer's resume has not come yet

  struct outgoing_frame {
    bytes data;
    std::uint64_t first; // sequence of its first segment
  };

  struct outgoing {
    std::deque<outgoing_frame> frames; // those with a segment that is not acknowledged
    std::uint64_t acked = 1;           // all segments below have arrived
    std::uint64_t next = 1;            // to be sent
    std::uint64_t highest = 1;         // all below were sent at least once
    std::uint64_t end = 1;             // of all that was taken
    std::size_t queued_bytes = 0;
    std::size_t in_flight_bytes = 0; // from acked to next
    std::size_t window_bytes = 0;
    // One segment that is timed until it is acknowledged. 0: none
    std::uint64_t probe = 0;
    time_point probe_sent{};
    bool was_full = false; // the window, since the probe was sent
  };

  struct incoming {
    std::uint64_t expected = 1;
    bytes joined; // of a frame that has not ended
    std::size_t unanswered_bytes = 0;
  };

  result<void> check(const packet& p) const;
  result<void> check_claims(const packet& p) const;
  result<void> check_segment(const packet& p) const;
  std::optional<received_frame> take_segment(packet&& p);
  void take_acknowledged(outgoing& out, std::uint64_t expected, time_point now);
  void begin_link(std::uint32_t link);
  packet make_packet(packet_kind kind);
  std::optional<packet> next_segment(lane on, time_point now);

  side here_;
  std::uint64_t number_;
  std::uint32_t link_ = 0;
  link_state state_ = link_state::down;
  bool resume_due_ = false;
  std::array<outgoing, 2> out_;
  std::array<incoming, 2> in_;
};

} // namespace troupe::cluster
