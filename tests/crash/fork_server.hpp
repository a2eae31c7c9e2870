// A process that runs commands in children of its own, and kills them on request.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace crash {

/// Runs a command; gives the exit code.
using command = std::function<int(const std::vector<std::string>&)>;

/// Reads requests from standard input, one a line: `SECONDS<tab>ARGUMENT<tab>ARGUMENT...`. A child
/// is forked for each, so that nothing has to be loaded again. The child is killed by SIGKILL once
/// it has used so many seconds of the processor, which does not depend on what else the machine
/// does; 0 lets it run to its end.
/// Shape:  prints `ended CODE CPU` or `killed SIGNAL CPU` for each request, and `stuck SIGNAL CPU`
///         for a child that had to be killed after `patience_s`.
/// Units:  CPU in seconds of the processor, `patience_s` in seconds of the clock.
/// Blocks: until standard input ends. No thread may run before.
/// Errors: std::system_error.
int serve(const command& run, double patience_s);

} // namespace crash
