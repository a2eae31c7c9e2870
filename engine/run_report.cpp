// run_loop, reports: the parts that a run shows, and its end.
#include "engine/run_loop.hpp"

#include "tasks/part_gate.hpp"
#include "graph/crash_point.hpp"
#include "graph/names.hpp"

#include <algorithm>

namespace troupe {

void run_loop::emit(stream_mode mode, value data) {
  if (nested() && shared_->given_up())
    return; // the nested run was given up: its parts do not count any more
  stream_part part{mode, ns_, std::move(data), 0};
  bool sync = stored_ && shared_->config.durability == durability::sync;
  // The part's contents are durable with the next save when some of them were not handed over yet.
  auto ticket = ticket_ + (unsaved_.empty() ? 0 : 1);
  if (sync && (ticket > acknowledged_ || !held_.empty()))
    held_.push_back({ticket, shared_->gate->hold(std::move(part))});
  else
    host_.emit(std::move(part));
}

void run_loop::release_parts() {
  while (!held_.empty() && held_.front().ticket <= acknowledged_) {
    shared_->gate->release(held_.front().number);
    held_.pop_front();
  }
}

void run_loop::note_shown() {
  values_shown_ = true;
  if (forgets_output_)
    last_shown_.emplace(read_output(state_, shown_), read_in_order(state_, shown_));
}

void run_loop::emit_values() {
  note_shown();
  if (wants(stream_mode::values))
    emit(stream_mode::values, last_shown_ ? last_shown_->first : read_output(state_, shown_));
}

void run_loop::emit_checkpoint() {
  if (!stored_ || !(wants(stream_mode::checkpoints) || wants(stream_mode::debug)))
    return;
  std::vector<planned_task> tasks;
  for (const auto& s : slots_)
    tasks.push_back(s.plan);
  auto part = checkpoint_part({.thread_id = shared_->config.thread_id,
                               .checkpoint_ns = shared_->ns,
                               .checkpoint_id = checkpoint_id_,
                               .parent_id = parent_id_,
                               .values = read_output(state_, whole_state(plan())),
                               .metadata = metadata_,
                               .plan = &plan(),
                               .tasks = &tasks,
                               .stored = &pending_});
  if (wants(stream_mode::checkpoints))
    emit(stream_mode::checkpoints, part);
  if (wants(stream_mode::debug))
    emit(stream_mode::debug, debug_part("checkpoint", step_ - 1, host_.timestamp(), part));
}

void run_loop::emit_task_start(const slot& s) {
  if (s.plan.node == 0 || !(wants(stream_mode::tasks) || wants(stream_mode::debug)))
    return;
  value input;
  if (s.scope) {
    input = s.scope->whole;
  } else {
    detail::task_scope shown;
    shown.node = s.node;
    give_input(shown, s);
    input = shown.whole;
  }
  auto metadata = detail::task_metadata(shared_->config.metadata, plan(), *s.node);
  auto part = task_part(*s.node, s.plan, input, plan(), metadata);
  if (wants(stream_mode::tasks))
    emit(stream_mode::tasks, part);
  if (wants(stream_mode::debug))
    emit(stream_mode::debug, debug_part("task", step_, host_.timestamp(), part));
}

// Shows the writes of a task that did not run now.
void run_loop::emit_cached_update(const slot& s) {
  if (wants(stream_mode::updates))
    emit(stream_mode::updates,
         updates_part(s.node->name, update_payload(plan(), s.writes, shown_), true));
}

const std::vector<std::string>& run_loop::breakpoints(bool before) const {
  const auto& asked = before ? shared_->config.interrupt_before : shared_->config.interrupt_after;
  const auto& compiled = before ? plan().options.interrupt_before : plan().options.interrupt_after;
  return asked.empty() ? compiled : asked;
}

run_result run_loop::make_result() const {
  run_result out;
  if (stopped_ && plan().functional)
    out.output = value::map();
  else if (last_shown_)
    out.output = last_shown_->first;
  else if (values_shown_ || stopped_)
    out.output = read_output(state_, shown_);
  out.questions = questions_;
  out.next = next_;
  out.checkpoint_id = checkpoint_id_;
  out.drained = drained_;
  out.stopped = stopped_;
  return out;
}

void run_loop::finish_normally() {
  end(make_result());
}

void run_loop::pause_at_breakpoint(std::string status) {
  stopped_ = true;
  for (const auto& s : slots_)
    if (!s.ended)
      next_.push_back(s.node->name);
  if (shared_->control.drain_requested())
    drained_ = shared_->control.reason();
  if (!nested()) {
    host_.interrupted(lifecycle(std::move(status)));
    if (wants(stream_mode::updates))
      emit(stream_mode::updates, interrupts_part({}));
  }
  end(make_result());
}

lifecycle_callbacks::event run_loop::lifecycle(std::string status) const {
  return {shared_->config.thread_id, checkpoint_id_, shared_->ns, std::move(status), questions_};
}

void run_loop::pause_with_questions() {
  stopped_ = true;
  bool wrote = false;
  questions_.clear(); // by task, not by arrival
  for (const auto& s : slots_)
    if (s.status == task_status::interrupted && !s.call)
      questions_.insert(questions_.end(), s.questions.begin(), s.questions.end());
  for (const auto* s : in_task_order()) {
    wrote |= s->status == task_status::done;
    if (s->status == task_status::interrupted)
      next_.push_back(s->handles == no_index ? s->node->name : slots_[s->handles].node->name);
  }
  if (stored_ && shared_->config.durability == durability::exit)
    save_exit();
  if (nested())
    return end(make_result());
  host_.interrupted(lifecycle("pending"));
  // The state with the writes of the finished tasks is shown, not kept: the step is not over.
  if (wrote) {
    auto updated = apply_here(state_, applied_tasks(), true);
    if (!updated)
      return fail(updated.error());
    if (std::any_of(updated->begin(), updated->end(),
                    [this](channel_index c) { return shown_.has(c); }))
      emit_values();
  }
  if (questions_.empty() && wants(stream_mode::updates)) // a breakpoint in a nested graph
    emit(stream_mode::updates, interrupts_part({}));
  end(make_result());
}

void run_loop::fail(error why) {
  if (running_ > 0) {
    shared_->stop = true;
    host_.give_up_tasks();
  }
  ++epoch_;
  end(std::move(why));
}

// Ends the run when everything it has to store is stored.
void run_loop::end(result<run_result> how) {
  phase_ = phase::ending;
  outcome_ = std::move(how);
  if (!stored_)
    return complete();
  rests_ = puts_to_rest(*outcome_);
  auto before = ticket_;
  if (shared_->config.durability == durability::exit) {
    // A nested run saves only what a later run can resume.
    if (!nested() || !*outcome_ || (*outcome_)->paused()
        || plan().options.checkpointer == checkpointing::per_thread)
      save_exit();
  } else {
    if (waiting_put_) {
      submit(*std::exchange(waiting_put_, std::nullopt), save_ack::accepted);
      last_put_ = ticket_;
    }
    bool sync = shared_->config.durability == durability::sync;
    // The run above waits for the disk at its own end, which comes after all saves of this one.
    bool durable = sync || !nested();
    if (!unsaved_.empty() || (!sync && durable && ticket_ > first_ticket_))
      submit({here(checkpoint_id_), std::exchange(unsaved_, {}), std::nullopt},
             durable ? save_ack::durable : save_ack::accepted);
  }
  bool told = ticket_ > before || !(claimed_by_ || (shared_->claim && shared_->claim->held));
  if (rests_ && !told)
    submit({here(checkpoint_id_), {}, std::nullopt}, save_ack::durable);
  if (acknowledged_ == ticket_)
    complete();
}

// For a run that was given up, or whose save failed, parts that are not durable are dropped.
void run_loop::complete() {
  release_parts();
  for (const auto& held : held_)
    shared_->gate->drop(held.number);
  held_.clear();
  acknowledged_ = ticket_;
  crash_point("run.ended");
  phase_ = phase::idle;
  ++epoch_;
  run_end outcome{std::move(*outcome_), std::move(upward_)};
  if (nested() && outcome.how && !outcome.how->stopped)
    outcome.update = last_shown_ ? last_shown_->second : read_in_order(state_, shown_);
  outcome_.reset();
  upward_.reset();
  drop_calls();
  slots_.clear();
  auto shared = std::move(shared_); // destroyed before the owner hears of the run's end
  host_.ended(std::move(outcome));
}

} // namespace troupe
