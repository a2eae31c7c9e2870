// transform_sink: runs the functions over the parts of a run.
#pragma once

#include "tasks/run_shared.hpp"

#include <memory>
#include <vector>

namespace troupe {

/// A sink that passes each part through `transforms` to `next`. Returns `next` itself without
/// transforms.
std::shared_ptr<part_sink> transforming(std::vector<part_transform> transforms,
                                        std::shared_ptr<part_sink> next);

} // namespace troupe
