// One run of a graph as a state machine: plan a step, run it, apply it, save it, report it, repeat.
// Decides; a loop_host acts. Knows no actor, no clock, no thread.
//
// Invariants:
//  - At most one step is open; `at_.step` grows by exactly one with every checkpoint.
//  - No task sees a write of its own step: the state changes only when all tasks of a step ended.
//  - Results are applied in task order, never in the order in which they arrive.
//  - Durability sync: a part is emitted only when what it reports is durable. Otherwise: at most
//    one checkpoint of the run waits in the saver's queue.
//  - An answer of an older step (another epoch) changes nothing.
// Source: langgraph/pregel/_loop.py.
#pragma once

#include "engine/apply.hpp"
#include "engine/entry_choice.hpp"
#include "engine/run_deltas.hpp"
#include "engine/run_phase.hpp"
#include "engine/run_progress.hpp"
#include "engine/run_step.hpp"
#include "engine/saving_book.hpp"
#include "engine/stream_payloads.hpp"
#include "persistence/numbered_put.hpp"
#include "tasks/task_scope.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The arguments of a run.
struct run_request {
  std::shared_ptr<run_shared> shared;
  std::variant<std::monostate, value, state_update, command> input;
  std::optional<checkpoint_tuple> saved; // the checkpoint that the run starts from
  bool superseded = false;               // `saved` was addressed by id and is not the newest
  bool addressed = false;                // by id, or by the time travel of the run above
  /// For a nested run: what the run above reports about resuming.
  std::optional<bool> told_resuming = std::nullopt;
  bool moved_here = false; // `saved` is of another namespace: its state is used in this one
  bool stored = false;     // there is a saver, and the graph uses it
  shown_channels shown;    // in values parts and in the result
  std::uint64_t tag = 0;   // tag of the versions that this run makes
  /// For a run that resumes where another one was cut off: the owner that left the thread.
  std::optional<std::uint64_t> cut_off_from = std::nullopt;
};

/// How a run ended.
using run_end = nested_end;

/// The actions that a run_loop requests. The answers come back through the loop's members, later or
/// from within the call.
class loop_host {
public:
  virtual ~loop_host() = default;
  /// Runs a task → task_finished. `alone`: nothing else of its step is left to run. True: it was
  /// short, and has run within this call; its result is in it.
  virtual bool run(const task_ptr& task, bool alone) = 0;
  /// Whether tasks have run within this turn for long enough. Then the host calls go_on() soon.
  virtual bool turn_is_over() = 0;
  /// Gives a state channel the writes of a step → settled; they may be moved out of `change`.
  /// `before`: its contents.
  virtual void change(std::uint64_t epoch, channel_change& change, const channel_cell& before) = 0;
  /// Saves → saved, with the same ticket, in order; `request` is moved from. True: it was stored
  /// within this call, as all before it were. Then `request` is as it was, and saved is not called.
  /// Else `request` is left with memory to use again: that of a stored one, if there is one.
  virtual bool save(save_request& request, save_ack when, std::uint64_t ticket) = 0;
  /// Whether save() stores within the call now, so that save_numbered() may be called.
  virtual bool saves_at_once() const = 0;
  /// As save(), for a checkpoint whose names are numbers: see prompt_saver::store.
  virtual bool save_numbered(const save_request& request, numbered_put& put, numbered_names& names,
                             std::uint64_t ticket) = 0;
  /// Whether the host takes a second checkpoint before the first is answered, and keeps it until
  /// then.
  virtual bool queues_saves() const = 0;
  virtual void emit(stream_part part) = 0;
  /// Puts a new id for the checkpoint of this step in the place of a text.
  virtual void next_checkpoint_id(std::int64_t step, std::string& into) = 0;
  /// The time as checkpoints have it.
  virtual void timestamp(std::string& into) = 0;
  /// For joins with a time-out. Units: of a steady clock.
  virtual std::chrono::nanoseconds now() = 0;
  /// A step was opened: arm its deadline.
  virtual void step_opened(std::uint64_t epoch) = 0;
  /// A task of the step failed for good while others run: arm the deadline of these.
  virtual void sibling_failed(std::uint64_t epoch) = 0;
  /// The runtime's cache: the value under a key, if there is one; and storing a value.
  virtual std::optional<value> cached(const cache_key& key) = 0;
  virtual void cache(const cache_key& key, const value& v,
                     const std::optional<std::chrono::nanoseconds>& ttl) = 0;
  /// The running tasks are not waited for any more.
  virtual void give_up_tasks() = 0;
  /// Calls the callbacks of the run, which has some. `name`: of the callback, for the log.
  virtual void call_back(const char* name,
                         const std::function<void(lifecycle_callbacks&)>& call) = 0;
  virtual void ended(run_end how) = 0;
};

class run_loop {
public:
  explicit run_loop(loop_host& host) : host_{host} {}

  void begin(run_request&& request);
  /// The caller's reference passes over where it can, so that the task's memory is used again.
  void task_finished(task_ptr task);
  /// The turn of turn_is_over() has come.
  void go_on() { launch_more(); }
  /// A body started a task: it runs at once, in the same step.
  void call_started(const task_call_ptr& call);
  void settled(std::uint64_t epoch, channel_index channel, channel_cell cell, bool changed);
  void refused(std::uint64_t epoch, channel_index channel, const error& why);
  void saved(std::uint64_t ticket, const result<void>& how);
  /// The open step ran out of time; out_of_time(): the whole run did.
  void timed_out(std::uint64_t epoch);
  void out_of_time();
  /// The actor of a task died.
  void task_lost(const task_ptr& task, const std::string& why);
  /// Ends the run now, with this error; unsaved changes are lost.
  void abort(error why);

  bool active() const noexcept { return !phase_.is(run_phase::idle); }

private:
  // entry (run_entry.cpp)
  result<void> enter(run_request& request);
  result<void> load(const run_request& request);
  entry_facts entry_facts_of(const run_request& request) const;
  void open_thread(const run_request& request);
  result<void> take_input(const run_request& request);
  void begin_here();
  result<void> take_command(const command& c);
  result<void> check_answer(const value& answer);
  result<void> apply_outside_writes();
  result<void> resume_thread();
  result<void> start_with(const value& input);

  // the step (run_loop.cpp)
  void tick();
  void open_step();
  void launch_more();
  bool launch_next();
  void finish_held_back();
  bool caches(const step_slot& s) const;
  /// Whether checkpoints get their ids when somebody asks. Without a saver mostly nobody does.
  bool names_late() const noexcept { return !stored_ && shared_->graphs; }
  const std::string& checkpoint_id();
  void name_tasks();
  void plan_slots();
  task_ptr make_task(const step_slot& s, std::uint32_t place);
  task_ptr new_scope();
  void keep_scope(task_ptr scope);
  void give_input(detail::task_scope& task, const step_slot& s) const;
  void read_state(detail::task_scope& task) const;
  void give_answers(detail::task_scope& task) const;
  bool ends_its_step(const step_slot& s) const;
  void record(step_slot& s, detail::task_scope& task);
  task_write_list writes_of(const step_slot& s, const detail::task_scope& task) const;
  void report(const step_slot& s);
  void close_step();
  void apply_step();
  void refuse_step(error why);
  std::vector<channel_index> joins_out_of_patience();
  void applied();
  void after_save();

  // tasks that come up during a step (run_calls.cpp)
  bool take_over(const task_call_ptr& call);
  std::uint32_t next_call_number(const task_call_ptr& call) const;
  bool take_cached(step_slot& s);
  void keep_cached(const step_slot& s, const detail::task_scope& task);
  std::optional<cache_key> cache_key_of(const step_slot& s, const state_view& input) const;
  bool start_handlers();
  void add_handler(std::uint32_t failed);
  void settle_call(step_slot& s);
  void drop_calls();

  // saving (run_saving.cpp)
  void keep_writes(const step_slot& s, const task_write_list& writes);
  bool closes_step() const;
  bool joins_next(std::string_view source) const;
  void mark_answer_taken();
  checkpoint_ref here(std::string checkpoint_id) const {
    return {shared_->config.thread_id, shared_->ns, std::move(checkpoint_id)};
  }
  void put_checkpoint(std::string_view source, const std::vector<channel_index>* updated);
  void put_moved();
  /// Whether the checkpoint is in `numbers_` now, and `out` names nothing.
  [[nodiscard]] bool fill_put(checkpoint_put& out, const std::vector<channel_index>* updated);
  bool number_put(const std::vector<channel_index>* updated);
  bool drops_older(std::string_view source) const;
  void note_deltas();
  void put_stub(std::string id);
  void submit(save_request&& request, save_ack when, bool numbered = false);
  void submit_put(save_request&& request, bool numbered = false);
  void submit_joined();
  void save_failed(std::uint64_t ticket, const result<void>& how);
  void note_owner(std::uint64_t ticket);
  void acknowledge(std::uint64_t ticket);
  bool puts_to_rest(const result<run_result>& how) const;
  void save_exit();
  bool may_go_on() const noexcept;
  value make_metadata(std::string_view source) const;

  // reporting and ending (run_report.cpp)
  bool wants(stream_mode mode) const { return shared_->wants(mode); }
  void emit(stream_mode mode, value data);
  void release_parts();
  void note_shown();
  void emit_values();
  std::string timestamp();
  void emit_checkpoint();
  bool shows_tasks() const { return wants(stream_mode::tasks) || wants(stream_mode::debug); }
  void emit_task_start(const step_slot& s);
  void emit_cached_update(const step_slot& s);
  void pause_at_breakpoint(std::string status);
  void pause_with_questions();
  void finish_normally();
  void fail(error why);
  void end(result<run_result> how);
  void complete();
  run_result make_result();
  bool nested() const noexcept { return shared_->above != nullptr; }
  /// Without ids while nobody has asked for that of the checkpoint.
  plan_context context_now() const { return {at_.checkpoint_id, shared_->ns, at_.step}; }
  // callbacks (run_callbacks.cpp); without callbacks, these do nothing
  using run_callback = void (lifecycle_callbacks::*)(const lifecycle_callbacks::event&);
  void notify(const char* name, run_callback which, std::string status = {});
  void notify_end(const run_end& how);
  void notify_begin(const step_slot& s);
  void notify_end(const step_slot& s, bool cached = false);
  lifecycle_callbacks::event lifecycle(std::string status);
  lifecycle_callbacks::task_event task_lifecycle(const step_slot& s, bool cached);
  const graph_plan& plan() const { return *state_.plan; }
  const std::vector<std::string>& breakpoints(bool before) const;

  loop_host& host_;
  run_phase_track phase_;
  std::uint64_t epoch_ = 0; // of the open step, over all runs: answers of another one are too late

  // what the run was given
  std::shared_ptr<run_shared> shared_;
  shown_channels shown_;
  std::vector<std::string> ns_; // the parts of the run's namespace
  bool stored_ = false;

  // what it makes of it
  thread_state state_;
  thread_position at_;
  run_progress progress_;
  run_deltas deltas_;
  run_step step_;
  step_apply apply_{state_, true};
  std::vector<planned_task> planned_; // of the next step, without what the step took
  saving_book saving_;
  std::string spare_id_; // memory for the id of the next checkpoint
  numbered_put numbers_; // of a checkpoint that leaves now
  numbered_names names_; // of `numbered_`
  std::shared_ptr<const graph_plan> numbered_;

  bool launching_ = false;          // launch_more() is on the stack
  std::vector<task_ptr> held_back_; // ran within launch_more() and are not done; see launch_next()
  std::vector<task_ptr> spare_;     // scopes to use again; they keep the run while it is on
  static constexpr std::size_t spare_max = 16;
  static constexpr std::size_t planned_kept_max = 256; // memory of more is given back

  /// A part that waits until what it reports is durable.
  struct held_part {
    std::uint64_t ticket; // the part leaves when this save is acknowledged
    std::uint64_t number; // of the part in the gate
  };
  std::deque<held_part> held_;
};

} // namespace troupe
