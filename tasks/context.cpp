// The context: a body's view of its run.
#include <troupe/context.hpp>

#include "graph/checkpoint_ns.hpp"
#include "graph/task_id.hpp"
#include "tasks/execute_body.hpp"
#include "tasks/task_scope.hpp"

#include <atomic>

namespace troupe {

namespace detail {

suspension sleep(task_scope& scope, std::chrono::nanoseconds delay) {
  return {scope,
          [delay](task_scope& s, std::coroutine_handle<> body) { s.host->sleep(delay, body); }};
}

suspension run_blocking(task_scope& scope, std::function<void()> job) {
  return {scope, [job = std::move(job)](task_scope& s, std::coroutine_handle<> body) {
            s.host->block(
              [&s, job] {
                blocking_job_of job_of{s};
                job();
              },
              body);
          }};
}

} // namespace detail

value context::interrupt(const value& question, const value& response_schema) {
  auto& task = *scope_;
  auto asked = task.asked++;
  if (asked >= task.answers.size()) {
    auto answer = task.run->take_answer();
    if (!answer)
      leave_to_ask(task,
                   {{interrupt_id(task.ns(), task.answers.size()), question, response_schema}});
    task.answers.push_back(std::move(*answer));
  }
  task.answered = asked + 1;
  return task.answers[asked];
}

void context::refuse_answer(const std::string& why) {
  --scope_->answered; // the answer is not kept, so that the question can be answered again
  throw error{errc::invalid_resume,
              "node `" + scope_->node->name + "`: the answer to its question does not fit: " + why};
}

void context::write(const value& part) {
  scope_->sign_of_life();
  if (!scope_->over() && scope_->run->wants(stream_mode::custom))
    stream_from_body(*scope_,
                     {stream_mode::custom,
                      scope_->run->config.subgraphs ? split_namespace(scope_->checkpoint_ns())
                                                    : std::vector<std::string>{},
                      part, 0});
}

bool context::is_streaming(stream_mode mode) const noexcept {
  return scope_->run->wants(mode);
}

state_view context::graph_state() const {
  if (!scope_->sent)
    return scope_->input;
  std::vector<state_view::entry> entries;
  if (scope_->node->graph_state)
    for (const auto& [c, cell] : scope_->route_cells)
      if (const auto& channel = scope_->run->plan->channels[c];
          channel_available(channel.spec, cell))
        entries.push_back({channel.name, read_channel(channel.spec, cell)});
  return state_view{std::move(entries)};
}

void context::heartbeat() noexcept {
  scope_->progress_ns.store(std::chrono::steady_clock::now().time_since_epoch().count(),
                            std::memory_order_relaxed);
}

std::uint32_t context::node_attempt() const noexcept {
  return scope_->attempt;
}
std::chrono::system_clock::time_point context::node_first_attempt_time() const noexcept {
  using std::chrono::steady_clock, std::chrono::system_clock;
  auto& first = scope_->first_attempt;
  if (first.time_since_epoch().count() == 0) // this is the only attempt
    first =
      system_clock::now()
      - std::chrono::duration_cast<system_clock::duration>(steady_clock::now() - scope_->began);
  return first;
}
const task_failure* context::failure() const noexcept {
  return scope_->handled.get();
}
store* context::store() const noexcept {
  return scope_->run->memory;
}
const value& context::previous() const noexcept {
  return scope_->previous;
}
const std::string& context::checkpoint_ns() const noexcept {
  return scope_->ns();
}
std::string context::checkpoint_id() const {
  return scope_->run->open_checkpoint();
}

void context::request_drain(std::string reason) {
  scope_->run->control.request_drain(std::move(reason));
}

bool context::stop_requested() const noexcept {
  for (auto* task = scope_; task; task = task->run->caller.get())
    if (task->should_end.load(std::memory_order_relaxed)) {
      task->learned_to_end.store(true, std::memory_order_relaxed);
      return true;
    }
  return scope_->over();
}

const std::string& context::thread_id() const noexcept {
  return scope_->run->config.thread_id;
}
const std::string& context::node() const noexcept {
  return scope_->node->name;
}
const std::string& context::task_id() const noexcept {
  return scope_->id();
}
std::int64_t context::step() const noexcept {
  return scope_->step;
}
std::int64_t context::remaining_steps() const noexcept {
  return scope_->stop - scope_->step;
}
bool context::is_last_step() const noexcept {
  return scope_->step == scope_->stop - 1;
}
const value& context::run_context() const noexcept {
  return scope_->run->config.context;
}
const value& context::configurable() const noexcept {
  return scope_->run->config.configurable;
}
const std::string& context::run_id() const {
  return scope_->run->run_id();
}
run_config context::config() const {
  const auto& run = *scope_->run;
  run_config out;
  out.thread_id = run.config.thread_id;
  out.checkpoint_id = checkpoint_id();
  out.checkpoint_ns = scope_->ns();
  out.durability = run.config.durability;
  out.store_history = run.config.store_history;
  out.recursion_limit = steps_max(run.config);
  out.max_concurrency = run.config.max_concurrency;
  out.tags = run.config.tags;
  out.run_name = run.config.run_name.empty() ? run.plan->options.name : run.config.run_name;
  out.run_id = run_id();
  out.metadata = scope_->metadata;
  out.configurable = run.config.configurable;
  out.context = run.config.context;
  return out;
}
const value& context::metadata() const noexcept {
  return scope_->metadata;
}

run_control::run_control() : state_{std::make_shared<state>()} {}

void run_control::request_drain(std::string reason) {
  std::lock_guard lock{state_->mutex};
  bool first = !state_->drain.exchange(true);
  if (std::exchange(state_->leaves, false) || first)
    state_->reason = std::move(reason);
}

void run_control::cancel() {
  std::lock_guard lock{state_->mutex};
  if (!state_->cancel.exchange(true))
    for (const auto& [run, stop] : state_->on_cancel)
      stop();
}

void control_hooks::add(run_control& control, const void* run, std::function<void()> on_cancel) {
  std::lock_guard lock{control.state_->mutex};
  control.state_->on_cancel.emplace(run, std::move(on_cancel));
}

void control_hooks::leave(run_control& control, std::string reason) {
  std::lock_guard lock{control.state_->mutex};
  if (control.state_->drain.exchange(true))
    return;
  control.state_->leaves = true;
  control.state_->reason = std::move(reason);
}

bool control_hooks::leaves(const run_control& control) {
  std::lock_guard lock{control.state_->mutex};
  return control.state_->leaves;
}

void control_hooks::set_gate(run_control& control, std::shared_ptr<begin_gate> gate) {
  std::lock_guard lock{control.state_->mutex};
  control.state_->gate = std::move(gate);
}

std::shared_ptr<begin_gate> control_hooks::gate(const run_control& control) {
  std::lock_guard lock{control.state_->mutex};
  return control.state_->gate;
}

void control_hooks::remove(run_control& control, const void* run) {
  std::lock_guard lock{control.state_->mutex};
  control.state_->on_cancel.erase(run);
}
bool run_control::drain_requested() const noexcept {
  return state_->drain;
}
bool run_control::cancelled() const noexcept {
  return state_->cancel;
}

std::string run_control::reason() const {
  std::lock_guard lock{state_->mutex};
  return state_->reason;
}

} // namespace troupe
