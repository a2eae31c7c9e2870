// run_loop, reports: the parts that a run shows, and its end.
#include "engine/checkpoint_metadata.hpp"
#include "engine/run_loop.hpp"

#include "graph/crash_point.hpp"
#include "graph/names.hpp"
#include "tasks/part_gate.hpp"

#include <algorithm>

namespace troupe {

void run_loop::emit(stream_mode mode, value data) {
  if (nested() && shared_->given_up())
    return; // the nested run was given up: its parts do not count any more
  stream_part part{mode, ns_, std::move(data), 0};
  bool sync = stored_ && shared_->config.durability == durability::sync;
  // A part that reports something that was not handed over yet waits for the next save.
  auto ticket = saving_.covering();
  if (sync && (!saving_.covers(ticket) || !held_.empty()))
    held_.push_back({ticket, shared_->gate->hold(std::move(part))});
  else
    host_.emit(std::move(part));
}

void run_loop::release_parts() {
  while (!held_.empty() && saving_.covers(held_.front().ticket)) {
    shared_->gate->release(held_.front().number);
    held_.pop_front();
  }
}

void run_loop::note_shown() {
  progress_.values_shown = true;
  if (progress_.forgets_output)
    progress_.last_shown.emplace(read_output(state_, shown_), read_in_order(state_, shown_));
}

void run_loop::emit_values() {
  note_shown();
  if (wants(stream_mode::values))
    emit(stream_mode::values,
         progress_.last_shown ? progress_.last_shown->first : read_output(state_, shown_));
}

std::string run_loop::timestamp() {
  std::string out;
  host_.timestamp(out);
  return out;
}

void run_loop::emit_checkpoint() {
  if (!stored_ || !(wants(stream_mode::checkpoints) || wants(stream_mode::debug)))
    return;
  auto tasks = step_.planned();
  const auto& config = shared_->config;
  auto part = checkpoint_part(
    {.thread_id = config.thread_id,
     .checkpoint_ns = shared_->ns,
     .checkpoint_id = at_.checkpoint_id,
     .parent_id = at_.parent_id,
     .values = read_output(state_, whole_state(plan())),
     .metadata = at_.made_here ? without_extras(at_.metadata, config) : at_.metadata,
     .configurable = config.configurable,
     .plan = &plan(),
     .tasks = &tasks,
     .stored = &progress_.pending,
     .shown = &shown_});
  if (wants(stream_mode::checkpoints))
    emit(stream_mode::checkpoints, part);
  if (wants(stream_mode::debug))
    emit(stream_mode::debug, debug_part("checkpoint", at_.step - 1, timestamp(), part));
}

void run_loop::emit_task_start(const step_slot& s) {
  if (s.plan.node == 0 || !shows_tasks())
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
  const auto& config = shared_->config;
  auto metadata = shown_task_metadata(detail::task_metadata(config.metadata, plan(), *s.node),
                                      config.tags);
  auto task = s.plan;
  task.push = task.push || s.handles != no_index; // as a handler starts in the reference
  auto part = task_part(*s.node, task, input, plan(), metadata);
  if (wants(stream_mode::tasks))
    emit(stream_mode::tasks, part);
  if (wants(stream_mode::debug))
    emit(stream_mode::debug, debug_part("task", at_.step, timestamp(), part));
}

// The writes of a task that did not run now.
void run_loop::emit_cached_update(const step_slot& s) {
  notify_end(s, true);
  if (wants(stream_mode::updates))
    emit(stream_mode::updates,
         updates_part(s.node->name, update_payload(plan(), s.writes, shown_), true));
}

const std::vector<std::string>& run_loop::breakpoints(bool before) const {
  const auto& asked = before ? shared_->config.interrupt_before : shared_->config.interrupt_after;
  const auto& compiled = before ? plan().options.interrupt_before : plan().options.interrupt_after;
  return asked.empty() ? compiled : asked;
}

run_result run_loop::make_result() {
  detail::run_ending out;
  if (progress_.stopped && plan().functional)
    out.output = value::map();
  else if (progress_.last_shown)
    out.output = progress_.last_shown->first;
  else if (progress_.values_shown || progress_.stopped)
    out.output = read_output(state_, shown_);
  out.questions = progress_.questions;
  out.next = progress_.next;
  out.checkpoint_id = checkpoint_id();
  out.drained = progress_.drained;
  out.paused = progress_.stopped;
  return run_result{std::move(out)};
}

void run_loop::finish_normally() {
  end(make_result());
}

void run_loop::pause_at_breakpoint(std::string status) {
  progress_.stopped = true;
  progress_.next = step_.waiting_nodes();
  if (shared_->control.drain_requested())
    progress_.drained = shared_->control.reason();
  if (!nested()) {
    notify("on_interrupt", &lifecycle_callbacks::on_interrupt, std::move(status));
    if (wants(stream_mode::updates))
      emit(stream_mode::updates, interrupts_part({}));
  }
  end(make_result());
}

void run_loop::pause_with_questions() {
  progress_.stopped = true;
  progress_.questions = step_.questions();
  progress_.next = step_.asking_nodes(plan());
  if (stored_ && shared_->config.durability == durability::exit)
    save_exit();
  if (nested())
    return end(make_result());
  notify("on_interrupt", &lifecycle_callbacks::on_interrupt, "pending");
  // The state with the writes of the finished tasks is shown, not kept: the step is not over.
  if (step_.has_done()) {
    auto updated = apply_.all(step_.applied(plan()));
    if (!updated)
      return fail(updated.error());
    if (std::any_of(updated->begin(), updated->end(),
                    [this](channel_index c) { return shown_.has(c); }))
      emit_values();
  }
  if (progress_.questions.empty() && wants(stream_mode::updates)) // a breakpoint further in
    emit(stream_mode::updates, interrupts_part({}));
  end(make_result());
}

void run_loop::fail(error why) {
  if (step_.running > 0) {
    shared_->stop = true;
    host_.give_up_tasks();
  }
  ++epoch_;
  end(std::move(why));
}

// Ends the run when everything it has to store is stored.
void run_loop::end(result<run_result> how) {
  phase_.enter(run_phase::ending);
  progress_.outcome = std::move(how);
  if (!stored_)
    return complete();
  progress_.rests = puts_to_rest(*progress_.outcome);
  auto before = saving_.last();
  if (shared_->config.durability == durability::exit) {
    // A nested run saves only when it resumes later, or keeps its own threads.
    if (!nested() || !*progress_.outcome || (*progress_.outcome)->paused()
        || plan().options.checkpointer.mode() == checkpointing::per_thread)
      save_exit();
  } else {
    if (auto put = saving_.take_put(true))
      submit_put(std::move(*put));
    bool sync = shared_->config.durability == durability::sync;
    // The run above waits for the disk at its own end, which comes after all saves of this one.
    bool durable = sync || !nested();
    if (!saving_.unsaved.empty() || (!sync && durable && saving_.used()))
      submit({here(at_.checkpoint_id), saving_.take_unsaved(), std::nullopt},
             durable ? save_ack::durable : save_ack::accepted);
  }
  bool told = saving_.last() > before
              || !(saving_.has_claimed() || (shared_->claim && shared_->claim->held));
  if (progress_.rests && !told)
    submit({here(at_.checkpoint_id), {}, std::nullopt}, save_ack::durable);
  if (saving_.all_acknowledged())
    complete();
}

// For a run that was given up, or whose save failed, parts that are not durable are dropped.
void run_loop::complete() {
  release_parts();
  for (const auto& held : held_)
    shared_->gate->drop(held.number);
  held_.clear();
  held_back_.clear();
  saving_.forget_rest();
  crash_point("run.ended");
  phase_.enter(run_phase::idle);
  ++epoch_;
  run_end outcome{std::move(*progress_.outcome), std::move(progress_.upward)};
  if (nested() && outcome.how && !outcome.how->paused())
    outcome.update = progress_.last_shown ? progress_.last_shown->second
                                          : read_in_order(state_, shown_);
  progress_.outcome.reset();
  progress_.upward.reset();
  notify_end(outcome);
  drop_calls();
  step_.clear();
  // The run's things go before the owner hears of its end.
  for (const auto& scope : spare_)
    scope->run.reset();
  auto shared = std::move(shared_);
  host_.ended(std::move(outcome));
}

} // namespace troupe
