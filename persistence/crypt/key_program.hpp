// key_program: runs a program once, with a small input that may hold a secret, within a time.
#pragma once

#include <troupe/error.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The end of a program.
/// Shape:  `code` as a shell reports it. `out`: its first bytes on stdout, one more than allowed
///         when there were too many.
struct key_program_end {
  int code = 0;
  std::string out;
};

/// Starts a program, which is looked up on PATH unless it has a `/`, and waits for its end. It
/// inherits the environment and stderr. Its processes form a group, which is killed at the end of
/// the time.
/// Shape:  `input`: at most 16 KiB, which fit into a pipe before the program reads them.
/// Blocks: at most for `timeout`.
/// Errors: storage_failed: it can't be started, or is killed; no message has the input or output.
result<key_program_end> run_key_program(std::vector<std::string> arguments, std::string_view input,
                                        std::chrono::milliseconds timeout,
                                        std::size_t out_bytes_max);

} // namespace troupe
