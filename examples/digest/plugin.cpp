// plugin: the digest graph for the command line (troupe run path/to/libdigest.so:digest).
#include "digest.hpp"

#include <troupe/graph_library.hpp>

TROUPE_GRAPH(digest) {
  return digest::build();
}
