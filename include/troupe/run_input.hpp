// The run input: a value, an update, a command, or nothing.
#pragma once

#include <troupe/control.hpp>
#include <troupe/state.hpp>

#include <initializer_list>
#include <utility>
#include <variant>

namespace troupe {

/// The input of a run.
/// Errors: none here; see basic_app::try_invoke.
/// Source: langgraph/pregel/main.py, Pregel.invoke(input).
class run_input {
public:
  /// An input map with no members: it is an input, and starts the graph.
  run_input();
  /// No input: the run resumes where the thread stopped.
  run_input(std::nullptr_t);
  run_input(value v);
  /// A map in braces. One value in braces that is not a pair is that value, and {nullptr} means no
  /// input.
  run_input(std::initializer_list<value> items);
  /// As a map; START writes its channels in the order of the update.
  run_input(state_update u);
  run_input(command c);
  run_input(const run_input&);
  run_input(run_input&&) noexcept;
  run_input& operator=(const run_input&);
  run_input& operator=(run_input&&) noexcept;
  ~run_input();
  /// Writes every member of `s`, also those that only have their default. On an existing thread
  /// that resets channels, and a reducer folds the member in once more. To write some members only:
  /// `run_input(set(&S::text, "x"))` or `{{"text", "x"}}`.
  template <typed_state S> run_input(const S& s) : run_input(value::of(s)) {}

  const std::variant<std::monostate, value, state_update, command>& get() const noexcept {
    return rep_;
  }

private:
  std::variant<std::monostate, value, state_update, command> rep_;
};

} // namespace troupe
