// worker_actor: a worker as an actor. Hands messages of links to the admission, and carries out the
// admission's orders about links.
#pragma once

#include "cluster/linked_actor.hpp"
#include "cluster/shared_admission.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace troupe::cluster {

/// A message of a task. Its issue is the admission's number of the task.
struct guest_message {
  message what;
};
struct drain_worker {
  std::string why;
  nanoseconds patience;
};

struct worker_tick {};
/// The admission has errands for the actor.
struct run_errands {};

struct worker_setup {
  admission_options admission;
  graph_shelf graphs;
  guest_tasks* guests = nullptr; // outlives the actor
  std::vector<endpoint> join;
  /// Called once, when the homes have all messages, or goodbye_max later.
  std::function<void()> drained;
};

class worker_actor : public linked_actor {
public:
  worker_actor(caf::actor_config& cfg, worker_setup setup);
  const char* name() const override { return "troupe.worker"; }
  caf::behavior make_behavior() override;
  void on_exit() override;

private:
  // link_user
  void link_made(link_number link, const endpoint* to) override;
  void heard(link_number link, message what) override;
  void link_broken(link_number link) override;
  void link_restored(link_number link) override;

  template <class F> void speak(F&& what) { run(admission_->speak(std::forward<F>(what))); }
  void run(link_orders errands);
  void tick();
  void flush() override;
  void leave();
  void look_for_ended() override;

  worker_setup setup_;
  std::shared_ptr<shared_admission> admission_;
  home_number last_home_ = 0;
  std::map<endpoint, home_number> joined_;
  std::unordered_map<home_number, link_number> links_;
  std::optional<instant> leaves_by_; // it has drained, and its homes may not know it yet
};

} // namespace troupe::cluster

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::guest_message)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::drain_worker)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::worker_tick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::run_errands)
