// mcp_child: a program that runs beside this process and is reached through pipes.
#pragma once

#include <troupe/agents/mcp.hpp>

#include <chrono>

#include <sys/types.h>

namespace troupe {

/// An owned descriptor; -1: none.
class mcp_pipe_end {
public:
  explicit mcp_pipe_end(int fd = -1) noexcept : fd_{fd} {}
  mcp_pipe_end(mcp_pipe_end&& other) noexcept : fd_{other.release()} {}
  mcp_pipe_end& operator=(mcp_pipe_end&& other) noexcept;
  ~mcp_pipe_end() { close(); }
  int get() const noexcept { return fd_; }
  bool is_open() const noexcept { return fd_ >= 0; }
  void close() noexcept;

private:
  int release() noexcept;
  int fd_;
};

/// A running program, in a process group of its own. The destructor kills what is left of it and
/// its children, and reaps it.
class mcp_child {
public:
  /// Starts the program without a shell, with only its three descriptors, and with the environment
  /// of mcp_program. Without `keeps_log` its stderr is discarded.
  /// Errors: throws error{invalid_config}.
  mcp_child(const mcp_program& program, bool keeps_log);
  mcp_child(const mcp_child&) = delete;
  mcp_child& operator=(const mcp_child&) = delete;
  ~mcp_child();

  /// Waits for the program's end. Result: whether it ended. Blocks: at most this long.
  bool wait(std::chrono::milliseconds at_most);
  void signal_group(int signal) noexcept;

  // This side's ends of the pipes; none of them blocks.
  mcp_pipe_end in;   ///< to its stdin
  mcp_pipe_end out;  ///< from its stdout
  mcp_pipe_end log;  ///< from its stderr
  mcp_pipe_end ends; ///< readable when the program has ended; closed where the kernel has no pidfd

private:
  pid_t pid_ = -1;
};

} // namespace troupe
