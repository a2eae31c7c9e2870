// A worker's desk, for all the threads that speak to it: that of the actor with the links, and
// those whose bodies ended, which go on with what is begun for it without waking anybody. What is
// decided is the desk's; what that means for tasks happens at once, what it means for links is left
// to the actor.
//
// Invariants:
//  - One thread at a time. What the desk says is sent in the order in which it was said.
//  - Nothing but outcomes is kept back, and those no longer than the desk lets them.
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

/// A worker's graphs, and those within them, by hash.
using graph_shelf = std::map<std::string, std::shared_ptr<const graph_plan>>;

/// What a desk wants done with links.
struct desk_errands {
  std::vector<std::pair<link_number, message>> said;
  std::vector<link_number> ended;                  // behind what was said
  std::vector<std::pair<home_number, error>> over; // their sessions: see desk_host
  bool drained = false;

  bool empty() const noexcept { return said.empty() && ended.empty() && over.empty() && !drained; }
};

class shared_desk : private desk_host,
                    public guest_listener,
                    public std::enable_shared_from_this<shared_desk> {
public:
  /// The actor. Any thread calls.
  class owner {
  public:
    virtual ~owner() = default;
    virtual instant now() const = 0;
    /// It should take the errands after so long. Must not call back.
    virtual void hurry(nanoseconds after) = 0;
    /// What a task said somewhere where it can't be given to the desk: it is for hear().
    virtual void said(message what) = 0;
  };

  /// `guests` outlives what is called before close().
  shared_desk(desk_options options, graph_shelf graphs, guest_tasks& guests,
              std::unique_ptr<owner> of);

  /// Lets `what` speak to the desk. Result: what can't wait.
  template <class F> desk_errands speak(F&& what) {
    std::lock_guard lock{mutex_};
    what(desk_);
    settle();
    return due();
  }
  /// What a task said; its issue is the desk's number of it. Result: as above.
  desk_errands hear(message what);
  /// All that is to be done, because the owner was told.
  desk_errands take_errands();

  /// Nothing happens any more, whoever speaks.
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
  std::vector<std::pair<local_task, std::string>> not_begun_; // and why
  desk_errands errands_;
  bool only_outcomes_ = true; // are among them
  instant first_{0};          // when there was one
  instant taken_{0};          // when they were, last
  instant told_for_ =
    instant::max(); // the owner takes them then, at the latest; max: it was not told
  bool thread_is_free_ = false;
  bool closed_ = false;
};

} // namespace troupe::cluster
