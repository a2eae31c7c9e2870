// Parts of a run on the standard output, for a look at what a graph does.
#pragma once

#include "tasks/run_shared.hpp"

#include <memory>
#include <vector>

namespace troupe {

/// Where the parts of a run go that is to print those of `modes`: there, and to `next`, if anyone
/// reads them. `next` itself when there is nothing to print.
std::shared_ptr<part_sink> printing(const std::vector<stream_mode>& modes,
                                    std::shared_ptr<part_sink> next);

} // namespace troupe
