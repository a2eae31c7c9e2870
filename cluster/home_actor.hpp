// home_actor: the home of placed tasks as an actor. Sends what the dispatcher decides, and hands
// messages of workers to the dispatcher and the tasks.
#pragma once

#include "cluster/linked_actor.hpp"
#include "cluster/links/workers_file.hpp"
#include "cluster/placed_tasks.hpp"
#include "cluster/placement/dispatcher.hpp"

#include <caf/response_promise.hpp>

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace troupe::cluster {

/// A task to place, with its bytes.
struct place_task {
  std::shared_ptr<placed_task> task;
  task_bytes content;
};
/// A task whose result is not needed any more.
struct forget_task {
  std::shared_ptr<placed_task> task;
};
/// A task's answer to its worker.
struct answer_worker {
  message what;
};
struct clock_tick {};
/// The home ends. Its workers get a refusal.
struct say_goodbye {};

class home_actor : public linked_actor, private dispatcher_host {
public:
  /// Links to `workers` and to `listed`, the workers that the file `more` had when it was read.
  home_actor(caf::actor_config& cfg, dispatcher_options options, std::vector<endpoint> workers,
             workers_file more, const std::vector<endpoint>& listed);
  const char* name() const override { return "troupe.home"; }
  caf::behavior make_behavior() override;
  void on_exit() override;

private:
  struct open_run {
    std::weak_ptr<const run_shared> run;
    run_number number = 0;
  };

  // link_user
  void link_made(link_number link, const endpoint* to) override;
  void heard(link_number link, message what) override;
  void link_broken(link_number link) override;
  void link_restored(link_number link) override;

  // dispatcher_host
  void send(link_number link, message what) override;
  void end_link(link_number link) override;
  void take(task_number task, bytes outcome, const std::string& worker) override;
  void fail(task_number task, error why) override;
  void pass_on(task_number task, message what) override;
  void report(cluster_event what) override;
  std::optional<process_facts> look_at(std::uint32_t pid) override;

  void place(place_task& order);
  void forget(const forget_task& order);
  std::shared_ptr<placed_task> let_go(task_number task);
  result<run_number> run_of(const placed_task& task);
  void keep_links(const std::vector<endpoint>& more);
  void tick();
  void look_at_file(instant now);
  void tell_drains();
  void tell_failures();
  void close_old_runs();
  void flush() override;
  void look_for_ended() override;
  caf::response_promise goodbye();
  void answer_goodbye();
  std::function<void(message)> answering();
  static instant now();

  workers_file file_;
  std::vector<endpoint> workers_;
  dispatcher dispatcher_;
  nanoseconds tick_every_;
  instant file_due_{0};
  std::unordered_map<task_number, std::shared_ptr<placed_task>> tasks_;
  std::unordered_map<task_number, const run_shared*> groups_; // runs that were not asked to drain
  std::unordered_map<const placed_task*, task_number> numbers_;
  std::unordered_map<const run_shared*, open_run> runs_;
  std::unordered_map<std::shared_ptr<const graph_plan>, graph_offer> offers_;
  caf::response_promise goodbye_;
};

} // namespace troupe::cluster

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::place_task)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::forget_task)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::answer_worker)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::clock_tick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::say_goodbye)
