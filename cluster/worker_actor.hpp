// A worker as an actor: what its desk decides reaches the tasks and the links, and what they say
// the desk.
#pragma once

#include "cluster/desk.hpp"
#include "cluster/guest_tasks.hpp"
#include "cluster/link_hub.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/event_based_actor.hpp>

#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace troupe::cluster {

/// What a task says; its issue is the desk's number of it.
struct guest_said {
  message what;
};
struct drain_worker {
  std::string why;
  nanoseconds patience;
};

struct worker_tick {};
/// Outcomes were held back for long enough.
struct release_outcomes {};

/// A worker's graphs, and those within them, by hash.
using graph_shelf = std::map<std::string, std::shared_ptr<const graph_plan>>;

struct worker_setup {
  desk_options desk;
  graph_shelf graphs;
  guest_tasks* guests = nullptr; // outlives the actor
  std::vector<endpoint> join;
  std::function<void()> drained; // called once
};

class worker_actor : public caf::event_based_actor, private link_user, private desk_host {
public:
  worker_actor(caf::actor_config& cfg, worker_setup setup);
  const char* name() const override { return "troupe.worker"; }
  caf::behavior make_behavior() override;
  void on_exit() override { hub_.close(); }

private:
  // link_user
  void link_made(link_number link, const endpoint* to) override;
  void heard(link_number link, message what) override;
  void link_broken(link_number link) override;
  void link_restored(link_number link) override;
  void link_lost(link_number link, const error& why) override;

  // desk_host
  void send(link_number link, message what) override;
  void end_link(link_number link) override;
  void session_over(home_number home, const error& why) override;
  void open_run(local_run run, home_number home, run_opened what) override;
  void close_run(local_run run) override;
  void begin(local_task task, local_run run, task_order what, const bytes& step) override;
  void stop(local_task task) override;
  void give_back(local_task task) override;
  void pass_on(local_task task, message what) override;
  void report(cluster_event what) override;
  void drained() override;

  void take(guest_said& said);
  void tick();
  void finish_turn();
  void flush();
  void hold_outcomes();
  static instant now();

  worker_setup setup_;
  link_hub hub_;
  desk desk_;
  home_number last_home_ = 0;
  std::map<endpoint, home_number> joined_;
  std::unordered_map<home_number, link_number> links_;
  std::unordered_map<local_run, result<guest_run>> runs_;
  std::vector<std::function<void()>> later_;
  refusal_log lost_;     // links
  int unsent_ = 0;       // turns, since something left
  bool holding_ = false; // outcomes, until release_outcomes at the latest
};

} // namespace troupe::cluster

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::guest_said)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::drain_worker)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::worker_tick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::release_outcomes)
