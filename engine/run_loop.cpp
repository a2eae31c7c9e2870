// run_loop, one super-step: plan, run, apply, save, and again.
#include "engine/run_loop.hpp"

#include "engine/message_writes.hpp"
#include "graph/crash_point.hpp"
#include "graph/names.hpp"

#include <algorithm>
#include <atomic>

namespace troupe {

namespace {

std::string describe_limit(std::uint32_t limit) {
  return "Recursion limit of " + std::to_string(limit)
         + " reached without hitting a stop condition: look for a loop without an end, or set "
           "run_config::recursion_limit or compile_options::recursion_limit";
}

// The error as the caller sees it; the stored text is the exception's own.
error read_error(const value& stored, const std::string& node) {
  const auto& members = stored.is(value_kind::error) ? stored.payload() : stored;
  auto text = [&members](std::string_view name) {
    return members[name].is_string() ? std::string{members[name].as_string()} : std::string{};
  };
  auto type = text("type"), own = text("message");
  auto message = "node `" + node + "` failed: " + type + ": " + own;
  return {errc::node_failed, std::move(message), std::move(type), std::move(own)};
}

} // namespace

void run_loop::tick() {
  if (shared_->control.cancelled())
    return fail({errc::cancelled, "run of thread `" + shared_->config.thread_id + "`: cancelled"});
  plan_slots();
  emit_checkpoint();
  if (at_.step > at_.stop)
    return fail({errc::graph_recursion, describe_limit(steps_max(shared_->config))});
  if (step_.slots.empty())
    return finish_normally();
  if (step_.slots.size() > limits::tasks_per_step_max)
    return fail({errc::overloaded, "plan a step: " + std::to_string(step_.slots.size())
                                     + " tasks, more than tasks_per_step_max"});
  if (const auto* twice = stored_ && plan().per_thread ? step_.shared_state() : nullptr)
    return fail(
      {errc::invalid_graph,
       "plan a step: two tasks of node `" + twice->name
         + "`: its graph keeps one state for the thread (checkpointing::per_thread), so "
           "one task a step may run it: use checkpointing::inherit, or nodes of their own"});
  if (!progress_.entry.replaying && !progress_.pending.tasks.empty()) {
    name_tasks();
    for (auto& s : step_.slots)
      if (const auto* known = progress_.pending.find(s.plan.id)) {
        if (known->finished()) {
          s.writes = known->output;
          s.ended = true;
        } else if (known->handed_over && s.node->handler != no_index) {
          s.ended = true; // its handler takes over; the task does not run again
          s.status = task_status::failed;
          s.failure = read_error(known->error, s.node->name);
        }
      }
  }
  const auto& before = breakpoints(true);
  if (!before.empty() && stops_at(state_, before, step_.planned()))
    return pause_at_breakpoint("interrupt_before");
  if (shared_->control.drain_requested())
    return fail({errc::graph_drained, "Graph drained: " + shared_->control.reason()});
  if (shared_->sink && shared_->sink->gave_up())
    return fail({errc::graph_drained, "Graph drained: the stream of its parts was given up"});
  open_step();
}

void run_loop::plan_slots() {
  plan_next_tasks(state_, context_now(), at_.updated ? &*at_.updated : nullptr, planned_);
  step_.plan(plan(), planned_);
  if (planned_.capacity() > planned_kept_max)
    planned_ = {};
}

void run_loop::open_step() {
  ++epoch_;
  step_.open();
  if (!names_late())
    shared_->begin_step(at_.step, at_.checkpoint_id);
  if (stored_ || shows_tasks())
    name_tasks();
  for (std::uint32_t i = 0; i < step_.slots.size(); ++i) {
    auto& s = step_.slots[i];
    if (!s.ended) {
      if (caches(s) || shows_tasks()) // other tasks are made when they are launched
        s.scope = make_task(s, i);
      if (!take_cached(s))
        ++step_.unfinished;
    }
    emit_task_start(s);
  }
  const auto planned = step_.slots.size();
  if (!progress_.pending.tasks.empty())
    start_handlers(); // of tasks that failed in an earlier run
  for (std::size_t i = 0; i < planned; ++i)
    if (const auto& s = step_.slots[i]; s.ended && !s.failure && s.plan.node != 0)
      emit_cached_update(s);
  host_.step_opened(epoch_);
  if (step_.unfinished == 0)
    return close_step();
  launch_more();
}

// A task that runs within launch_next() may close its step, and plan or end what follows. The tasks
// of a next step are launched by the call that is on the stack already.
void run_loop::launch_more() {
  if (std::exchange(launching_, true))
    return;
  while (phase_.is(run_phase::running) && launch_next()) {}
  launching_ = false;
}

// False when no task may begin now. A task that failed or asked ends its step only after those
// that could begin beside it have run, as on other threads.
bool run_loop::launch_next() {
  auto bound = shared_->config.max_concurrency;
  if (bound == 0 || bound > limits::tasks_in_flight_max)
    bound = limits::tasks_in_flight_max;
  auto* s = step_.launch(bound);
  if (!s) {
    bool more = !held_back_.empty();
    finish_held_back();
    return more;
  }
  if (!s->scope)
    s->scope = make_task(*s, static_cast<std::uint32_t>(s - step_.slots.begin()));
  notify_begin(*s);
  if (!host_.run(s->scope, step_.unfinished == 1))
    return true;
  auto task = std::move(s->scope); // it has run
  if (task->status == task_status::done)
    task_finished(std::move(task));
  else
    held_back_.push_back(std::move(task));
  return !host_.turn_is_over();
}

void run_loop::finish_held_back() {
  for (auto& task : std::exchange(held_back_, {}))
    task_finished(std::move(task));
}

// The id of the checkpoint that the open step starts from.
const std::string& run_loop::checkpoint_id() {
  if (at_.checkpoint_id.empty())
    at_.checkpoint_id = shared_->open_checkpoint();
  return at_.checkpoint_id;
}

void run_loop::name_tasks() {
  step_.name({checkpoint_id(), shared_->ns, at_.step}, plan());
}

task_ptr run_loop::new_scope() {
  if (spare_.empty())
    return std::make_shared<detail::task_scope>();
  auto scope = std::move(spare_.back());
  spare_.pop_back();
  return scope;
}

// Keeps a task's scope for another task when nobody else knows it.
void run_loop::keep_scope(task_ptr scope) {
  if (scope.use_count() != 1 || spare_.size() >= spare_max)
    return;
  std::atomic_thread_fence(std::memory_order_acquire); // the last other owner may be a thread
  scope->renew();
  spare_.push_back(std::move(scope));
}

task_ptr run_loop::make_task(const step_slot& s, std::uint32_t place) {
  auto task = new_scope();
  const auto& node = *s.node;
  if (task->run != shared_) // else it was a task of this run before
    task->run = shared_;
  task->node = s.node;
  task->index = s.plan.node;
  task->slot = place;
  task->epoch = epoch_;
  task->step = at_.step;
  task->stop = at_.stop;
  task->sent = s.plan.push;
  task->sent_index = s.plan.index;
  if (s.call)
    task->set_checkpoint_ns(s.caller->ns);
  else if (s.handles != no_index)
    task->set_checkpoint_ns(step_.namespace_of(step_.slots[s.handles], shared_->ns));
  if (!s.plan.id.empty())
    task->identify(s.plan.id,
                   s.handles == no_index ? std::string{} : step_.namespace_of(s, shared_->ns));
  task->timeout = s.plan.timeout ? *s.plan.timeout : node.settings->timeout;
  give_input(*task, s);
  give_answers(*task);
  if (s.plan.node == 0)
    task->early = std::exchange(progress_.first_gotos, {});
  task->metadata = detail::task_metadata(shared_->config.metadata, plan(), node);
  return task;
}

void run_loop::give_input(detail::task_scope& task, const step_slot& s) const {
  const auto& node = *task.node;
  const auto& channels = plan().channels;
  if (s.call) {
    task.call = s.call;
    task.input = state_view{s.call->arguments};
    task.whole = value::list({s.call->arguments, value::map()});
    return;
  }
  if (s.handles != no_index) {
    const auto& failed = step_.slots[s.handles];
    detail::task_scope seen;
    seen.node = failed.node;
    give_input(seen, failed);
    task.input = std::move(seen.input);
    task.whole = std::move(seen.whole);
    task.handled = std::make_shared<task_failure>(task_failure{
      failed.node->name, failed.failure ? *failed.failure : error{errc::node_failed, {}}});
  } else if (s.plan.push) {
    task.input = state_view{s.plan.arg};
    task.whole = s.plan.arg;
  } else if (s.plan.node == 0) {
    task.whole = state_.cells[plan().start].content;
    task.input_order = progress_.input_order;
  } else {
    read_state(task);
  }
  if (plan().functional)
    if (auto c = plan().find_channel(names::previous); available(state_, c))
      task.previous = read_channel(channels[c].spec, state_.cells[c]);
  auto add_cell = [&](channel_index c) {
    if (!channels[c].spec.managed()
        && std::none_of(task.route_cells.begin(), task.route_cells.end(),
                        [c](const auto& e) { return e.first == c; }))
      task.route_cells.emplace_back(c, state_.cells[c]);
  };
  if (node.graph_state && s.plan.push)
    for (auto c : plan().stream_keys)
      add_cell(c);
  for (const auto& route : node.routes)
    for (auto c : route.reads ? *route.reads : s.plan.node == 0 ? plan().stream_keys : node.reads)
      add_cell(c);
}

// Reads the keys of the node's input schema, as the last step left them.
void run_loop::read_state(detail::task_scope& task) const {
  const auto& node = *task.node;
  const auto& channels = plan().channels;
  if (plan().single && node.reads.size() == 1) {
    task.whole = read_channel(channels[node.reads[0]].spec, state_.cells[node.reads[0]]);
    task.input = state_view{task.whole};
    return;
  }
  auto entries = std::move(task.input).take_entries();
  entries.reserve(node.reads.size());
  for (auto c : node.reads) {
    const auto& spec = channels[c].spec;
    if (spec.kind == channel_kind::remaining_steps)
      entries.push_back({channels[c].name, value(at_.stop - at_.step)});
    else if (spec.kind == channel_kind::is_last_step)
      entries.push_back({channels[c].name, value(at_.step == at_.stop - 1)});
    else if (channel_available(spec, state_.cells[c]))
      entries.push_back({channels[c].name, read_channel(spec, state_.cells[c])});
  }
  task.input = state_view{std::move(entries)};
  if (shows_tasks())
    task.whole = task.input.to_value();
}

void run_loop::give_answers(detail::task_scope& task) const {
  if (!progress_.pending.tasks.empty())
    if (const auto* known = progress_.pending.find(task.id()))
      task.answers = known->answers;
  if (shared_->answers.is_map())
    if (auto answer = find_answer(shared_->answers, task.ns(), task.answers.size()))
      task.answers.push_back(std::move(*answer));
}

void run_loop::task_finished(task_ptr task) {
  if (task->epoch != epoch_ || !phase_.is(run_phase::running) || step_.slots[task->slot].ended)
    return;
  crash_point("task.finished");
  if (task->status == task_status::failed)
    if (auto why = shared_->why_no_failure_counts())
      return abort(std::move(*why));
  auto& s = step_.slots[task->slot];
  if (deltas_.active())
    if (auto stamped = give_message_ids(plan(), task->writes); !stamped) {
      task->status = task_status::failed;
      task->failure = stamped.error();
    }
  bool stopped_early = task->learned_to_end.load(std::memory_order_relaxed);
  if (stopped_early && s.call) {
    task->status = task_status::failed;
    task->failure = error{errc::cancelled, "task `" + s.node->name + "`: its step has failed"};
  }
  if (!stopped_early || s.call) // else the task is as one that did not begin
    record(s, *task);
  s.scope.reset();
  keep_scope(std::move(task));
  if (!s.call)
    --step_.running;
  --step_.unfinished;
  settle_call(s);
  if (ends_its_step(s)) {
    step_.leave_rest();
    if (step_.unfinished != 0 && step_.ask_to_end())
      host_.sibling_failed(epoch_);
  }
  if (step_.unfinished == 0)
    return close_step();
  launch_more();
}

// Whether the run will fail with it. The failure of a started task is first its caller's affair.
bool run_loop::ends_its_step(const step_slot& s) const {
  return s.status == task_status::failed && !s.bubbles() && !s.call && s.node->handler == no_index
         && !plan().options.finish_steps;
}

void run_loop::task_lost(const task_ptr& task, const std::string& why) {
  task->status = task_status::failed;
  task->failure = error{errc::node_lost, "node `" + task->node->name + "`: its actor died: " + why};
  task_finished(task);
}

// Makes the result of a task into writes to store, and parts to emit.
void run_loop::record(step_slot& s, detail::task_scope& task) {
  s.ended = true;
  s.status = task.status;
  s.failure = std::move(task.failure);
  s.questions = std::move(task.questions);
  s.upward = std::move(task.upward);
  if (!task.worker.empty())
    s.worker = std::move(task.worker);
  if (task.status == task_status::done) {
    s.writes.swap(task.writes); // the task's next one uses the memory of the slot's last ones
    if (s.writes.empty())
      s.writes.push_back(write_to(names::no_writes, {}));
  }
  if (stored_) { // without a saver the list is not needed
    mark_answer_taken();
    if (task.status == task_status::done && task.answered == 0)
      keep_writes(s, s.writes);
    else
      keep_writes(s, writes_of(s, task));
  }
  if (!s.bubbles())
    report(s);
  if (task.status == task_status::done)
    keep_cached(s, task);
}

task_write_list run_loop::writes_of(const step_slot& s, const detail::task_scope& task) const {
  task_write_list all;
  if (task.status == task_status::interrupted && !s.bubbles()) {
    std::vector<value> questions;
    for (const auto& q : s.questions)
      questions.push_back(value::of(q));
    all.push_back(write_to(names::interrupt, value::list(std::move(questions))));
  }
  if (task.answered > 0 && task.status != task_status::parent_command)
    all.push_back(
      write_to(names::resume,
               value::list({task.answers.begin(),
                            task.answers.begin() + static_cast<std::ptrdiff_t>(task.answered)})));
  if (task.status == task_status::failed && !s.bubbles()) {
    all.push_back(write_to(names::error, error_value(*s.failure)));
    if (s.node->handler != no_index)
      all.push_back(write_to(names::error_source, value(s.node->name)));
  }
  if (task.status == task_status::done)
    all.insert(all.end(), s.writes.begin(), s.writes.end());
  return all;
}

// The questions of a task that a body started are reported with that body, which asks them on.
void run_loop::report(const step_slot& s) {
  notify_end(s);
  if (s.status == task_status::interrupted) {
    if (s.call)
      return;
    auto part = interrupts_part(s.questions);
    if (wants(stream_mode::updates))
      emit(stream_mode::updates, part);
    if (wants(stream_mode::values)) {
      auto now = shown_.bare ? value{} : read_output(state_, shown_);
      for (const auto& e : now.entries())
        part = part.with(e.key(), e.val);
      emit(stream_mode::values, part);
    }
    progress_.questions.insert(progress_.questions.end(), s.questions.begin(), s.questions.end());
    note_shown();
  } else if (s.status == task_status::done && s.plan.node != 0 && wants(stream_mode::updates)) {
    emit(stream_mode::updates,
         updates_part(s.node->name, update_payload(plan(), s.writes, shown_), false));
  }
  if (s.plan.node == 0 || s.status == task_status::parent_command || !shows_tasks())
    return;
  name_tasks();
  auto part = task_result_part(*s.node, s.plan.id, s.failure ? error_value(*s.failure) : value{},
                               s.status == task_status::done
                                 ? result_map(plan(), s.writes, whole_state(plan()))
                                 : value::map(),
                               s.questions, s.worker ? *s.worker : std::string{});
  if (wants(stream_mode::tasks))
    emit(stream_mode::tasks, part);
  if (wants(stream_mode::debug))
    emit(stream_mode::debug, debug_part("task_result", at_.step, timestamp(), part));
}

void run_loop::close_step() {
  if (start_handlers())
    return launch_more();
  if (const auto* failed = step_.failed()) {
    progress_.upward = failed->upward.copy();
    return fail(*failed->failure);
  }
  if (step_.paused())
    return pause_with_questions();
  apply_step();
}

void run_loop::apply_step() {
  phase_.enter(run_phase::applying);
  const auto& tasks = step_.applied(plan());
  for (const auto& s : step_.slots)
    if (s.call)
      mark_called(state_, s.node->name);
  if (stored_ && shared_->config.durability == durability::exit)
    step_.before = state_;
  auto changes = apply_.begin(tasks);
  if (!changes)
    return refuse_step(changes.error());
  step_.unsettled = changes->size();
  step_.refused.reset();
  if (step_.unsettled == 0)
    return applied();
  for (auto& change : *changes) {
    auto channel = change.channel;
    host_.change(epoch_, change, state_.cells[channel]);
  }
}

void run_loop::settled(std::uint64_t epoch, channel_index channel, channel_cell cell,
                       bool changed) {
  if (epoch != epoch_ || !phase_.is(run_phase::applying))
    return;
  apply_.settle(channel, std::move(cell), changed);
  if (--step_.unsettled == 0)
    applied();
}

void run_loop::refused(std::uint64_t epoch, channel_index channel, const error& why) {
  if (epoch != epoch_ || !phase_.is(run_phase::applying))
    return;
  if (!step_.refused)
    step_.refused = refused_writes(plan(), step_.applied(plan()), channel, why);
  if (--step_.unsettled == 0)
    applied();
}

// Joins whose time-out has passed. A join waits since its first arrival or, after a restart, since
// the run resumed.
std::vector<channel_index> run_loop::joins_out_of_patience() {
  std::vector<channel_index> out;
  for (auto c : plan().patient) {
    const auto& cell = state_.cells[c];
    if (!cell.set || cell.finished || available(state_, c)) {
      progress_.waiting_since.erase(c);
      continue;
    }
    auto now = host_.now();
    auto since = progress_.waiting_since.try_emplace(c, now).first->second;
    if (now - since >= plan().channels[c].spec.patience)
      out.push_back(c);
  }
  return out;
}

// A step changes all channels or none.
void run_loop::refuse_step(error why) {
  if (step_.before)
    state_ = std::move(*step_.before);
  step_.before.reset();
  fail(std::move(why));
}

void run_loop::applied() {
  crash_point("step.applied");
  if (step_.refused)
    return refuse_step(*step_.refused);
  auto updated = apply_.finish(joins_out_of_patience());
  if (!updated)
    return refuse_step(updated.error());
  step_.before.reset();
  if (!at_.updated)
    at_.updated.emplace();
  at_.updated->assign(updated->begin(), updated->end());
  if (deltas_.active())
    note_deltas();
  bool wrote = std::any_of(step_.slots.begin(), step_.slots.end(), [this](const step_slot& s) {
    return std::any_of(s.writes.begin(), s.writes.end(),
                       [this](const task_write& w) { return shown_.has(w.channel); });
  });
  bool show_values = wrote && std::any_of(at_.updated->begin(), at_.updated->end(), [this](auto c) {
                       return shown_.has(c);
                     });
  if (show_values)
    emit_values();
  progress_.pending.clear();
  if (progress_.first_step)
    shared_->forget_answer(); // it was for the questions of this step
  progress_.answer_given = false;
  progress_.entry.replaying = false;
  put_checkpoint("loop", &*at_.updated);
  if (std::exchange(progress_.first_step, false)) {
    shared_->set_resuming(
      std::nullopt); // only the first step of a resumed run resumes its subgraphs
    progress_.input_order.clear();
  }
  if (may_go_on())
    return after_save();
  phase_.enter(run_phase::saving);
}

void run_loop::after_save() {
  phase_.enter(run_phase::running);
  const auto& after = breakpoints(false);
  if (!after.empty() && !step_.slots.empty()) {
    if (stops_at(state_, after, step_.ran())) {
      plan_slots();
      emit_checkpoint();
      return pause_at_breakpoint("interrupt_after");
    }
  }
  tick();
}

void run_loop::timed_out(std::uint64_t epoch) {
  if (epoch != epoch_ || !phase_.is(run_phase::running))
    return;
  if (step_.asked_to_end()) // those that still run are not waited for any more
    return fail(*step_.failed()->failure);
  std::string waiting;
  for (const auto& s : step_.slots)
    if (!s.ended && waiting.size() < 200)
      waiting += (waiting.empty() ? "`" : ", `") + s.node->name + "`";
  fail({errc::node_timeout, "step " + std::to_string(at_.step) + ": Timed out after "
                              + std::to_string(shared_->config.step_timeout.count())
                              + " ms: waiting for " + waiting});
}

void run_loop::out_of_time() {
  if (phase_.is(run_phase::idle) || phase_.is(run_phase::ending))
    return;
  fail({errc::node_timeout, "run of thread `" + shared_->config.thread_id + "`: Timed out after "
                              + std::to_string(shared_->config.run_timeout.count()) + " ms"});
}

void run_loop::abort(error why) {
  if (phase_.is(run_phase::idle))
    return;
  shared_->stop = true;
  if (step_.running > 0)
    host_.give_up_tasks();
  ++epoch_;
  bool exits = shared_->config.durability == durability::exit;
  bool cancelled = why.code() == errc::cancelled;
  progress_.outcome = std::move(why);
  if (!phase_.is(run_phase::ending) && stored_ && puts_to_rest(*progress_.outcome)
      && (cancelled || !exits)) {
    progress_.rests = true;
    if (step_.before) // the step has not been applied whole
      state_ = std::move(*step_.before);
    step_.before.reset();
    if (exits)
      save_exit();
    else
      submit({here(at_.checkpoint_id), {}, std::nullopt}, save_ack::accepted);
    // Neither is waited for: the saver may be what the run was cancelled for.
  }
  complete();
}

} // namespace troupe
