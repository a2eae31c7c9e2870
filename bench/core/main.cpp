// troupe-bench-core: costs of a process that links only the core library, one job a process.
#include "bench/graphs.hpp"

#include <troupe/runtime.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::bench {

namespace {

double resident_bytes() {
  return memory_now().resident;
}

/// The peak of this process alone, since getrusage() includes the parent's. A std::ifstream would
/// raise the peak by 0.08 MB.
double peak_resident_bytes() {
  std::string status(4096, '\0');
  auto file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  auto size = ::read(file, status.data(), status.size());
  ::close(file);
  status.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  constexpr std::string_view label = "VmHWM:";
  auto at = status.find(label);
  expect(at != std::string::npos, "the peak in /proc/self/status");
  return std::strtod(status.c_str() + at + label.size(), nullptr) * 1024; // in KiB
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
      expect(result.next() == std::vector<std::string>{"b"}, "the next node");
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

int run_job(std::string_view job) {
  if (job == "first_invoke")
    first_invoke();
  else if (job == "first_invoke_peak")
    std::printf("%.0f\n", first_invoke_peak_bytes());
  else if (job == "compiled_graph")
    std::printf("%.0f\n", compiled_graph_bytes());
  else if (job == "idle_thread")
    std::printf("%.0f\n", idle_thread_bytes());
  else
    return 2;
  return 0;
}

} // namespace

} // namespace troupe::bench

int main(int argc, char** argv) {
  try {
    return argc == 3 && std::string_view{argv[1]} == "--child" ? troupe::bench::run_job(argv[2])
                                                               : 2;
  } catch (const std::exception& e) {
    std::cerr << "troupe-bench-core: " << e.what() << '\n';
    return 1;
  }
}
