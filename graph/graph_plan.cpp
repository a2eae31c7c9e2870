// Bodies, ids of tasks, and look-ups by name in a compiled graph.
#include "graph/graph_plan.hpp"

#include "graph/names.hpp"
#include "graph/same_text.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>

namespace troupe {
namespace {

template <class Named> index_list sorted_by_name(const std::vector<Named>& list) {
  index_list out;
  for (std::uint32_t i = 0; i < list.size(); ++i)
    out.push_back(i);
  std::ranges::sort(out, {}, [&list](std::uint32_t i) -> std::string_view { return list[i].name; });
  return out;
}

template <class Named>
std::uint32_t find_in_order(const std::vector<Named>& list, const index_list& sorted,
                            std::string_view name, std::size_t& next) noexcept {
  for (auto at = next; at < sorted.size() && at < next + 2; ++at) // one may be left out
    if (same_text(list[sorted[at]].name, name)) {
      next = at + 1;
      return sorted[at];
    }
  auto name_at = [&list](std::uint32_t i) -> std::string_view { return list[i].name; };
  auto at = std::ranges::lower_bound(sorted, name, {}, name_at);
  if (at == sorted.end() || name_at(*at) != name)
    return no_index;
  next = static_cast<std::size_t>(at - sorted.begin()) + 1;
  return *at;
}

template <class Named>
std::uint32_t find_by_name(const std::vector<Named>& list, const index_list& sorted,
                           std::string_view name) noexcept {
  constexpr std::size_t few = 8; // names of other lengths cost next to nothing
  if (list.size() > few) {
    auto nowhere = list.size();
    return find_in_order(list, sorted, name, nowhere);
  }
  for (std::uint32_t i = 0; i < list.size(); ++i)
    if (same_text(list[i].name, name))
      return i;
  return no_index;
}

} // namespace

plan_body::plan_body(node_body of) {
  if (of.graph)
    body_ = std::move(of.graph);
  else if (of.coroutine)
    body_ = std::move(of.coroutine);
  else if (of.plain)
    body_ = std::move(of.plain);
}

const std::shared_ptr<const graph_plan>& plan_body::graph() const noexcept {
  static const std::shared_ptr<const graph_plan> none;
  const auto* graph = std::get_if<std::shared_ptr<const graph_plan>>(&body_);
  return graph ? *graph : none;
}

void graph_plan::index() {
  channels_by_name_ = sorted_by_name(channels);
  nodes_by_name_ = sorted_by_name(nodes);
}

std::shared_ptr<const node_settings> node_settings::shared() && {
  static const auto none = std::make_shared<const node_settings>();
  bool changed = retry.given() || timeout.given() || cache.given || !metadata.is_null()
                 || !placement.local() || !destinations.empty() || !calls.empty() || guard;
  return changed ? std::make_shared<const node_settings>(std::move(*this)) : none;
}

channel_index graph_plan::find_channel(std::string_view name) const noexcept {
  return find_by_name(channels, channels_by_name_, name);
}

node_index graph_plan::find_node(std::string_view name) const noexcept {
  return find_by_name(nodes, nodes_by_name_, name);
}

channel_index graph_plan::find_channel(std::string_view name, std::size_t& next) const noexcept {
  return find_in_order(channels, channels_by_name_, name, next);
}

node_index graph_plan::find_node(std::string_view name, std::size_t& next) const noexcept {
  return find_in_order(nodes, nodes_by_name_, name, next);
}

std::string pulled_task_id(const plan_context& at, const graph_plan& plan, const plan_node& node) {
  boost::container::small_vector<std::string_view, 8> suffix{node.name, names::pull};
  for (auto c : node.triggers)
    suffix.push_back(plan.channels[c].name);
  return node_task_id(at, node.name, {suffix.data(), suffix.size()});
}

error unknown_target(const graph_plan& plan, std::string_view who, std::string_view target) {
  std::string text{who};
  text.append(" goes to `").append(target.substr(0, limits::node_name_bytes_max));
  text.append("`, which is not a node of graph `").append(plan.options.name).append("`");
  return {errc::invalid_update, std::move(text)};
}

} // namespace troupe
