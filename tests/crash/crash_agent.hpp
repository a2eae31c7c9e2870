// The agent that is killed while one of its tools runs.
#pragma once

#include <string>

namespace crash {

/// An agent whose model calls two tools at once, `first` and `second`, each a task of its own, on
/// the thread "t" of a data directory; goes on with the thread where there is one. Shape:  prints
/// `S TOOL` when a tool begins, `T TASK` when a task is durable, and at the end the
///         messages, `M JSON`. The tool named `holds` never ends.
int run_agent(const std::string& data, const std::string& holds);

} // namespace crash
