// Packets from a peer, made of any bytes: refused with a typed error that changes nothing, or
// taken. Beside them an honest peer sends through the same stream, and what it sends arrives.
#include "tests/fuzz_bytes/target.hpp"
#include "tests/fuzz_bytes/value_of_bytes.hpp"

#include "cluster/wire/stream.hpp"

#include <algorithm>

namespace troupe::fuzz_bytes {

namespace {

using namespace cluster;

constexpr std::uint64_t number = 7;

// Small numbers, so that many packets fit the state the stream is in.
packet packet_of(choices& from) {
  packet p;
  auto head = from.byte();
  p.stream = (head & 0x80) != 0 ? from.number() : number;
  p.kind = (head & 0x40) != 0 ? from.byte() : head & 3;
  p.link = from.byte();
  p.lane = head >> 2 & 1;
  p.last = head >> 3 & 1;
  p.sequence = (head & 0x20) != 0 ? from.number() : from.byte();
  p.expected = {from.byte(), from.byte()};
  auto data = from.text(100);
  p.data.assign(data.begin(), data.end());
  return p;
}

void try_any(stream& s, choices& from) {
  auto before = s.link();
  auto size = s.queued_bytes(lane::bulk);
  auto got = s.receive(packet_of(from), {});
  if (got)
    return;
  auto code = got.error().code();
  require(code == errc::protocol_mismatch || code == errc::invalid_value,
          "what is refused is a mismatch or an invalid value");
  require(s.link() == before && s.queued_bytes(lane::bulk) == size, "a refusal changes nothing");
}

void carry(stream& from, stream& to, std::size_t& arrived) {
  while (auto p = from.next_packet({})) {
    auto got = to.receive(std::move(*p), {});
    require(got.has_value(), "what an honest peer sends is taken");
    arrived += got->has_value() ? 1 : 0;
  }
}

// After any hostile packets that were refused, two honest ends still understand each other.
void try_refusals(choices from) {
  stream dialer{stream::side::dialer, number}, acceptor{stream::side::acceptor, number};
  std::size_t arrived = 0, sent = 0;
  dialer.link_up();
  for (int round = 0; round < 20 && !from.rest().empty(); ++round) {
    auto hostile = packet_of(from);
    hostile.stream += hostile.stream == number ? 1 : 0;
    require(!acceptor.receive(std::move(hostile), {}), "a packet of another stream is refused");
    sent += dialer.send(static_cast<lane>(from.byte() & 1), bytes(from.byte())) ? 1 : 0;
    carry(dialer, acceptor, arrived);
    carry(acceptor, dialer, arrived);
    carry(dialer, acceptor, arrived);
  }
  require(arrived == sent, "what was sent has arrived");
}

} // namespace

void try_bytes(std::string_view bytes) {
  try_refusals(choices{bytes});
  choices from{bytes};
  auto is_dialer = (from.byte() & 1) != 0;
  stream s{is_dialer ? stream::side::dialer : stream::side::acceptor, number};
  if (is_dialer)
    s.link_up();
  static_cast<void>(s.send(lane::bulk, cluster::bytes(100)));
  static_cast<void>(s.send(lane::control, cluster::bytes(1)));
  while (!from.rest().empty()) {
    try_any(s, from);
    for (int n = 0; n < 3 && s.next_packet({}); ++n) {}
  }
}

std::vector<std::string> seeds() {
  // resume of link 1; segments 1 and 2 of a bulk frame; an acknowledgement
  std::string resume{"\0\1\0\1\1\0", 6};
  std::string first{"\5\1\1\1\1\3abc", 9};
  std::string second{"\15\1\2\1\1\1d", 7};
  std::string ack{"\2\1\0\2\2\0", 6};
  std::string acceptor{"\0", 1}, dialer{"\1", 1};
  return {acceptor + resume + first + second + ack, dialer + resume + first + second + ack,
          acceptor + resume + first + resume + second};
}

} // namespace troupe::fuzz_bytes
