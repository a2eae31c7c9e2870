// Taking namespaces apart and putting them together.
#include "graph/checkpoint_ns.hpp"

#include <algorithm>

namespace troupe {

namespace {

bool is_number(std::string_view part) {
  return !part.empty()
         && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace

std::vector<std::string> split_namespace(std::string_view ns) {
  std::vector<std::string> out;
  while (!ns.empty()) {
    auto bar = ns.find('|');
    out.emplace_back(ns.substr(0, bar));
    ns = bar == std::string_view::npos ? std::string_view{} : ns.substr(bar + 1);
  }
  return out;
}

std::string task_namespace(std::string_view checkpoint_ns, std::string_view node,
                           std::string_view task_id) {
  std::string out;
  out.reserve(checkpoint_ns.size() + node.size() + task_id.size() + 2);
  if (!checkpoint_ns.empty())
    out.append(checkpoint_ns).append("|");
  out.append(node).append(":").append(task_id);
  return out; // a plain return moves; the reference that append() returns would be copied
}

std::string without_task_ids(std::string_view ns) {
  std::string out;
  for (const auto& part : split_namespace(ns))
    out.append(out.empty() ? "" : "|").append(part.substr(0, part.find(':')));
  return out;
}

std::vector<std::string> nodes_of_namespace(std::string_view ns) {
  std::vector<std::string> out;
  for (const auto& part : split_namespace(ns))
    if (!is_number(part))
      out.push_back(part.substr(0, part.find(':')));
  return out;
}

std::string nested_namespace(std::string_view task_ns, bool per_thread, std::uint32_t nth) {
  auto out = per_thread ? without_task_ids(task_ns) : std::string{task_ns};
  if (nth > 0)
    out.append("|").append(std::to_string(nth));
  return out;
}

} // namespace troupe
