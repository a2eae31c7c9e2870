// A worker as an actor.
#include "cluster/worker_actor.hpp"

#include "actors/log.hpp"
#include "cluster/link_front.hpp"
#include "cluster/status_value.hpp"

#include <caf/send.hpp>

namespace troupe::cluster {

worker_actor::worker_actor(caf::actor_config& cfg, worker_setup setup)
  : caf::event_based_actor(cfg),
    setup_{std::move(setup)},
    hub_{*this, *this, limits::worker_lease_max}, // the desk ends those of homes that are silent
    desk_{*this, setup_.desk} {}

instant worker_actor::now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

caf::behavior worker_actor::make_behavior() {
  set_down_handler([this](const caf::down_msg& down) {
    hub_.lost(down);
    finish_turn();
  });
  for (const auto& home : setup_.join)
    hub_.keep(home);
  delayed_send(this, desk_.tick_interval(), worker_tick{});
  return {
    [this](packet& what) {
      hub_.took(std::move(what), caf::actor_cast<caf::actor>(current_sender()));
      finish_turn();
    },
    [this](guest_said& said) {
      bool is_outcome = std::holds_alternative<task_outcome>(said.what);
      take(said);
      if (is_outcome && later_.empty() && desk_.has_enough())
        hold_outcomes();
      else
        finish_turn();
    },
    [this](const release_outcomes&) {
      holding_ = false;
      finish_turn();
    },
    [this](const drain_worker& order) {
      desk_.drain(order.why, order.patience, now());
      finish_turn();
    },
    [this](caf::flush_atom) { flush(); },
    [this](const worker_tick&) {
      tick();
      finish_turn();
    },
  };
}

void worker_actor::tick() {
  desk_.tick(now());
  hub_.tick(now());
  setup_.guests->send_signs();
  delayed_send(this, desk_.tick_interval(), worker_tick{});
}

void worker_actor::finish_turn() {
  while (!later_.empty())
    for (auto& job : std::exchange(later_, {}))
      job();
  // What one turn has to say leaves with what the next ones have, those that are in the mailbox.
  if (++unsent_ >= turns_together)
    flush();
  else if (unsent_ == 1)
    caf::event_based_actor::send(this, caf::flush_atom_v);
}

void worker_actor::flush() {
  unsent_ = 0;
  hub_.flush();
}

// Several leave in one frame: each alone costs its home and this process more than a small task.
void worker_actor::hold_outcomes() {
  if (!std::exchange(holding_, true))
    delayed_send(this, limits::worker_outcomes_held, release_outcomes{});
}

// -- links

// A home that links from its side is one that the worker can't link to again.
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
  desk_.link_made(home, link, now());
}

void worker_actor::heard(link_number link, message what) {
  bool asks = std::holds_alternative<status_request>(what);
  if (asks || std::holds_alternative<drain_request>(what)) // of whoever has a certificate
    hub_.send(link, reply_with(system(), to_value(desk_.status(now()))));
  if (!asks)
    desk_.heard(link, std::move(what), now());
}

void worker_actor::link_broken(link_number link) {
  desk_.link_broken(link);
}

void worker_actor::link_restored(link_number link) {
  desk_.link_restored(link, now());
}

void worker_actor::link_lost(link_number link, const error& why) {
  if (auto said = lost_.note(why.message(), why.message(), std::chrono::steady_clock::now());
      !said.empty())
    log_info("cluster: " + said);
  desk_.link_broken(link);
}

// -- what the desk wants

void worker_actor::send(link_number link, message what) {
  hub_.send(link, std::move(what));
}

void worker_actor::end_link(link_number link) {
  later_.push_back([this, link] { hub_.end(link); });
}

void worker_actor::session_over(home_number home, const error& why) {
  auto link = links_.find(home);
  if (link == links_.end())
    return;
  auto pause = why.code() == errc::protocol_mismatch ? limits::link_retry_refused
                                                     : std::chrono::milliseconds{0};
  later_.push_back([this, link = link->second, pause] { hub_.end(link, pause); });
  links_.erase(link);
}

void worker_actor::open_run(local_run run, home_number, run_opened what) {
  auto plan = setup_.graphs.find(what.graph);
  if (plan == setup_.graphs.end())
    return; // the desk refuses its tasks
  auto read = decode_run(what.facts, plan->second);
  if (read)
    runs_.insert_or_assign(run, guest_run{std::make_shared<const remote_run>(std::move(*read))});
  else
    runs_.insert_or_assign(run, read.error());
}

void worker_actor::close_run(local_run run) {
  runs_.erase(run);
}

void worker_actor::begin(local_task task, local_run run, task_order what, const bytes& step) {
  auto refuse = [this, task](const error& why) {
    later_.push_back([this, task, text = why.message()] { desk_.gone(task, text, now()); });
  };
  auto known = runs_.find(run);
  if (known == runs_.end())
    return refuse({errc::unknown_graph, "run a task: its run is not known"});
  if (!known->second)
    return refuse(known->second.error());
  what.issue = task;
  auto say = [self = caf::actor_cast<caf::actor>(this)](message said) {
    caf::anon_send(self, guest_said{std::move(said)});
  };
  if (auto begun = setup_.guests->start(*known->second, what, step, std::move(say)); !begun)
    refuse(begun.error());
}

void worker_actor::stop(local_task task) {
  setup_.guests->stop(task);
}

void worker_actor::give_back(local_task task) {
  setup_.guests->drain(task, "the worker drains", true);
}

void worker_actor::pass_on(local_task task, message what) {
  if (auto* saved = std::get_if<save_answer>(&what)) {
    saved->issue = task;
    setup_.guests->answered(std::move(*saved));
  } else if (auto* called = std::get_if<call_answer>(&what)) {
    called->issue = task;
    setup_.guests->answered(std::move(*called));
  } else if (auto* credit = std::get_if<part_credit>(&what)) {
    credit->issue = task;
    setup_.guests->granted(*credit);
  } else if (auto* drains = std::get_if<task_drain>(&what)) {
    setup_.guests->drain(task, drains->why, false);
  }
}

void worker_actor::report(cluster_event what) {
  log_info("cluster: " + what.peer + ": " + what.text);
}

void worker_actor::drained() {
  later_.push_back(setup_.drained);
}

void worker_actor::take(guest_said& said) {
  if (auto* outcome = std::get_if<task_outcome>(&said.what)) {
    desk_.finished(outcome->issue, std::move(outcome->outcome), now());
  } else if (auto* refused = std::get_if<task_refused>(&said.what)) {
    if (refused->code == errc::overloaded)
      desk_.given_back(refused->issue, now());
    else
      desk_.gone(refused->issue, refused->why, now());
  } else {
    auto task = std::visit(
      [](const auto& m) -> local_task {
        if constexpr (requires { m.issue; })
          return m.issue;
        return 0;
      },
      said.what);
    desk_.say(task, std::move(said.what));
  }
}

} // namespace troupe::cluster
