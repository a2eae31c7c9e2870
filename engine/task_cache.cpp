// Keys and stored forms of cached task writes.
#include "engine/task_cache.hpp"

#include "engine/stored_writes.hpp"
#include "graph/task_id.hpp"

namespace troupe {

namespace {

constexpr const char* writes_space = "__pregel_ns_writes";
constexpr const char* task_space = "__task__";

} // namespace

cache_key key_of(const graph_plan& plan, const plan_node& node, bool started, const value& input) {
  auto bytes = node.settings->cache.key_func ? node.settings->cache.key_func(input)
                                             : to_msgpack(input).value();
  auto space = started ? task_cache_space(node.name) : cache_space(plan, node.name);
  return {std::move(space), xxh3_128_hex(bytes)};
}

std::vector<std::string> cache_space(const graph_plan& plan) {
  return {writes_space, "graph", plan.options.name};
}

std::vector<std::string> cache_space(const graph_plan& plan, const std::string& node) {
  auto out = cache_space(plan);
  out.push_back(node);
  return out;
}

std::vector<std::string> task_cache_space(const std::string& task) {
  return {writes_space, task_space, task};
}

value to_cached(const graph_plan& plan, const task_write_list& writes) {
  std::vector<value> out;
  for (const auto& w : writes)
    out.push_back(value::list({value(w.target(plan)), w.val}));
  return value::list(std::move(out));
}

std::optional<task_write_list> from_cached(const graph_plan& plan, const value& cached) {
  if (!cached.is_list() || cached.empty())
    return std::nullopt;
  task_write_list out;
  for (const auto& w : cached.items()) {
    if (!w.is_list() || w.size() != 2 || !w[0].is_string())
      return std::nullopt;
    out.push_back(restore_write(plan, std::string{w[0].as_string()}, w[1]));
  }
  return out;
}

} // namespace troupe
