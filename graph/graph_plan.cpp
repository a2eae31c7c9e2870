// Look-ups by name in a compiled graph.
#include "graph/graph_plan.hpp"

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
std::uint32_t find_by_name(const std::vector<Named>& list, const index_list& sorted,
                           std::string_view name) noexcept {
  auto name_at = [&list](std::uint32_t i) -> std::string_view { return list[i].name; };
  auto at = std::ranges::lower_bound(sorted, name, {}, name_at);
  return at != sorted.end() && name_at(*at) == name ? *at : no_index;
}

} // namespace

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

error unknown_target(const graph_plan& plan, std::string_view who, std::string_view target) {
  std::string text{who};
  text.append(" goes to `").append(target.substr(0, limits::node_name_bytes_max));
  text.append("`, which is not a node of graph `").append(plan.options.name).append("`");
  return {errc::invalid_update, std::move(text)};
}

} // namespace troupe
