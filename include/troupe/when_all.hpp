// when_all: awaits several coroutines at once within one body.
#pragma once

#include <troupe/coro.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

namespace detail {

/// The number of branches that still run, and the coroutine that resumes after the last one.
struct branch_join {
  std::size_t left = 0;
  std::coroutine_handle<> waiting = nullptr;
};

/// A coroutine that no coroutine awaits; the last branch of a join resumes the waiting coroutine.
class branch {
public:
  struct promise_type {
    branch_join* ends = nullptr;

    struct final_awaiter {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<>
      await_suspend(std::coroutine_handle<promise_type> done) const noexcept {
        auto* all = done.promise().ends;
        return --all->left == 0 && all->waiting ? all->waiting : std::noop_coroutine();
      }
      void await_resume() const noexcept {}
    };

    branch get_return_object() noexcept {
      return branch{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    final_awaiter final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept {} // the body catches all
  };

  explicit branch(std::coroutine_handle<promise_type> h) noexcept : handle_{h} {}
  branch(branch&& other) noexcept : handle_{std::exchange(other.handle_, nullptr)} {}
  branch& operator=(branch&&) = delete;
  ~branch() {
    if (handle_)
      handle_.destroy();
  }

  void start(branch_join& join) {
    handle_.promise().ends = &join;
    handle_.resume();
  }

private:
  std::coroutine_handle<promise_type> handle_;
};

/// Suspends until the branches of a join have ended.
class join_awaiter {
public:
  explicit join_awaiter(branch_join& join) noexcept : join_{&join} {}
  bool await_ready() const noexcept { return join_->left == 0; }
  void await_suspend(std::coroutine_handle<> body) const noexcept { join_->waiting = body; }
  void await_resume() const noexcept {}

private:
  branch_join* join_;
};

template <class T> struct branch_outcome {
  std::optional<T> answer;
  std::exception_ptr failure;
};

template <class T> branch run_branch(coro<T>& part, branch_outcome<T>& outcome) {
  try {
    outcome.answer.emplace(co_await part);
  } catch (...) {
    outcome.failure = std::current_exception();
  }
}

} // namespace detail

/// Runs all parts side by side. When all have ended, gives their answers in the order of the parts:
///     auto both = troupe::when_all(std::move(parts));
///     auto answers = co_await both;
/// Shape:  as many answers as parts.
/// Thread: parts are resumed where the body is, one at a time.
/// Errors: the exception of the first part, in order, that failed.
/// Source: troupe.
template <class T> coro<std::vector<T>> when_all(std::vector<coro<T>> parts) {
  std::vector<detail::branch_outcome<T>> outcomes(parts.size());
  detail::branch_join join{.left = parts.size()};
  std::vector<detail::branch> branches;
  branches.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    branches.push_back(detail::run_branch(parts[i], outcomes[i]));
  for (auto& one : branches)
    one.start(join);
  detail::join_awaiter all_ended{join};
  co_await all_ended;
  std::vector<T> answers;
  answers.reserve(outcomes.size());
  for (auto& outcome : outcomes) {
    if (outcome.failure)
      std::rethrow_exception(outcome.failure);
    answers.push_back(std::move(*outcome.answer));
  }
  co_return answers;
}

} // namespace troupe
