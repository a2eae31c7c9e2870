// run_loop, saving: what a run hands to the saver, and when it may proceed.
#include "engine/run_loop.hpp"

#include "engine/checkpoint_metadata.hpp"
#include "graph/crash_point.hpp"
#include "graph/expects.hpp"

#include <algorithm>

namespace troupe {

// The request had the names of another checkpoint.
static void forget_names(checkpoint_put& put) {
  auto& cp = put.checkpoint;
  cp.channel_values.clear();
  cp.channel_versions.clear();
  cp.versions_seen.clear();
  cp.updated_channels.reset();
  put.new_versions.clear();
}

value run_loop::make_metadata(std::string_view source) const {
  auto out = checkpoint_metadata(source, at_.step, shared_->parents, shared_->config);
  auto workers = source == "loop" ? step_.workers() : value{};
  if (workers.is_null())
    return out;
  return out.with("workers", std::move(workers));
}

void run_loop::keep_writes(const step_slot& s, const task_write_list& writes) {
  if (!stored_ || writes.empty())
    return;
  auto& kept = saving_.add_unsaved();
  kept.task_id = s.plan.id;
  step_.path_of(s, kept.task_path);
  deltas_.mark(kept.task_path);
  store_writes(plan(), writes, kept.writes);
  if (closes_step() || shared_->config.durability == durability::exit)
    return; // the writes go with the checkpoint they make
  save_request request{here(at_.checkpoint_id), saving_.take_unsaved(), std::nullopt};
  submit(std::move(request),
         shared_->config.durability == durability::sync ? save_ack::durable : save_ack::accepted);
}

// Whether the task that ended is the last one of its step, so that nobody acts on its writes before
// the step's checkpoint is made. A handler acts on the writes of the step it is in.
bool run_loop::closes_step() const {
  return step_.unfinished == 1 && std::ranges::none_of(step_.slots, &step_slot::wants_handler);
}

// Whether nobody acts on an input's checkpoint before the next one is made. The step between them
// is START's alone, which hands the input to its channels. It runs no code of the user's, unless a
// function routes the input. An entrypoint has no such step. A saver that stores within the call
// has no commits to share.
bool run_loop::joins_next(std::string_view source) const {
  if (source != "input" || shared_->config.durability != durability::sync || plan().functional
      || host_.saves_at_once())
    return false;
  const auto& begun = plan().channels[plan().start].triggers;
  return begun.size() == 1 && begun[0] == 0 && plan().nodes.front().routes.empty();
}

// A plain answer is stored until its step is over, and used once. The task that took it may be in a
// nested graph, or store nothing itself. So the path of the stored answer records that it was
// taken.
void run_loop::mark_answer_taken() {
  // Behind an input's checkpoint it is stored no more.
  if (!progress_.answer_given || !progress_.pending.answer || nested() || shared_->answer_waits())
    return;
  progress_.answer_given = false;
  for (auto& task : saving_.unsaved) // with durability exit it was not stored yet, and need not be
    if (task.task_id == names::null_task_id
        && std::erase_if(task.writes, [](const auto& w) { return w.first == names::resume; }) > 0)
      return;
  saving_.unsaved.push_back({std::string{names::null_task_id},
                             std::string{names::taken_path},
                             {{std::string{names::resume}, *progress_.pending.answer}}});
}

void run_loop::put_checkpoint(std::string_view source, const std::vector<channel_index>* updated) {
  if (names_late()) {
    at_.checkpoint_id.clear();
    return shared_->begin_step(++at_.step, {});
  }
  auto before = std::exchange(at_.checkpoint_id, std::move(spare_id_));
  host_.next_checkpoint_id(at_.step, at_.checkpoint_id);
  if (shared_->config.durability != durability::exit)
    at_.parent_id =
      at_.saved_id; // else parts show the parent of what was loaded, as in the reference
  if (stored_) {
    at_.metadata = make_metadata(source);
    at_.made_here = true;
    if (deltas_.active()) {
      deltas_.made(updated);
      at_.metadata = deltas_.counted(at_.metadata);
    }
    if (shared_->config.durability == durability::exit) {
      saving_.unsaved.clear();
      progress_.exit_updated = updated ? std::optional{*updated} : std::nullopt;
    } else {
      bool sync = shared_->config.durability == durability::sync;
      if (sync)
        submit_joined();
      auto& request = saving_.blank_put();
      request.ref.thread_id = shared_->config.thread_id;
      request.ref.checkpoint_ns = shared_->ns;
      spare_id_ = std::exchange(request.ref.checkpoint_id, std::move(before));
      request.writes = saving_.take_unsaved();
      auto numbered = fill_put(*request.put, updated);
      request.put->drops_older = drops_older(source);
      at_.saved_id = at_.checkpoint_id;
      if (joins_next(source) || (!sync && saving_.queue_is_full())) {
        expects(!numbered, "a checkpoint with numbers does not wait");
        saving_.hold_put(std::move(request));
      } else {
        submit_put(std::move(request), numbered);
      }
    }
  }
  ++at_.step;
}

// A checkpoint that was read from another namespace is stored in this one, unchanged. The writes of
// its tasks belong to it, and a resuming run looks for it here. With durability exit, it is the
// run's one checkpoint, unless the run makes a later one.
void run_loop::put_moved() {
  if (!stored_)
    return;
  if (deltas_.active())
    deltas_.made(nullptr);
  if (shared_->config.durability == durability::exit)
    return;
  auto& request = saving_.blank_put();
  request.ref = here(at_.checkpoint_id);
  auto numbered = fill_put(*request.put, at_.updated ? &*at_.updated : nullptr);
  at_.saved_id = at_.checkpoint_id;
  submit_put(std::move(request), numbered);
}

bool run_loop::fill_put(checkpoint_put& out, const std::vector<channel_index>* updated) {
  out.parent_id = at_.saved_id;
  auto snapshots = deltas_.settle(state_);
  auto numbered = number_put(updated);
  if (numbered)
    forget_names(out);
  else
    take_checkpoint(state_, updated, out.checkpoint, out.new_versions);
  if (deltas_.active()) {
    store_snapshots(state_, snapshots, out.checkpoint);
    at_.metadata = deltas_.counted(at_.metadata);
  }
  out.checkpoint.id = at_.checkpoint_id;
  host_.timestamp(out.checkpoint.ts);
  out.metadata = at_.metadata;
  return numbered;
}

// A saver that stores within the call takes numbers for names, unless the state has names that are
// not the graph's.
bool run_loop::number_put(const std::vector<channel_index>* updated) {
  if (!host_.saves_at_once() || deltas_.active() || has_foreign(state_))
    return false;
  if (numbered_ != state_.plan) {
    numbered_ = state_.plan;
    use_names(*numbered_, names_);
  }
  take_checkpoint(state_, updated, numbers_);
  return true;
}

// After a fork, tasks still look for what the tasks of the copied checkpoint ran.
bool run_loop::drops_older(std::string_view source) const {
  return shared_->config.store_history == store_history::latest_only && source != "fork"
         && deltas_.needs_no_past();
}

// Records the step's writes to delta channels, once they are applied.
void run_loop::note_deltas() {
  for (const auto& s : step_.slots)
    if (!s.call)
      deltas_.applied(at_.step, s.plan.id, step_.path_of(s), s.writes);
  if (!progress_.entry.replaying) // else a fork does not have them
    for (const auto& [id, task] : progress_.pending.tasks)
      if (std::none_of(step_.slots.begin(), step_.slots.end(),
                       [&id = id](const step_slot& s) { return s.plan.id == id; }))
        deltas_.lost(task.output);
  deltas_.end_step();
}

// Stores the parent of the one checkpoint of a thread's first run, so that the writes which made
// the checkpoint have a place.
void run_loop::put_stub(std::string id) {
  checkpoint_put stub;
  stub.checkpoint.id = at_.saved_id = id;
  host_.timestamp(stub.checkpoint.ts);
  stub.metadata = with_extras(value::map().with("step", -2), shared_->config);
  submit({here(std::move(id)), {}, std::move(stub)}, save_ack::accepted);
}

void run_loop::submit(save_request&& request, save_ack when, bool numbered) {
  crash_point("run.saves");
  auto ticket = saving_.next_ticket();
  if (progress_.rests) {
    request.claim = shared_->claim->at_rest(saving_.has_claimed() || shared_->claim->held);
  } else if (shared_->claim && (request.put || !request.writes.empty())) { // else a place in order
    request.claim = shared_->claim->now();
  }
  if (request.claim)
    saving_.claims(ticket);
  auto stored = numbered ? host_.save_numbered(request, numbers_, names_, ticket)
                         : host_.save(request, when, ticket);
  saving_.keep(request);
  if (numbered)
    numbers_.moved.clear(); // values that were not stored
  if (stored)
    acknowledge(ticket);
}

// Durability sync: a checkpoint that waited leaves right before the next one, for the same commit.
void run_loop::submit_joined() {
  auto put = saving_.take_put(true);
  if (!put)
    return;
  submit(std::move(*put), save_ack::accepted);
  saving_.joins_next();
}

// A checkpoint leaves for the saver.
void run_loop::submit_put(save_request&& request, bool numbered) {
  bool sync = shared_->config.durability == durability::sync;
  submit(std::move(request), sync ? save_ack::durable : save_ack::accepted, numbered);
  saving_.put_left();
}

// Whether the thread is at rest from here on. If it is not, and something is left to run, the run
// counts as cut off, and basic_app::unfinished finds the thread. A run that could not begin leaves
// the thread as it was.
bool run_loop::puts_to_rest(const result<run_result>& how) const {
  const auto& claim = shared_->claim;
  bool exits = shared_->config.durability == durability::exit; // it owns with its last requests
  bool owns = claim && (saving_.has_claimed() || claim->held || exits);
  if (nested() || !owns || !progress_.entered)
    return false;
  if (how)
    return how->paused();
  auto code = how.error().code();
  bool cut_off = code == errc::graph_drained || code == errc::runtime_stopped
                 || (code >= errc::checkpoint_missing && code <= errc::conflict)
                 || code == errc::key_missing;
  return !cut_off;
}

// Durability exit: saves the checkpoint at which the run ended, then the writes of its unfinished
// step.
void run_loop::save_exit() {
  if (at_.checkpoint_id != at_.saved_id && !at_.metadata.is_null()) {
    save_request request{here(at_.checkpoint_id), {}, std::nullopt};
    if (deltas_.active())
      request.writes = deltas_.take_exit_writes(state_);
    if (!request.writes.empty()) {
      if (auto stub = deltas_.stub_id())
        put_stub(std::move(*stub));
      request.ref = here(at_.saved_id);
    }
    auto numbered = fill_put(request.put.emplace(),
                             progress_.exit_updated ? &*progress_.exit_updated : nullptr);
    const auto& source = at_.metadata["source"];
    request.put->drops_older = drops_older(source.is_string() ? source.as_string() : "");
    at_.saved_id = at_.checkpoint_id;
    submit(std::move(request), save_ack::durable, numbered);
  }
  std::erase_if(saving_.unsaved, [](const task_writes& task) { return task.writes.empty(); });
  if (!saving_.unsaved.empty())
    submit({here(at_.checkpoint_id), saving_.take_unsaved(), std::nullopt}, save_ack::durable);
}

bool run_loop::may_go_on() const noexcept {
  return !stored_ || saving_.may_go_on(shared_->config.durability);
}

// The saver took a request: the run owns the thread.
void run_loop::note_owner(std::uint64_t ticket) {
  if (saving_.owns_with(ticket) && !shared_->claim->held) // looking costs less than setting
    shared_->claim->held = true;
}

// A request is stored: parts that waited for it leave.
void run_loop::acknowledge(std::uint64_t ticket) {
  note_owner(ticket);
  crash_point("run.saved");
  saving_.acknowledge(ticket);
  release_parts();
  crash_point("run.reported");
}

// The run ends when its other requests are answered: one that is on its way may still be stored,
// and the next run of the thread would take it for that of an intruder.
void run_loop::save_failed(std::uint64_t ticket, const result<void>& how) {
  if (how)
    note_owner(ticket);
  if (!saving_.has_failed()) {
    progress_.outcome = how.error();
    shared_->stop = true;
    if (step_.running > 0)
      host_.give_up_tasks();
    ++epoch_;
    if (!phase_.is(run_phase::ending))
      phase_.enter(run_phase::ending);
  }
  if (saving_.answered_after_failure())
    complete();
}

void run_loop::saved(std::uint64_t ticket, const result<void>& how) {
  if (phase_.is(run_phase::idle) || !saving_.is_waited_for(ticket))
    return;
  if (!how || saving_.has_failed())
    return save_failed(ticket, how);
  if (saving_.note_joined(ticket))
    return note_owner(ticket); // durable with the next request
  acknowledge(ticket);
  if (auto put = saving_.take_put())
    submit_put(std::move(*put));
  if (phase_.is(run_phase::ending) && saving_.all_acknowledged())
    complete();
  else if (phase_.is(run_phase::saving) && may_go_on())
    after_save();
}

} // namespace troupe
