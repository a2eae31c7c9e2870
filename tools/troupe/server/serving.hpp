// serving: a server in the foreground, from its addresses to the signal that stops it.
#pragma once

#include "tools/troupe/server/serve_flags.hpp"
#include "tools/troupe/stop_signals.hpp"

#include <functional>

namespace troupe::cli {

/// Prints the addresses and the files of a server: some lines, or one JSON object of type "serve".
void print_addresses(const serve_settings& settings, const agent_server& serving, bool json);

/// Calls `began` when a signal would stop the server, then waits for one and drains. Returns the
/// exit code.
int run_until_stopped(stop_signals& signals, agent_server& serving,
                      const std::function<void()>& began);

} // namespace troupe::cli
