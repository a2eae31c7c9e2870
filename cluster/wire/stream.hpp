// stream: a reliable, ordered stream of frames in both directions, over links that break. Pure:
// takes packets and the time, and returns the packets to send.
//
// Frames are cut into segments, each with the next number of its lane. Segments are kept until the
// other side acknowledges them, and sent again on a new link. The dialer numbers the links, and
// packets of an older one are dropped. A link begins with a `resume` each way, which lists what has
// arrived.
//
//   dialer ── resume ──▶ acceptor        link 1, or one that replaces a broken one
//   dialer ◀── resume ── acceptor
//   both   ── segment, ack ──▶ the other
//
// Invariants:
//  - A frame arrives once, whole, and in the order of its lane, or not at all.
//  - Control segments go before bulk ones, and at most one window of each lane is in flight. So a
//    large frame delays a small control frame by about limits::cluster_window_delay.
//  - Memory is bounded: cluster_lane_bytes_max per outgoing lane, cluster_frame_bytes_max per
//    incoming lane.
#pragma once

#include "cluster/wire/wire.hpp"

#include <array>
#include <deque>

namespace troupe::cluster {

enum class packet_kind : std::uint8_t { resume = 0, segment = 1, ack = 2 };

/// A packet: all that a link carries. A peer's packet is a claim until the stream has checked it,
/// so its fields are plain numbers.
struct packet {
  std::uint64_t stream = 0;                // a random number of the dialer, new for each stream
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
  ///         acknowledged; invalid_value past limits::cluster_frame_bytes_max. After an error
  ///         `frame` is unchanged.
  result<void> send(lane on, bytes&& frame);

  /// The next packet to hand to the link; nullopt when nothing is due. Call it after every other
  /// function.
  std::optional<packet> next_packet(time_point now);

  /// Takes a packet of the peer. At most one frame ends with a packet.
  /// Shape:  nothing for a packet that completes no frame, was seen before, or is of an older link.
  /// Errors: - protocol_mismatch for another stream, a gap, an unknown kind or lane, or a peer that
  ///           has forgotten what it acknowledged
  ///         - invalid_value for a segment or frame of a wrong length
  ///         Nothing has changed, and the caller breaks the link. After a gap a new link
  ///         continues the stream; after any other error the stream ends.
  result<std::optional<received_frame>> receive(packet p, time_point now);

  /// Begins a new link. Called by the dialer; the acceptor learns about the link from the incoming
  /// resume.
  void link_up();
  /// Nothing is sent until another link is up.
  void link_down();

  /// Whether the peer's resume has arrived on this link.
  bool is_open() const noexcept { return state_ == link_state::open; }
  std::uint32_t link() const noexcept { return link_; }
  /// Whether everything taken by send() has been acknowledged.
  bool is_quiet() const noexcept;
  /// Bytes that wait or are not acknowledged.
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
    std::uint64_t next = 1;            // segment to be sent next
    std::uint64_t highest = 1;         // all below were sent at least once
    std::uint64_t end = 1;             // after the last segment that was taken
    std::size_t queued_bytes = 0;
    std::size_t in_flight_bytes = 0; // from acked to next
    std::size_t window_bytes = 0;
    // A segment that is timed until it is acknowledged, or 0.
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
