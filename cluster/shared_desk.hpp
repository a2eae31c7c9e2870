// shared_desk: a worker's desk for all of its threads, the actor with the links and the threads of
// bodies. A thread whose body has ended continues with the next task, without waking the actor. The
// desk decides. Its decisions about tasks are carried out at once, those about links by the actor.
//
// Invariants:
//  - One thread at a time. Messages of the desk are sent in their order.
//  - Only outcomes are kept back, and no longer than the desk allows.
#pragma once

#include "cluster/guest_tasks.hpp"
#include "cluster/placement/desk.hpp"

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

/// A desk's orders about links.
struct desk_errands {
  std::vector<std::pair<link_number, message>> said;
  std::vector<link_number> ended;                  // after `said`
  std::vector<std::pair<home_number, error>> over; // sessions that ended: see desk_host
  bool drained = false;

  bool empty() const noexcept { return said.empty() && ended.empty() && over.empty() && !drained; }
};

/// A desk that threads share.
class shared_desk : private desk_host,
                    public guest_listener,
                    public std::enable_shared_from_this<shared_desk> {
public:
  /// The actor of a shared desk. Thread: any.
  class owner {
  public:
    virtual ~owner() = default;
    virtual instant now() const = 0;
    /// Asks the actor to take the errands after this time. Must not call back.
    virtual void hurry(nanoseconds after) = 0;
    /// Hands the actor a message of a task, for hear(), from a place where the desk can't take it.
    virtual void said(message what) = 0;
  };

  /// `guests` outlives all calls before close().
  shared_desk(desk_options options, graph_shelf graphs, guest_tasks& guests,
              std::unique_ptr<owner> of);

  /// Calls `what` with the desk. Returns the errands that can't wait.
  template <class F> desk_errands speak(F&& what) {
    std::lock_guard lock{mutex_};
    what(desk_);
    settle();
    return due();
  }
  /// Takes a message of a task. Its issue is the desk's number of the task. Returns as speak().
  desk_errands hear(message what);
  /// All errands, for an owner that was asked to hurry.
  desk_errands take_errands();

  /// Ends the desk. Later calls of ended() do nothing.
  void close();

  // guest_listener
  void said(message what) override;
  void ended(message what) override;

private:
  // desk_host
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
  desk_errands due();
  desk_errands give_errands(instant now);

  std::mutex mutex_;
  desk desk_;
  graph_shelf graphs_;
  guest_tasks& guests_;
  std::shared_ptr<owner> owner_; // bodies that are about to begin ask it for the time, too
  struct open_run_of_home {
    result<guest_run> run;
    std::shared_ptr<begin_gate> gate;
  };
  std::unordered_map<local_run, open_run_of_home> runs_;
  std::vector<std::pair<local_task, std::string>> not_begun_; // with the reason
  desk_errands errands_;
  bool only_outcomes_ = true; // whether errands_ holds nothing else
  instant first_{0};          // time of the oldest errand
  instant taken_{0};          // time at which errands were last taken
  /// The owner was asked to take the errands by this time; max: it was not asked.
  instant told_for_ = instant::max();
  bool thread_is_free_ = false;
  bool closed_ = false;
};

} // namespace troupe::cluster
