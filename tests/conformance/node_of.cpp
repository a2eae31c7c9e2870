#include "tests/conformance/node_of.hpp"

#include "tests/conformance/body.hpp"
#include "tests/conformance/graph_book.hpp"
#include "tests/conformance/policy_of.hpp"
#include "tests/conformance/tool_of.hpp"

#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace troupe::conformance {
namespace {

node_output run_node(world& w, const script_json& statements, const state_view& input,
                     context& task) {
  scope s{w, &input, &task};
  return output_of(run_body(statements, s));
}

// ---- bodies that end out of order: they do what they do in order, and wait before they say so ---

class late_outcome {
public:
  late_outcome(world& w, const script_json& statements, const state_view& input, context& task)
    : delay_{w.shuffle->delay(task.node())} {
    try {
      output_ = run_node(w, statements, input, task);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  std::chrono::microseconds delay() const noexcept { return delay_; }
  node_output take() {
    if (failure_)
      std::rethrow_exception(failure_);
    return std::move(output_);
  }

private:
  std::chrono::microseconds delay_;
  node_output output_;
  std::exception_ptr failure_;
};

coro<node_output> run_node_late(world& w, const script_json& statements, state_view input,
                                context& task) {
  late_outcome outcome{w, statements, input, task};
  auto pause = task.sleep_for(outcome.delay());
  co_await pause;
  co_return outcome.take();
}

node_output run_blocking_node_late(world& w, const script_json& statements, const state_view& input,
                                   context& task) {
  late_outcome outcome{w, statements, input, task};
  std::this_thread::sleep_for(outcome.delay());
  return outcome.take();
}

// ---- nodes ----------------------------------------------------------------------------------

any_body handler_of(const script_json& declared, world& w) {
  auto found = declared.find("on_error");
  if (found == declared.end() || found->is_null())
    return {};
  return [&w, &statements = *found](const state_view& input, context& task) {
    w.note_handler(task.checkpoint_ns());
    return run_node(w, statements, input, task);
  };
}

bool waits_somewhere(const script_json& spec) {
  for (const auto* body : {"run", "on_error"})
    if (auto found = spec.find(body); found != spec.end() && waits(*found))
      return true;
  return false;
}

node_options options_of(const script_json& spec, std::optional<schema> input, world& w) {
  node_options out;
  out.lane = waits_somewhere(spec) ? lane::blocking : lane::standard;
  out.defer = spec.value("defer", false);
  out.retry_policy = retry_of(spec);
  out.cache_policy = cache_of(spec);
  out.error_handler = handler_of(spec, w);
  out.input_schema = std::move(input);
  if (auto metadata = spec.find("metadata"); metadata != spec.end())
    out.metadata = value_of(*metadata);
  out.destinations = spec.value("destinations", std::vector<std::string>{});
  return out;
}

// The result of a tool node, late.
coro<node_output> run_tools_late(const tool_node& tools, world& w, state_view input,
                                 context& task) {
  std::exception_ptr failure;
  node_output output;
  try {
    auto run = tools(input, task);
    output = co_await run;
  } catch (...) {
    failure = std::current_exception();
  }
  auto pause = task.sleep_for(w.shuffle->delay(task.node()));
  co_await pause;
  if (failure)
    std::rethrow_exception(failure);
  co_return output;
}

void add_tools(state_graph<>& graph, const std::string& name, const script_json& spec,
               node_options options, world& w) {
  tool_node tools{tools_of(spec.at("tools"), w), tool_options_of(spec)};
  if (!w.shuffle)
    return graph.add_node(name, std::move(tools), std::move(options));
  options.graph_state = true;
  graph.add_node(
    name,
    [&w, tools](const state_view& input, context& task) {
      return run_tools_late(tools, w, input, task);
    },
    std::move(options));
}

void add_scripted(state_graph<>& graph, const std::string& name, const script_json& statements,
                  node_options options, world& w) {
  auto* run = !w.shuffle ? run_node : run_blocking_node_late;
  if (w.shuffle && options.lane == lane::standard)
    graph.add_node(
      name,
      [&w, &statements](const state_view& input, context& task) {
        return run_node_late(w, statements, input, task);
      },
      std::move(options));
  else
    graph.add_node(
      name,
      [&w, &statements, run](const state_view& input, context& task) {
        return run(w, statements, input, task);
      },
      std::move(options));
}

} // namespace

void add_node(state_graph<>& graph, const std::string& name, const script_json& spec,
              std::optional<schema> input, world& w) {
  auto options = options_of(spec, std::move(input), w);
  auto inner = spec.find("graph");
  if (w.placed && inner != spec.end())
    options.placement = on_worker{};
  if (inner != spec.end())
    graph.add_node(name, w.graphs->graph(inner->get<std::string>()), std::move(options));
  else if (spec.contains("tools"))
    add_tools(graph, name, spec, std::move(options), w);
  else
    add_scripted(graph, name, spec.at("run"), std::move(options), w);
}

node_defaults defaults_of(const script_json& declared, world& w) {
  node_defaults out;
  out.retry_policy = retry_of(declared);
  out.cache_policy = cache_of(declared);
  out.error_handler = handler_of(declared, w);
  return out;
}

} // namespace troupe::conformance
