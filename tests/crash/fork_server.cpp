#include "tests/crash/fork_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <iostream>
#include <sstream>
#include <system_error>

namespace crash {

namespace {

constexpr double shortest_wait_s = 200e-6;
constexpr double longest_wait_s = 1;

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream from{line};
  for (std::string part; std::getline(from, part, '\t');)
    out.push_back(part);
  return out;
}

void expect(bool succeeded, const char* doing) {
  if (!succeeded)
    throw std::system_error{errno, std::generic_category(), doing};
}

double seconds(const timespec& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

// Whether the child ends within so many seconds.
bool ends_within(int pidfd, double wait_s) {
  timespec wait{
    static_cast<time_t>(wait_s),
    static_cast<long>((wait_s - static_cast<double>(static_cast<time_t>(wait_s))) * 1e9)};
  pollfd watched{pidfd, POLLIN, 0};
  auto found = ::ppoll(&watched, 1, &wait, nullptr);
  expect(found >= 0 || errno == EINTR, "wait for a child");
  return found > 0;
}

enum class end { of_itself, killed, stuck };

// Waits until the child has used so much of the processor, and kills it. Two of its threads may run
// at once, so that half of what is left is waited for each time.
end kill_after(pid_t child, int pidfd, double cpu_s, double patience_s) {
  clockid_t clock{};
  expect(::clock_getcpuclockid(child, &clock) == 0, "find a child's clock");
  auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>{patience_s};
  for (;;) {
    timespec used{};
    if (::clock_gettime(clock, &used) != 0)
      return end::of_itself;
    auto left = cpu_s > 0 ? cpu_s - seconds(used) : longest_wait_s;
    bool is_late = std::chrono::steady_clock::now() > deadline;
    if (left <= 0 || is_late) {
      ::kill(child, SIGKILL);
      return is_late ? end::stuck : end::killed;
    }
    if (ends_within(pidfd, std::clamp(left / 2, shortest_wait_s, longest_wait_s)))
      return end::of_itself;
  }
}

void watch(pid_t child, double cpu_s, double patience_s) {
  auto pidfd = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  expect(pidfd >= 0, "watch a child");
  auto how = kill_after(child, pidfd, cpu_s, patience_s);
  ::close(pidfd);
  int status = 0;
  rusage usage{};
  expect(::wait4(child, &status, 0, &usage) == child, "wait for a child");
  if (how == end::stuck)
    std::cout << "stuck " << SIGKILL;
  else if (WIFSIGNALED(status))
    std::cout << "killed " << WTERMSIG(status);
  else
    std::cout << "ended " << WEXITSTATUS(status);
  std::cout << ' ' << seconds(usage.ru_utime) + seconds(usage.ru_stime) << std::endl;
}

// The requests are the server's alone: at its end a child would put back what it had read of them.
void leave_input() {
  auto nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  expect(nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0, "leave the input");
  ::close(nothing);
}

} // namespace

int serve(const command& run, double patience_s) {
  for (std::string line; std::getline(std::cin, line);) {
    auto arguments = split(line);
    auto cpu_s = std::stod(arguments.at(0));
    arguments.erase(arguments.begin());
    auto child = ::fork();
    expect(child >= 0, "fork");
    if (child == 0) {
      leave_input();
      return run(arguments);
    }
    watch(child, cpu_s, patience_s);
  }
  return 0;
}

} // namespace crash
