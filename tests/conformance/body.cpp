#include "tests/conformance/body.hpp"

#include <optional>

namespace troupe::conformance {
namespace {

// What the body returns, when a statement ends it.
using ending = std::optional<term>;
using statement = ending (*)(const script_json& argument, scope& s);

ending run_statements(const script_json& statements, scope& s);

ending let_(const script_json& argument, scope& s) {
  auto t = evaluate(argument.at(1), s);
  s.locals.insert_or_assign(argument.at(0).get<std::string>(), std::move(t));
  return {};
}

ending return_(const script_json& argument, scope& s) {
  return evaluate(argument, s);
}

ending raise_(const script_json& argument, scope& s) {
  raise(argument, s);
}

ending if_(const script_json& argument, scope& s) {
  std::size_t arm = evaluate(argument.at(0), s).is_true() ? 1 : 2;
  return arm < argument.size() ? run_statements(argument.at(arm), s) : ending{};
}

ending for_(const script_json& argument, scope& s) {
  auto list = evaluate(argument.at(1), s).to_value();
  for (const auto& item : list.items()) {
    s.locals.insert_or_assign(argument.at(0).get<std::string>(), term{item});
    if (auto end = run_statements(argument.at(2), s))
      return end;
  }
  return {};
}

ending write_(const script_json& argument, scope& s) {
  s.task->write(evaluate(argument, s).to_value());
  return {};
}

ending drain_(const script_json& argument, scope& s) {
  s.task->request_drain(text(argument, s));
  return {};
}

const std::map<std::string_view, statement>& statements() {
  static const std::map<std::string_view, statement> table{
    {"let", let_},
    {"return", return_},
    {"raise", raise_},
    {"if", if_},
    {"for", for_},
    {"write", write_},
    {"drain", drain_},
    // known to the language, but not to this driver
    {"put", nullptr},
    {"delete", nullptr},
    {"call", nullptr},
    {"start", nullptr},
    {"final", nullptr},
  };
  return table;
}

ending run_statement(const script_json& step, scope& s) {
  if (step.is_object() && step.size() == 1)
    if (auto found = statements().find(step.begin().key()); found != statements().end()) {
      if (!found->second)
        s.shared.refuse("statement " + step.begin().key());
      return found->second(step.begin().value(), s);
    }
  evaluate(step, s);
  return {};
}

ending run_statements(const script_json& statements, scope& s) {
  for (const auto& step : statements)
    if (auto end = run_statement(step, s))
      return end;
  return {};
}

} // namespace

term run_body(const script_json& statements, scope& s) {
  auto end = run_statements(statements, s);
  return end ? std::move(*end) : term{};
}

} // namespace troupe::conformance
