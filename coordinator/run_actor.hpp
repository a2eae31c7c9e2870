// run_actor: the coordinator of a group, and the barrier between steps. It carries out the
// decisions of a run_loop, with one actor for each touched state channel and for each task that
// runs at a time.
//
// Invariants:
//  - children are spawned when first touched, kept for the next run, and ended by this actor.
//  - each child is monitored: a task whose actor died fails, and is not waited for.
//  - a node actor has one task at a time.
#pragma once

#include "actors/protocol.hpp"
#include "actors/save_lane.hpp"
#include "actors/services.hpp"
#include "coordinator/node_times.hpp"
#include "engine/run_loop.hpp"

#include <caf/event_based_actor.hpp>

#include <atomic>
#include <functional>
#include <unordered_map>
#include <vector>

namespace troupe {

/// The data that the groups of a loaded graph share.
struct group_context {
  std::shared_ptr<const graph_plan> plan;
  services* shared = nullptr;
  std::shared_ptr<node_times> times;
  nested_host* ids = nullptr; // makes those of checkpoints
};

class run_actor : public caf::event_based_actor, private loop_host {
public:
  run_actor(caf::actor_config& cfg, std::shared_ptr<const group_context> group, card_ptr card);
  const char* name() const override { return "troupe.run"; }
  caf::behavior make_behavior() override;
  void on_exit() override;

private:
  struct node_child {
    caf::actor actor;
    card_ptr card;
    task_ptr task; // the task it runs
  };
  struct node_children {
    std::vector<node_child> all; // a dead child leaves its place empty
    std::vector<std::uint32_t> idle;
    std::shared_ptr<const plan_node> task; // of tasks that bodies started: keeps the plan_node
                                           // alive
  };
  struct channel_child {
    caf::actor actor;
    card_ptr card;
    std::uint64_t run = 0;     // the run whose newest values it holds; 0: none
    std::uint32_t mean_ns = 0; // of its updates, as mean_duration
    std::uint32_t inlined = 0; // updates that were made here
  };

  // loop_host
  bool run(const task_ptr& task, bool alone) override;
  bool turn_is_over() override;
  void change(std::uint64_t epoch, channel_change& change, const channel_cell& before) override;
  bool save(save_request& request, save_ack when, std::uint64_t ticket) override;
  bool saves_at_once() const override {
    return shared_->saver->prompt != nullptr && saves_under_way_ == 0;
  }
  bool save_numbered(const save_request& request, numbered_put& put, numbered_names& names,
                     std::uint64_t ticket) override;
  bool queues_saves() const override { return lane_ != nullptr; }
  void emit(stream_part part) override;
  void next_checkpoint_id(std::int64_t step, std::string& into) override;
  void timestamp(std::string& into) override;
  std::chrono::nanoseconds now() override;
  void step_opened(std::uint64_t epoch) override;
  void sibling_failed(std::uint64_t epoch) override;
  std::optional<value> cached(const cache_key& key) override;
  void cache(const cache_key& key, const value& v,
             const std::optional<std::chrono::nanoseconds>& ttl) override;
  void give_up_tasks() override;
  void call_back(const char* name, const std::function<void(lifecycle_callbacks&)>& call) override;
  void ended(run_end how) override;

  void turn_begins();
  int inline_tasks() const;
  void begin(begin_run& order);
  void task_came_back(task_ptr task);
  void channel_came_back(channel_updated& done);
  void child_died(const caf::down_msg& down);
  bool placed(const detail::task_scope& task) const;
  bool runs_inline(const detail::task_scope& task) const;
  void run_inline(detail::task_scope& task);
  void change_inline(channel_child& child, std::uint64_t epoch, const channel_change& change,
                     channel_cell cell);
  node_children& children_of(const detail::task_scope& task);
  void end_step_after(std::chrono::milliseconds delay, std::uint64_t epoch);
  bool save_begins(std::uint64_t ticket);
  bool stored_here(std::uint64_t ticket, const result<void>& how);
  void answer_save(std::uint64_t ticket, error why);
  save_lane::answer answer_to_run();
  node_child& idle_child(detail::task_scope& task);
  bool lost_child(node_children& children, const caf::down_msg& down, const std::string& why);
  channel_child& child_of(channel_index channel);
  caf::execution_unit* home() { return home_ ? home_ : context(); }

  std::shared_ptr<const group_context> group_;
  card_ptr card_;
  run_loop loop_;
  std::shared_ptr<run_shared> shared_;
  std::shared_ptr<run_completion> completion_;
  std::shared_ptr<call_port> port_; // made for the first run
  caf::execution_unit* home_ = nullptr;
  std::uint64_t runs_ = 0;                // the number of the newest run
  std::optional<stop_run> stopped_early_; // a run that has not begun
  std::shared_ptr<save_lane> lane_;   // of the run's saves; null: the saver takes them as they come
  std::uint64_t saves_under_way_ = 0; // whose save_done has not come; they keep later ones in order
  int inline_left_ = 0;               // tasks that may still run in this turn
  std::chrono::steady_clock::time_point clock_{}; // the last reading of this turn, if there is one
  std::vector<node_children> nodes_;              // by node_index
  std::unordered_map<const plan_node*, node_children> called_; // tasks that bodies started
  std::vector<channel_child> channels_;                        // by channel_index
};

} // namespace troupe
