// troupe-bench-serving: what `troupe serve` takes for requests, with the clients on the same
// machine.
#include "bench/harness.hpp"
#include "bench/serving/client.hpp"
#include "bench/serving/served.hpp"

#include <sys/resource.h>

#include <CLI/CLI.hpp>

#include <atomic>
#include <functional>
#include <iostream>
#include <mutex>
#include <thread>

namespace troupe::bench {

namespace {

using clock = std::chrono::steady_clock;

struct settings {
  std::vector<std::string> jobs;
  std::string postgres;
  std::size_t servers = 1;
  double seconds = 10;
  std::size_t threads = 100'000; // of the store that a server starts with
  std::size_t streams = 10'000;
};

/// Figures of a job, each with its unit in its name. They are printed as one line of JSON.
using figures = std::vector<std::pair<std::string, double>>;

double percentile(std::vector<double> samples, double share) {
  auto at = samples.begin()
            + static_cast<std::ptrdiff_t>(share * static_cast<double>(samples.size() - 1));
  std::nth_element(samples.begin(), at, samples.end());
  return *at;
}

/// Times in the order of their ends. Units: milliseconds.
class timings {
public:
  void add(double ms) {
    std::lock_guard lock{mutex_};
    ms_.push_back(ms);
  }
  std::vector<double> all() {
    std::lock_guard lock{mutex_};
    expect(!ms_.empty(), "a request that was answered");
    return ms_;
  }

private:
  std::mutex mutex_;
  std::vector<double> ms_;
};

/// Runs `job(i)` on as many threads. Errors: throws the first error of a job, after all ended.
void side_by_side(std::size_t count, const std::function<void(std::size_t)>& job) {
  std::vector<std::thread> all;
  std::mutex mutex;
  std::exception_ptr failed;
  for (std::size_t i = 0; i < count; ++i)
    all.emplace_back([&, i] {
      try {
        job(i);
      } catch (...) {
        std::lock_guard lock{mutex};
        failed = failed ? failed : std::current_exception();
      }
    });
  for (auto& one : all)
    one.join();
  if (failed)
    std::rethrow_exception(failed);
}

// ---- requests

/// A thread of a server, by a number. Shape: a UUID.
std::string thread_id(std::size_t number) {
  auto digits = std::to_string(number);
  return "00000000-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

std::string run_body(const char* graph) {
  return std::string{R"({"assistant_id":")"} + graph
         + R"(","input":{"counter":0},"if_not_exists":"create","durability":"exit"})";
}

void run_chain(connection& to, std::size_t thread) {
  auto state = to.expect("POST", "/threads/" + thread_id(thread) + "/runs/wait",
                         run_body("chain3"));
  expect(state == R"({"counter":3})", "the state of a run");
}

double milliseconds_of(const std::function<void()>& work) {
  return time_us(work) / 1000;
}

/// The requests of `count` clients for some time, one after the other.
std::vector<double> times_of(std::size_t count, double seconds,
                             const std::function<void(connection&, std::size_t)>& request,
                             std::uint16_t port) {
  timings taken;
  auto end = clock::now() + std::chrono::duration<double>{seconds};
  side_by_side(count, [&](std::size_t i) {
    connection to{port};
    request(to, i);
    while (clock::now() < end)
      taken.add(milliseconds_of([&] { request(to, i); }));
  });
  return taken.all();
}

// ---- jobs

figures waits(const served& server, std::size_t clients, double seconds) {
  auto before = server.costs();
  auto from = clock::now();
  auto ms = times_of(clients, seconds, run_chain, server.port());
  auto wall = std::chrono::duration<double>{clock::now() - from}.count();
  return {{"clients", static_cast<double>(clients)},
          {"p50_ms", percentile(ms, 0.5)},
          {"p99_ms", percentile(ms, 0.99)},
          {"runs_per_s", static_cast<double>(ms.size()) / wall},
          {"server_cpu", (server.costs().cpu_s - before.cpu_s) / wall}};
}

/// 500 reads and 500 runs a second, each at its time, whatever became of those before.
figures mixed(const served& server, double seconds) {
  constexpr std::size_t clients = 50;
  constexpr auto interval = std::chrono::milliseconds{100}; // of one client and kind
  timings reads;
  timings runs;
  auto before = server.costs();
  auto from = clock::now();
  side_by_side(2 * clients, [&](std::size_t i) {
    connection to{server.port()};
    auto thread = i % clients;
    run_chain(to, thread);
    auto is_reader = i < clients;
    auto start = from + std::chrono::milliseconds{500} + thread * interval / clients;
    for (auto due = start; due < start + std::chrono::duration<double>{seconds}; due += interval) {
      std::this_thread::sleep_until(due);
      if (is_reader)
        to.expect("GET", "/threads/" + thread_id(thread) + "/state");
      else
        run_chain(to, thread);
      (is_reader ? reads : runs).add(microseconds(clock::now() - due) / 1000);
    }
  });
  auto wall = std::chrono::duration<double>{clock::now() - from}.count();
  auto read_ms = reads.all();
  auto run_ms = runs.all();
  auto after = server.costs();
  return {{"reads_per_s", static_cast<double>(read_ms.size()) / seconds},
          {"runs_per_s", static_cast<double>(run_ms.size()) / seconds},
          {"read_p50_ms", percentile(read_ms, 0.5)},
          {"read_p99_ms", percentile(read_ms, 0.99)},
          {"run_p50_ms", percentile(run_ms, 0.5)},
          {"run_p99_ms", percentile(run_ms, 0.99)},
          {"server_cpu", (after.cpu_s - before.cpu_s) / wall},
          {"server_mib", after.resident_bytes / (1 << 20)},
          {"server_private_mib", after.private_bytes / (1 << 20)}};
}

/// From a node's write to the client's read, of pieces that come one at a time.
figures tokens(const served& server, double seconds) {
  auto body = R"({"assistant_id":"speaking","input":{"counter":0},"stream_mode":["custom"]})";
  std::vector<double> ms;
  auto end = clock::now() + std::chrono::duration<double>{seconds};
  while (clock::now() < end) {
    connection to{server.port()};
    to.open("POST", "/runs/stream", body);
    for (int pieces = 0; pieces < 10;) {
      auto line = to.line();
      auto now = std::chrono::nanoseconds{clock::now().time_since_epoch()}.count();
      constexpr std::string_view data = "data: ";
      if (!line.starts_with(data) || line.find_first_not_of("0123456789", data.size()) != line.npos)
        continue;
      ms.push_back(static_cast<double>(now - std::stoll(line.substr(data.size()))) / 1e6);
      ++pieces;
    }
  }
  return {{"p50_ms", percentile(ms, 0.5)}, {"p99_ms", percentile(ms, 0.99)}};
}

/// Streams of one run that says nothing, beyond the heartbeats.
figures open_streams(const served& server, std::size_t count, double seconds) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  connection first{server.port()};
  auto thread = "/threads/" + thread_id(1);
  first.expect("POST", thread + "/runs", run_body("parked"));
  auto before = server.costs();
  std::vector<connection> open;
  auto opening_ms = milliseconds_of([&] {
    for (std::size_t i = 0; i < count; ++i) {
      open.emplace_back(server.port());
      open.back().open("GET", thread + "/stream");
    }
  });
  auto opened = server.costs();
  std::this_thread::sleep_for(std::chrono::duration<double>{seconds});
  auto idle = server.costs();
  return {{"streams", static_cast<double>(count)},
          {"opening_ms", opening_ms},
          {"server_mib", idle.resident_bytes / (1 << 20)},
          {"bytes_a_stream",
           (idle.resident_bytes - before.resident_bytes) / static_cast<double>(count)},
          {"idle_cpu_percent", 100 * (idle.cpu_s - opened.cpu_s) / seconds}};
}

figures start(const std::vector<std::string>& flags, std::size_t threads) {
  {
    served server{flags};
    std::atomic<std::size_t> next{0};
    side_by_side(16, [&](std::size_t) {
      connection to{server.port()};
      for (std::size_t i = 0; (i = next++) < threads;)
        to.expect("POST", "/threads",
                  R"({"thread_id":")" + thread_id(i) + R"(","if_exists":"do_nothing"})");
    });
  }
  std::vector<double> ms;
  for (int i = 0; i < 5; ++i) {
    auto from = clock::now();
    served server{flags};
    connection to{server.port()};
    to.expect("GET", "/threads/" + thread_id(i));
    ms.push_back(microseconds(clock::now() - from) / 1000);
  }
  return {{"threads", static_cast<double>(threads)}, {"median_ms", percentile(ms, 0.5)}};
}

void print(const std::string& job, const figures& got) {
  std::cout << R"({"job":")" << job << '"';
  for (const auto& [name, number] : got)
    std::cout << ",\"" << name << "\":" << number;
  std::cout << '}' << std::endl;
}

void run(const settings& asked) {
  auto flags_of = [&asked](const scratch_dir& folder) -> std::vector<std::string> {
    if (asked.postgres.empty())
      return {"--data", (folder.path() / "data").string()};
    return {"--postgres", asked.postgres};
  };
  std::vector<std::pair<std::string, std::function<figures(const served&)>>> jobs{
    {"wait_1", [&](const served& s) { return waits(s, 1, asked.seconds); }},
    {"wait_64", [&](const served& s) { return waits(s, 64, asked.seconds); }},
    {"mixed", [&](const served& s) { return mixed(s, asked.seconds); }},
    {"tokens", [&](const served& s) { return tokens(s, asked.seconds); }},
    {"streams", [&](const served& s) { return open_streams(s, asked.streams, asked.seconds); }}};
  auto is_asked = [&](const std::string& job) {
    return asked.jobs.empty() || std::ranges::find(asked.jobs, job) != asked.jobs.end();
  };
  for (const auto& [name, job] : jobs)
    if (is_asked(name)) {
      scratch_dir folder;
      served server{flags_of(folder), asked.servers};
      print(name, job(server));
    }
  if (is_asked("start")) {
    scratch_dir folder;
    print("start", start(flags_of(folder), asked.threads));
  }
}

} // namespace

} // namespace troupe::bench

int main(int argc, char** argv) {
  CLI::App command{
    "Times requests to `troupe serve`, with the clients on the same machine: one line "
    "of JSON a job"};
  troupe::bench::settings asked;
  command.add_option("jobs", asked.jobs, "Default: all")
    ->check(CLI::IsMember({"wait_1", "wait_64", "mixed", "tokens", "streams", "start"}));
  command.add_option("--postgres", asked.postgres, "A database instead of LMDB; it is not emptied")
    ->type_name("CONNINFO");
  command.add_option("--servers", asked.servers, "Servers of the database; `start` has one")
    ->check(CLI::Range(1, 100))
    ->capture_default_str();
  command.add_option("--seconds", asked.seconds, "Time of a job")->capture_default_str();
  command.add_option("--threads", asked.threads, "In the store of `start`")->capture_default_str();
  command.add_option("--streams", asked.streams, "At once, in `streams`")->capture_default_str();
  CLI11_PARSE(command, argc, argv);
  if (asked.servers > 1 && asked.postgres.empty()) {
    std::cerr << "--servers: more than one server needs --postgres\n";
    return 1;
  }
  try {
    troupe::bench::run(asked);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "troupe-bench-serving: " << e.what() << '\n';
    return 1;
  }
}
