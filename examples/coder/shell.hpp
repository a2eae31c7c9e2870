// A tool that runs commands in the project's folder.
#pragma once

#include "examples/coder/project.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace coder {

/// Units:  of one command.
struct shell_limits {
  std::chrono::seconds time_max{120};
  std::size_t output_bytes_max = 64 * 1024; ///< what comes behind is left out
};

/// Whether bubblewrap works here. Then a command can write nothing but the project's folder (and
/// not the coder's own), does not see the home folder, has a /tmp of its own and no network.
/// Without it a command has the user's rights, and is only bounded in time and output.
/// Either way its environment is made anew, so that it has no keys of this process, and its
/// processes end with it. How much memory and disk it takes is not bounded.
bool has_sandbox();

/// What the command printed, and how it ended. `stopped` is asked now and then.
std::string run_command(const project& p, const std::string& command, const shell_limits& limits,
                        bool sandbox, const std::function<bool()>& stopped);

troupe::tool shell_tool(project_ptr p, shell_limits limits, bool sandbox);

} // namespace coder
