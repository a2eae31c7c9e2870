// run_loop, tasks that appear while a step is open: those that a body starts, and the handlers of
// failed ones.
#include "engine/run_loop.hpp"

#include "engine/task_cache.hpp"
#include "graph/names.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void run_loop::call_started(const task_call_ptr& call) {
  const auto& caller = *call->caller;
  if (caller.epoch != epoch_ || !phase_.is(run_phase::running) || step_.slots[caller.slot].ended) {
    call->failure = error{errc::cancelled, "task `" + call->node->name + "`: the run was given up"};
    call->ended.release();
    return;
  }
  if (step_.slots.size() >= limits::tasks_per_step_max) {
    call->failure = error{errc::overloaded, "start task `" + call->node->name
                                              + "`: the step has tasks_per_step_max tasks"};
    call->ended.release();
    return;
  }
  if (caller.attempt > 1 && take_over(call))
    return;
  auto place = static_cast<std::uint32_t>(step_.slots.size());
  auto caller_path = step_.path_of(step_.slots[caller.slot]);
  auto number = next_call_number(call);
  auto& s = step_.add();
  s.node = call->node.get();
  s.call = call;
  s.plan = plan_call({checkpoint_id(), caller.ns(), at_.step}, s.node->name, caller_path, number);
  s.caller = caller_facts{number, std::move(caller_path), caller.ns()};
  s.scope = make_task(s, place);
  emit_task_start(s);
  if (const auto* known = progress_.entry.replaying ? nullptr : progress_.pending.find(s.plan.id);
      known && known->finished()) {
    s.writes = known->output;
    s.ended = true;
    s.scope.reset();
    return settle_call(s);
  }
  if (take_cached(s)) {
    emit_cached_update(s);
    return settle_call(s);
  }
  ++step_.unfinished;
  notify_begin(s);
  host_.run(s.scope, false);
}

// The numbers continue over the attempts of a caller: a task that a later attempt starts anew
// differs from the task that failed.
std::uint32_t run_loop::next_call_number(const task_call_ptr& call) const {
  const auto& caller = *call->caller;
  if (caller.attempt == 1)
    return call->index;
  auto next = call->index;
  for (const auto& s : step_.slots)
    if (s.call && s.caller->ns == caller.ns())
      next = std::max(next, s.caller->number + 1);
  return next;
}

bool run_loop::caches(const step_slot& s) const {
  return s.node->settings->cache.given && shared_->cache;
}

// A task that has its writes from the cache counts as finished.
bool run_loop::take_cached(step_slot& s) {
  if (!caches(s))
    return false;
  auto key = cache_key_of(s, s.scope->input);
  auto found = key ? host_.cached(*key) : std::nullopt;
  auto writes = found ? from_cached(plan(), *found) : std::nullopt;
  if (!writes)
    return false;
  s.writes = std::move(*writes);
  s.ended = true;
  s.scope.reset();
  keep_writes(s, s.writes);
  return true;
}

void run_loop::keep_cached(const step_slot& s, const detail::task_scope& task) {
  if (!caches(s))
    return;
  if (auto key = cache_key_of(s, task.input))
    host_.cache(*key, to_cached(plan(), s.writes), s.node->settings->cache.ttl);
}

// None when the policy's function throws, or the input can't be encoded: then the task runs.
std::optional<cache_key> run_loop::cache_key_of(const step_slot& s, const state_view& input) const {
  try {
    return key_of(plan(), *s.node, s.call != nullptr,
                  s.call ? s.call->arguments : input.to_value());
  } catch (...) {
    return std::nullopt;
  }
}

// A retried body starts its tasks again: the tasks of the attempt before are reused.
bool run_loop::take_over(const task_call_ptr& call) {
  const auto& caller = *call->caller;
  auto same = std::find_if(step_.slots.begin(), step_.slots.end(), [&](const step_slot& s) {
    return s.call && s.caller->ns == caller.ns() && s.call->index == call->index
           && s.node == call->node.get() && s.status != task_status::failed;
  });
  if (same == step_.slots.end())
    return false;
  auto before = std::exchange(same->call, call);
  if (!before->ended.open()) { // a body that was given up may wait for it
    before->failure = error{errc::cancelled,
                            "task `" + call->node->name + "`: the task was given up"};
    before->ended.release();
  }
  if (same->ended)
    settle_call(*same);
  return true;
}

// The body that started the task may go on.
void run_loop::settle_call(step_slot& s) {
  if (!s.call || s.call->ended.open())
    return;
  auto& call = *s.call;
  call.failure = s.failure.copy();
  call.paused = s.status == task_status::interrupted;
  call.questions = s.questions;
  for (const auto& w : s.writes)
    if (w.channel == no_index && w.name == names::returned)
      call.returned = w.val;
  call.caller.reset();
  call.ended.release();
}

// The run is over: opens all latches, so that no body waits for a result that never comes.
void run_loop::drop_calls() {
  for (auto& s : step_.slots)
    if (s.call && !s.call->ended.open()) {
      s.failure = error{errc::cancelled, "task `" + s.node->name + "`: the run ended"};
      settle_call(s);
    }
}

bool run_loop::start_handlers() {
  auto known = static_cast<std::uint32_t>(step_.slots.size());
  for (std::uint32_t i = 0; i < known; ++i) {
    if (step_.slots[i].wants_handler())
      add_handler(i);
  }
  return step_.unfinished > 0;
}

void run_loop::add_handler(std::uint32_t failed) {
  auto place = static_cast<std::uint32_t>(step_.slots.size());
  auto& s = step_.add();
  auto& of = step_.slots[failed];
  of.handled = true;
  name_tasks();
  auto ns = step_.namespace_of(of, shared_->ns);
  s.node = &plan().nodes[of.node->handler];
  s.handles = failed;
  s.plan = plan_handler({checkpoint_id(), ns, at_.step}, plan(), of.node->handler, of.plan);
  if (const auto* known = progress_.entry.replaying ? nullptr : progress_.pending.find(s.plan.id);
      known && known->finished()) {
    s.writes = known->output;
    s.ended = true;
    return;
  }
  s.scope = make_task(s, place);
  if (!progress_.entry.replaying) // a handler whose task failed in an earlier run is announced
    if (const auto* stored = progress_.pending.find(of.plan.id); stored && stored->handed_over)
      emit_task_start(s);
  ++step_.unfinished;
}

} // namespace troupe
