// A cluster on one machine: this process is the home, and starts three more as workers. They count
// the words of some files. One worker is killed meanwhile, another one takes its place, and the sum
// is right.
//
//   cluster            the whole example
//   cluster --keep     without the kill
//   cluster --worker HOST:PORT NAME     the command of a worker process
#include "examples/cluster/graph.hpp"

#include <troupe/cluster.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

constexpr int files = 240;
constexpr int groups = 12;

int work_for(const std::string& home, const std::string& name) {
  troupe::worker w{{.name = name, .listen = "", .join = {home}, .capacity = 4, .plain = true},
                   {example::word_count()}};
  w.wait();
  return 0;
}

// A worker process, killed at the latest when this process ends.
class worker_process {
public:
  worker_process(const std::string& home, const std::string& name) : pid_{::fork()} {
    if (pid_ != 0)
      return;
    ::execl("/proc/self/exe", "cluster", "--worker", home.c_str(), name.c_str(), nullptr);
    ::_exit(127);
  }
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;
  ~worker_process() { kill(); }

  void kill() {
    if (pid_ <= 0)
      return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

private:
  pid_t pid_;
};

// Files with 1, 2, 3 … words.
std::vector<std::string> write_files(const fs::path& folder) {
  std::vector<std::string> out;
  for (int i = 1; i <= files; ++i) {
    out.push_back((folder / (std::to_string(i) + ".txt")).string());
    std::ofstream file{out.back()};
    for (int word = 0; word < i; ++word)
      file << "word ";
  }
  return out;
}

int run(bool kill_one) {
  auto form = (fs::temp_directory_path() / "troupe-cluster-XXXXXX").string();
  fs::path folder = ::mkdtemp(form.data());
  auto inputs = write_files(folder);

  // Links without TLS stay on this host. The lease is shorter than usual, so that the example is
  // quick.
  auto pool = troupe::connect_workers({.listen = "127.0.0.1:0",
                                       .plain = true,
                                       .heartbeat = std::chrono::milliseconds{100},
                                       .lease = std::chrono::milliseconds{500}})
                .value();
  auto home = "127.0.0.1:" + std::to_string(pool->port());
  worker_process one{home, "one"}, two{home, "two"}, three{home, "three"};
  std::optional<worker_process> four;

  troupe::runtime rt{{.data_dir = folder / "data", .workers = pool}};
  auto app = rt.load(example::word_count());
  troupe::value input{{"files", troupe::value::of(inputs)}, {"group_size", files / groups}};
  int steps = 0;
  auto parts = app.stream(input, {.thread_id = "count", .subgraphs = true});
  for (auto& part : parts) {
    if (!part.ns.empty() && ++steps == files / 3 && kill_one) {
      two.kill();
      four.emplace(home, "four");
      std::cout << "worker two is killed, worker four comes\n";
    }
  }
  std::cout << files << " files in " << groups << " groups, "
            << parts.outcome()->value()["words"].as_int() << " words; " << files * (files + 1) / 2
            << " were written\n";
  fs::remove_all(folder);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 3 && arguments[0] == "--worker")
      return work_for(arguments[1], arguments[2]);
    if (arguments.empty() || arguments == std::vector<std::string>{"--keep"})
      return run(arguments.empty());
    std::cerr << "usage: cluster [--keep]\n";
    return 2;
  } catch (const troupe::error& e) {
    std::cerr << "cluster: " << e.what() << '\n';
    return 1;
  }
}
