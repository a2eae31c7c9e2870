// The parts of a task that more than one thread may touch, and its next attempt.
#include "tasks/task_scope.hpp"

#include "graph/checkpoint_ns.hpp"

#include <algorithm>
#include <random>

namespace troupe {

namespace detail {

void task_scope::sign_of_life() noexcept {
  if (timeout.idle_timeout.count() != 0 && timeout.refresh_on == refresh_on::auto_)
    progress_ns.store(std::chrono::steady_clock::now().time_since_epoch().count(),
                      std::memory_order_relaxed);
}

const std::string& task_scope::id() const {
  std::lock_guard lock{mutex_};
  if (id_.empty()) {
    const auto checkpoint = run->open_checkpoint();
    const plan_context at{checkpoint, run->ns, step};
    id_ = sent ? sent_task_id(at, node->name, sent_index) : pulled_task_id(at, *run->plan, *node);
  }
  return id_;
}

const std::string& task_scope::ns() const {
  const auto& own = id();
  std::lock_guard lock{mutex_};
  if (ns_.empty())
    ns_ = task_namespace(checkpoint_ns(), node->name, own);
  return ns_;
}

void task_scope::identify(std::string_view id, std::string ns) {
  id_ = id;
  ns_ = std::move(ns);
}

// Most tasks leave most members as they are, so looking comes before clearing. A new member needs a
// line here. The run stays, since the next task is mostly one of it.
void task_scope::renew() {
  node = nullptr;
  index = no_index;
  slot = sent_index = child = 0;
  epoch = 0;
  step = stop = 0;
  spread = sent = for_home = may_block = admitted = false;
  input = state_view{std::move(input).take_entries()};
  whole = {};
  route_cells.clear();
  metadata = {};
  answers.clear();
  timeout = {};
  handled.reset();
  previous = {};
  call.reset();
  input_order.clear();
  attempt = 1;
  for (auto* flag : {&given_up, &learned_to_end, &should_end, &left_to_ask})
    flag->store(false, std::memory_order_relaxed);
  first_attempt = {};
  began = {};
  started_ns = 0;
  host = nullptr;
  progress_ns.store(0, std::memory_order_relaxed);
  id_.clear();
  ns_.clear();
  checkpoint_ns_.clear();
  status = task_status::done;
  graphs = calls = 0;
  writes.clear();
  early.clear();
  failure.reset();
  questions.clear();
  upward.reset();
  asked = answered = 0;
  took = {};
  worker.clear();
  if (stop_inner_)
    stop_inner_ = nullptr;
  stops_.clear();
}

void task_scope::inner_runs(std::function<void()> stop) {
  {
    std::lock_guard lock{mutex_};
    stop_inner_ = std::move(stop);
    if (!given_up || !stop_inner_)
      return;
  }
  stop_inner();
}

void task_scope::stop_inner() {
  std::function<void()> stop;
  std::vector<std::pair<const void*, std::function<void()>>> stops;
  {
    std::lock_guard lock{mutex_};
    stop.swap(stop_inner_);
    stops.swap(stops_);
  }
  if (stop)
    stop();
  for (const auto& [who, stop_it] : stops)
    stop_it();
}

void task_scope::when_given_up(const void* who, std::function<void()> stop) {
  {
    std::lock_guard lock{mutex_};
    if (!given_up) {
      stops_.emplace_back(who, std::move(stop));
      return;
    }
  }
  stop();
}

void task_scope::forget(const void* who) {
  std::function<void()> dropped; // destroyed after the lock is released: it may be the last
                                 // reference to something
  std::lock_guard lock{mutex_};
  auto it = std::ranges::find(stops_, who, [](const auto& stop) { return stop.first; });
  if (it == stops_.end())
    return;
  dropped.swap(it->second);
  std::swap(*it, stops_.back());
  stops_.pop_back();
}

value metadata_over(const value& below, const value& above) {
  if (!above.is_map())
    return below;
  value out = below.is_map() ? below : value::map();
  for (const auto& e : above.entries())
    out = out.with(e.key(), e.val);
  return out;
}

value task_metadata(const value& of_run, const graph_plan& plan, const plan_node& node) {
  return metadata_over(metadata_over(plan.options.metadata, of_run), node.settings->metadata);
}

} // namespace detail

void stream_from_body(const detail::task_scope& task, stream_part part) {
  const auto& run = *task.run;
  if (may_wait(task))
    run.sink->wait_for_room();
  run.sink->emit_custom(std::move(part));
}

task_ptr next_attempt(const detail::task_scope& failed) {
  auto next = std::make_shared<detail::task_scope>();
  next->run = failed.run;
  next->node = failed.node;
  next->index = failed.index;
  next->identify(failed.id(), failed.ns());
  next->set_checkpoint_ns(failed.checkpoint_ns());
  next->slot = failed.slot;
  next->child = failed.child;
  next->epoch = failed.epoch;
  next->step = failed.step;
  next->stop = failed.stop;
  next->spread = failed.spread;
  next->sent = failed.sent;
  next->sent_index = failed.sent_index;
  next->for_home = failed.for_home;
  next->input = failed.input;
  next->whole = failed.whole;
  next->route_cells = failed.route_cells;
  next->metadata = failed.metadata;
  next->answers = failed.answers;
  next->timeout = failed.timeout;
  next->handled = failed.handled;
  next->previous = failed.previous;
  next->call = failed.call;
  next->input_order = failed.input_order;
  next->attempt = failed.attempt + 1;
  next->first_attempt = failed.first_attempt;
  next->should_end = failed.should_end.load(std::memory_order_relaxed);
  return next;
}

bool run_shared::given_up() const noexcept {
  return stop.load(std::memory_order_relaxed) || control.cancelled() || (caller && caller->over());
}

std::optional<error> run_shared::why_no_failure_counts() const {
  if (control.cancelled())
    return error{errc::cancelled, "run: cancelled"};
  if (lease && !lease->may_begin())
    return lease->not_begun("run of thread `" + config.thread_id + '`');
  return std::nullopt;
}

std::optional<value> run_shared::take_answer() {
  {
    std::lock_guard lock{mutex_};
    answer_waits_.store(false, std::memory_order_relaxed);
    if (answer_)
      return std::exchange(answer_, std::nullopt);
  }
  return above ? above->take_answer() : std::nullopt;
}

const std::string& run_shared::run_id() {
  if (above)
    return above->run_id();
  if (!config.run_id.empty())
    return config.run_id;
  std::lock_guard lock{mutex_};
  if (made_id_.empty()) {
    thread_local std::unique_ptr<std::random_device> random; // slow to open, and large
    if (!random)
      random = std::make_unique<std::random_device>();
    auto half = [] { return std::uint64_t{(*random)()} << 32 | (*random)(); };
    made_id_ = uuid4(half(), half());
  }
  return made_id_;
}

void run_shared::give_answer(value answer) {
  std::lock_guard lock{mutex_};
  answer_ = std::move(answer);
  answer_waits_.store(true, std::memory_order_relaxed);
}

void run_shared::begin_step(std::int64_t step, const std::string& from_checkpoint) {
  if (from_checkpoint.empty()) // so without a saver a step begins without the lock
    return step_.store(step, std::memory_order_relaxed);
  std::lock_guard lock{mutex_};
  step_.store(step, std::memory_order_relaxed);
  named_step_ = step;
  checkpoint_id_ = from_checkpoint;
}

const std::string& run_shared::name_checkpoint() {
  auto step = step_.load(std::memory_order_relaxed);
  if (named_step_ == step)
    return checkpoint_id_;
  named_step_ = step;
  checkpoint_id_.clear();
  if (graphs)
    saw_id(graphs->next_checkpoint_id(step - 1, newest_id(), checkpoint_id_));
  return checkpoint_id_;
}

std::string run_shared::open_checkpoint() {
  std::lock_guard lock{mutex_};
  return name_checkpoint();
}

void run_shared::saw_id(std::uint64_t ticks) noexcept {
  auto& newest = root().newest_id_;
  auto known = newest.load();
  while (known < ticks && !newest.compare_exchange_weak(known, ticks)) {}
}

run_shared::step_facts run_shared::open_step() {
  std::lock_guard lock{mutex_};
  return {name_checkpoint(), resuming.load(std::memory_order_relaxed)};
}

void run_shared::forget_answer() {
  if (!answer_waits())
    return;
  std::lock_guard lock{mutex_};
  answer_waits_.store(false, std::memory_order_relaxed);
  answer_.reset();
}

bool part_sink::streamed_before(const std::string& message_id) {
  std::lock_guard lock{mutex_};
  return !messages_.insert(message_id).second;
}

bool replay_bound::first_visit(const std::string& checkpoint_ns) {
  std::lock_guard lock{mutex_};
  return visited_.insert(checkpoint_ns.substr(0, checkpoint_ns.rfind(':'))).second;
}

} // namespace troupe
