// transform_sink: runs the functions over the parts of a run.
#pragma once

#include "tasks/run_shared.hpp"

#include <memory>
#include <vector>

namespace troupe {

/// A sink that passes each part through the transforms of the graph, then those of the stream, to
/// `next`. Returns `next` itself without transforms.
std::shared_ptr<part_sink> transforming(const graph_plan& graph,
                                        const std::vector<part_transform>& of_stream,
                                        std::shared_ptr<part_sink> next);

} // namespace troupe
