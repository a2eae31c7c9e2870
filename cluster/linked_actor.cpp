// linked_actor: the end of its turns, and its looks at the processes of broken links.
#include "cluster/linked_actor.hpp"

#include "actors/log.hpp"

#include <caf/io/middleman.hpp>
#include <caf/io/network/multiplexer.hpp>
#include <caf/send.hpp>

#include <utility>

namespace troupe::cluster {

linked_actor::linked_actor(caf::actor_config& cfg, nanoseconds quiet_max)
  : caf::event_based_actor(cfg),
    hub_{*this, *this, quiet_max} {
  set_down_handler([this](const caf::down_msg& down) {
    hub_.lost(down);
    finish_turn();
  });
}

caf::execution_unit* linked_actor::unit(caf::execution_unit* other) const {
  return system().has_middleman() ? &system().middleman().backend() : other;
}

linked_actor::subtype_t linked_actor::subtype() const {
  return system().has_middleman() ? io_actor : event_based_actor::subtype();
}

void linked_actor::launch(caf::execution_unit* host, bool lazy, bool hide) {
  event_based_actor::launch(unit(host), lazy, hide);
}

void linked_actor::enqueue(caf::mailbox_element_ptr what, caf::execution_unit* host) {
  event_based_actor::enqueue(std::move(what), unit(host));
}

void linked_actor::enqueue(caf::strong_actor_ptr from, caf::message_id id, caf::message what,
                           caf::execution_unit* host) {
  event_based_actor::enqueue(std::move(from), id, std::move(what), unit(host));
}

void linked_actor::take_packet(packet what) {
  hub_.took(std::move(what), caf::actor_cast<caf::actor>(current_sender()));
  finish_turn();
}

void linked_actor::finish_turn() {
  while (!later_.empty())
    for (auto& job : std::exchange(later_, {}))
      job();
  ++turns_since_flush_;
  if (turns_since_flush_ >= turns_together || (mailbox().empty() && is_quiet()))
    flush();
  else if (turns_since_flush_ == 1)
    caf::event_based_actor::send(this, caf::flush_atom_v);
}

void linked_actor::flush() {
  turns_since_flush_ = 0;
  hub_.flush();
  flushed_ = std::chrono::steady_clock::now();
}

// Whether turns come one at a time, so that nothing is likely to follow soon.
bool linked_actor::is_quiet() const {
  return std::chrono::steady_clock::now() - flushed_ > flushes_apart;
}

void linked_actor::look_soon() {
  if (looks_.begin())
    delayed_send(this, looks_.wait(), look_at_peers{});
}

void linked_actor::look() {
  look_for_ended();
  if (looks_.next())
    delayed_send(this, looks_.wait(), look_at_peers{});
  finish_turn();
}

void linked_actor::link_lost(link_number link, const error& why) {
  if (auto report = lost_.note(why.message(), why.message(), std::chrono::steady_clock::now());
      !report.empty())
    log_info("cluster: " + report);
  link_broken(link); // its session ends with the lease, or with the worker's next hello
}

} // namespace troupe::cluster
