// A program that runs beside this process, spoken to through pipes.
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

/// A running program, in a process group of its own. What of it and its children is left when this
/// is destroyed is killed; it is reaped.
class mcp_child {
public:
  /// Starts it: without a shell, with no descriptor but its three, with the environment that
  /// mcp_program describes. Without `keeps_log` its stderr goes nowhere.
  /// Errors: throws error{invalid_config}.
  mcp_child(const mcp_program& program, bool keeps_log);
  mcp_child(const mcp_child&) = delete;
  mcp_child& operator=(const mcp_child&) = delete;
  ~mcp_child();

  /// Waits for its end; whether it came. Blocks: so long at most.
  bool wait(std::chrono::milliseconds at_most);
  void signal_group(int signal) noexcept;

  // Of this side; none of them blocks.
  mcp_pipe_end in;   ///< to its stdin
  mcp_pipe_end out;  ///< from its stdout
  mcp_pipe_end log;  ///< from its stderr
  mcp_pipe_end ends; ///< readable when it has ended; none where the kernel can't say

private:
  pid_t pid_ = -1;
};

} // namespace troupe
