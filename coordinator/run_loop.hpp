// One run of a graph as a state machine: plan a step, run it, apply it, save it, report it, repeat.
// Decides; a loop_host acts. Knows no actor, no clock, no thread.
//
// Invariants:
//  - At most one step is open; `step_` grows by exactly one with every checkpoint.
//  - No task sees a write of its own step: the state changes only when all tasks of a step ended.
//  - Results are applied in task order, never in the order in which they arrive.
//  - Durability sync: a part is emitted only when what it reports is durable. Otherwise: at most
//    one checkpoint of the run waits in the saver's queue.
//  - An answer of an older step (another epoch) changes nothing.
// Source: langgraph/pregel/_loop.py.
#pragma once

#include "actors/task_scope.hpp"
#include "coordinator/apply.hpp"
#include "coordinator/parts.hpp"
#include "coordinator/run_deltas.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// What a run is started with.
struct run_request {
  std::shared_ptr<run_shared> shared;
  std::variant<std::monostate, value, state_update, command> input;
  std::optional<checkpoint_tuple> saved; // the checkpoint it starts from
  bool superseded = false;               // addressed by id, and not the newest
  bool addressed = false;                // by id, or by the time travel of the run above
  /// Of a run within another one: what it is told about resuming.
  std::optional<bool> told_resuming = std::nullopt;
  bool moved_here = false; // `saved` is of another namespace: the state goes on in this one
  bool stored = false;     // there is a saver, and the graph uses it
  shown_channels shown;    // in values parts and the result
  std::uint64_t tag = 0;   // of the versions this run makes
  /// Of one that goes on where another one was cut off: the owner that left the thread.
  std::optional<std::uint64_t> cut_off_from = std::nullopt;
};

/// Failures that say nothing about a task: they end the run, and the task runs again.
bool ends_the_run(errc code) noexcept;

/// How a run ended.
using run_end = nested_end;

/// What a run_loop has done for it. The answers come back through the loop's members, later or from
/// within the call.
class loop_host {
public:
  virtual ~loop_host() = default;
  /// Runs a task → task_finished. `alone`: the only one of its step.
  virtual void run(task_ptr task, bool alone) = 0;
  /// Tells a state channel what a step wrote → settled. `before`: its contents.
  virtual void change(std::uint64_t epoch, channel_change change, const channel_cell& before) = 0;
  /// Saves → saved, with the same ticket, in order.
  virtual void save(save_request request, save_ack when, std::uint64_t ticket) = 0;
  virtual void emit(stream_part part) = 0;
  virtual std::string next_checkpoint_id(std::int64_t step) = 0;
  virtual std::string timestamp() = 0;
  /// For joins with a time-out. Units: of a steady clock.
  virtual std::chrono::nanoseconds now() = 0;
  /// A step was opened: arm its deadline.
  virtual void step_opened(std::uint64_t epoch) = 0;
  /// The runtime's cache: what is kept under a key, if anything; and keeping something.
  virtual std::optional<value> cached(const cache_key& key) = 0;
  virtual void cache(const cache_key& key, const value& v,
                     const std::optional<std::chrono::nanoseconds>& ttl) = 0;
  /// Nobody waits any more for the tasks that run.
  virtual void give_up_tasks() = 0;
  virtual void resumed(const lifecycle_callbacks::event& what) = 0;
  virtual void interrupted(const lifecycle_callbacks::event& what) = 0;
  virtual void ended(run_end how) = 0;
};

class run_loop {
public:
  explicit run_loop(loop_host& host) : host_{host} {}

  void begin(run_request request);
  void task_finished(const task_ptr& task);
  /// A body started a task: it runs at once, in the same step.
  void call_started(const task_call_ptr& call);
  void settled(std::uint64_t epoch, channel_index channel, channel_cell cell, bool changed);
  void refused(std::uint64_t epoch, channel_index channel, const error& why);
  void saved(std::uint64_t ticket, const result<void>& how);
  /// The open step ran out of time; the whole run did.
  void timed_out(std::uint64_t epoch);
  void out_of_time();
  /// The actor of a task died.
  void task_lost(const task_ptr& task, const std::string& why);
  /// Ends the run now, with this error; what was not saved is lost.
  void abort(error why);

  bool active() const noexcept { return phase_ != phase::idle; }

private:
  enum class phase : std::uint8_t { idle, running, applying, saving, ending };

  struct slot {
    planned_task plan;
    const plan_node* node = nullptr;
    task_call_ptr call = nullptr;     // of a task that a body started
    std::uint32_t call_number = 0;    // likewise: its place among its caller's tasks, all attempts
    std::string caller_path = {};     // likewise: the path of its caller
    std::string caller_ns = {};       // and its namespace
    std::uint32_t handles = no_index; // the slot whose failure it handles
    bool handled = false;             // it failed, and a handler took over
    task_ptr scope = nullptr;         // null for a task that has its writes already
    task_write_list writes = {};
    bool ended = false;
    task_status status = task_status::done;
    std::optional<error> failure = std::nullopt;
    std::vector<interrupt> questions = {};
    std::optional<command> upward = std::nullopt;
    std::string worker = {}; // whose process it ran in; empty: this one
  };

  // entry (run_entry.cpp)
  result<void> enter(run_request& request);
  void go_on_here();
  result<void> take_command(const command& c);
  result<void> check_answer(const value& answer);
  result<void> apply_outside_writes();
  result<void> resume_thread();
  result<void> start_with(const value& input);

  // the step (run_loop.cpp)
  void tick();
  void open_step();
  void launch_more();
  void plan_slots();
  task_ptr make_task(const slot& s, std::uint32_t place);
  void give_input(detail::task_scope& task, const slot& s) const;
  void read_state(detail::task_scope& task) const;
  void give_answers(detail::task_scope& task) const;
  bool ends_its_step(const slot& s) const;
  void leave_rest_of_step();
  void record(slot& s, detail::task_scope& task);
  static bool bubbles(const slot& s);
  task_write_list writes_of(const slot& s, const detail::task_scope& task) const;
  void report(const slot& s);
  void close_step();
  const std::vector<const slot*>& in_task_order();
  const std::vector<applied_task>& applied_tasks();
  void apply_step();
  void refuse_step(error why);
  std::vector<channel_index> joins_out_of_patience();
  void applied();
  void after_save();

  // tasks that come up during a step (run_calls.cpp)
  bool take_over(const task_call_ptr& call);
  std::uint32_t next_call_number(const task_call_ptr& call) const;
  bool take_cached(slot& s);
  void keep_cached(const slot& s, const detail::task_scope& task);
  std::optional<cache_key> cache_key_of(const slot& s, const state_view& input) const;
  bool start_handlers();
  void add_handler(std::uint32_t failed);
  std::string path_of(const slot& s) const;
  std::string namespace_of(const slot& s) const;
  void settle_call(slot& s);
  void drop_calls();

  // saving (run_saving.cpp)
  void keep_writes(const slot& s, const task_write_list& writes);
  void mark_answer_taken();
  checkpoint_ref here(std::string checkpoint_id) const {
    return {shared_->config.thread_id, shared_->ns, std::move(checkpoint_id)};
  }
  void put_checkpoint(std::string_view source, const std::vector<channel_index>* updated);
  void put_moved();
  checkpoint_put make_put(const std::vector<channel_index>* updated);
  void note_deltas();
  void put_stub(std::string id);
  void submit(save_request request, save_ack when);
  bool puts_to_rest(const result<run_result>& how) const;
  void save_exit();
  bool may_go_on() const noexcept;
  value make_metadata(std::string_view source) const;
  value workers_of_step() const;

  // reporting and ending (run_report.cpp)
  bool wants(stream_mode mode) const { return shared_->wants(mode); }
  void emit(stream_mode mode, value data);
  void release_parts();
  void note_shown();
  void emit_values();
  void emit_checkpoint();
  void emit_task_start(const slot& s);
  void emit_cached_update(const slot& s);
  void pause_at_breakpoint(std::string status);
  void pause_with_questions();
  void finish_normally();
  void fail(error why);
  void end(result<run_result> how);
  void complete();
  run_result make_result() const;
  bool nested() const noexcept { return shared_->above != nullptr; }
  plan_context context_now() const { return {checkpoint_id_, shared_->ns, step_}; }
  lifecycle_callbacks::event lifecycle(std::string status) const;
  const graph_plan& plan() const { return *state_.plan; }
  const std::vector<std::string>& breakpoints(bool before) const;

  loop_host& host_;
  phase phase_ = phase::idle;
  std::shared_ptr<run_shared> shared_;
  thread_state state_;
  shown_channels shown_;
  std::vector<std::string> ns_; // the parts of the run's namespace

  // the thread
  bool stored_ = false;
  std::string checkpoint_id_; // the current one, saved or not
  std::string saved_id_;      // the last one that was handed to the saver, or loaded
  std::string parent_id_;     // of the current one
  value metadata_;
  std::int64_t step_ = -1; // of the checkpoint the open step makes
  std::int64_t stop_ = 0;
  run_deltas deltas_;
  stored_writes pending_; // of the checkpoint the run started from, until the first step ended
  bool replaying_ = false;
  bool forks_ = false;
  bool moved_here_ = false;     // what was loaded is of another namespace
  std::string source_;          // of the loaded checkpoint
  task_write_list first_gotos_; // of a command on a fresh thread: followed beside the entry edges
  bool strict_ = true;          // answers must answer something
  bool answer_given_ = false;   // the plain answer may be taken, and that it was is not stored yet
  bool first_step_ = true;
  std::vector<std::string> input_order_; // the keys of the input, when it has an order

  // the step
  std::uint64_t epoch_ = 0;
  std::vector<slot> slots_;           // grows while the step is open
  std::vector<const slot*> ordered_;  // scratch of in_task_order
  std::vector<applied_task> applied_; // scratch of applied_tasks
  std::size_t running_ = 0;
  std::size_t next_slot_ = 0;
  std::size_t unfinished_ = 0;
  step_apply apply_{state_, true};
  std::size_t unsettled_ = 0;
  std::optional<error> refused_;
  std::optional<thread_state> before_; // the step; durability exit, which saves it if it is refused
  std::optional<std::vector<channel_index>> updated_;
  std::map<channel_index, std::chrono::nanoseconds> waiting_since_; // joins with a time-out

  // saving
  std::vector<task_writes> unsaved_; // of the open step, to go with its checkpoint
  std::uint64_t ticket_ = 0;         // last handed out
  std::uint64_t acknowledged_ = 0;
  std::uint64_t first_ticket_ = 0; // the last one of the run before
  std::uint64_t last_put_ = 0;     // the ticket of the last checkpoint
  std::optional<save_request> waiting_put_;
  std::optional<std::vector<channel_index>> exit_updated_; // of the checkpoint not saved yet

  // reporting
  struct held_part {
    std::uint64_t ticket; // it leaves with
    std::uint64_t number; // the gate's
  };
  std::deque<held_part> held_;
  /// The output is what was shown last. Only where channels lose their value without a write is
  /// that not the state at the end, and kept.
  std::optional<std::pair<value, state_update>> last_shown_;
  std::optional<std::uint64_t> claimed_by_; // the first ticket that makes the run the owner
  bool entered_ = false;                    // it got as far as its first step
  bool rests_ = false;                      // what is saved from now on puts the thread to rest
  bool forgets_output_ = false;
  bool values_shown_ = false;
  std::vector<interrupt> questions_;
  std::vector<std::string> next_;
  std::string drained_;
  bool stopped_ = false; // it pauses
  std::optional<result<run_result>> outcome_;
  std::optional<command> upward_; // of the outcome: for a graph further out
};

} // namespace troupe
