// The status of processes of a cluster as a table.
#pragma once

#include "cluster/links/peer_watch.hpp"

#include <string>
#include <vector>

namespace troupe::cli {

/// A line of headings, and one or more of each peer: of a home, one of each of its workers, too.
/// Shape:  columns are as wide as what is in them; no control characters.
std::vector<std::string> status_table(const std::vector<cluster::peer_answer>& peers);

} // namespace troupe::cli
