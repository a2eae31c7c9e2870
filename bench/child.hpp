// child: this program again, as a process that serves.
#pragma once

#include "bench/harness.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>

extern char** environ;

namespace troupe::bench {

/// This program as a child with one job, killed at the end of the scope.
class child {
public:
  explicit child(std::string job) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw std::runtime_error{"make a pipe"};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string program{"troupe-bench"}, flag{"--child"};
    char* arguments[] = {program.data(), flag.data(), job.data(), nullptr};
    auto failed = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments, environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    output_ = ends[0];
    if (failed != 0)
      throw std::runtime_error{"run a child"};
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    ::close(output_);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  /// The number that the child prints first.
  int number() const {
    char text[32] = {};
    expect(::read(output_, text, sizeof text - 1) > 0, "a word of a child");
    return std::stoi(text);
  }

private:
  pid_t pid_ = 0;
  int output_ = -1;
};

} // namespace troupe::bench
