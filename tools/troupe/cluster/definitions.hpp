// The commands of the part for clusters: each function adds the flags and the action of one.
#pragma once

#include "tools/troupe/commands.hpp"

namespace troupe::cli {

void define_worker(CLI::App* command, chosen_command& chosen);
void define_cluster(CLI::App* cluster, chosen_command& chosen);
void add_cluster_peers(CLI::App& cluster, chosen_command& chosen); // status and drain

} // namespace troupe::cli
