// The commands of the part for the server: each function adds the flags and the action of one.
#pragma once

#include "tools/troupe/commands.hpp"

namespace troupe::cli {

void define_serve(CLI::App* command, chosen_command& chosen);
void define_dev(CLI::App* command, chosen_command& chosen);

} // namespace troupe::cli
