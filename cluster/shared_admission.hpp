// shared_admission: a worker's admission for all of its threads, the actor with the links and the
// threads of bodies. A thread whose body has ended continues with the next task, without waking the
// actor. The admission decides. Its decisions about tasks are carried out at once, those about
// links by the actor.
//
// Invariants:
//  - One thread at a time. Messages of the admission are sent in their order.
//  - Only outcomes are kept back, and no longer than the admission allows.
#pragma once

#include "cluster/guest_tasks.hpp"
#include "cluster/placement/task_admission.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe::cluster {

/// The graphs of a worker, with the graphs within them, by hash.
using graph_shelf = std::map<std::string, std::shared_ptr<const graph_plan>>;

/// An admission's orders about links.
struct link_orders {
  std::vector<std::pair<link_number, message>> messages;
  std::vector<link_number> ended;                  // after `messages`
  std::vector<std::pair<home_number, error>> over; // sessions that ended: see admission_host
  bool drained = false;

  bool empty() const noexcept {
    return messages.empty() && ended.empty() && over.empty() && !drained;
  }
};

/// An admission that threads share.
class shared_admission : private admission_host,
                         public guest_listener,
                         public std::enable_shared_from_this<shared_admission> {
public:
  /// The actor of a shared admission. Thread: any.
  class owner {
  public:
    virtual ~owner() = default;
    virtual instant now() const = 0;
    /// Asks the actor to take the errands after this time. Must not call back.
    virtual void hurry(nanoseconds after) = 0;
    /// Hands the actor a message of a task, for hear(), from a place where the admission can't take
    /// it.
    virtual void forward(message what) = 0;
  };

  /// `guests` outlives all calls before close().
  shared_admission(admission_options options, graph_shelf graphs, guest_tasks& guests,
                   std::unique_ptr<owner> of);

  /// Calls `what` with the admission. Returns the errands that can't wait.
  template <class F> link_orders speak(F&& what) {
    std::lock_guard lock{mutex_};
    what(admission_);
    settle();
    return due();
  }
  /// Takes a message of a task. Its issue is the admission's number of the task. Returns as
  /// speak().
  link_orders hear(message what);
  /// All errands, for an owner that was asked to hurry.
  link_orders take_errands();

  /// Ends the admission. Later calls of on_body_end() do nothing.
  void close();

  // guest_listener
  void on_message(message what) override;
  void on_body_end(message what) override;

private:
  // admission_host
  void send(link_number link, message what) override;
  void end_link(link_number link) override;
  void session_over(home_number home, const error& why) override;
  void open_run(local_run run, home_number home, run_opened what,
                std::shared_ptr<lease_end> until) override;
  void close_run(local_run run) override;
  void begin(local_task task, local_run run, task_order what, const bytes& step) override;
  void stop(local_task task) override;
  void give_back(local_task task) override;
  void pass_on(local_task task, message what) override;
  void report(cluster_event what) override;
  std::optional<process_facts> look_at(std::uint32_t pid) override;
  void drained() override;

  void hand_over(message what);
  void settle();
  bool are_due(instant now);
  link_orders due();
  link_orders give_errands(instant now);

  std::mutex mutex_;
  task_admission admission_;
  graph_shelf graphs_;
  guest_tasks& guests_;
  std::shared_ptr<owner> owner_; // bodies that are about to begin ask it for the time, too
  struct open_run_of_home {
    result<guest_run> run;
    std::shared_ptr<begin_gate> gate;
  };
  std::unordered_map<local_run, open_run_of_home> runs_;
  std::vector<std::pair<local_task, std::string>> not_begun_; // with the reason
  link_orders errands_;
  bool only_outcomes_ = true; // whether errands_ holds nothing else
  instant first_{0};          // time of the oldest errand
  instant taken_{0};          // time at which errands were last taken
  /// The time by which the owner was asked to take the errands. The maximum when it was not asked.
  instant asked_for_ = instant::max();
  bool thread_is_free_ = false;
  bool closed_ = false;
};

} // namespace troupe::cluster
