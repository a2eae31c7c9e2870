// link_hub: the links of an actor to its peers. Dials, dials again, accepts, and carries messages
// over streams that outlive connections. Belongs to one actor, and is used by one thread at a time.
#pragma once

#include "cluster/links/name_lookup.hpp"
#include "cluster/links/packet_message.hpp"
#include "cluster/links/peer_names.hpp"

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe::cluster {

/// Hears about links and messages. May call the hub.
class link_user {
public:
  virtual ~link_user() = default;
  /// A new stream is up. `to`: the dialled address; null for an accepted stream.
  virtual void link_made(link_number link, const endpoint* to) = 0;
  virtual void heard(link_number link, message what) = 0;
  virtual void link_broken(link_number link) = 0;
  virtual void link_restored(link_number link) = 0;
  /// The stream has ended with an error: no more messages arrive or leave. Not called after end(),
  /// nor for an accepted stream that was quiet for too long.
  virtual void link_lost(link_number link, const error& why) = 0;
  /// A peer can't be reached, for a reason that differs from the last one. The hub tries again.
  virtual void not_reached(const endpoint& to, const error& why);
};

/// Functions with which a hub reaches peers.
struct link_ways {
  using then_fn = std::function<void(const result<caf::actor>&)>;
  /// Dials an address. Calls `then_fn` once, in a turn of the hub's actor.
  std::function<void(const endpoint&, then_fn)> dial;
  name_lookup::resolver addresses = system_addresses;
};
/// The functions of the actor's system.
link_ways ways_of(caf::event_based_actor& self);

class link_hub {
public:
  /// An accepted link without any packet for `quiet_max` is dropped, since its dialer does not come
  /// back.
  link_hub(caf::event_based_actor& self, link_user& user, nanoseconds quiet_max, link_ways ways);
  link_hub(caf::event_based_actor& self, link_user& user,
           nanoseconds quiet_max = limits::link_quiet_max)
    : link_hub{self, user, quiet_max, ways_of(self)} {}

  /// Keeps a link to a peer, or stops keeping it. A forgotten link stays until it breaks. A name
  /// stands for all of its addresses, and is looked up again from time to time.
  void keep(const endpoint& peer);
  void forget(const endpoint& peer);
  std::set<endpoint> kept() const { return names_.kept(); }
  /// The addresses of all kept peers, as they are now.
  std::set<endpoint> addresses() const { return names_.wanted(); }
  std::vector<endpoint> addresses_of(const endpoint& peer) const {
    return names_.addresses_of(peer);
  }
  /// The reason why a peer's name has no addresses, or no new ones.
  std::string failure_of(const endpoint& peer) const { return names_.failure(peer.host); }

  void send(link_number link, message what);
  /// Allows a known peer to be silent for `time`, if that is longer than `quiet_max`.
  void may_be_quiet(link_number link, nanoseconds time);
  /// Ends a stream after all that was sent. A kept peer gets another stream, after `pause`.
  void end(link_number link, nanoseconds pause = {});

  // -- passed on by the actor
  void took(packet what, const caf::actor& from);
  void lost(const caf::down_msg& who);
  /// Dials again where it is due, and ends streams whose peers do not answer.
  void tick(instant now);
  /// Sends all queued messages. Called at the end of each turn.
  void flush();

  /// Releases all peers when the actor ends. Otherwise handles to each other would keep both in
  /// memory.
  void close();

  /// Whether the peers of all links that are up have acknowledged all messages.
  bool is_quiet() const noexcept;
  std::size_t links() const noexcept { return links_.size(); }

private:
  struct live {
    live(stream::side side, std::uint64_t number) : over{side, number} {}
    stream over;
    caf::actor peer;
    link_number number = 0;
    std::optional<endpoint> to;
    std::array<std::vector<message>, 2> queued; // by lane
    std::array<std::deque<bytes>, 2> frames;    // not yet taken by the stream
    bool up = false;
    bool ending = false;
    bool was_open = false; // at least once
    bool broken = false;   // since it was open
    nanoseconds quiet_max{0};
    nanoseconds pause{0};   // after its end: one side refused the other
    instant opens_until{0}; // after this the peer is taken not to know the stream
    instant heard{0};       // time of the last packet
  };
  struct place {          // an address
    link_number link = 0; // 0: without a link
    bool kept = true;     // false: it ends with its link, unless keep() comes before
    bool dialling = false;
    nanoseconds pause{0};
    instant dialled{0}; // time of the last dial
    instant due{0};
    std::string failure; // of the last dial
  };
  using live_ptr = std::shared_ptr<live>;

  static instant now();
  void look_up_names(instant now);
  void follow_names();
  std::uint64_t draw_stream();
  void open(place& at, const endpoint& to, const caf::actor& peer);
  void accept(packet what, const caf::actor& from);
  void attach(live& l, const caf::actor& peer);
  void opened(live& l, bool newer);
  void detach(live& l);
  void lose(live_ptr l, const error& why);
  void refuse(const live_ptr& l, const error& why);
  void drop(live& l, nanoseconds pause);
  void pump(live& l);
  bool write(live& l, std::size_t lane);
  void retry(place& at, instant from, nanoseconds least);
  place* place_of(const live& l); // a kept place; null: it is not dialled again
  void dial(const endpoint& to);
  void dialled(const endpoint& to, const result<caf::actor>& peer);

  caf::event_based_actor& self_;
  link_user& user_;
  nanoseconds quiet_max_;
  link_ways ways_;
  name_lookup lookup_;
  peer_names names_;
  std::mt19937_64 random_{std::random_device{}()};
  std::uint64_t own_streams_ = random_() >> 32; // upper half of the numbers drawn here
  link_number last_ = 0;
  std::map<endpoint, place> places_;
  std::unordered_map<link_number, live_ptr> links_;
  std::unordered_map<std::uint64_t, live_ptr> streams_; // by the number that both sides know
  std::vector<link_number> dirty_;
};

} // namespace troupe::cluster
