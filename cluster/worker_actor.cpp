// worker_actor: a worker as an actor.
#include "cluster/worker_actor.hpp"

#include "actors/log.hpp"
#include "cluster/lease_clock.hpp"
#include "cluster/links/link_network.hpp"
#include "cluster/status_value.hpp"

#include <caf/send.hpp>

namespace troupe::cluster {

namespace {

/// The admission's owner: sends messages to the actor.
class actor_of_admission : public shared_admission::owner {
public:
  explicit actor_of_admission(caf::actor who) : who_{std::move(who)} {}
  instant now() const override { return lease_now(); }

  void hurry(nanoseconds after) override {
    if (after.count() == 0)
      caf::anon_send(who_, run_errands{});
    else
      caf::delayed_anon_send(who_, after, run_errands{});
  }
  void forward(message what) override { caf::anon_send(who_, guest_message{std::move(what)}); }

private:
  caf::actor who_;
};

} // namespace

worker_actor::worker_actor(caf::actor_config& cfg, worker_setup setup)
  : linked_actor(cfg, limits::worker_lease_max), // the admission ends links of silent homes
    setup_{std::move(setup)},
    admission_{std::make_shared<shared_admission>(
      setup_.admission, setup_.graphs, *setup_.guests,
      std::make_unique<actor_of_admission>(caf::actor_cast<caf::actor>(this)))} {}

caf::behavior worker_actor::make_behavior() {
  for (const auto& home : setup_.join)
    hub_.keep(home);
  speak([this](task_admission& a) { delayed_send(this, a.tick_interval(), worker_tick{}); });
  return {
    [this](packet& what) { take_packet(std::move(what)); },
    [this](guest_message& from) {
      run(admission_->hear(std::move(from.what)));
      finish_turn();
    },
    [this](const run_errands&) {
      run(admission_->take_errands());
      finish_turn();
    },
    [this](const drain_worker& order) {
      speak([&order](task_admission& a) { a.drain(order.why, order.patience, lease_now()); });
      finish_turn();
    },
    [this](caf::flush_atom) { flush(); },
    [this](const look_at_peers&) { look(); },
    [this](const worker_tick&) {
      tick();
      finish_turn();
    },
  };
}

void worker_actor::on_exit() {
  admission_->close();
  admission_.reset(); // the admission refers to this actor
  hub_.close();
}

void worker_actor::tick() {
  speak([this](task_admission& a) {
    a.tick(lease_now());
    delayed_send(this, a.tick_interval(), worker_tick{});
  });
  hub_.tick(std::chrono::steady_clock::now().time_since_epoch());
  setup_.guests->send_signs();
  leave();
}

void worker_actor::look_for_ended() {
  speak([](task_admission& a) { a.look_for_ended(lease_now()); });
}

// -- links

// A home that dialled this worker gets a new number, since the worker can't dial it again.
void worker_actor::link_made(link_number link, const endpoint* to) {
  home_number home = 0;
  if (to) {
    auto& known = joined_[*to];
    if (known == 0)
      known = ++last_home_;
    home = known;
  } else {
    home = ++last_home_;
  }
  links_[home] = link;
  speak([&](task_admission& a) { a.link_made(home, link, lease_now()); });
}

void worker_actor::heard(link_number link, message what) {
  bool asks = std::holds_alternative<status_request>(what);
  if (asks || std::holds_alternative<drain_request>(what)) // from any side with a certificate
    speak([&](const task_admission& a) {
      hub_.send(link, reply_with(system(), to_value(a.status(lease_now()))));
    });
  if (!asks)
    speak([&](task_admission& a) { a.heard(link, std::move(what), lease_now()); });
}

void worker_actor::link_broken(link_number link) {
  speak([&](task_admission& a) { a.link_broken(link, lease_now()); });
  look_soon();
}

void worker_actor::link_restored(link_number link) {
  speak([&](task_admission& a) { a.link_restored(link, lease_now()); });
}

// -- errands of the admission

void worker_actor::run(link_orders errands) {
  for (auto& [link, what] : errands.messages)
    hub_.send(link, std::move(what));
  if (errands.drained) {
    leaves_by_ = lease_now() + goodbye_max;
    return; // the links end with the process
  }
  for (const auto& [home, why] : errands.over) // first, so that a link with a pause ends once
    if (auto link = links_.extract(home)) {
      auto pause = why.code() == errc::protocol_mismatch ? limits::link_retry_refused
                                                         : std::chrono::milliseconds{0};
      later([this, link = link.mapped(), pause] { hub_.end(link, pause); });
    }
  for (auto link : errands.ended)
    later([this, link] { hub_.end(link); });
}

// The process may end as soon as it knows that the worker has drained. The socket is closed then,
// and a peer loses what it has not read.
void worker_actor::leave() {
  if (leaves_by_ && (hub_.is_quiet() || lease_now() >= *leaves_by_)) {
    leaves_by_.reset();
    setup_.drained();
  }
}

void worker_actor::flush() {
  linked_actor::flush();
  leave();
}

} // namespace troupe::cluster
