// plugin: the graph for `troupe worker` and `troupe run` (libcluster.so:word_count).
#include "examples/cluster/graph.hpp"

#include <troupe/graph_library.hpp>

TROUPE_GRAPH(word_count) {
  return example::word_count();
}
