#include "tests/conformance/body.hpp"

#include "tests/conformance/event_order.hpp"
#include "tests/conformance/graph_book.hpp"
#include "tests/conformance/store_of.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace troupe::conformance {
namespace {

// The result of the body, when a statement ends it.
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
  auto& task = task_of(s);
  auto part = evaluate(argument, s).to_value();
  task.write(s.shared.shuffle ? signed_part(part, task.checkpoint_ns()) : part);
  return {};
}

ending drain_(const script_json& argument, scope& s) {
  task_of(s).request_drain(text(argument, s));
  return {};
}

// ---- graphs and tasks -----------------------------------------------------------------------

ending call_(const script_json& argument, scope& s) {
  auto& task = task_of(s);
  auto graph = s.shared.graphs->graph(argument.at(1).get<std::string>());
  auto input = input_of(evaluate(argument.at(2), s));
  s.locals.insert_or_assign(argument.at(0).get<std::string>(), term{task.invoke(graph, input)});
  return {};
}

// The task runs to its end here; what came of it comes out at `$result`.
ending start_(const script_json& argument, scope& s) {
  auto& task = task_of(s).scope();
  auto node = s.shared.graphs->task(argument.at(1).get<std::string>());
  std::vector<value> arguments;
  for (std::size_t i = 2; i < argument.size(); ++i)
    arguments.push_back(evaluate(argument.at(i), s).to_value());
  auto call = detail::start_task(task, std::move(node), value::list(std::move(arguments)));
  detail::wait_for_task(task, *call);
  s.futures.insert_or_assign(argument.at(0).get<std::string>(), std::move(call));
  return {};
}

ending final_(const script_json& argument, scope& s) {
  auto returned = evaluate(argument.at(0), s);
  s.saved = evaluate(argument.at(1), s).to_value();
  return returned;
}

// ---- the store ------------------------------------------------------------------------------

ending put_(const script_json& argument, scope& s) {
  auto space = namespace_in(argument.at(0), s);
  auto key = text(argument.at(1), s);
  auto v = evaluate(argument.at(2), s).to_value();
  store_of(s).put(space, key, v).value();
  return {};
}

ending delete_(const script_json& argument, scope& s) {
  auto space = namespace_in(argument.at(0), s);
  auto key = text(argument.at(1), s);
  store_of(s).remove(space, key).value();
  return {};
}

// ---------------------------------------------------------------------------------------------

const std::map<std::string_view, statement>& statements() {
  static const std::map<std::string_view, statement> table{
    {"let", let_},     {"return", return_}, {"raise", raise_}, {"if", if_},
    {"for", for_},     {"write", write_},   {"drain", drain_}, {"call", call_},
    {"start", start_}, {"final", final_},   {"put", put_},     {"delete", delete_},
  };
  return table;
}

ending run_statement(const script_json& step, scope& s) {
  if (step.is_object() && step.size() == 1)
    if (auto found = statements().find(step.begin().key()); found != statements().end())
      return found->second(step.begin().value(), s);
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

bool waits(const script_json& statements) {
  constexpr std::array<std::string_view, 3> waiting{"call", "start", "$result"};
  if (statements.is_object() && statements.size() == 1
      && std::find(waiting.begin(), waiting.end(), statements.begin().key()) != waiting.end())
    return true;
  return statements.is_structured() && std::any_of(statements.begin(), statements.end(), waits);
}

} // namespace troupe::conformance
