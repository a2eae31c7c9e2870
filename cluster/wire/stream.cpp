// stream: cuts frames into segments, sends them again on a new link, and joins them.
#include "cluster/wire/stream.hpp"

#include <troupe/limits.hpp>

#include <algorithm>

namespace troupe::cluster {

namespace {

namespace most = troupe::limits;
using most::cluster_segment_bytes_max;

// Cost of a segment or frame beyond its bytes, so that empty ones are bounded, too.
constexpr std::size_t overhead_bytes = 64;
constexpr std::size_t segment_cost_max = cluster_segment_bytes_max + overhead_bytes;

// A receiver that sends no segments acknowledges after this many bytes. So a sender whose window is
// full always gets an acknowledgement.
constexpr std::size_t acknowledge_bytes = segment_cost_max;
static_assert(most::cluster_window_bytes_min >= 2 * segment_cost_max);

std::uint64_t count_segments(const bytes& frame) {
  auto whole = (frame.size() + cluster_segment_bytes_max - 1) / cluster_segment_bytes_max;
  return std::max<std::size_t>(whole, 1); // an empty frame is an empty segment
}

std::size_t size_of_segment(const bytes& frame, std::uint64_t place) {
  return std::min(frame.size() - place * cluster_segment_bytes_max, cluster_segment_bytes_max);
}

std::size_t index(lane on) {
  return static_cast<std::size_t>(on);
}

error stream_mismatch(const std::string& what) {
  return {errc::protocol_mismatch, "receive a packet: " + what};
}
error wrong_length(const std::string& what) {
  return {errc::invalid_value, "receive a packet: " + what};
}

} // namespace

stream::stream(side here, std::uint64_t number) : here_{here}, number_{number} {
  for (auto& out : out_)
    out.window_bytes = most::cluster_window_bytes_min;
}

// ---- out ----------------------------------------------------------------------------------------

result<void> stream::send(lane on, bytes&& frame) {
  auto& out = out_[index(on)];
  auto size = frame.size();
  if (size > most::cluster_frame_bytes_max)
    return troupe::error{errc::invalid_value,
                         "send a frame: " + std::to_string(size) + " bytes, at most "
                           + std::to_string(most::cluster_frame_bytes_max) + " are allowed"};
  if (out.queued_bytes + size + overhead_bytes > most::cluster_lane_bytes_max)
    return troupe::error{errc::overloaded, "send a frame: " + std::to_string(out.queued_bytes)
                                             + " bytes wait for the peer already"};
  auto first = out.end;
  out.end += count_segments(frame);
  out.queued_bytes += size + overhead_bytes;
  out.frames.push_back({std::move(frame), first});
  return {};
}

std::optional<packet> stream::next_packet(time_point now) {
  if (resume_due_) {
    resume_due_ = false;
    return make_packet(packet_kind::resume);
  }
  if (state_ != link_state::open)
    return std::nullopt;
  for (auto on : {lane::control, lane::bulk})
    if (auto segment = next_segment(on, now))
      return segment;
  auto is_due = [](const incoming& in) { return in.unanswered_bytes >= acknowledge_bytes; };
  return std::ranges::any_of(in_, is_due) ? std::optional{make_packet(packet_kind::ack)}
                                          : std::nullopt;
}

packet stream::make_packet(packet_kind kind) {
  packet p;
  p.stream = number_;
  p.link = link_;
  p.kind = static_cast<std::uint8_t>(kind);
  for (std::size_t i = 0; i < in_.size(); ++i) {
    p.expected[i] = in_[i].expected;
    in_[i].unanswered_bytes = 0;
  }
  return p;
}

std::optional<packet> stream::next_segment(lane on, time_point now) {
  auto& out = out_[index(on)];
  if (out.next == out.end)
    return std::nullopt;
  auto after = std::ranges::upper_bound(out.frames, out.next, {}, &outgoing_frame::first);
  const auto& frame = *std::prev(after);
  auto place = out.next - frame.first;
  auto size = size_of_segment(frame.data, place);
  if (out.in_flight_bytes + size + overhead_bytes > out.window_bytes) {
    out.was_full = true;
    return std::nullopt;
  }
  auto p = make_packet(packet_kind::segment);
  p.lane = static_cast<std::uint8_t>(on);
  p.last = place + 1 == count_segments(frame.data) ? 1 : 0;
  p.sequence = out.next;
  auto begin = frame.data.begin() + static_cast<std::ptrdiff_t>(place * cluster_segment_bytes_max);
  p.data.assign(begin, begin + static_cast<std::ptrdiff_t>(size));
  if (out.probe == 0) {
    out.probe = out.next;
    out.probe_sent = now;
    out.was_full = false;
  }
  out.in_flight_bytes += size + overhead_bytes;
  out.highest = std::max(out.highest, ++out.next);
  return p;
}

// Doubles the window of a lane that fills it, as long as segments arrive soon. With a larger
// window, later frames would only wait longer.
void stream::take_acknowledged(outgoing& out, std::uint64_t expected, time_point now) {
  while (out.acked < expected) {
    const auto& frame = out.frames.front();
    auto place = out.acked - frame.first;
    if (out.acked < out.next)
      out.in_flight_bytes -= size_of_segment(frame.data, place) + overhead_bytes;
    ++out.acked;
    if (place + 1 == count_segments(frame.data)) {
      out.queued_bytes -= frame.data.size() + overhead_bytes;
      out.frames.pop_front();
    }
  }
  out.next = std::max(out.next, out.acked);
  if (out.probe == 0 || out.probe >= out.acked)
    return;
  auto took = now - out.probe_sent;
  if (out.was_full && took <= most::cluster_window_delay)
    out.window_bytes = std::min(2 * out.window_bytes, most::cluster_window_bytes_max);
  else if (out.was_full && took > 2 * most::cluster_window_delay)
    out.window_bytes = std::max(out.window_bytes / 2, most::cluster_window_bytes_min);
  out.probe = 0;
}

// ---- in -----------------------------------------------------------------------------------------

result<std::optional<stream::received_frame>> stream::receive(packet p, time_point now) {
  if (auto ok = check(p); !ok)
    return ok.error();
  auto kind = static_cast<packet_kind>(p.kind);
  auto is_resume = kind == packet_kind::resume;
  // Packets of a link that was given up, by the dialer, or because the dialer replaced it.
  if (p.link < link_ || (p.link == link_ && state_ == link_state::down))
    return std::optional<received_frame>{};
  if (p.link > link_ && !(is_resume && here_ == side::acceptor))
    return stream_mismatch("link " + std::to_string(p.link) + " has not begun");
  if (!is_resume && state_ == link_state::resuming)
    return stream_mismatch("a segment or acknowledgement before the resume");
  if (auto ok = check_claims(p); !ok)
    return ok.error();
  if (kind == packet_kind::segment)
    if (auto ok = check_segment(p); !ok)
      return ok.error();

  if (p.link > link_)
    begin_link(p.link);
  for (std::size_t i = 0; i < out_.size(); ++i)
    take_acknowledged(out_[i], p.expected[i], now);
  if (is_resume)
    state_ = link_state::open;
  return kind == packet_kind::segment ? take_segment(std::move(p)) : std::nullopt;
}

result<void> stream::check(const packet& p) const {
  if (p.stream != number_)
    return stream_mismatch("of stream " + std::to_string(p.stream) + ", this is "
                           + std::to_string(number_));
  if (p.kind > static_cast<std::uint8_t>(packet_kind::ack))
    return stream_mismatch("of an unknown kind, " + std::to_string(p.kind));
  auto is_segment = p.kind == static_cast<std::uint8_t>(packet_kind::segment);
  if (!is_segment && (!p.data.empty() || p.sequence != 0 || p.lane != 0 || p.last != 0))
    return wrong_length("a resume or acknowledgement with a segment in it");
  return {};
}

// A peer can't expect less than it has acknowledged, or a segment that was never sent.
result<void> stream::check_claims(const packet& p) const {
  for (std::size_t i = 0; i < out_.size(); ++i) {
    const auto& out = out_[i];
    if (p.expected[i] < out.acked || p.expected[i] > out.highest)
      return stream_mismatch("the peer expects segment " + std::to_string(p.expected[i])
                             + " of lane " + std::to_string(i) + "; it has acknowledged all below "
                             + std::to_string(out.acked) + " and was sent none from "
                             + std::to_string(out.highest));
  }
  return {};
}

result<void> stream::check_segment(const packet& p) const {
  if (p.lane >= in_.size() || p.last > 1)
    return stream_mismatch("of an unknown lane, " + std::to_string(p.lane)
                           + ", or not a valid mark of the end");
  const auto& in = in_[p.lane];
  if (p.sequence > in.expected)
    return stream_mismatch("a gap: segment " + std::to_string(p.sequence) + " of lane "
                           + std::to_string(p.lane) + " came instead of "
                           + std::to_string(in.expected));
  if (p.data.size() > cluster_segment_bytes_max || (p.data.empty() && p.last == 0))
    return wrong_length("a segment of " + std::to_string(p.data.size()) + " bytes");
  if (p.sequence == in.expected && in.joined.size() + p.data.size() > most::cluster_frame_bytes_max)
    return wrong_length("a frame of more than " + std::to_string(most::cluster_frame_bytes_max)
                        + " bytes");
  return {};
}

std::optional<stream::received_frame> stream::take_segment(packet&& p) {
  auto& in = in_[p.lane];
  if (p.sequence < in.expected)
    return std::nullopt;
  ++in.expected;
  in.unanswered_bytes += p.data.size() + overhead_bytes;
  if (in.joined.empty())
    in.joined = std::move(p.data);
  else
    in.joined.insert(in.joined.end(), p.data.begin(), p.data.end());
  if (p.last == 0)
    return std::nullopt;
  return received_frame{static_cast<cluster::lane>(p.lane), std::exchange(in.joined, {})};
}

// ---- links --------------------------------------------------------------------------------------

// Sends again from the first segment that is not acknowledged. The peer's resume skips those that
// have arrived.
void stream::begin_link(std::uint32_t link) {
  link_ = link;
  state_ = link_state::resuming;
  resume_due_ = true;
  for (auto& out : out_) {
    out.next = out.acked;
    out.in_flight_bytes = 0;
    out.probe = 0;
    out.window_bytes = most::cluster_window_bytes_min;
  }
}

void stream::link_up() {
  begin_link(link_ + 1);
}

void stream::link_down() {
  state_ = link_state::down;
  resume_due_ = false;
}

// ---- state --------------------------------------------------------------------------------------

bool stream::is_quiet() const noexcept {
  return std::ranges::all_of(out_, [](const outgoing& out) { return out.frames.empty(); });
}

std::size_t stream::queued_bytes(lane on) const noexcept {
  return out_[index(on)].queued_bytes;
}

} // namespace troupe::cluster
