// The links of an actor to its peers: dials and dials again, accepts, carries messages over streams
// that outlive the links under them. Part of the actor that owns it; one thread at a time.
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

/// Whom the hub tells. May call the hub.
class link_user {
public:
  virtual ~link_user() = default;
  /// A new stream: `to` where this side dialled, else nullptr.
  virtual void link_made(link_number link, const endpoint* to) = 0;
  virtual void heard(link_number link, message what) = 0;
  virtual void link_broken(link_number link) = 0;
  virtual void link_restored(link_number link) = 0;
  /// It can't go on: nothing more is heard or sent. Not called for one that end() ended, nor for
  /// an accepted one that was quiet for too long.
  virtual void link_lost(link_number link, const error& why) = 0;
  /// A peer can't be reached, for a reason that is news. It is tried again.
  virtual void not_reached(const endpoint& to, const error& why);
};

/// An owner that is busy flushes after so many turns: each frame costs a hundred bytes and more,
/// but nobody waits for thousands of them.
inline constexpr int turns_together = 64;

/// How a hub reaches peers.
struct link_ways {
  using then_fn = std::function<void(const result<caf::actor>&)>;
  /// The actor at an address, told once, in a turn of the hub's actor.
  std::function<void(const endpoint&, then_fn)> dial;
  name_lookup::resolver addresses = system_addresses;
};
/// Those of the actor's system.
link_ways ways_of(caf::event_based_actor& self);

class link_hub {
public:
  /// A link that was accepted, and on which nothing came for `quiet_max`, is dropped: its dialer
  /// does not come back.
  link_hub(caf::event_based_actor& self, link_user& user, nanoseconds quiet_max, link_ways ways);
  link_hub(caf::event_based_actor& self, link_user& user,
           nanoseconds quiet_max = limits::link_quiet_max)
    : link_hub{self, user, quiet_max, ways_of(self)} {}

  /// Keeps a link to this peer, or stops doing so: one that is there stays until it breaks. A name
  /// is each of its addresses; what it means is looked up again and again.
  void keep(const endpoint& peer);
  void forget(const endpoint& peer);
  std::set<endpoint> kept() const { return names_.kept(); }
  /// What that is by now.
  std::set<endpoint> addresses() const { return names_.wanted(); }
  std::vector<endpoint> addresses_of(const endpoint& peer) const {
    return names_.addresses_of(peer);
  }
  /// Why a peer's name has no addresses, or no new ones.
  std::string failure_of(const endpoint& peer) const { return names_.failure(peer.host); }

  void send(link_number link, message what);
  /// The link's peer is known: it may be silent for so long, if that is longer than `quiet_max`.
  void may_be_quiet(link_number link, nanoseconds time);
  /// Ends a stream, behind what was sent. A peer that is kept gets another one, after `pause`.
  void end(link_number link, nanoseconds pause = {});

  // -- what the actor hands on
  void took(packet what, const caf::actor& from);
  void lost(const caf::down_msg& who);
  /// Dials what is due, ends streams whose peer does not answer.
  void tick(instant now);
  /// Sends what was queued: at the end of each turn.
  void flush();

  /// Lets all go, when the actor ends: handles to one another would keep both in memory.
  void close();

  /// Whether the peers of all links that are up have what was sent.
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
    std::array<std::deque<bytes>, 2> frames;    // that the stream did not take yet
    bool up = false;
    bool ending = false;
    bool was_open = false; // it is no news then that it is
    bool broken = false;   // since it was open
    nanoseconds quiet_max{0};
    nanoseconds pause{0};   // behind its end: one side refused the other
    instant opens_until{0}; // else the peer does not know the stream
    instant heard{0};       // when something came
  };
  struct place {          // an address
    link_number link = 0; // 0: none
    bool kept = true;     // else it is forgotten with its link, unless it is to be kept again
    bool dialling = false;
    nanoseconds pause{0};
    instant dialled{0}; // when it was, last
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
  place* place_of(const live& l); // that is kept; null: nobody dials again
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
  std::unordered_map<std::uint64_t, live_ptr> streams_; // by the number both sides know
  std::vector<link_number> dirty_;
};

} // namespace troupe::cluster
