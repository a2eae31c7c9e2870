// The graph of network_graph.hpp for `troupe run` and `troupe worker`:
// libnetwork_graphs.so:network.
//
// TROUPE_NETWORK_EFFECTS: the file its bodies write to. TROUPE_NETWORK_NAME: the process's name
// there.
#include "tests/faults/network_graph.hpp"

#include <troupe/graph_library.hpp>

#include <cstdlib>

TROUPE_GRAPH(network) {
  const char* file = std::getenv("TROUPE_NETWORK_EFFECTS");
  const char* name = std::getenv("TROUPE_NETWORK_NAME");
  if (file && name)
    network::note_effects(file, name);
  return network::build(false);
}
