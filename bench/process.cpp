// process (section E): a whole process, and the memory of its graphs and threads. Each sample is a
// process of its own: troupe-bench-core, which links only the core library, or this program as a
// child.

#include "bench/harness.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <sstream>

extern char** environ;

namespace troupe::bench {

namespace {

constexpr std::size_t process_runs = 10;

// ---- the parent ---------------------------------------------------------------------------------

[[noreturn]] void fail(const char* what, int code) {
  throw std::runtime_error{std::string{what} + ": " + std::strerror(code)};
}

struct child_result {
  double us;
  std::string output;
};

/// Runs a child to its end. Units: the child's output is at most the content of a pipe.
child_result run_process(const std::string& file, const std::string& job) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    fail("make a pipe", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string program{"troupe-bench"};
  std::string flag{"--child"};
  std::string name{job};
  char* arguments[] = {program.data(), flag.data(), name.data(), nullptr};

  pid_t child = 0;
  int status = 0;
  int failed = 0;
  auto us = time_us([&] {
    failed = posix_spawn(&child, file.c_str(), &actions, nullptr, arguments, environ);
    while (failed == 0 && waitpid(child, &status, 0) < 0)
      failed = errno == EINTR ? 0 : errno;
  });
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char text[256];
  auto count = read(ends[0], text, sizeof text);
  close(ends[0]);
  if (failed)
    fail("run a child", failed);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the exit status of a child");
  return {us, std::string(text, count > 0 ? static_cast<std::size_t>(count) : 0)};
}

std::vector<double> numbers_from(const std::string& file, const std::string& job,
                                 std::size_t count) {
  std::istringstream output{run_process(file, job).output};
  std::vector<double> numbers{std::istream_iterator<double>{output}, {}};
  expect(numbers.size() == count, "the figures of a child");
  for (auto number : numbers)
    expect(number > 0, "a figure of a child");
  return numbers;
}

/// The path of troupe-bench-core, which stands beside this program.
std::string core_program() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "troupe-bench-core")
    .string();
}

} // namespace

std::vector<double> numbers_from_child(const std::string& job, std::size_t count) {
  return numbers_from("/proc/self/exe", job, count);
}

int run_child(std::string_view job) {
  try {
    if (job == slow_saver_job)
      print_memory_behind_slow_saver();
    else if (job == provider_job)
      be_a_provider();
    else if (job == model_streams_job)
      print_model_streams();
    else if (job.starts_with(worker_job))
      be_a_worker(std::string{job.substr(worker_job.size())});
    else if (job.starts_with(echo_job))
      be_an_echo(std::string{job.substr(echo_job.size())});
    else
      return 2;
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "troupe-bench: " << job << ": " << e.what() << '\n';
    return 1;
  }
}

void add_process(workloads& all) {
  all.push_back({"startup_first_invoke", [](const sampler& sample) {
                   return sample.exactly(process_runs, [] {
                     return run_process(core_program(), "first_invoke").us;
                   });
                 }});
  auto add_bytes = [&all](std::string name, std::size_t runs, std::string job) {
    all.push_back({std::move(name), [runs, job](const sampler& sample) {
                     return sample.exactly(
                       runs, [&job] { return numbers_from(core_program(), job, 1)[0]; }, "bytes");
                   }});
  };
  add_bytes("startup_peak_rss", process_runs, "first_invoke_peak");
  add_bytes("mem_compiled_graph", runs_min, "compiled_graph");
  add_bytes("mem_idle_thread_memory", runs_min, "idle_thread");
}

} // namespace troupe::bench
