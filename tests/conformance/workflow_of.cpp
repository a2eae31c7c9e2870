#include "tests/conformance/workflow_of.hpp"

#include "tests/conformance/body.hpp"
#include "tests/conformance/graph_of.hpp"
#include "tests/conformance/policy_of.hpp"

namespace troupe::conformance {
namespace {

final_value<value, value> run_workflow(world& w, const script_json& statements, const value& given,
                                       context& task) {
  state_view input{given};
  scope s{w, &input, &task};
  auto returned = run_body(statements, s).to_value();
  return {returned, s.saved ? *s.saved : returned};
}

node_output run_task(world& w, const script_json& declared, const value& arguments, context& task) {
  state_view nothing{value{}};
  scope s{w, &nothing, &task};
  std::size_t next = 0;
  for (const auto& name : declared.value("params", std::vector<std::string>{}))
    s.locals.insert_or_assign(name, term{arguments[next++]});
  return detail::to_return(run_body(declared.at("run"), s).to_value(), detail::returned_key);
}

} // namespace

compiled_graph workflow_of(const std::string& name, const script_json& declared, world& w) {
  auto compiled = compile_options_of(name, declared, w);
  entrypoint_options options;
  options.cache = compiled.cache;
  options.checkpointer = compiled.checkpointer;
  options.retry_policy = retry_of(declared);
  options.cache_policy = cache_of(declared);
  return entrypoint(
    compiled.name,
    [&w, &statements = declared.at("entrypoint")](const value& input, context& task) {
      return run_workflow(w, statements, input, task);
    },
    std::move(options));
}

task_node task_of(const std::string& name, const script_json& declared, world& w) {
  node_body body;
  body.plain = [&w, &declared](const state_view& arguments, context& task) {
    return run_task(w, declared, arguments.to_value(), task);
  };
  task_options options;
  options.retry_policy = retry_of(declared);
  options.cache_policy = cache_of(declared);
  return detail::make_task(name, std::move(body), std::move(options));
}

} // namespace troupe::conformance
