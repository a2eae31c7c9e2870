// One super-step: plan, run, apply, save, and again.
#include "coordinator/run_loop.hpp"

#include "graph/names.hpp"

#include <algorithm>

namespace troupe {

namespace {

std::string describe_limit(std::uint32_t limit) {
  return "Recursion limit of " + std::to_string(limit)
         + " reached without hitting a stop condition. You can increase the limit by setting the "
           "`recursion_limit` config key.\nFor troubleshooting, visit: "
           "https://docs.langchain.com/oss/python/langgraph/errors/GRAPH_RECURSION_LIMIT";
}

} // namespace

void run_loop::tick() {
  phase_ = phase::running;
  if (shared_->control.cancelled())
    return fail({errc::cancelled, "run of thread `" + shared_->config.thread_id + "`: cancelled"});
  auto tasks = plan_next_tasks(state_, context_now(), updated_ ? &*updated_ : nullptr);
  slots_.clear();
  slots_.reserve(tasks.size());
  for (auto& t : tasks)
    slots_.push_back({.plan = std::move(t)});
  emit_checkpoint();
  if (step_ > stop_)
    return fail({errc::graph_recursion, describe_limit(shared_->config.recursion_limit)});
  if (slots_.empty())
    return finish_normally();
  if (slots_.size() > limits::tasks_per_step_max)
    return fail({errc::overloaded, "plan a step: " + std::to_string(slots_.size())
                                     + " tasks, more than tasks_per_step_max"});
  if (!replaying_)
    for (auto& s : slots_)
      if (const auto* known = pending_.find(s.plan.id); known && known->finished()) {
        s.writes = known->output;
        s.ended = true;
      }
  std::vector<planned_task> planned;
  if (!breakpoints(true).empty())
    for (const auto& s : slots_)
      planned.push_back(s.plan);
  if (stops_at(state_, breakpoints(true), planned))
    return pause_at_breakpoint();
  if (shared_->control.drain_requested())
    return fail({errc::graph_drained, "Graph drained: " + shared_->control.reason()});
  open_step();
}

void run_loop::open_step() {
  ++epoch_;
  next_slot_ = running_ = unfinished_ = 0;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    auto& s = slots_[i];
    if (!s.ended) {
      s.scope = make_task(s.plan, i);
      ++unfinished_;
    }
    emit_task_start(s);
  }
  for (const auto& s : slots_)
    if (s.ended && s.plan.node != 0 && wants(stream_mode::updates))
      emit(stream_mode::updates, updates_part(plan().nodes[s.plan.node].name,
                                              update_payload(plan(), s.writes, keys_), true));
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
  while (next_slot_ < slots_.size() && running_ < bound) {
    auto& s = slots_[next_slot_++];
    if (s.ended)
      continue;
    ++running_;
    host_.run(s.scope, alone);
  }
}

task_ptr run_loop::make_task(const planned_task& planned, std::uint32_t slot) {
  auto task = std::make_shared<detail::task_scope>();
  const auto& node = plan().nodes[planned.node];
  task->run = shared_;
  task->node = &node;
  task->id = planned.id;
  task->slot = slot;
  task->epoch = epoch_;
  task->step = step_;
  task->stop = stop_;
  task->ns = task_namespace("", node.name, planned.id);
  give_input(*task, planned);
  give_answers(*task);
  task->metadata = shared_->config.metadata;
  if (node.metadata.is_map()) {
    if (!task->metadata.is_map())
      task->metadata = value::map();
    for (const auto& e : node.metadata.entries())
      task->metadata = task->metadata.with(e.key(), e.val);
  }
  return task;
}

void run_loop::give_input(detail::task_scope& task, const planned_task& planned) const {
  const auto& node = *task.node;
  const auto& channels = plan().channels;
  bool shown = wants(stream_mode::tasks) || wants(stream_mode::debug);
  if (planned.push) {
    task.input = state_view{planned.arg};
    task.whole = planned.arg;
  } else if (planned.node == 0) {
    task.whole = state_.cells[plan().start].content;
  } else if (plan().single && node.reads.size() == 1) {
    task.whole = read_channel(channels[node.reads[0]].spec, state_.cells[node.reads[0]]);
    task.input = state_view{task.whole};
  } else {
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
    if (shown)
      task.whole = task.input.to_value();
  }
  auto add_cell = [&](channel_index c) {
    if (!channels[c].spec.managed()
        && std::none_of(task.route_cells.begin(), task.route_cells.end(),
                        [c](const auto& e) { return e.first == c; }))
      task.route_cells.emplace_back(c, state_.cells[c]);
  };
  for (const auto& route : node.routes)
    for (auto c : route.reads ? *route.reads : planned.node == 0 ? plan().stream_keys : node.reads)
      add_cell(c);
}

void run_loop::give_answers(detail::task_scope& task) const {
  if (const auto* known = pending_.find(task.id))
    task.answers = known->answers;
  if (answers_.is_map())
    if (auto answer = find_answer(answers_, task.ns, task.answers.size()))
      task.answers.push_back(std::move(*answer));
}

void run_loop::task_finished(const task_ptr& task) {
  if (task->epoch != epoch_ || phase_ != phase::running || slots_[task->slot].ended)
    return;
  auto& s = slots_[task->slot];
  record(s, *task);
  s.scope.reset();
  --running_;
  --unfinished_;
  if (unfinished_ == 0)
    return close_step();
  launch_more();
}

void run_loop::task_lost(const task_ptr& task, const std::string& why) {
  task->status = task_status::failed;
  task->failure = error{errc::node_lost, "node `" + task->node->name + "`: its actor died: " + why};
  task_finished(task);
}

// What came of a task becomes writes to store, and parts to emit.
void run_loop::record(slot& s, const detail::task_scope& task) {
  s.ended = true;
  s.status = task.status;
  s.failure = task.failure;
  s.question = task.question;
  task_write_list all;
  if (task.status == task_status::interrupted)
    all.push_back(write_to(names::interrupt, value::list({value::of(*s.question)})));
  if (task.answered > 0 && task.status != task_status::parent_command)
    all.push_back(
      write_to(names::resume,
               value::list({task.answers.begin(),
                            task.answers.begin() + static_cast<std::ptrdiff_t>(task.answered)})));
  if (task.status == task_status::failed)
    all.push_back(write_to(names::error, error_value(*s.failure)));
  if (task.status == task_status::done) {
    s.writes = task.writes;
    if (s.writes.empty())
      s.writes.push_back(write_to(names::no_writes, {}));
    all.insert(all.end(), s.writes.begin(), s.writes.end());
  }
  keep_writes(s.plan, all);
  report(s);
}

void run_loop::report(const slot& s) {
  const auto& node = plan().nodes[s.plan.node];
  if (s.status == task_status::interrupted) {
    questions_.push_back(*s.question);
    auto part = interrupts_part({*s.question});
    if (wants(stream_mode::updates))
      emit(stream_mode::updates, part);
    if (wants(stream_mode::values)) {
      auto now = read_output(state_, keys_);
      for (const auto& e : now.entries())
        part = part.with(e.key(), e.val);
      emit(stream_mode::values, part);
    }
    values_shown_ = true;
  } else if (s.status == task_status::done && s.plan.node != 0 && wants(stream_mode::updates)) {
    emit(stream_mode::updates,
         updates_part(node.name, update_payload(plan(), s.writes, keys_), false));
  }
  if (s.plan.node == 0 || s.status == task_status::parent_command
      || !(wants(stream_mode::tasks) || wants(stream_mode::debug)))
    return;
  auto part = task_result_part(node, s.plan.id, s.failure ? error_value(*s.failure) : value{},
                               s.status == task_status::done ? result_payload(plan(), s.writes)
                                                             : value::map(),
                               s.question ? std::vector{*s.question} : std::vector<interrupt>{});
  if (wants(stream_mode::tasks))
    emit(stream_mode::tasks, part);
  if (wants(stream_mode::debug))
    emit(stream_mode::debug, debug_part("task_result", step_, host_.timestamp(), part));
}

void run_loop::close_step() {
  const slot* failed = nullptr;
  for (const auto& s : slots_)
    if (s.failure
        && (!failed
            || (failed->status == task_status::parent_command && s.status == task_status::failed)))
      failed = &s;
  if (failed)
    return fail(*failed->failure);
  if (std::any_of(slots_.begin(), slots_.end(),
                  [](const slot& s) { return s.status == task_status::interrupted; }))
    return pause_with_questions();
  apply_step();
}

void run_loop::apply_step() {
  phase_ = phase::applying;
  std::vector<const slot*> order;
  order.reserve(slots_.size());
  for (const auto& s : slots_)
    order.push_back(&s);
  if (order.size() > 1)
    std::stable_sort(order.begin(), order.end(), [this](const slot* a, const slot* b) {
      return task_order{}(plan(), a->plan, b->plan);
    });
  std::vector<applied_task> tasks;
  tasks.reserve(order.size());
  for (const auto* s : order)
    tasks.push_back({s->plan.push ? applied_task::kind::push : applied_task::kind::pull,
                     s->plan.node, &s->writes});
  apply_.emplace(state_, true);
  auto changes = apply_->begin(tasks);
  if (!changes)
    return fail(changes.error());
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
  apply_->settle(channel, std::move(cell), changed);
  if (--unsettled_ == 0)
    applied();
}

void run_loop::refused(std::uint64_t epoch, error why) {
  if (epoch != epoch_ || phase_ != phase::applying)
    return;
  if (!refused_)
    refused_ = std::move(why);
  if (--unsettled_ == 0)
    applied();
}

void run_loop::applied() {
  if (refused_)
    return fail(*refused_);
  updated_ = apply_->finish();
  auto shown = [this](channel_index c) {
    return std::find(keys_.begin(), keys_.end(), c) != keys_.end();
  };
  bool wrote = std::any_of(slots_.begin(), slots_.end(), [&shown](const slot& s) {
    return std::any_of(s.writes.begin(), s.writes.end(), [&shown](const task_write& w) {
      return w.channel != no_index && shown(w.channel);
    });
  });
  bool show_values = wrote && std::any_of(updated_->begin(), updated_->end(), shown);
  if (show_values)
    emit_values();
  pending_ = {};
  answers_ = {};
  replaying_ = false;
  put_checkpoint("loop", &*updated_);
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
      ran.push_back(s.plan);
    if (stops_at(state_, after, ran)) {
      slots_.clear();
      for (auto& t : plan_next_tasks(state_, context_now(), updated_ ? &*updated_ : nullptr))
        slots_.push_back({.plan = std::move(t)});
      emit_checkpoint();
      return pause_at_breakpoint();
    }
  }
  tick();
}

void run_loop::timed_out(std::uint64_t epoch) {
  if (epoch != epoch_ || phase_ != phase::running)
    return;
  std::string waiting;
  for (const auto& s : slots_)
    if (!s.ended && waiting.size() < 200)
      waiting += (waiting.empty() ? "`" : ", `") + plan().nodes[s.plan.node].name + "`";
  fail({errc::node_timeout, "step " + std::to_string(step_) + ": Timed out after "
                              + std::to_string(shared_->config.step_timeout.count())
                              + " ms: waiting for " + waiting});
}

void run_loop::abort(error why) {
  if (phase_ == phase::idle)
    return;
  shared_->stop = true;
  ++epoch_;
  outcome_ = std::move(why);
  complete();
}

} // namespace troupe
