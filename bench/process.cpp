// Section E: a whole process, and the memory of what it keeps. Each sample is a process of its own:
// this program again, as a child that does one job.

#include "bench/graphs.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
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

/// Runs a child to its end. Units: its output is at most what a pipe holds.
child_result run_process(const std::string& job) {
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
    failed = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments, environ);
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

double bytes_from_process(const std::string& job) {
  return numbers_from_child(job, 1)[0];
}

// ---- the child ----------------------------------------------------------------------------------

double resident_bytes() {
  return memory_now().resident;
}

/// The peak of this process alone: what getrusage() tells counts the parent's, too.
double peak_resident_bytes() {
  std::ifstream status{"/proc/self/status"};
  std::string word;
  double kib = 0;
  while (status >> word)
    if (word == "VmHWM:") {
      status >> kib;
      break;
    }
  return kib * 1024;
}

void first_invoke() {
  runtime machine;
  auto result = machine.load(chain3()).invoke(zero(), new_run(durability::exit));
  expect(result.value()["counter"] == value(3), "the counter");
}

double first_invoke_peak_bytes() {
  first_invoke();
  return peak_resident_bytes();
}

double compiled_graph_bytes() {
  constexpr std::size_t graphs = 1000;
  struct kept {
    compiled_graph graph;
    app<> loaded;
  };
  runtime machine;
  auto make = [&machine] {
    auto graph = chain3();
    return kept{graph, machine.load(graph)};
  };
  make().loaded.invoke(zero(), new_run(durability::exit));
  std::vector<kept> all;
  all.reserve(graphs);
  auto before = resident_bytes();
  while (all.size() < graphs)
    all.push_back(make());
  auto growth = resident_bytes() - before;
  auto result = all.back().loaded.invoke(zero(), new_run(durability::exit));
  expect(result.value()["counter"] == value(3), "the counter");
  return growth / graphs;
}

double idle_thread_bytes() {
  constexpr std::size_t threads = 5000;
  runtime machine{{.saver = make_memory_saver()}};
  auto graph = machine.load(chain3({.interrupt_before = {"b"}}));
  run_config config;
  auto leave_waiting = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      config = new_run(durability::async);
      auto result = graph.invoke(zero(), config);
      expect(result.next == std::vector<std::string>{"b"}, "the next node");
    }
  };
  leave_waiting(100);
  auto before = resident_bytes();
  leave_waiting(threads);
  auto growth = resident_bytes() - before;
  auto snapshot = graph.get_state(config);
  expect(snapshot.values["counter"] == value(1) && snapshot.next.size() == 1, "a waiting thread");
  return growth / threads;
}

} // namespace

std::vector<double> numbers_from_child(const std::string& job, std::size_t count) {
  std::istringstream output{run_process(job).output};
  std::vector<double> numbers{std::istream_iterator<double>{output}, {}};
  expect(numbers.size() == count, "the figures of a child");
  for (auto number : numbers)
    expect(number > 0, "a figure of a child");
  return numbers;
}

memory_in_use memory_now() {
  std::size_t size = 0;
  std::size_t resident = 0;
  std::size_t shared = 0; // pages of files
  std::ifstream{"/proc/self/statm"} >> size >> resident >> shared;
  auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  return {static_cast<double>(resident) * page, static_cast<double>(resident - shared) * page};
}

int run_child(std::string_view job) {
  try {
    if (job == "first_invoke")
      first_invoke();
    else if (job == "first_invoke_peak")
      std::printf("%.0f\n", first_invoke_peak_bytes());
    else if (job == "compiled_graph")
      std::printf("%.0f\n", compiled_graph_bytes());
    else if (job == "idle_thread")
      std::printf("%.0f\n", idle_thread_bytes());
    else if (job == slow_saver_job)
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
                   return sample.exactly(process_runs,
                                         [] { return run_process("first_invoke").us; });
                 }});
  auto add_bytes = [&all](std::string name, std::size_t runs, std::string job) {
    all.push_back({std::move(name), [runs, job](const sampler& sample) {
                     return sample.exactly(
                       runs, [&job] { return bytes_from_process(job); }, "bytes");
                   }});
  };
  add_bytes("startup_peak_rss", process_runs, "first_invoke_peak");
  add_bytes("mem_compiled_graph", runs_min, "compiled_graph");
  add_bytes("mem_idle_thread_memory", runs_min, "idle_thread");
}

} // namespace troupe::bench
