// graph: counts words, with a subgraph for each group of files on some worker.
#pragma once

#include <troupe/troupe.hpp>

namespace example {

/// A graph that counts words.
/// Shape:  in: `files`, a list of paths, and `group_size`. Out: `words` of all files.
troupe::compiled_graph word_count();

} // namespace example
