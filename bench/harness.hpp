// harness: samples, checks, result lines, and directories on a local disk, for all workloads.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::bench {

/// The content of a result line.
/// Shape:  `unit` is us, bytes or per_s; `samples` is not empty. `further` has more figures, each
///         with its unit in its name.
struct figure {
  std::vector<double> samples;
  std::string unit = "us";
  std::vector<std::pair<std::string, double>> further = {};
};

/// The median. Errors: `samples` must not be empty.
double median(std::vector<double> samples);

inline constexpr std::size_t runs_min = 3;
inline constexpr std::size_t runs_max_default = 25;
inline constexpr std::chrono::seconds sampling_max{3}; // afterwards runs_min samples are enough
inline constexpr double batch_us_min = 10'000;         // of a batch of short runs
inline constexpr double short_run_us_max = 100;        // shorter runs are timed in batches

inline double microseconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

/// The time that `run` took, in microseconds.
template <class F> double time_us(F&& run) {
  auto from = std::chrono::steady_clock::now();
  run();
  return microseconds(std::chrono::steady_clock::now() - from);
}

/// Times of a run. Units: microseconds. `cpu_us` counts all threads of this process, and is the
/// better figure on a busy machine.
struct timing {
  double us;
  double cpu_us;
};
double cpu_now_us();
template <class F> timing time_with_cpu(F&& run) {
  auto cpu_from = cpu_now_us();
  auto us = time_us(std::forward<F>(run));
  return {us, cpu_now_us() - cpu_from};
}

/// Keeps the compiler from dropping the work that made `x`.
template <class T> void keep(const T& x) {
  asm volatile("" : : "r,m"(x) : "memory");
}

/// Takes samples, each after one untimed warm-up.
class sampler {
public:
  explicit sampler(std::size_t runs_max) : runs_max_{runs_max} {}

  /// A sampler that executes each run this often, in one sample and without warm-up. For counts of
  /// instructions: the difference of two such counts is that of the runs.
  static sampler counted(std::size_t iterations) {
    sampler out{1};
    out.iterations_ = iterations;
    return out;
  }

  /// Samples of the results of `one`, which does not time its preparations and checks.
  /// Shape:  as many as fit into sampling_max, at least runs_min.
  template <class F> figure each(F one, std::string unit = "us") const {
    if (iterations_)
      return repeated(one, std::move(unit));
    one();
    return collect(one, runs_max_default, std::move(unit));
  }

  /// As each(), with this number of samples.
  template <class F> figure exactly(std::size_t runs, F one, std::string unit = "us") const {
    if (iterations_)
      return repeated(one, std::move(unit));
    one();
    figure out{{}, std::move(unit), {}};
    for (runs = std::min(runs, runs_max_); runs > 0; --runs)
      out.samples.push_back(one());
    return out;
  }

  /// Samples of one `run`: its time or, for a short run, the mean of a batch. `check` follows each
  /// sample, untimed.
  template <class F, class Check> figure batches(F run, Check check) const {
    if (iterations_) {
      auto us = time_batch_us(run, iterations_);
      check();
      return {{us / static_cast<double>(iterations_)}, "us", {}};
    }
    run();
    check();
    std::size_t count = 1;
    auto batch_us = time_us(run);
    if (batch_us < short_run_us_max)
      while (batch_us < batch_us_min) {
        auto factor = batch_us > 0 ? batch_us_min * 1.2 / batch_us : 10.0;
        count = static_cast<std::size_t>(static_cast<double>(count) * std::clamp(factor, 1.2, 10.0))
                + 1;
        batch_us = time_batch_us(run, count);
      }
    auto one = [&run, &check, count] {
      auto mean = time_batch_us(run, count) / static_cast<double>(count);
      check();
      return mean;
    };
    return collect(one, runs_max_default, "us");
  }
  template <class F> figure batches(F run) const {
    return batches(std::move(run), [] {});
  }

private:
  template <class F> static double time_batch_us(F& run, std::size_t count) {
    return time_us([&run, count] {
      for (std::size_t i = 0; i < count; ++i)
        run();
    });
  }

  template <class F> figure repeated(F& one, std::string unit) const {
    figure out{{}, std::move(unit), {}};
    for (std::size_t i = 0; i < iterations_; ++i)
      out.samples = {one()};
    return out;
  }

  template <class F> figure collect(F& one, std::size_t runs, std::string unit) const {
    figure out{{}, std::move(unit), {}};
    auto at_most = std::min(runs, runs_max_);
    auto at_least = std::min(runs_min, at_most);
    auto from = std::chrono::steady_clock::now();
    while (
      out.samples.size() < at_least
      || (out.samples.size() < at_most && std::chrono::steady_clock::now() - from < sampling_max))
      out.samples.push_back(one());
    return out;
  }

  std::size_t runs_max_;
  std::size_t iterations_ = 0; // not 0: exactly so many runs
};

/// A workload: one line of results. Two workloads of one name differ in `variant`. A long one takes
/// minutes.
/// Errors: `run` throws the errors of its graph, and wrong_result.
struct workload {
  std::string name;
  std::function<figure(const sampler&)> run;
  std::string variant = {};
  bool is_long = false;
};

using workloads = std::vector<workload>;

/// Each function adds the workloads of a section.
void add_engine(workloads& all);
void add_fan_out(workloads& all);
void add_subgraphs(workloads& all);
void add_wide(workloads& all);
void add_react(workloads& all);
void add_durability(workloads& all);
void add_many_runs(workloads& all);
void add_reading(workloads& all);
void add_codec(workloads& all);
void add_process(workloads& all);
void add_endurance(workloads& all);
void add_remote(workloads& all);
void add_models(workloads& all);
void add_machine_floors(workloads& all);
void add_caf_floors(workloads& all);
void add_storage_floors(workloads& all);

/// Runs a job of a child. Returns the exit status.
int run_child(std::string_view job);

/// Runs this program again as a child with one job. Returns the numbers that it printed.
/// Errors: throws std::runtime_error, and wrong_result when the child fails or prints something
///         else.
std::vector<double> numbers_from_child(const std::string& job, std::size_t count);

/// The job that prints the memory of a run with a slow saver; see endurance.cpp.
inline constexpr std::string_view slow_saver_job = "slow_saver";
void print_memory_behind_slow_saver();

/// Jobs of children that serve until they are killed. Their arguments follow the name; see
/// remote.cpp.
inline constexpr std::string_view worker_job = "worker";
void be_a_worker(const std::string& arguments);
inline constexpr std::string_view echo_job = "echo";
void be_an_echo(const std::string& arguments);

/// Jobs for models; see models.cpp.
inline constexpr std::string_view provider_job = "provider";
void be_a_provider();
inline constexpr std::string_view model_streams_job = "model_streams";
void print_model_streams();

/// Memory of this process. Units: bytes that are resident; `anonymous` leaves out those of files.
struct memory_in_use {
  double resident = 0;
  double anonymous = 0;
};
memory_in_use memory_now();

/// The result of a workload is wrong.
class wrong_result : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Errors: throws wrong_result when `holds` is false.
inline void expect(bool holds, const char* what) {
  if (!holds)
    throw wrong_result{std::string{"wrong result: "} + what};
}

/// Notes a digest of the final state of the workload that runs; the last one counts. The states of
/// all workloads are compared with a file of the repository (bench/expected_states.json).
/// Shape:  `state` is canonical, as the checkpoint codec writes it.
void note_state(std::string_view state);

/// The digest noted since the last call: FNV-1a of 64 bits in hexadecimal. Empty without one.
std::optional<std::string> take_noted_state();

/// A figure as a result line, without a line break.
/// Shape:  one JSON object; a floor names no runtime; `state` is absent when it is empty.
std::string to_line(const workload& work, const figure& result,
                    const std::optional<std::string>& state = std::nullopt);

/// Makes scratch directories in `dir` from now on, also in memory: there a sync costs nothing.
void use_scratch(std::filesystem::path dir);

/// A new, empty directory on a local disk, or where use_scratch() said. The destructor removes it.
class scratch_dir {
public:
  /// Errors: throws std::runtime_error when such a directory can't be made.
  scratch_dir();
  scratch_dir(const scratch_dir&) = delete;
  scratch_dir& operator=(const scratch_dir&) = delete;
  ~scratch_dir();
  const std::filesystem::path& path() const noexcept { return path_; }

private:
  std::filesystem::path path_;
};

/// Bytes of the files in `dir`, without LMDB's lock file.
std::uintmax_t store_bytes(const std::filesystem::path& dir);

} // namespace troupe::bench
