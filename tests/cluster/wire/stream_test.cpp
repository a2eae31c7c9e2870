#include "cluster/wire/stream.hpp"

#include <troupe/limits.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <random>

namespace troupe::cluster {

namespace {

namespace data = boost::unit_test::data;
namespace most = troupe::limits;
using most::cluster_segment_bytes_max;
using std::chrono::milliseconds;

constexpr std::uint64_t number = 77;
const stream::time_point stream_begin{};

bytes filled(std::size_t size, std::uint64_t seed) {
  bytes frame(size);
  std::minstd_rand next{static_cast<std::uint32_t>(seed + 1)};
  for (auto& b : frame)
    b = static_cast<std::uint8_t>(next());
  return frame;
}

std::vector<packet> packets_of(stream& from, stream::time_point now = stream_begin) {
  std::vector<packet> all;
  while (auto p = from.next_packet(now))
    all.push_back(std::move(*p));
  return all;
}

/// Two ends, and a link between them that delivers at once.
struct pair {
  stream worker{stream::side::dialer, number};
  stream home{stream::side::acceptor, number};

  std::vector<stream::received_frame> carry(stream& from, stream& to) {
    std::vector<stream::received_frame> frames;
    for (auto& p : packets_of(from))
      if (auto frame = to.receive(std::move(p), stream_begin).value())
        frames.push_back(std::move(*frame));
    return frames;
  }
  void connect() {
    worker.link_up();
    carry(worker, home);
    carry(home, worker);
  }
};

packet packet_of(packet_kind kind, std::uint32_t link = 1) {
  packet p;
  p.stream = number;
  p.link = link;
  p.kind = static_cast<std::uint8_t>(kind);
  p.expected = {1, 1};
  return p;
}
packet segment(std::uint64_t sequence, bytes data, bool last = true, lane on = lane::bulk) {
  auto p = packet_of(packet_kind::segment);
  p.lane = static_cast<std::uint8_t>(on);
  p.sequence = sequence;
  p.last = last ? 1 : 0;
  p.data = std::move(data);
  return p;
}

/// An acceptor that a link has begun with.
struct frame_listener {
  stream home{stream::side::acceptor, number};
  frame_listener() {
    home.receive(packet_of(packet_kind::resume), stream_begin).value();
    packets_of(home);
  }
  error refused(packet p) {
    auto got = home.receive(std::move(p), stream_begin);
    BOOST_REQUIRE(!got);
    return got.error();
  }
};

bool says(const error& why, errc code, std::string_view word) {
  BOOST_TEST_CONTEXT(why.message()) {
    BOOST_TEST((why.code() == code));
    BOOST_TEST(why.message().find(word) != std::string::npos);
  }
  return true;
}

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_stream)

// ---- one link -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(frames_of_every_size_around_a_segment_arrive_whole) {
  for (std::size_t size :
       {std::size_t{0}, std::size_t{1}, cluster_segment_bytes_max - 1, cluster_segment_bytes_max,
        cluster_segment_bytes_max + 1, 2 * cluster_segment_bytes_max}) {
    pair ends;
    ends.connect();
    auto frame = filled(size, size);
    BOOST_REQUIRE(ends.worker.send(lane::bulk, bytes{frame}));
    auto got = ends.carry(ends.worker, ends.home);
    BOOST_REQUIRE_EQUAL(got.size(), 1u);
    BOOST_TEST((got[0].on == lane::bulk));
    BOOST_TEST((got[0].data == frame));
  }
}

BOOST_AUTO_TEST_CASE(nothing_leaves_before_both_have_said_what_they_expect) {
  pair ends;
  BOOST_REQUIRE(ends.worker.send(lane::control, {1}));
  BOOST_TEST(packets_of(ends.worker).empty());
  ends.worker.link_up();
  auto first = packets_of(ends.worker);
  BOOST_REQUIRE_EQUAL(first.size(), 1u);
  BOOST_TEST((first[0] == packet_of(packet_kind::resume)));
  BOOST_TEST(!ends.worker.is_open());
  ends.home.receive(first[0], stream_begin).value();
  BOOST_TEST(ends.home.is_open());
  ends.carry(ends.home, ends.worker);
  BOOST_TEST(ends.worker.is_open());
  BOOST_TEST(ends.carry(ends.worker, ends.home).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_control_frame_overtakes_the_segments_of_a_large_one) {
  pair ends;
  ends.connect();
  BOOST_REQUIRE(ends.worker.send(lane::bulk, bytes(2 * cluster_segment_bytes_max)));
  auto first = ends.worker.next_packet(stream_begin);
  BOOST_TEST(first->last == 0);
  BOOST_REQUIRE(ends.worker.send(lane::control, {7}));
  auto second = ends.worker.next_packet(stream_begin);
  BOOST_TEST(second->lane == 0);
  auto third = ends.worker.next_packet(stream_begin);
  BOOST_TEST(third->last == 1);
  BOOST_TEST(!ends.home.receive(*first, stream_begin).value());
  BOOST_TEST((ends.home.receive(*second, stream_begin).value()->data == bytes{7}));
  BOOST_TEST((ends.home.receive(*third, stream_begin).value()->on == lane::bulk));
}

BOOST_AUTO_TEST_CASE(a_window_is_on_its_way_and_the_rest_waits_for_acknowledgements) {
  pair ends;
  ends.connect();
  auto frame = filled(1 << 20, 1);
  BOOST_REQUIRE(ends.worker.send(lane::bulk, bytes{frame}));
  std::size_t sent = 0;
  auto first = packets_of(ends.worker);
  for (const auto& p : first)
    sent += p.data.size();
  BOOST_TEST(sent <= most::cluster_window_bytes_min);
  BOOST_TEST(sent > most::cluster_window_bytes_min - 2 * cluster_segment_bytes_max);
  BOOST_REQUIRE(ends.worker.send(lane::control, {7}));
  BOOST_TEST(ends.worker.next_packet(stream_begin)->lane == 0); // which has a window of its own
  for (auto& p : first)
    ends.home.receive(std::move(p), stream_begin).value();
  auto acks = packets_of(ends.home);
  BOOST_REQUIRE_EQUAL(acks.size(), 1u);
  BOOST_TEST(acks[0].kind == static_cast<int>(packet_kind::ack));
  ends.worker.receive(acks[0], stream_begin).value();
  BOOST_TEST(!packets_of(ends.worker).empty());
}

BOOST_AUTO_TEST_CASE(whoever_speaks_acknowledges_in_passing) {
  pair ends;
  ends.connect();
  BOOST_REQUIRE(ends.worker.send(lane::bulk, {1}));
  ends.carry(ends.worker, ends.home);
  BOOST_TEST(packets_of(ends.home).empty()); // one small frame is not worth a packet
  BOOST_TEST(!ends.worker.is_quiet());
  BOOST_REQUIRE(ends.home.send(lane::control, {2}));
  ends.carry(ends.home, ends.worker);
  BOOST_TEST(ends.worker.is_quiet());
  BOOST_TEST(ends.worker.queued_bytes(lane::bulk) == 0u);
}

BOOST_AUTO_TEST_CASE(what_was_acknowledged_in_passing_is_not_acknowledged_again) {
  pair ends;
  ends.connect();
  BOOST_REQUIRE(ends.worker.send(lane::bulk, bytes(2 * cluster_segment_bytes_max)));
  ends.carry(ends.worker, ends.home);
  BOOST_REQUIRE(ends.home.send(lane::control, {2}));
  BOOST_TEST(packets_of(ends.home).size() == 1u);
}

BOOST_AUTO_TEST_CASE(any_number_of_small_frames_arrives_while_only_one_side_speaks) {
  pair ends;
  ends.connect();
  std::size_t arrived = 0;
  for (std::size_t i = 0; i < 20'000; ++i)
    BOOST_REQUIRE(ends.worker.send(lane::bulk, bytes(i % 3)));
  for (int round = 0; round < 200; ++round) {
    arrived += ends.carry(ends.worker, ends.home).size();
    ends.carry(ends.home, ends.worker);
  }
  BOOST_TEST(arrived == 20'000u);
}

// ---- bounds -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_frame_past_its_limit_is_not_taken) {
  stream s{stream::side::dialer, number};
  BOOST_TEST(s.send(lane::bulk, bytes(most::cluster_frame_bytes_max)).has_value());
  auto no = s.send(lane::bulk, bytes(most::cluster_frame_bytes_max + 1));
  says(no.error(), errc::invalid_value, "send a frame");
}

BOOST_AUTO_TEST_CASE(a_full_queue_says_that_it_is_overloaded_and_takes_more_when_it_was_heard) {
  pair ends;
  ends.connect();
  BOOST_REQUIRE(ends.worker.send(lane::bulk, bytes(1000)));
  bytes half(most::cluster_lane_bytes_max / 2 - 100);
  BOOST_REQUIRE(ends.worker.send(lane::bulk, bytes{half}));
  says(ends.worker.send(lane::bulk, bytes{half}).error(), errc::overloaded, "wait for the peer");
  BOOST_TEST(ends.worker.send(lane::control, {1}).has_value());
  for (int round = 0; ends.worker.queued_bytes(lane::bulk) > half.size() + 100 && round < 5;
       ++round) {
    ends.carry(ends.worker, ends.home);
    ends.carry(ends.home, ends.worker);
  }
  BOOST_TEST(ends.worker.send(lane::bulk, bytes{half}).has_value());
}

BOOST_AUTO_TEST_CASE(empty_frames_fill_the_queue_too) {
  stream s{stream::side::dialer, number};
  std::size_t taken = 0;
  while (s.send(lane::control, {}))
    ++taken;
  BOOST_TEST(taken >= most::cluster_lane_bytes_max / 100);
  BOOST_TEST(taken <= most::cluster_lane_bytes_max / 50);
}

BOOST_AUTO_TEST_CASE(a_frame_that_grows_past_its_limit_is_refused_and_leaves_what_was_there) {
  frame_listener l;
  std::uint64_t sequence = 1;
  for (std::size_t size = 0; size < most::cluster_frame_bytes_max;
       size += cluster_segment_bytes_max)
    BOOST_REQUIRE(
      l.home.receive(segment(sequence++, bytes(cluster_segment_bytes_max), false), stream_begin));
  says(l.refused(segment(sequence, {1})), errc::invalid_value, "a frame of more than");
  BOOST_TEST(l.home.receive(segment(sequence, {}), stream_begin).value()->data.size()
             == most::cluster_frame_bytes_max);
}

// ---- what does not belong -----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_does_not_belong_is_refused_by_name_and_changes_nothing) {
  frame_listener l;
  l.home.receive(segment(1, {1}, false), stream_begin).value();
  auto other = segment(2, {9});
  other.stream = 78;
  says(l.refused(other), errc::protocol_mismatch, "of stream 78");
  auto later = segment(2, {9});
  later.link = 2;
  says(l.refused(later), errc::protocol_mismatch, "link 2 has not begun");
  says(l.refused(segment(3, {9})), errc::protocol_mismatch, "a gap");
  says(l.refused(segment(2, bytes(cluster_segment_bytes_max + 1))), errc::invalid_value,
       "a segment of");
  says(l.refused(segment(2, {}, false)), errc::invalid_value, "a segment of 0 bytes");
  auto lane = segment(2, {9});
  lane.lane = 2;
  says(l.refused(lane), errc::protocol_mismatch, "unknown lane");
  auto end = segment(2, {9});
  end.last = 2;
  says(l.refused(end), errc::protocol_mismatch, "end");
  auto kind = segment(2, {9});
  kind.kind = 3;
  says(l.refused(kind), errc::protocol_mismatch, "unknown kind");
  auto ack = packet_of(packet_kind::ack);
  ack.data = {9};
  says(l.refused(ack), errc::invalid_value, "with a segment in it");
  auto ahead = segment(2, {9});
  ahead.expected = {1, 2};
  says(l.refused(ahead), errc::protocol_mismatch, "was sent none from 1");
  auto behind = segment(2, {9});
  behind.expected = {0, 1};
  says(l.refused(behind), errc::protocol_mismatch, "the peer expects segment 0");
  auto frame = l.home.receive(segment(2, {2}), stream_begin).value();
  BOOST_REQUIRE(frame);
  BOOST_TEST((frame->data == bytes{1, 2}));
}

BOOST_AUTO_TEST_CASE(what_was_seen_is_dropped) {
  frame_listener l;
  BOOST_TEST(l.home.receive(segment(1, {1}), stream_begin).value().has_value());
  BOOST_TEST(!l.home.receive(segment(1, {1}), stream_begin).value().has_value());
  BOOST_TEST(l.home.receive(segment(2, {2}), stream_begin).value().has_value());
}

BOOST_AUTO_TEST_CASE(what_comes_over_an_older_link_is_dropped) {
  frame_listener l;
  l.home.receive(packet_of(packet_kind::resume, 3), stream_begin).value();
  BOOST_TEST(l.home.link() == 3u);
  BOOST_TEST(!l.home.receive(segment(1, {1}), stream_begin).value().has_value());
  auto now = segment(1, {1});
  now.link = 3;
  BOOST_TEST(l.home.receive(now, stream_begin).value().has_value());
  BOOST_TEST(!l.home.receive(packet_of(packet_kind::resume, 2), stream_begin).value().has_value());
  BOOST_TEST(l.home.link() == 3u);
}

BOOST_AUTO_TEST_CASE(the_dialer_takes_nothing_before_the_resume_of_its_link) {
  stream worker{stream::side::dialer, number};
  BOOST_TEST(!worker.receive(packet_of(packet_kind::resume, 0), stream_begin).value());
  says(worker.receive(packet_of(packet_kind::resume, 1), stream_begin).error(),
       errc::protocol_mismatch, "has not begun");
  worker.link_up();
  says(worker.receive(segment(1, {1}), stream_begin).error(), errc::protocol_mismatch,
       "before the resume");
  worker.link_down();
  BOOST_TEST(!worker.receive(packet_of(packet_kind::resume), stream_begin).value());
  BOOST_TEST(!worker.is_open());
}

// ---- links that break ---------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_was_lost_with_a_link_is_sent_again_and_what_arrived_is_not) {
  pair ends;
  ends.connect();
  BOOST_REQUIRE(ends.worker.send(lane::bulk, bytes(2 * cluster_segment_bytes_max)));
  BOOST_REQUIRE(ends.worker.send(lane::bulk, {3}));
  auto all = packets_of(ends.worker);
  BOOST_REQUIRE_EQUAL(all.size(), 3u);
  ends.home.receive(all[0], stream_begin).value();
  ends.worker.link_down();
  ends.home.link_down();
  BOOST_TEST(packets_of(ends.worker).empty());
  ends.connect();
  auto again = packets_of(ends.worker);
  BOOST_REQUIRE_EQUAL(again.size(), 2u);
  BOOST_TEST(again[0].sequence == 2u);
  BOOST_TEST(ends.home.receive(again[0], stream_begin).value()->data.size()
             == 2 * cluster_segment_bytes_max);
  BOOST_TEST((ends.home.receive(again[1], stream_begin).value()->data == bytes{3}));
}

BOOST_AUTO_TEST_CASE(a_peer_that_forgot_what_it_acknowledged_is_refused) {
  pair ends;
  ends.connect();
  BOOST_REQUIRE(ends.worker.send(lane::bulk, bytes(cluster_segment_bytes_max)));
  ends.carry(ends.worker, ends.home);
  ends.carry(ends.home, ends.worker);
  BOOST_TEST(ends.worker.is_quiet());
  stream restarted{stream::side::acceptor, number};
  ends.worker.link_down();
  ends.worker.link_up();
  auto resume = packets_of(ends.worker);
  restarted.receive(resume[0], stream_begin).value();
  auto answer = packets_of(restarted);
  says(ends.worker.receive(answer[0], stream_begin).error(), errc::protocol_mismatch,
       "expects segment 1 of lane 1; it has acknowledged all below 2");
}

/// Both ends and a link that delivers in order, loses packets, and breaks with what is on it;
/// packets of links that are gone turn up again.
class bad_link {
public:
  explicit bad_link(std::uint32_t seed) : dice_{seed} {}

  std::size_t below(std::size_t n) { return dice_() % n; }

  void break_link() {
    for (std::size_t from : {0, 1}) {
      for (auto& p : link_[from])
        if (below(8) == 0)
          late_.emplace_back(from, std::move(p));
      link_[from].clear();
    }
    ends_.worker.link_down();
    if (below(2) == 0)
      ends_.home.link_down(); // it may as well learn of it by the next resume
  }
  void new_link() {
    break_link();
    ends_.worker.link_up();
  }

  void send(std::size_t from) {
    constexpr std::array<std::size_t, 6> sizes{1, 100, 5000, 40'000, 300'000, 3'000'000};
    auto on = below(2);
    auto frame = filled(below(sizes[below(below(20) == 0 ? 6 : 4)]), dice_());
    BOOST_REQUIRE(end(from).send(static_cast<lane>(on), bytes{frame}));
    sent[from][on].push_back(std::move(frame));
  }
  void collect(std::size_t from) {
    for (auto& p : packets_of(end(from)))
      if (is_calm || below(100) != 0)
        link_[from].push_back(std::move(p));
  }
  void deliver(std::size_t from) {
    if (link_[from].empty())
      return;
    auto p = std::move(link_[from].front());
    link_[from].pop_front();
    if (!take(from, std::move(p)))
      new_link(); // something was lost
  }
  void deliver_late() {
    if (late_.empty())
      return;
    static_cast<void>(take(late_.front().first, std::move(late_.front().second)));
    late_.pop_front();
  }

  void step() {
    auto side = below(2);
    switch (auto what = below(100)) {
      case 0: break_link(); break;
      case 1: new_link(); break;
      case 2: deliver_late(); break;
      default: what < 12 ? send(side) : what < 40 ? collect(side) : deliver(side);
    }
  }
  void calm_down() {
    is_calm = true;
    new_link();
    for (int round = 0; round < 1000 && got != sent; ++round)
      for (std::size_t side : {0, 1}) {
        collect(side);
        while (!link_[side].empty())
          deliver(side);
      }
  }

  using frames = std::vector<bytes>;
  std::array<std::array<frames, 2>, 2> sent, got; // [from][lane]
  bool is_calm = false;

private:
  stream& end(std::size_t of) { return of == 0 ? ends_.worker : ends_.home; }

  bool take(std::size_t from, packet p) {
    auto taken = end(1 - from).receive(std::move(p), stream_begin);
    if (taken && *taken)
      got[from][static_cast<std::size_t>((*taken)->on)].push_back(std::move((*taken)->data));
    return taken.has_value();
  }

  std::minstd_rand dice_;
  pair ends_;
  std::array<std::deque<packet>, 2> link_; // towards the other of end(i)
  std::deque<std::pair<std::size_t, packet>> late_;
};

BOOST_DATA_TEST_CASE(everything_arrives_once_and_in_order_over_links_that_break, data::xrange(40),
                     seed) {
  bad_link link{static_cast<std::uint32_t>(seed + 1)};
  for (int step = 0; step < 2000; ++step)
    link.step();
  link.calm_down();
  BOOST_TEST((link.got == link.sent));
}

// ---- slow links ---------------------------------------------------------------------------------

struct line {
  std::size_t bytes_a_second;
  milliseconds one_way;
};

/// How long control frames took that were sent every half second while a large frame crossed; and
/// the large frame itself.
struct crossing {
  milliseconds slowest_control{0};
  milliseconds bulk{0};
};

/// Brings packets to `to` as fast as the line lets them.
class slow_way {
public:
  slow_way(stream& to, line along) : to_{to}, line_{along} {}

  void accept(std::vector<packet> packets) {
    for (auto& p : packets)
      waiting_.push_back(std::move(p));
  }
  // A millisecond's worth.
  std::vector<stream::received_frame> deliver(stream::time_point now) {
    credit_ = waiting_.empty() ? 0 : credit_ + line_.bytes_a_second / 1000;
    while (!waiting_.empty() && credit_ >= waiting_.front().data.size() + 100) {
      credit_ -= waiting_.front().data.size() + 100;
      flying_.emplace_back(now + line_.one_way, std::move(waiting_.front()));
      waiting_.pop_front();
    }
    std::vector<stream::received_frame> frames;
    for (; !flying_.empty() && flying_.front().first <= now; flying_.pop_front())
      if (auto frame = to_.receive(std::move(flying_.front().second), now).value())
        frames.push_back(std::move(*frame));
    return frames;
  }

private:
  stream& to_;
  line line_;
  std::deque<packet> waiting_;
  std::deque<std::pair<stream::time_point, packet>> flying_;
  std::size_t credit_ = 0;
};

crossing cross(line along, std::size_t bulk_bytes) {
  pair ends;
  ends.connect();
  slow_way there{ends.home, along}, back{ends.worker, along};
  BOOST_REQUIRE(ends.worker.send(lane::bulk, bytes(bulk_bytes)));
  std::deque<stream::time_point> beats;
  crossing out;
  for (auto now = stream_begin;
       out.bulk == milliseconds{0} && now < stream_begin + std::chrono::minutes{5};
       now += milliseconds{1}) {
    if ((now - stream_begin) % milliseconds{500} == milliseconds{0}) {
      BOOST_REQUIRE(ends.worker.send(lane::control, bytes(20)));
      beats.push_back(now);
    }
    there.accept(packets_of(ends.worker, now));
    back.accept(packets_of(ends.home, now));
    back.deliver(now);
    for (const auto& frame : there.deliver(now)) {
      auto is_bulk = frame.on == lane::bulk;
      auto took =
        std::chrono::duration_cast<milliseconds>(now - (is_bulk ? stream_begin : beats.front()));
      if (is_bulk) {
        out.bulk = took;
        continue;
      }
      beats.pop_front();
      out.slowest_control = std::max(out.slowest_control, took);
    }
  }
  BOOST_TEST_MESSAGE(along.bytes_a_second << " bytes/s, " << along.one_way.count()
                                          << " ms: control " << out.slowest_control.count()
                                          << " ms, bulk " << out.bulk.count() << " ms");
  return out;
}

BOOST_AUTO_TEST_CASE(heartbeats_are_not_starved_by_a_large_frame_on_a_slow_line) {
  auto slow = cross({125'000, milliseconds{5}}, 5'000'000); // one megabit
  BOOST_TEST(slow.slowest_control.count() < 1500);
  BOOST_TEST(slow.bulk.count() < 42'000); // 40 s are the line's own
}

BOOST_AUTO_TEST_CASE(the_window_grows_until_it_fills_a_long_line_and_no_further) {
  auto far = cross({12'500'000, milliseconds{50}}, 40'000'000); // a hundred megabits
  BOOST_TEST(far.slowest_control.count() < 700);
  BOOST_TEST(far.bulk.count() < 5500); // 3.2 s are the line's own; 32 s with the first window
}

BOOST_AUTO_TEST_CASE(the_window_shrinks_when_the_line_gets_slower) {
  pair ends;
  ends.connect();
  BOOST_REQUIRE(ends.worker.send(lane::bulk, bytes(60'000'000)));
  auto now = stream_begin;
  auto round = [&](milliseconds trip) {
    std::size_t sent = 0;
    for (auto& p : packets_of(ends.worker, now)) {
      sent += p.data.size();
      ends.home.receive(std::move(p), now).value();
    }
    now += trip;
    for (auto& p : packets_of(ends.home, now))
      ends.worker.receive(std::move(p), now).value();
    return sent;
  };
  std::size_t widest = 0;
  for (int i = 0; i < 8; ++i)
    widest = std::max(widest, round(milliseconds{10}));
  BOOST_TEST(widest > most::cluster_window_bytes_max / 2);
  BOOST_TEST(widest <= most::cluster_window_bytes_max);
  for (int i = 0; i < 8; ++i)
    round(3 * most::cluster_window_delay);
  auto narrow = round(milliseconds{10});
  BOOST_TEST(narrow <= most::cluster_window_bytes_min);
  BOOST_TEST(narrow > 0u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
