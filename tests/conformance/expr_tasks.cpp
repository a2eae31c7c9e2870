// Operators that read the task's input and run, and those that make what a task can say.
#include "tests/conformance/expr.hpp"

#include <troupe/message.hpp>

namespace troupe::conformance {
namespace {

constexpr const char* remove_all = "__remove_all__";

const state_view& input_of(const scope& s) {
  if (!s.input)
    throw error{errc::invalid_value, "evaluate a case: there is no node's input here"};
  return *s.input;
}

context& task_of(const scope& s) {
  if (!s.task)
    throw error{errc::invalid_value, "evaluate a case: there is no task here"};
  return *s.task;
}

term make_send(const script_json& argument, scope& s) {
  auto node = text(argument.at(0), s);
  auto arg = evaluate(argument.at(1), s).to_value();
  return value::of(send{std::move(node), std::move(arg)});
}

term make_command(const script_json& argument, scope& s) {
  command out;
  for (const auto& [key, member] : argument.items()) {
    auto t = evaluate(member, s);
    if (t.is_null())
      continue;
    if (key == "goto")
      out.goto_ = destinations_of(t);
    else if (key == "update")
      out.update = update_of(t);
    else if (key == "resume")
      out.resume = t.to_value();
    else if (key == "graph" && member == "parent")
      out.graph = command::PARENT;
    else
      s.shared.refuse("command member " + key);
  }
  return out;
}

term answers_by_id(const script_json& argument, scope& s) {
  std::vector<value::map_init> out;
  for (const auto& [label, answer] : argument.items())
    out.emplace_back(s.shared.labels.id(label), evaluate(answer, s).to_value());
  return value::map(std::move(out));
}

term make_message(const script_json& argument, scope& s) {
  message out;
  for (const auto& [key, member] : argument.items()) {
    auto v = evaluate(member, s).to_value();
    if (key == "role")
      out.role = v.as_string();
    else if (key == "content")
      out.content = v;
    else if (key == "id" && !v.is_null())
      out.id = v.as_string();
    else if (!v.is_null())
      out.more = out.more.with(key, v);
  }
  return value::of(out);
}

term make_removal(const script_json& argument, scope& s) {
  auto id = text(argument, s);
  return value::extension(value_kind::remove_message, id == "all" ? remove_all : id);
}

term ask(const script_json& argument, scope& s) {
  auto question = evaluate(argument.at(0), s).to_value();
  return task_of(s).interrupt(question, value_of(argument.at(1)));
}

} // namespace

const operation_table& task_operations() {
  static const operation_table table{
    {"$get", [](const script_json& key, scope& s) -> term { return input_of(s)[text(key, s)]; }},
    {"$has",
     [](const script_json& key, scope& s) -> term {
       return value(input_of(s).contains(text(key, s)));
     }},
    {"$in", [](const script_json&, scope& s) -> term { return input_of(s).to_value(); }},
    {"$context",
     [](const script_json& key, scope& s) -> term {
       return task_of(s).run_context()[text(key, s)];
     }},
    {"$thread", [](const script_json&, scope& s) -> term { return value(task_of(s).thread_id()); }},
    {"$step", [](const script_json&, scope& s) -> term { return value(task_of(s).step()); }},

    {"$send", make_send},
    {"$command", make_command},
    {"$by_id", answers_by_id},
    {"$overwrite",
     [](const script_json& e, scope& s) -> term { return overwrite(evaluate(e, s).to_value()); }},
    {"$interrupt",
     [](const script_json& e, scope& s) -> term {
       return task_of(s).interrupt(evaluate(e, s).to_value());
     }},
    {"$ask", ask},
    {"$msg", make_message},
    {"$remove", make_removal},
  };
  return table;
}

} // namespace troupe::conformance
