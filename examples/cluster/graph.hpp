// Counts words: a subgraph for each group of files, each on some worker.
#pragma once

#include <troupe/troupe.hpp>

namespace example {

/// Shape:  in: `files`, a list of paths, and `group_size`. Out: `words` of all of them.
troupe::compiled_graph word_count();

} // namespace example
