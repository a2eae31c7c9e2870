// The expressions of a case.
#pragma once

#include "tests/conformance/term.hpp"
#include "tests/conformance/world.hpp"

#include <troupe/context.hpp>
#include <troupe/functional.hpp>
#include <troupe/state.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::conformance {

using task_future = std::shared_ptr<detail::task_call>;

/// Where an expression is evaluated. Shape: outside a node `input` and `task` are null.
struct scope {
  world& shared;
  const state_view* input = nullptr;
  context* task = nullptr;
  std::map<std::string, term, std::less<>> locals = {};
  std::map<std::string, task_future, std::less<>> futures = {};
  std::optional<value> saved = {}; ///< what a workflow saves in place of what it returns
};

/// The task and its input. Errors: throw error{invalid_value} outside a node.
context& task_of(const scope& s);
const state_view& input_of(const scope& s);

/// Notes that a body used what others use too: `thing` names it.
void note_use(const std::string& thing, const scope& s);

/// The result of `expr`; lists and objects are evaluated inside, in their order.
/// Errors: throws the error of a `$raise` in it, unsupported for an unknown operator, and error for
///         an operator in a wrong place.
term evaluate(const script_json& expr, scope& s);

/// The text that `expr` evaluates to.
std::string text(const script_json& expr, scope& s);

/// Fails as described by `[class, text expression]`. Errors: always throws node_error.
[[noreturn]] void raise(const script_json& failure, scope& s);

/// `{"$name": argument}`: how each name is evaluated. An operator that is missing here is one
/// entry.
using operation = std::function<term(const script_json& argument, scope& s)>;
using operation_table = std::map<std::string_view, operation>;

const operation_table& value_operations(); ///< what is known from values alone
const operation_table& task_operations();  ///< what reads the task, or speaks to it
const operation_table& store_operations(); ///< what reads the store

} // namespace troupe::conformance
