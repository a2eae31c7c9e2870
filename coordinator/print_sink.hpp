// print_sink: prints parts of a run on the standard output.
#pragma once

#include "tasks/run_shared.hpp"

#include <memory>
#include <vector>

namespace troupe {

/// A sink that prints the parts of `modes` and passes all parts to `next`, which may be null.
/// Returns `next` itself when `modes` is empty.
std::shared_ptr<part_sink> printing(const std::vector<stream_mode>& modes,
                                    std::shared_ptr<part_sink> next);

} // namespace troupe
