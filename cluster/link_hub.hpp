// The links of an actor to its peers: dials and dials again, accepts, carries messages over streams
// that outlive the links under them. Part of the actor that owns it; one thread at a time.
#pragma once

#include "cluster/lease.hpp"
#include "cluster/packet_message.hpp"

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe::cluster {

using link_number = std::uint64_t; // of a stream, on this side; never used again

/// HOST:PORT, as `[::1]:4242`, `10.0.0.7:4242` or `worker-3:4242`.
struct endpoint {
  std::string host;
  std::uint16_t port = 0;
  friend auto operator<=>(const endpoint&, const endpoint&) = default;
};
/// Errors: invalid_config.
result<endpoint> to_endpoint(const std::string& text);
std::string to_text(const endpoint& at);

/// Whom the hub tells. May call the hub.
class link_user {
public:
  virtual ~link_user() = default;
  /// A new stream: `to` where this side dialled, else nullptr.
  virtual void link_made(link_number link, const endpoint* to) = 0;
  virtual void heard(link_number link, message what) = 0;
  virtual void link_broken(link_number link) = 0;
  virtual void link_restored(link_number link) = 0;
  /// It can't go on: nothing more is heard or sent. Not called for one that end() ended.
  virtual void link_lost(link_number link, const error& why) = 0;
};

class link_hub {
public:
  link_hub(caf::event_based_actor& self, link_user& user);

  /// Keeps a link to this peer, or stops doing so.
  void keep(const endpoint& to);
  void forget(const endpoint& to);
  std::vector<endpoint> kept() const;

  void send(link_number link, message what);
  /// Ends a stream, behind what was sent. A peer that is kept gets another one, after `pause`.
  void end(link_number link, nanoseconds pause = {});

  // -- what the actor hands on
  void took(packet what, const caf::actor& from);
  void lost(const caf::down_msg& who);
  void dialled(const endpoint& to, const result<caf::actor>& peer);
  /// Dials what is due, ends streams whose peer does not answer.
  void tick(instant now);
  /// Sends what was queued: at the end of each turn.
  void flush();

private:
  struct live {
    live(stream::side side, std::uint64_t number) : over{side, number} {}
    stream over;
    caf::actor peer;
    link_number number = 0;
    std::optional<endpoint> to;
    std::array<std::vector<message>, 2> queued; // by lane
    std::array<std::deque<bytes>, 2> frames;    // that the stream did not take yet
    bool up = false;
    bool ending = false;
    bool was_open = false;  // it is no news then that it is
    bool broken = false;    // since it was open
    instant opens_until{0}; // else the peer does not know the stream
  };
  struct place {
    link_number link = 0; // 0: none
    bool dialling = false;
    nanoseconds pause{0};
    instant due{0};
  };
  using live_ptr = std::shared_ptr<live>;

  static instant now();
  std::uint64_t draw_stream();
  void open(place& at, const endpoint& to, const caf::actor& peer);
  void accept(packet what, const caf::actor& from);
  void attach(live& l, const caf::actor& peer);
  void opened(live& l, bool newer);
  void detach(live& l);
  void lose(live_ptr l, const error& why);
  void drop(live& l, nanoseconds pause);
  void pump(live& l);
  bool write(live& l, std::size_t lane);
  void retry(place& at, nanoseconds least);
  void dial(const endpoint& to);

  caf::event_based_actor& self_;
  link_user& user_;
  std::mt19937_64 random_{std::random_device{}()};
  std::uint64_t own_streams_ = random_() >> 32; // upper half of the numbers drawn here
  link_number last_ = 0;
  std::map<endpoint, place> places_;
  std::unordered_map<link_number, live_ptr> links_;
  std::unordered_map<std::uint64_t, live_ptr> streams_; // by the number both sides know
  std::vector<link_number> dirty_;
};

} // namespace troupe::cluster
