// linked_actor: an actor with links to peers, whose turns leave their messages together.
//
// Its turns run on the thread of the links' sockets, as those of CAF's brokers do. So a packet that
// arrives, and one that leaves, wakes no other thread. A turn must not block, or all links wait.
#pragma once

#include "cluster/links/link_hub.hpp"
#include "cluster/wire/peer_process.hpp"
#include "cluster/wire/refusal_log.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/event_based_actor.hpp>

#include <chrono>
#include <functional>
#include <vector>

namespace troupe::cluster {

/// Turns after which a busy actor flushes. Each frame costs more than a hundred bytes, but messages
/// should not wait for thousands of turns.
inline constexpr int turns_together = 64;
/// A turn that comes after such a pause flushes at once, if no other turn waits.
inline constexpr std::chrono::microseconds flushes_apart{20};

/// The longest time that a home or worker which ends waits until its peers have its messages.
inline constexpr std::chrono::milliseconds goodbye_max{300};

/// Orders a look at processes, since a link broke a moment ago.
struct look_at_peers {};

/// The links of a home or a worker. Each handler of a derived actor ends its turn by finish_turn(),
/// except those that carry out one of the members below.
/// Thread: that of the system's sockets; without a middleman, one of the scheduler.
class linked_actor : public caf::event_based_actor, private link_user {
public:
  // -- as caf::io::abstract_broker
  subtype_t subtype() const override;
  void launch(caf::execution_unit* host, bool lazy, bool hide) override;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* host) override;
  void enqueue(caf::strong_actor_ptr from, caf::message_id id, caf::message what,
               caf::execution_unit* host) override;

protected:
  /// `quiet_max`: as link_hub.
  linked_actor(caf::actor_config& cfg, nanoseconds quiet_max);

  // -- what the handlers of messages carry out
  void take_packet(packet what);
  /// Sends what was queued.
  virtual void flush();
  void look();

  /// At the end of each turn: runs the jobs for later. Queued messages leave after the turns that
  /// are in the mailbox by now.
  void finish_turn();
  void later(std::function<void()> job) { later_.push_back(std::move(job)); }
  /// Looks whether processes have ended, soon and then again for a while.
  void look_soon();

  link_hub hub_;

private:
  bool is_quiet() const;
  /// Looks whether processes have ended whose links broke.
  virtual void look_for_ended() = 0;

  /// The unit of the sockets; `other` without a middleman.
  caf::execution_unit* unit(caf::execution_unit* other) const;

  // link_user; a lost link also counts as broken
  void link_lost(link_number link, const error& why) final;

  std::vector<std::function<void()>> later_;
  refusal_log lost_; // links
  look_pace looks_;
  int turns_since_flush_ = 0;
  std::chrono::steady_clock::time_point flushed_{};
};

} // namespace troupe::cluster

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::look_at_peers)
