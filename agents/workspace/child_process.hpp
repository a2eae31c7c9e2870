// child_process: a program with two outputs.
//
// Invariants:
//  - its processes form a group of their own, which is killed before its first process is reaped.
//    Until then, no other process can get its number.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace troupe {

/// An owned descriptor; -1: none.
class pipe_end {
public:
  explicit pipe_end(int fd = -1) noexcept : fd_{fd} {}
  pipe_end(const pipe_end&) = delete;
  pipe_end& operator=(const pipe_end&) = delete;
  ~pipe_end() { close(); }
  void close();
  void set(int fd);
  int get() const noexcept { return fd_; }
  bool is_open() const noexcept { return fd_ >= 0; }

private:
  int fd_;
};

struct both_ends {
  pipe_end read, write;
  both_ends(); ///< Errors: throws std::system_error.
};

/// A running program without input. The destructor kills what is left of it.
class child_process {
public:
  using words = std::vector<std::string>;

  /// `arguments` begin with the program, which is looked up on PATH unless it has a `/`.
  /// `environment`: "NAME=text" each. `folder`: a descriptor of its working directory; -1: this
  /// process's.
  /// Errors: throws std::system_error.
  child_process(words arguments, words environment, int folder = -1);
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process();

  /// Its exit code as a shell reports it; nullopt while it runs. The program is reaped later.
  std::optional<int> exit_code() const;

  both_ends out, err;

private:
  pid_t id_ = 0;
};

/// PATH of this process.
std::string path_of_programs();

/// The end of a program.
/// Shape:  `code`: nullopt when the program was stopped by its time-out. At most the bounded bytes
///         of its output are kept; `is_cut` reports that there were more.
struct program_end {
  std::optional<int> code;
  std::string out;
  std::string err;
  bool is_cut = false;
};
/// Units:  bytes of output; `err` is bounded by a few KiB.
struct program_bounds {
  std::chrono::milliseconds timeout;
  std::size_t out_bytes_max;
};
/// Runs a program to its end. Blocks: at most for the time-out.
/// Errors: throws std::system_error when it can't be started.
program_end run_program(child_process::words arguments, child_process::words environment,
                        const program_bounds& bounds);

} // namespace troupe
