// run_loop, saving: what a run hands to the saver, and when it may proceed.
#include "engine/run_loop.hpp"

#include "engine/checkpoint_metadata.hpp"
#include "graph/crash_point.hpp"

#include <algorithm>

namespace troupe {

value run_loop::make_metadata(std::string_view source) const {
  auto out = checkpoint_metadata(source, step_, shared_->parents, shared_->config);
  auto workers = source == "loop" ? workers_of_step() : value{};
  return workers.empty() ? out : out.with("workers", std::move(workers));
}

// The workers of the step's tasks, by task; tasks of this process are left out.
value run_loop::workers_of_step() const {
  std::vector<value::map_init> out;
  for (const auto& s : slots_)
    if (!s.worker.empty())
      out.emplace_back(s.plan.id, s.worker);
  return out.size() > limits::metadata_workers_max ? value{} : value::map(std::move(out));
}

void run_loop::keep_writes(const slot& s, const task_write_list& writes) {
  if (!stored_ || writes.empty())
    return;
  unsaved_.push_back({s.plan.id, deltas_.stored_path(path_of(s)), store_writes(plan(), writes)});
  bool folded = slots_.size() == 1; // its writes go with the checkpoint that they make
  if (folded || shared_->config.durability == durability::exit)
    return;
  save_request request{here(checkpoint_id_), std::exchange(unsaved_, {}), std::nullopt};
  submit(std::move(request),
         shared_->config.durability == durability::sync ? save_ack::durable : save_ack::accepted);
}

// A plain answer is stored until its step is over, and used once. The task that took it may be in a
// nested graph, or store nothing itself. So the path of the stored answer records that it was
// taken.
void run_loop::mark_answer_taken() {
  // After the checkpoint of an input the answer is not stored any more.
  if (!answer_given_ || !pending_.answer || nested() || shared_->answer_waits())
    return;
  answer_given_ = false;
  for (auto& task : unsaved_) // with durability exit it was not stored yet, and need not be
    if (task.task_id == names::null_task_id
        && std::erase_if(task.writes, [](const auto& w) { return w.first == names::resume; }) > 0)
      return;
  unsaved_.push_back({std::string{names::null_task_id},
                      std::string{names::taken_path},
                      {{std::string{names::resume}, *pending_.answer}}});
}

void run_loop::put_checkpoint(std::string_view source, const std::vector<channel_index>* updated) {
  auto before = std::exchange(checkpoint_id_, host_.next_checkpoint_id(step_));
  if (shared_->config.durability != durability::exit)
    parent_id_ = saved_id_; // otherwise parts show the parent of the loaded checkpoint, as in the
                            // reference
  if (stored_) {
    metadata_ = make_metadata(source);
    if (deltas_.active()) {
      deltas_.made(updated);
      metadata_ = deltas_.counted(metadata_);
    }
    if (shared_->config.durability == durability::exit) {
      unsaved_.clear();
      exit_updated_ = updated ? std::optional{*updated} : std::nullopt;
    } else {
      save_request request{here(std::move(before)), std::exchange(unsaved_, {}), make_put(updated)};
      saved_id_ = checkpoint_id_;
      bool sync = shared_->config.durability == durability::sync;
      if (!sync && last_put_ > acknowledged_) {
        waiting_put_ = std::move(request);
      } else {
        submit(std::move(request), sync ? save_ack::durable : save_ack::accepted);
        last_put_ = ticket_;
      }
    }
  }
  ++step_;
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
  save_request request{here(checkpoint_id_), {}, make_put(updated_ ? &*updated_ : nullptr)};
  saved_id_ = checkpoint_id_;
  bool sync = shared_->config.durability == durability::sync;
  submit(std::move(request), sync ? save_ack::durable : save_ack::accepted);
  last_put_ = ticket_;
}

checkpoint_put run_loop::make_put(const std::vector<channel_index>* updated) {
  checkpoint_put out;
  out.parent_id = saved_id_;
  auto snapshots = deltas_.settle(state_);
  out.checkpoint = take_checkpoint(state_, updated, out.new_versions);
  if (deltas_.active()) {
    store_snapshots(state_, snapshots, out.checkpoint);
    metadata_ = deltas_.counted(metadata_);
  }
  out.checkpoint.id = checkpoint_id_;
  out.checkpoint.ts = host_.timestamp();
  out.metadata = metadata_;
  return out;
}

// Records the step's writes to delta channels, once they are applied.
void run_loop::note_deltas() {
  for (const auto& s : slots_)
    if (!s.call)
      deltas_.applied(step_, s.plan.id, path_of(s), s.writes);
  for (const auto& [id, task] : pending_.tasks)
    if (std::none_of(slots_.begin(), slots_.end(),
                     [&id = id](const slot& s) { return s.plan.id == id; }))
      deltas_.lost(task.output);
  deltas_.end_step();
}

// Stores the parent of the one checkpoint of a thread's first run, so that the writes which made
// the checkpoint have a place.
void run_loop::put_stub(std::string id) {
  checkpoint_put stub;
  stub.checkpoint.id = saved_id_ = id;
  stub.checkpoint.ts = host_.timestamp();
  stub.metadata = value::map({{"step", -2}});
  submit({here(std::move(id)), {}, std::move(stub)}, save_ack::accepted);
}

void run_loop::submit(save_request request, save_ack when) {
  crash_point("run.saves");
  ++ticket_;
  if (rests_) {
    request.claim = shared_->claim->at_rest(claimed_by_ || shared_->claim->held);
    // an empty request is only a place in the order
  } else if (shared_->claim && (request.put || !request.writes.empty())) {
    request.claim = shared_->claim->now();
  }
  if (request.claim && !claimed_by_)
    claimed_by_ = ticket_;
  host_.save(std::move(request), when, ticket_);
}

// Whether the thread is at rest from here on. If it is not, and something is left to run, the run
// counts as cut off, and basic_app::unfinished finds the thread. A run that could not begin leaves
// the thread as it was.
bool run_loop::puts_to_rest(const result<run_result>& how) const {
  const auto& claim = shared_->claim;
  bool exits = shared_->config.durability == durability::exit; // it becomes the owner with its
                                                               // last requests
  bool owns = claim && (claimed_by_ || claim->held || exits);
  if (nested() || !owns || !entered_)
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
  if (checkpoint_id_ != saved_id_ && !metadata_.is_null()) {
    save_request request{here(checkpoint_id_), {}, std::nullopt};
    if (deltas_.active())
      request.writes = deltas_.take_exit_writes(state_);
    if (!request.writes.empty()) {
      if (auto stub = deltas_.stub_id())
        put_stub(std::move(*stub));
      request.ref = here(saved_id_);
    }
    request.put = make_put(exit_updated_ ? &*exit_updated_ : nullptr);
    saved_id_ = checkpoint_id_;
    submit(std::move(request), save_ack::durable);
  }
  std::erase_if(unsaved_, [](const task_writes& task) { return task.writes.empty(); });
  if (!unsaved_.empty())
    submit({here(checkpoint_id_), std::exchange(unsaved_, {}), std::nullopt}, save_ack::durable);
}

bool run_loop::may_go_on() const noexcept {
  if (!stored_ || shared_->config.durability == durability::exit)
    return true;
  return shared_->config.durability == durability::sync ? acknowledged_ == ticket_
                                                        : !waiting_put_.has_value();
}

void run_loop::saved(std::uint64_t ticket, const result<void>& how) {
  if (phase_ == phase::idle || ticket <= acknowledged_)
    return;
  if (how && claimed_by_ && ticket >= *claimed_by_)
    shared_->claim->held = true;
  if (!how) {
    outcome_ = how.error();
    shared_->stop = true;
    ++epoch_;
    return complete();
  }
  crash_point("run.saved");
  acknowledged_ = ticket;
  release_parts();
  crash_point("run.reported");
  if (waiting_put_ && last_put_ <= acknowledged_) {
    submit(*std::exchange(waiting_put_, std::nullopt), save_ack::accepted);
    last_put_ = ticket_;
  }
  if (phase_ == phase::ending && acknowledged_ == ticket_)
    complete();
  else if (phase_ == phase::saving && may_go_on())
    after_save();
}

} // namespace troupe
