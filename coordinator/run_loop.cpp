// One super-step: plan, run, apply, save, and again.
#include "coordinator/run_loop.hpp"

#include "coordinator/message_writes.hpp"
#include "graph/crash_point.hpp"
#include "graph/names.hpp"

#include <algorithm>

namespace troupe {

namespace {

std::string describe_limit(std::uint32_t limit) {
  return "Recursion limit of " + std::to_string(limit)
         + " reached without hitting a stop condition: look for a loop without an end, or set "
           "run_config::recursion_limit or compile_options::recursion_limit";
}

// As the caller sees it: what is stored is the exception's own text.
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

bool ends_the_run(errc code) noexcept {
  return code == errc::graph_drained || code == errc::cancelled || code == errc::runtime_stopped
         || (code >= errc::checkpoint_missing && code <= errc::conflict)
         || code == errc::key_missing;
}

void run_loop::tick() {
  phase_ = phase::running;
  if (shared_->control.cancelled())
    return fail({errc::cancelled, "run of thread `" + shared_->config.thread_id + "`: cancelled"});
  plan_slots();
  emit_checkpoint();
  if (step_ > stop_)
    return fail({errc::graph_recursion, describe_limit(steps_max(shared_->config))});
  if (slots_.empty())
    return finish_normally();
  if (slots_.size() > limits::tasks_per_step_max)
    return fail({errc::overloaded, "plan a step: " + std::to_string(slots_.size())
                                     + " tasks, more than tasks_per_step_max"});
  if (!replaying_ && !pending_.tasks.empty())
    for (auto& s : slots_)
      if (const auto* known = pending_.find(s.plan.id)) {
        if (known->finished()) {
          s.writes = known->output;
          s.ended = true;
        } else if (known->handed_over && s.node->handler != no_index) {
          s.ended = true; // its handler takes over, it does not run again
          s.status = task_status::failed;
          s.failure = read_error(known->error, s.node->name);
        }
      }
  std::vector<planned_task> planned;
  if (!breakpoints(true).empty())
    for (const auto& s : slots_)
      planned.push_back(s.plan);
  if (stops_at(state_, breakpoints(true), planned))
    return pause_at_breakpoint("interrupt_before");
  if (shared_->control.drain_requested())
    return fail({errc::graph_drained, "Graph drained: " + shared_->control.reason()});
  if (shared_->sink && shared_->sink->gave_up())
    return fail({errc::graph_drained, "Graph drained: the reader of the stream lags"});
  open_step();
}

void run_loop::plan_slots() {
  auto tasks = plan_next_tasks(state_, context_now(), updated_ ? &*updated_ : nullptr);
  slots_.clear();
  for (auto& t : tasks) {
    auto& s = slots_.emplace_back();
    s.node = &plan().nodes[t.node];
    s.plan = std::move(t);
  }
}

void run_loop::open_step() {
  ++epoch_;
  next_slot_ = running_ = unfinished_ = 0;
  shared_->begin_step(checkpoint_id_);
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    auto& s = slots_[i];
    if (!s.ended) {
      s.scope = make_task(s, i);
      if (!take_cached(s))
        ++unfinished_;
    }
    emit_task_start(s);
  }
  for (const auto& s : slots_)
    if (s.ended && !s.failure && s.plan.node != 0)
      emit_cached_update(s);
  host_.step_opened(epoch_);
  if (unfinished_ == 0)
    return close_step();
  launch_more();
}

void run_loop::launch_more() {
  auto bound = shared_->config.max_concurrency;
  if (bound == 0 || bound > limits::tasks_in_flight_max)
    bound = limits::tasks_in_flight_max;
  bool alone = unfinished_ == 1;
  // A task that runs inline may close its step and plan, or end, what comes behind it.
  for (auto epoch = epoch_; epoch == epoch_ && phase_ == phase::running
                            && next_slot_ < slots_.size() && running_ < bound;) {
    auto& s = slots_[next_slot_++];
    if (s.ended || s.call) // a started task runs already
      continue;
    ++running_;
    host_.run(s.scope, alone);
  }
}

task_ptr run_loop::make_task(const slot& s, std::uint32_t place) {
  auto task = std::make_shared<detail::task_scope>();
  const auto& node = *s.node;
  task->run = shared_;
  task->node = s.node;
  task->index = s.plan.node;
  task->id = s.plan.id;
  task->slot = place;
  task->epoch = epoch_;
  task->step = step_;
  task->stop = stop_;
  task->sent = s.plan.push;
  task->checkpoint_ns = s.call ? s.caller_ns : shared_->ns;
  task->ns = namespace_of(s);
  task->timeout = s.plan.timeout ? *s.plan.timeout : node.timeout;
  give_input(*task, s);
  give_answers(*task);
  if (s.plan.node == 0)
    task->early = std::exchange(first_gotos_, {});
  task->metadata = detail::task_metadata(shared_->config.metadata, plan(), node);
  return task;
}

void run_loop::give_input(detail::task_scope& task, const slot& s) const {
  const auto& node = *task.node;
  const auto& channels = plan().channels;
  if (s.call) {
    task.call = s.call;
    task.input = state_view{s.call->arguments};
    task.whole = value::list({s.call->arguments, value::map()});
    return;
  }
  if (s.handles != no_index) {
    const auto& failed = slots_[s.handles];
    detail::task_scope seen;
    seen.node = failed.node;
    give_input(seen, failed);
    task.input = std::move(seen.input);
    task.whole = std::move(seen.whole);
    task.handled = std::make_shared<task_failure>(
      task_failure{failed.node->name, failed.failure.value_or(error{errc::node_failed, {}})});
  } else if (s.plan.push) {
    task.input = state_view{s.plan.arg};
    task.whole = s.plan.arg;
  } else if (s.plan.node == 0) {
    task.whole = state_.cells[plan().start].content;
    task.input_order = input_order_;
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

// The keys of the node's input schema, as the last step left them.
void run_loop::read_state(detail::task_scope& task) const {
  const auto& node = *task.node;
  const auto& channels = plan().channels;
  if (plan().single && node.reads.size() == 1) {
    task.whole = read_channel(channels[node.reads[0]].spec, state_.cells[node.reads[0]]);
    task.input = state_view{task.whole};
    return;
  }
  std::vector<state_view::entry> entries;
  entries.reserve(node.reads.size());
  for (auto c : node.reads) {
    const auto& spec = channels[c].spec;
    if (spec.kind == channel_kind::remaining_steps)
      entries.push_back({channels[c].name, value(stop_ - step_)});
    else if (spec.kind == channel_kind::is_last_step)
      entries.push_back({channels[c].name, value(step_ == stop_ - 1)});
    else if (channel_available(spec, state_.cells[c]))
      entries.push_back({channels[c].name, read_channel(spec, state_.cells[c])});
  }
  task.input = state_view{std::move(entries)};
  if (wants(stream_mode::tasks) || wants(stream_mode::debug))
    task.whole = task.input.to_value();
}

void run_loop::give_answers(detail::task_scope& task) const {
  if (const auto* known = pending_.find(task.id))
    task.answers = known->answers;
  if (shared_->answers.is_map())
    if (auto answer = find_answer(shared_->answers, task.ns, task.answers.size()))
      task.answers.push_back(std::move(*answer));
}

void run_loop::task_finished(const task_ptr& task) {
  if (task->epoch != epoch_ || phase_ != phase::running || slots_[task->slot].ended)
    return;
  crash_point("task.finished");
  auto& s = slots_[task->slot];
  if (deltas_.active())
    if (auto stamped = give_message_ids(plan(), task->writes); !stamped) {
      task->status = task_status::failed;
      task->failure = stamped.error();
    }
  record(s, *task);
  s.scope.reset();
  if (!s.call)
    --running_;
  --unfinished_;
  settle_call(s);
  if (ends_its_step(s))
    leave_rest_of_step();
  if (unfinished_ == 0)
    return close_step();
  launch_more();
}

// Whether the run will fail with it. The failure of a started task is first its caller's affair.
bool run_loop::ends_its_step(const slot& s) const {
  return s.status == task_status::failed && !bubbles(s) && !s.call && s.node->handler == no_index
         && !plan().options.finish_steps;
}

// Tasks that wait for their turn do not begin: they have nothing to store, and run on resume.
// Source: langgraph/pregel/_runner.py, _should_stop_others.
void run_loop::leave_rest_of_step() {
  for (; next_slot_ < slots_.size(); ++next_slot_) {
    auto& s = slots_[next_slot_];
    if (s.ended || s.call)
      continue;
    s.scope.reset();
    --unfinished_;
  }
}

void run_loop::task_lost(const task_ptr& task, const std::string& why) {
  task->status = task_status::failed;
  task->failure = error{errc::node_lost, "node `" + task->node->name + "`: its actor died: " + why};
  task_finished(task);
}

// What came of a task becomes writes to store, and parts to emit.
void run_loop::record(slot& s, detail::task_scope& task) {
  s.ended = true;
  s.status = task.status;
  s.failure = std::move(task.failure);
  s.questions = std::move(task.questions);
  s.upward = std::move(task.upward);
  s.worker = std::move(task.worker);
  if (task.status == task_status::done) {
    s.writes = std::move(task.writes);
    if (s.writes.empty())
      s.writes.push_back(write_to(names::no_writes, {}));
  }
  if (stored_) { // else nobody needs the list
    mark_answer_taken();
    keep_writes(s, writes_of(s, task));
  }
  if (!bubbles(s))
    report(s);
  if (task.status == task_status::done)
    keep_cached(s, task);
}

// Whether what ended the task is to end the run, and nothing to be stored of the task.
bool run_loop::bubbles(const slot& s) {
  return (s.failure && ends_the_run(s.failure->code()))
         || (s.status == task_status::interrupted && s.questions.empty());
}

task_write_list run_loop::writes_of(const slot& s, const detail::task_scope& task) const {
  task_write_list all;
  if (task.status == task_status::interrupted && !bubbles(s)) {
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
  if (task.status == task_status::failed && !bubbles(s)) {
    all.push_back(write_to(names::error, error_value(*s.failure)));
    if (s.node->handler != no_index)
      all.push_back(write_to(names::error_source, value(s.node->name)));
  }
  if (task.status == task_status::done)
    all.insert(all.end(), s.writes.begin(), s.writes.end());
  return all;
}

// The questions of a task that a body started are reported with that body, which asks them on.
void run_loop::report(const slot& s) {
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
    questions_.insert(questions_.end(), s.questions.begin(), s.questions.end());
    note_shown();
  } else if (s.status == task_status::done && s.plan.node != 0 && wants(stream_mode::updates)) {
    emit(stream_mode::updates,
         updates_part(s.node->name, update_payload(plan(), s.writes, shown_), false));
  }
  if (s.plan.node == 0 || s.status == task_status::parent_command
      || !(wants(stream_mode::tasks) || wants(stream_mode::debug)))
    return;
  auto part = task_result_part(*s.node, s.plan.id, s.failure ? error_value(*s.failure) : value{},
                               s.status == task_status::done ? result_map(plan(), s.writes)
                                                             : value::map(),
                               s.questions, s.worker);
  if (wants(stream_mode::tasks))
    emit(stream_mode::tasks, part);
  if (wants(stream_mode::debug))
    emit(stream_mode::debug, debug_part("task_result", step_, host_.timestamp(), part));
}

void run_loop::close_step() {
  if (start_handlers())
    return launch_more();
  const slot* failed = nullptr;
  for (const auto& s : slots_)
    if (s.failure && !s.handled && !s.call
        && (!failed
            || (failed->status == task_status::parent_command && s.status == task_status::failed)))
      failed = &s;
  if (failed) {
    upward_ = failed->upward;
    return fail(*failed->failure);
  }
  if (std::any_of(slots_.begin(), slots_.end(),
                  [](const slot& s) { return s.status == task_status::interrupted && !s.call; }))
    return pause_with_questions();
  apply_step();
}

const std::vector<const run_loop::slot*>& run_loop::in_task_order() {
  auto& order = ordered_;
  order.clear();
  for (const auto& s : slots_)
    if (!s.call)
      order.push_back(&s);
  auto base = [this](const slot* s) -> const planned_task& {
    return s->handles == no_index ? s->plan : slots_[s->handles].plan;
  };
  if (order.size() > 1)
    std::stable_sort(order.begin(), order.end(), [&](const slot* a, const slot* b) {
      return task_order{}(plan(), base(a), base(b));
    });
  return order;
}

const std::vector<applied_task>& run_loop::applied_tasks() {
  applied_.clear();
  for (const auto* s : in_task_order())
    applied_.push_back(
      {s->plan.push || s->handles != no_index ? applied_task::kind::push : applied_task::kind::pull,
       s->plan.node, &s->writes});
  return applied_;
}

void run_loop::apply_step() {
  phase_ = phase::applying;
  const auto& tasks = applied_tasks();
  for (const auto& s : slots_)
    if (s.call)
      mark_called(state_, s.node->name);
  if (stored_ && shared_->config.durability == durability::exit)
    before_ = state_;
  auto changes = apply_.begin(tasks);
  if (!changes)
    return refuse_step(changes.error());
  unsettled_ = changes->size();
  refused_.reset();
  if (unsettled_ == 0)
    return applied();
  for (auto& change : *changes) {
    auto channel = change.channel;
    host_.change(epoch_, std::move(change), state_.cells[channel]);
  }
}

void run_loop::settled(std::uint64_t epoch, channel_index channel, channel_cell cell,
                       bool changed) {
  if (epoch != epoch_ || phase_ != phase::applying)
    return;
  apply_.settle(channel, std::move(cell), changed);
  if (--unsettled_ == 0)
    applied();
}

void run_loop::refused(std::uint64_t epoch, channel_index channel, const error& why) {
  if (epoch != epoch_ || phase_ != phase::applying)
    return;
  if (!refused_)
    refused_ = refused_writes(plan(), applied_, channel, why);
  if (--unsettled_ == 0)
    applied();
}

// A join with a time-out has waited since its first arrival; after a restart, since it went on.
std::vector<channel_index> run_loop::joins_out_of_patience() {
  std::vector<channel_index> out;
  for (auto c : plan().patient) {
    const auto& cell = state_.cells[c];
    if (!cell.set || cell.finished || available(state_, c)) {
      waiting_since_.erase(c);
      continue;
    }
    auto now = host_.now();
    auto since = waiting_since_.try_emplace(c, now).first->second;
    if (now - since >= plan().channels[c].spec.patience)
      out.push_back(c);
  }
  return out;
}

// A step changes all channels or none.
void run_loop::refuse_step(error why) {
  if (before_)
    state_ = std::move(*before_);
  before_.reset();
  fail(std::move(why));
}

void run_loop::applied() {
  crash_point("step.applied");
  if (refused_)
    return refuse_step(*refused_);
  before_.reset();
  updated_ = apply_.finish(joins_out_of_patience());
  if (deltas_.active())
    note_deltas();
  bool wrote = std::any_of(slots_.begin(), slots_.end(), [this](const slot& s) {
    return std::any_of(s.writes.begin(), s.writes.end(),
                       [this](const task_write& w) { return shown_.has(w.channel); });
  });
  bool show_values = wrote && std::any_of(updated_->begin(), updated_->end(), [this](auto c) {
                       return shown_.has(c);
                     });
  if (show_values)
    emit_values();
  pending_ = {};
  shared_->forget_answer(); // it was for the questions of this step
  answer_given_ = false;
  replaying_ = false;
  put_checkpoint("loop", &*updated_);
  if (std::exchange(first_step_, false)) {
    shared_->set_resuming(
      std::nullopt); // only the first step of a resumed run resumes its subgraphs
    input_order_.clear();
  }
  if (may_go_on())
    return after_save();
  phase_ = phase::saving;
}

void run_loop::after_save() {
  phase_ = phase::running;
  const auto& after = breakpoints(false);
  if (!after.empty() && !slots_.empty()) {
    std::vector<planned_task> ran;
    for (const auto& s : slots_)
      if (!s.call)
        ran.push_back(s.plan);
    if (stops_at(state_, after, ran)) {
      plan_slots();
      emit_checkpoint();
      return pause_at_breakpoint("interrupt_after");
    }
  }
  tick();
}

void run_loop::timed_out(std::uint64_t epoch) {
  if (epoch != epoch_ || phase_ != phase::running)
    return;
  std::string waiting;
  for (const auto& s : slots_)
    if (!s.ended && s.scope && waiting.size() < 200)
      waiting += (waiting.empty() ? "`" : ", `") + s.node->name + "`";
  fail({errc::node_timeout, "step " + std::to_string(step_) + ": Timed out after "
                              + std::to_string(shared_->config.step_timeout.count())
                              + " ms: waiting for " + waiting});
}

void run_loop::out_of_time() {
  if (phase_ == phase::idle || phase_ == phase::ending)
    return;
  fail({errc::node_timeout, "run of thread `" + shared_->config.thread_id + "`: Timed out after "
                              + std::to_string(shared_->config.run_timeout.count()) + " ms"});
}

void run_loop::abort(error why) {
  if (phase_ == phase::idle)
    return;
  shared_->stop = true;
  if (running_ > 0)
    host_.give_up_tasks();
  ++epoch_;
  outcome_ = std::move(why);
  if (phase_ != phase::ending && stored_ && puts_to_rest(*outcome_)
      && shared_->config.durability != durability::exit) {
    rests_ = true;
    submit({here(checkpoint_id_), {}, std::nullopt}, save_ack::accepted); // not waited for
  }
  complete();
}

} // namespace troupe
