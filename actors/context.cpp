// What a body sees of its run.
#include <troupe/context.hpp>

#include "actors/task_scope.hpp"
#include "graph/task_id.hpp"

namespace troupe {

namespace detail {

suspension sleep(task_scope& scope, std::chrono::nanoseconds delay) {
  return {scope, [delay](task_scope& s, std::coroutine_handle<> body) { s.sleep(delay, body); }};
}

suspension run_blocking(task_scope& scope, std::function<void()> job) {
  return {scope, [job = std::move(job)](task_scope& s, std::coroutine_handle<> body) {
            s.blocking(job, body);
          }};
}

} // namespace detail

value context::interrupt(const value& question, const value& response_schema) {
  auto& task = *scope_;
  auto asked = task.asked++;
  if (asked >= task.answers.size()) {
    auto answer = task.run->take_answer();
    if (!answer)
      throw node_interrupted{
        {interrupt_id(task.ns, task.answers.size()), question, response_schema}};
    task.answers.push_back(std::move(*answer));
  }
  task.answered = asked + 1;
  return task.answers[asked];
}

void context::write(const value& part) {
  if (scope_->run->wants(stream_mode::custom))
    scope_->run->sink->emit_custom({stream_mode::custom, {}, part, 0});
}

void context::request_drain(std::string reason) {
  scope_->run->control.request_drain(std::move(reason));
}

bool context::stop_requested() const noexcept {
  return scope_->run->stop.load(std::memory_order_relaxed) || scope_->run->control.cancelled();
}

const std::string& context::thread_id() const noexcept {
  return scope_->run->config.thread_id;
}
const std::string& context::node() const noexcept {
  return scope_->node->name;
}
const std::string& context::task_id() const noexcept {
  return scope_->id;
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
const value& context::metadata() const noexcept {
  return scope_->metadata;
}

run_control::run_control() : state_{std::make_shared<state>()} {}

void run_control::request_drain(std::string reason) {
  std::lock_guard lock{state_->mutex};
  if (!state_->drain.exchange(true))
    state_->reason = std::move(reason);
}

void run_control::cancel() {
  state_->cancel = true;
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
