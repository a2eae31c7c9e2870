#include "tests/conformance/expr.hpp"

#include "tests/conformance/transcript.hpp"

#include <troupe/error.hpp>

namespace troupe::conformance {
namespace {

bool is_operation(const script_json& expr) {
  return expr.is_object() && expr.size() == 1 && expr.begin().key().starts_with('$');
}

term apply_operation(const std::string& name, const script_json& argument, scope& s) {
  for (const auto* table : {&value_operations(), &task_operations(), &store_operations()})
    if (auto found = table->find(name); found != table->end())
      return found->second(argument, s);
  s.shared.refuse(name);
}

term evaluate_list(const script_json& expr, scope& s) {
  term::list_type out;
  for (const auto& item : expr)
    out.push_back(evaluate(item, s));
  return out;
}

term evaluate_object(const script_json& expr, scope& s) {
  term::object_type out;
  for (const auto& [key, member] : expr.items())
    out.emplace_back(key, evaluate(member, s));
  return out;
}

// A namespace without the ids in it.
std::string path_of(std::string_view ns) {
  std::string out;
  bool in_id = false;
  for (char c : ns) {
    in_id = c == ':' || (in_id && c != '|');
    if (!in_id)
      out += c;
  }
  return out;
}

} // namespace

context& task_of(const scope& s) {
  if (!s.task)
    throw error{errc::invalid_value, "evaluate a case: there is no task here"};
  return *s.task;
}

const state_view& input_of(const scope& s) {
  if (!s.input)
    throw error{errc::invalid_value, "evaluate a case: there is no node's input here"};
  return *s.input;
}

void note_use(const std::string& thing, const scope& s) {
  if (!s.task)
    return;
  label_book without_ids{""};
  auto input = without_ids.apply(shown(input_of(s).to_value()));
  s.shared.uses.add(thing, path_of(s.task->checkpoint_ns()) + ' ' + input.dump());
}

term evaluate(const script_json& expr, scope& s) {
  if (is_operation(expr))
    return apply_operation(expr.begin().key(), expr.begin().value(), s);
  if (expr.is_array())
    return evaluate_list(expr, s);
  if (expr.is_object())
    return evaluate_object(expr, s);
  return term_of(expr);
}

std::string text(const script_json& expr, scope& s) {
  auto v = evaluate(expr, s).to_value();
  return std::string{v.as_string()};
}

void raise(const script_json& failure, scope& s) {
  auto v = evaluate(failure.at(1), s).to_value();
  throw node_error{failure.at(0).get<std::string>(),
                   v.is_string() ? std::string{v.as_string()} : to_json(v)};
}

} // namespace troupe::conformance
