// Lists that keep their last elements only.
#include "channels/kinds.hpp"

#include <vector>

namespace troupe {

void drop_older(channel_cell& cell, std::size_t count) {
  if (!cell.content.is_list() || cell.content.size() <= count)
    return;
  auto kept = cell.content.items().last(count);
  cell.content = value::list(std::vector<value>{kept.begin(), kept.end()});
}

channel_spec keep_last(const channel_spec& spec, std::size_t count) {
  if (count == 0)
    throw error{errc::invalid_graph,
                "keep the last elements of a list: the count must be at least 1"};
  if (spec.kind != channel_kind::binary_operator && spec.kind != channel_kind::topic
      && spec.kind != channel_kind::delta)
    throw error{errc::invalid_graph,
                "keep the last elements of a list: the channel does not hold a list"};
  if (spec.batch && spec.batch->messages)
    throw error{errc::invalid_graph,
                "keep the last elements of a list: a delta channel of messages keeps all of them"};
  auto out = spec;
  out.keep_last = count;
  return out;
}

} // namespace troupe
