// run_shared: the data that all tasks of one run share. It holds options, an unused answer, the
// reader, and the run's place among the runs around it.
#pragma once

#include "graph/graph_plan.hpp"
#include "graph/task_id.hpp"
#include "tasks/held_claim.hpp"
#include "tasks/nested.hpp"

#include <troupe/runtime.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace caf {
class execution_unit;
} // namespace caf

namespace troupe {

struct saver_link; // actors/services.hpp
class part_gate;   // tasks/part_gate.hpp
class begin_gate;  // below

struct run_control::state {
  std::atomic<bool> drain{false};
  std::atomic<bool> cancel{false};
  mutable std::mutex mutex;
  std::string reason;
  bool leaves = false; // the process drains: the run resumes in another one
  std::map<const void*, std::function<void()>> on_cancel; // one a run; short, must not throw
  std::shared_ptr<begin_gate> gate;                       // null: bodies may begin at any time
};

/// Calls from a run's control to the run, at the moment of the request.
struct control_hooks {
  static void add(run_control& control, const void* run, std::function<void()> on_cancel);
  static void remove(run_control& control, const void* run);
  /// Drains the run because its process drains; the run resumes elsewhere. An earlier drain of the
  /// run itself has priority.
  static void leave(run_control& control, std::string reason);
  static bool leaves(const run_control& control);
  /// For the runs that begin with this control from here on.
  static void set_gate(run_control& control, std::shared_ptr<begin_gate> gate);
  static std::shared_ptr<begin_gate> gate(const run_control& control);
};

/// Whether a run and its bodies may begin: only while the lease lasts by which this process has
/// them. Any thread.
class begin_gate {
public:
  virtual ~begin_gate() = default;
  /// Asked right before each body, and when a run has entered its thread. Never true again after it
  /// was false.
  virtual bool may_begin() noexcept = 0;
  /// The error of something that did not begin, which is named.
  virtual error not_begun(const std::string& what) const = 0;
};

/// Holds the actors of a run back between two messages. Any thread.
class run_brake {
public:
  virtual void hold() = 0;
  virtual void let_go() = 0;

protected:
  ~run_brake() = default;
};

/// The receiver of a run's parts. emit() is called by the coordinator, emit_custom() by bodies on
/// any thread.
class part_sink {
public:
  virtual ~part_sink() = default;
  virtual bool wants(stream_mode mode) const noexcept = 0;
  virtual void emit(stream_part part) = 0;
  /// Where may_block(): blocks while the reader lags by limits::stream_queue_parts_max parts.
  virtual void emit_custom(stream_part part) = 0;
  /// Whether emit_custom() may block, so that bodies that stream need a thread of the pool.
  virtual bool may_block() const noexcept { return true; }
  /// Called before emit_custom() by a body that may wait. Blocks while the reader lags.
  virtual void wait_for_room() {}
  /// Whether the run has to stop at the end of its step. The reader lags and had asked for that, or
  /// a transform failed. failure() has the error of the reader then.
  virtual bool gave_up() const noexcept { return false; }
  virtual std::optional<error> failure() const { return std::nullopt; }
  /// The brake of the run, when one exists; null at the end of the run, before the brake is gone.
  virtual void braked_by(run_brake* /*brake*/) {}
  /// The run is being ended: from now on nothing waits for the reader.
  virtual void run_is_stopped() {}
  /// Whether a message with this id was streamed before; from now on, the message counts as
  /// streamed.
  bool streamed_before(const std::string& message_id);

private:
  std::mutex mutex_;
  std::set<std::string, std::less<>> messages_;
};

/// Time travel: the bound for the subgraphs of a run that travels.
/// Source: langgraph/_internal/_replay.py.
class replay_bound {
public:
  explicit replay_bound(std::string checkpoint_id) : before_{std::move(checkpoint_id)} {}
  const std::string& before() const noexcept { return before_; }
  /// Whether this is the first run of the subgraph at this place.
  bool first_visit(const std::string& checkpoint_ns);

private:
  std::string before_;
  std::mutex mutex_;
  std::set<std::string> visited_;
};

/// The super-steps a run may take.
inline std::uint32_t steps_max(const run_config& config) noexcept {
  return config.recursion_limit.value_or(limits::recursion_limit_default);
}

/// Shared by the coordinator and the tasks of one run.
struct run_shared {
  run_shared() = default;
  explicit run_shared(run_control from) : control{std::move(from)} {}

  std::shared_ptr<const graph_plan> plan;
  run_config config;
  std::shared_ptr<part_sink> sink;     // null: nothing reads the parts
  std::shared_ptr<part_gate> gate;     // `sink`, where parts wait for the disk; else null
  caf::execution_unit* home = nullptr; // the thread that is lent to the run; else null
  std::atomic<bool> stop{false};       // bodies should return
  run_control control;                 // the caller's, or the run's own
  nested_host* graphs = nullptr;       // runs subgraphs
  std::shared_ptr<call_port> calls;    // takes the tasks that bodies start
  troupe::store* memory = nullptr;     // the runtime's store
  node_cache* cache = nullptr;
  std::shared_ptr<begin_gate> lease; // null: bodies may begin at any time

  // -- its place
  std::shared_ptr<run_shared> above; // the run that this run is part of; null for a root
  task_ptr caller;                   // the task in `above` that this run is part of
  std::string ns;                    // checkpoint namespace; "" for a root
  value parents;                     // {namespace: checkpoint id} of the runs above; null at a root
  troupe::saver* store = nullptr;    // null: nothing is stored
  std::shared_ptr<saver_link> saver; // the actor of `store`
  std::shared_ptr<held_claim> claim; // the root run's, for all runs within it; may be null
  /// Time travel into a subgraph: {namespace: checkpoint id} of the checkpoints to begin at; null
  /// without time travel.
  value addressed;

  // -- changed by the coordinator between steps; a task that was given up may read them then
  /// Passed to subgraphs; nullopt after the first step.
  std::atomic<std::optional<bool>> resuming{std::nullopt};
  struct step_facts {
    std::string checkpoint_id;
    std::optional<bool> resuming;
  };
  /// Without a saver the checkpoint that the step starts from gets an id when somebody asks:
  /// `from_checkpoint` is empty then.
  void begin_step(std::int64_t step, const std::string& from_checkpoint);
  /// The id of the checkpoint that the open step starts from. Thread: any.
  std::string open_checkpoint();
  void set_resuming(std::optional<bool> told) noexcept {
    resuming.store(told, std::memory_order_relaxed);
  }
  step_facts open_step();

  std::shared_ptr<replay_bound> replay; // set for a run that travels in time
  value answers;                        // by question id, for this run and those within

  /// The plain answer of this run or of one above, for the first question without an answer;
  /// consumed once.
  std::optional<value> take_answer();
  void give_answer(value answer);
  bool answer_waits() const noexcept { return answer_waits_.load(std::memory_order_relaxed); }
  void forget_answer();

  /// The newest known checkpoint id of the thread, shared by this run and those around and within
  /// it. New ids sort after it, whatever the clock of this process says. Any thread.
  /// Units:  as id_ticks().
  std::uint64_t newest_id() const noexcept { return root().newest_id_.load(); }
  void saw_id(std::uint64_t ticks) noexcept;
  void saw_id(std::string_view checkpoint_id) { saw_id(id_ticks(checkpoint_id)); }

  /// run_config::run_id of the root; made at the first call when it is empty. Any thread.
  const std::string& run_id();

  bool wants(stream_mode mode) const noexcept { return sink && sink->wants(mode); }
  /// Whether a body that streams may have to wait for the reader.
  bool streaming_may_block() const noexcept {
    return (wants(stream_mode::custom) || wants(stream_mode::messages)) && sink->may_block();
  }
  /// Whether this run was given up, or one that it is part of.
  bool given_up() const noexcept;
  /// The reason why the failure of a task does not count: its run was cancelled, or its lease is
  /// over.
  std::optional<error> why_no_failure_counts() const;

private:
  const run_shared& root() const noexcept { return above ? above->root() : *this; }

  const std::string& name_checkpoint();

  std::mutex mutex_;
  std::atomic<std::int64_t> step_{-1};     // the open step
  std::optional<std::int64_t> named_step_; // the step that starts from `checkpoint_id_`
  std::string checkpoint_id_;
  std::optional<value> answer_;
  std::atomic<bool> answer_waits_{false}; // whether there is one, for a look without the lock
  std::string made_id_;                   // of a root; empty: not made
  mutable std::atomic<std::uint64_t> newest_id_{0}; // used in a root only
};

} // namespace troupe
