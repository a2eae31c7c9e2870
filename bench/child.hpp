// child: a process that serves, such as this program again.
#pragma once

#include "bench/harness.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

namespace troupe::bench {

/// A process that serves. It is killed at the end of the scope.
class child {
public:
  /// This program with one job.
  explicit child(std::string job)
    : child{"/proc/self/exe", {"troupe-bench", "--child", std::move(job)}} {}
  child(const std::string& program, std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (auto& word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw std::runtime_error{"make a pipe"};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    auto failed = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(),
                                environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    output_ = ends[0];
    if (failed != 0) {
      ::close(output_);
      throw std::runtime_error{"run " + program};
    }
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    ::close(output_);
    end(SIGKILL);
  }

  pid_t id() const noexcept { return pid_; }
  /// The line that the child prints first, without its end. Blocks: until it is there.
  std::string first_line() const {
    std::string out;
    char c = 0;
    while (::read(output_, &c, 1) == 1 && c != '\n')
      out += c;
    expect(!out.empty(), "a line of a child");
    return out;
  }
  int number() const { return std::stoi(first_line()); }
  /// Blocks: until the child has ended.
  void end(int signal) {
    if (pid_ == 0)
      return;
    ::kill(pid_, signal);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

private:
  pid_t pid_ = 0;
  int output_ = -1;
};

} // namespace troupe::bench
