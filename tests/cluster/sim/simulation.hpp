// A cluster in one thread: the dispatchers of homes and the admissions of workers, as they are
// shipped, in a simulated world.
//
// Checked all the time (safety):
//  - each task's outcome is stored at most once, by the home that has its claim
//  - no message about an older issue counts, nor one of a worker that does not have the issue
//  - no worker runs more tasks than its capacity, no home gives it more than that and what may wait
//  - an order that was answered as not begun is not begun
//  - no body of a task, nor one of a step of it, is begun while another copy of the task runs. Two
//    exceptions: that copy had begun before its worker was given up, and the worker has stood still
//    since; or the task's run was taken meanwhile, by another home or again
//  - two copies do not continue when a worker wakes
//  - a process that was never disturbed is never lost
//  - the processes on its host that saw a process miss it at once when it has ended and its link
//    broke. A frozen one is not missed
//  - while a task waits, no worker that could take it has room; queues are bounded
//  - a task that waits at a worker goes where there is room within a second
// After all faults are healed (liveness), every task ends within five seconds and the time that the
// remaining tasks would take on a single worker. Where homes share workers, the waiting time of one
// that was refused is added.
#pragma once

#include "cluster/placement/dispatcher.hpp"
#include "cluster/placement/task_admission.hpp"
#include "tests/cluster/sim/world.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe::cluster::sim {

class simulation;

/// The facts about a task that are known from outside.
struct truth {
  task_plan planned;
  unsigned committed = 0;
  bool failed = false, cancelled = false;
  struct copy {
    std::size_t worker;
    std::uint64_t worker_life;
    local_task number;
    std::uint64_t claim; // see stored_run
    link_number link;
    nanoseconds begun;
  };
  std::vector<copy> copies; // whose bodies were begun, and neither ended nor were asked to stop

  bool ended() const { return committed > 0 || failed || cancelled; }
};

/// A run as the shared store has it: whose it is, and what is done.
struct stored_run {
  run_plan planned;
  std::size_t home = 0;        // whose claim it is
  std::uint64_t home_life = 0; // and in which life; 0: it has not begun
  std::uint64_t claim = 0;     // another one each time somebody takes it, never used again
  std::vector<std::size_t> tasks;
};

/// A stream between a worker and a home.
struct wire {
  link_number number = 0;
  std::size_t worker = 0, home = 0;
  std::uint64_t worker_life = 0, home_life = 0;
  bool worker_open = true, home_open = true;   // ends when that side ends it
  nanoseconds home_ended = nanoseconds::max(); // when it did
  bool broken = false;
  std::shared_ptr<pipe> up, down; // worker to home, home to worker
};

/// The facts that a process saw of others on its host, and when it heard that links to them broke.
struct sightings {
  std::map<std::uint32_t, std::uint64_t> alive; // in which life, by process id
  std::map<link_number, nanoseconds> broken;
  std::map<std::uint32_t, unsigned> looks;
};

class sim_home final : public dispatcher_host {
public:
  sim_home(simulation& in, std::size_t index);
  void start();
  void kill();
  void take_run(std::size_t run); // begins or resumes it
  void deliver(link_number link, message what);
  void submit(std::size_t task);
  void cancel(std::size_t task);
  void link_broken(link_number link);
  void link_restored(link_number link);
  bool has_open(std::size_t run) const; // whoever has the claim

  void send(link_number link, message what) override;
  void end_link(link_number link) override;
  void take(task_number task, bytes outcome, const std::string& worker) override;
  void fail(task_number task, error why) override;
  void pass_on(task_number task, message what) override;
  void report(cluster_event what) override;
  std::optional<process_facts> look_at(std::uint32_t pid) override;

  process on;
  std::unique_ptr<dispatcher> machine;

private:
  void tick();
  void commit(task_number number, std::size_t task);
  void note_task(std::size_t task, const std::string& what) const;
  void close_when_done(std::size_t run);
  void drop_run(std::size_t run);
  bool has_claim(std::size_t run) const;
  void check_conservation();
  void check_waiting_orders();
  void check_ended();
  bool could_go(std::size_t task, std::size_t from, const dispatcher_status& status) const;
  bool fits(std::size_t task, const worker_status& w) const;
  void check_nobody(std::size_t task, const error& why);

  simulation& in_;
  std::size_t index_;
  std::unordered_map<std::size_t, run_number> runs_; // by index of the run
  std::unordered_map<task_number, std::size_t> tasks_;
  std::unordered_map<std::size_t, task_number> numbers_;
  std::unordered_map<std::size_t, issue_number> newest_; // of a task
  std::unordered_map<link_number, std::set<issue_number>> out_;
  struct given {
    link_number link;
    std::size_t task;
  };
  std::unordered_map<issue_number, given> given_; // where it was handed out
  std::map<issue_number, nanoseconds> could_go_;  // since when one that waits could go elsewhere
  issue_number last_issue_ = 0;
  link_number speaking_ = 0; // on this link something is heard just now
  sightings seen_;
};

class sim_worker final : public admission_host {
public:
  sim_worker(simulation& in, std::size_t index);
  void start();
  void kill();
  void drain();
  bool draining() const { return draining_; }
  void look_for(std::size_t home); // links to it, or again
  void deliver(link_number link, message what);
  void link_broken(link_number link);
  void link_restored(link_number link);

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

  process on;
  std::unique_ptr<task_admission> machine;

private:
  struct opened {
    std::size_t home;
    link_number link;
    std::uint64_t claim;
    std::shared_ptr<lease_end> until;
  };
  struct body {
    std::size_t task;
    opened of;
    issue_number issue;
    bool begun = false, stopped = false, gives_back = false;
    std::uint64_t saves = 0;
  };
  void tick();
  void try_link(std::size_t home);
  void work(local_task number, nanoseconds left);
  bool begin_body(local_task number);
  void check_ended();
  void end_body(local_task number);
  void retire(local_task number);
  void forge(const wire& from, issue_number issue, std::uint64_t task);

  simulation& in_;
  std::size_t index_;
  std::unordered_map<local_task, body> bodies_;
  std::set<std::pair<local_run, issue_number>> begun_;
  std::unordered_map<local_run, opened> open_runs_;
  std::set<std::size_t> looking_; // for these homes
  bool draining_ = false;
  sightings seen_;
};

class simulation {
public:
  simulation(plan p, breakage broken, bool trace);
  /// Throws a violation.
  void run();
  std::uint64_t steps() const { return time.steps(); }
  /// Figures over the whole run.
  struct figures {
    std::uint64_t faults = 0, orders = 0, reissued = 0, lost = 0, stale = 0, committed = 0,
                  failed = 0, saves = 0, ahead = 0, withdrawn = 0, ended = 0, not_begun = 0;
    nanoseconds slowest_end{0}; // after the heal
  } seen;

  void note(const std::string& who, const std::string& what);
  bool tracing() const { return trace_; }
  /// A violation of what the first comment lists.
  [[noreturn]] void broke(const std::string& what) const;
  /// The process of a home or worker, and the kernel's facts about it for others on its host.
  process_identity home_process(std::size_t index) const;
  process_identity worker_process(std::size_t index) const;
  std::optional<process_facts> look_from(std::size_t host, std::uint32_t pid, sightings& by) const;
  /// Whether a process of that life should have been missed on that link by now: it ended, it was
  /// seen, and the link broke long ago. `awake`: since when who should miss it is.
  bool is_overdue(const process& who, std::uint64_t life, std::uint32_t pid, link_number link,
                  const sightings& by, nanoseconds awake) const;
  /// How long a process that is killed is still there.
  nanoseconds end_time() {
    return lanes.chance(50) ? nanoseconds{0} : lanes.time({}, end_time_max);
  }
  static constexpr nanoseconds end_time_max = std::chrono::milliseconds{20};
  /// A body of a task is about to begin on a worker.
  void check_alone(std::size_t task, const truth::copy& begins) const;
  /// Somebody woke, and has done what was due: what went elsewhere meanwhile was stopped.
  void check_overlaps() const;
  bool healed() const { return time.now() >= drawn.heals_at; }
  way& way_up(std::size_t worker, std::size_t home) {
    return ways_up_[worker * drawn.homes + home];
  }
  way& way_down(std::size_t worker, std::size_t home) {
    return ways_down_[worker * drawn.homes + home];
  }
  /// When something was last wrong with what is between the two, or with one of them.
  nanoseconds last_fault(std::size_t worker, std::size_t home) const;
  /// The same without the home.
  nanoseconds last_cut(std::size_t worker, std::size_t home) const;
  wire& new_wire(std::size_t worker, std::size_t home);
  /// The link of another worker to the same home, or null.
  wire* wire_beside(const wire& w);
  wire* wire_between(std::size_t worker, std::size_t home); // as the worker sees it
  void break_wire(wire& w);
  std::uint64_t new_claim() { return ++last_claim_; }

  const plan drawn;
  const breakage broken;
  timeline time;
  dice rolls;
  dice lanes; // for what was thought of later
  std::vector<std::unique_ptr<sim_home>> homes;
  std::vector<std::unique_ptr<sim_worker>> workers;
  std::vector<truth> tasks;
  std::vector<stored_run> runs;
  std::map<link_number, wire> wires;
  std::set<std::pair<link_number, issue_number>> begun, refused; // orders, by workers

private:
  void plan_faults();
  void fault();
  void cut(std::size_t worker, std::size_t home, bool up, bool down, nanoseconds how_long);
  void freeze(process& who, nanoseconds how_long);
  void heal();
  void check_end();
  bool all_ended() const;
  std::int64_t attempts(std::size_t run) const; // of each of its tasks, by homes

  bool trace_;
  link_number last_link_ = 0;
  std::uint64_t last_claim_ = 0;
  std::vector<way> ways_up_, ways_down_;
};

} // namespace troupe::cluster::sim
