// worker_actor: a worker as an actor.
#include "cluster/worker_actor.hpp"

#include "actors/log.hpp"
#include "cluster/lease_clock.hpp"
#include "cluster/links/link_front.hpp"
#include "cluster/status_value.hpp"

#include <caf/send.hpp>

namespace troupe::cluster {

namespace {

/// The desk's owner: sends messages to the actor.
class actor_of_desk : public shared_desk::owner {
public:
  explicit actor_of_desk(caf::actor who) : who_{std::move(who)} {}
  instant now() const override { return lease_now(); }

  void hurry(nanoseconds after) override {
    if (after.count() == 0)
      caf::anon_send(who_, run_errands{});
    else
      caf::delayed_anon_send(who_, after, run_errands{});
  }
  void said(message what) override { caf::anon_send(who_, guest_said{std::move(what)}); }

private:
  caf::actor who_;
};

} // namespace

worker_actor::worker_actor(caf::actor_config& cfg, worker_setup setup)
  : linked_actor(cfg, limits::worker_lease_max), // the desk ends links of silent homes
    setup_{std::move(setup)},
    desk_{std::make_shared<shared_desk>(
      setup_.desk, setup_.graphs, *setup_.guests,
      std::make_unique<actor_of_desk>(caf::actor_cast<caf::actor>(this)))} {}

caf::behavior worker_actor::make_behavior() {
  for (const auto& home : setup_.join)
    hub_.keep(home);
  speak([this](desk& d) { delayed_send(this, d.tick_interval(), worker_tick{}); });
  return {
    [this](packet& what) { take_packet(std::move(what)); },
    [this](guest_said& said) {
      run(desk_->hear(std::move(said.what)));
      finish_turn();
    },
    [this](const run_errands&) {
      run(desk_->take_errands());
      finish_turn();
    },
    [this](const drain_worker& order) {
      speak([&order](desk& d) { d.drain(order.why, order.patience, lease_now()); });
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
  desk_->close();
  desk_.reset(); // the desk refers to this actor
  hub_.close();
}

void worker_actor::tick() {
  speak([this](desk& d) {
    d.tick(lease_now());
    delayed_send(this, d.tick_interval(), worker_tick{});
  });
  hub_.tick(std::chrono::steady_clock::now().time_since_epoch());
  setup_.guests->send_signs();
}

void worker_actor::look_for_ended() {
  speak([](desk& d) { d.look_for_ended(lease_now()); });
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
  speak([&](desk& d) { d.link_made(home, link, lease_now()); });
}

void worker_actor::heard(link_number link, message what) {
  bool asks = std::holds_alternative<status_request>(what);
  if (asks || std::holds_alternative<drain_request>(what)) // from any side with a certificate
    speak([&](const desk& d) {
      hub_.send(link, reply_with(system(), to_value(d.status(lease_now()))));
    });
  if (!asks)
    speak([&](desk& d) { d.heard(link, std::move(what), lease_now()); });
}

void worker_actor::link_broken(link_number link) {
  speak([&](desk& d) { d.link_broken(link, lease_now()); });
  look_soon();
}

void worker_actor::link_restored(link_number link) {
  speak([&](desk& d) { d.link_restored(link, lease_now()); });
}

// -- errands of the desk

void worker_actor::run(desk_errands errands) {
  for (auto& [link, what] : errands.said)
    hub_.send(link, std::move(what));
  for (const auto& [home, why] : errands.over) // first, so that a link with a pause ends once
    if (auto link = links_.extract(home)) {
      auto pause = why.code() == errc::protocol_mismatch ? limits::link_retry_refused
                                                         : std::chrono::milliseconds{0};
      later([this, link = link.mapped(), pause] { hub_.end(link, pause); });
    }
  for (auto link : errands.ended)
    later([this, link] { hub_.end(link); });
  if (errands.drained)
    later(setup_.drained);
}

} // namespace troupe::cluster
