// Operators that read the task's input and run, and those that make what a task can say.
#include "tests/conformance/expr.hpp"
#include "tests/conformance/model_book.hpp"

#include <troupe/agents/tool_node.hpp>

namespace troupe::conformance {
namespace {

constexpr const char* remove_all = "__remove_all__";

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
  term::message_type out;
  for (const auto& [key, member] : argument.items())
    out.members.emplace_back(key, evaluate(member, s));
  return out;
}

term make_removal(const script_json& argument, scope& s) {
  auto id = text(argument, s);
  return value::extension(value_kind::remove_message, id == "all" ? remove_all : id);
}

term ask(const script_json& argument, scope& s) {
  auto question = evaluate(argument.at(0), s).to_value();
  return task_of(s).interrupt(question, value_of(argument.at(1)));
}

term result_of(const script_json& name, scope& s) {
  auto found = s.futures.find(name.get_ref<const std::string&>());
  if (found == s.futures.end())
    throw error{errc::missing_key, "evaluate a case: no future " + name.dump()};
  return detail::take_task(task_of(s).scope(), *found->second);
}

term failure_part(const script_json& part, scope& s) {
  const auto* told = task_of(s).failure();
  if (!told)
    throw error{errc::invalid_value, "evaluate a case: this is no error handler"};
  if (part == "node")
    return value(told->node);
  return value(part == "class" ? reference_name(told->failure) : told->failure.text());
}

term ask_model(const script_json& argument, scope& s) {
  auto messages = evaluate(argument.at(1), s).to_value();
  return s.shared.models->answer(argument.at(0).get<std::string>(), messages, s);
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

    {"$previous", [](const script_json&, scope& s) -> term { return task_of(s).previous(); }},
    {"$result", result_of},
    {"$error", failure_part},
    {"$model", ask_model},
    {"$tools_condition",
     [](const script_json& key, scope& s) -> term {
       return value(tools_condition{text(key, s)}(input_of(s)));
     }},

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
