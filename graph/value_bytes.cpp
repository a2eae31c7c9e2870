// value_bytes: a walk without recursion.
#include "graph/value_bytes.hpp"

#include "graph/value_node.hpp"

#include <boost/container/small_vector.hpp>

namespace troupe {

std::size_t value_bytes(const value& v, std::size_t& looks) {
  std::size_t bytes = 0;
  boost::container::small_vector<const value*, 64> open{&v};
  while (!open.empty()) {
    const auto& at = *open.back();
    open.pop_back();
    if (!value_access::node_of(at))
      continue;
    bytes += sizeof(detail::value_node);
    auto children = value_access::child_count(at);
    bytes += children == 0 ? value_access::extent(at) : children * sizeof(value);
    for (std::size_t i = 0; i < children && looks != 0; ++i, --looks)
      if (const auto& child = value_access::child(at, i); value_access::node_of(child))
        open.push_back(&child);
  }
  return bytes;
}

} // namespace troupe
