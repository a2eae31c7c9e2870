// A program with two outputs, and what it says.
//
// Invariants:
//  - its processes are a group of their own, which is killed before its first process is reaped:
//    nobody else can have its number by then.
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

/// A running program without input. What is left of it when this is destroyed is killed.
class child_process {
public:
  using words = std::vector<std::string>;

  /// `arguments` begin with the program, which is looked for on PATH if there is no `/` in it.
  /// `environment`: "NAME=text" each. `folder`: a descriptor of where it runs; -1: here.
  /// Errors: throws std::system_error.
  child_process(words arguments, words environment, int folder = -1);
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process();

  /// What a shell calls its exit code, once it is over. It is reaped later.
  std::optional<int> exit_code() const;

  both_ends out, err;

private:
  pid_t id_ = 0;
};

/// PATH of this process.
std::string path_of_programs();

/// What a program was asked to do, to its end.
/// Shape:  `code`: nothing when it was stopped because its time was up. Of what it said no more
///         than the bounds is kept, and `is_cut` says so.
struct program_end {
  std::optional<int> code;
  std::string out;
  std::string err;
  bool is_cut = false;
};
/// Units:  of what it says; `err` is bounded by a few KiB.
struct program_bounds {
  std::chrono::milliseconds timeout;
  std::size_t out_bytes_max;
};
/// Runs a program to its end. Blocks: for the time-out at most.
/// Errors: throws std::system_error when it can't be begun.
program_end run_program(child_process::words arguments, child_process::words environment,
                        const program_bounds& bounds);

} // namespace troupe
