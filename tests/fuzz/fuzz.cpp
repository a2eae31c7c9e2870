// troupe-fuzz: random graphs run by troupe and by a small interpreter of the specification.
// See README.md beside this file.
#include "tests/fuzz/trial.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace troupe::fuzz {
namespace {

struct options {
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> runs;
  std::optional<std::uint64_t> seconds;
  std::optional<std::uint64_t> replay;
  std::uint64_t threads = 1;
  bool keep_going = false; // count differences instead of ending at the first
  bool shrink = true;
};

int usage() {
  std::cerr << "usage: troupe-fuzz [--seconds N | --runs N] [--seed S] [--threads N]\n"
               "                   [--keep-going] [--no-shrink]\n"
               "       troupe-fuzz --replay SEED [--no-shrink]\n";
  return 2;
}

std::optional<std::uint64_t> number(const std::string& text) {
  std::uint64_t out = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  return failed == std::errc{} && end == text.data() + text.size() ? std::optional{out}
                                                                   : std::nullopt;
}

std::optional<options> parse(const std::vector<std::string>& arguments) {
  options out;
  if (const auto* seed = std::getenv("TROUPE_TEST_SEED"))
    out.seed = number(seed).value_or(hash_of(seed));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& name = arguments[i];
    if (name == "--keep-going")
      out.keep_going = true;
    else if (name == "--no-shrink")
      out.shrink = false;
    else {
      auto n = i + 1 < arguments.size() ? number(arguments[++i]) : std::nullopt;
      if (!n)
        return std::nullopt;
      if (name == "--seconds")
        out.seconds = n;
      else if (name == "--runs")
        out.runs = n;
      else if (name == "--seed")
        out.seed = *n;
      else if (name == "--replay")
        out.replay = n;
      else if (name == "--threads")
        out.threads = std::max<std::uint64_t>(*n, 1);
      else
        return std::nullopt;
    }
  }
  return out;
}

// ---- a run that does not end ------------------------------------------------------------------

// Ends the program when a seed takes too long: a lost message would else be a silent hang.
class watchdog {
public:
  explicit watchdog(std::uint64_t threads) : slots_(threads) {
    guard_ = std::thread{[this] { watch(); }};
  }
  ~watchdog() {
    over_ = true;
    guard_.join();
  }
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  /// For a signal handler.
  void name_seeds() const noexcept {
    for (const auto& s : slots_)
      if (s.since != 0) {
        char text[64] = "troupe crashed, or was ended, with seed ";
        auto* end =
          std::to_chars(text + std::strlen(text), text + sizeof text - 1, s.seed.load()).ptr;
        *end++ = '\n';
        (void)!::write(STDERR_FILENO, text, static_cast<std::size_t>(end - text));
      }
  }

  void begins(std::size_t slot, std::uint64_t seed) {
    slots_[slot].seed = seed;
    slots_[slot].since = seed == 0 ? 0 : now();
  }

private:
  static constexpr std::int64_t seconds_max = 120; // for one seed
  struct slot {
    std::atomic<std::uint64_t> seed{0};
    std::atomic<std::int64_t> since{0};
  };

  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
  }

  void watch() {
    while (!over_) {
      std::this_thread::sleep_for(std::chrono::milliseconds{200});
      for (auto& s : slots_)
        if (s.since != 0 && now() - s.since > seconds_max) {
          std::cerr << "seed " << s.seed << " does not end\n";
          std::abort();
        }
    }
  }

  std::vector<slot> slots_;
  std::atomic<bool> over_{false};
  std::thread guard_;
};

// ---- one seed ---------------------------------------------------------------------------------

// Both sides' answers on a plan that was made smaller.
void explain(const plan& p, bool smaller) {
  if (smaller) {
    auto small = shrink(p);
    std::string log;
    auto found = try_apart(small, &log);
    std::cout << "made smaller:\n" << show(*small.graph);
    if (log.empty())
      for (const auto& c : small.calls)
        log += show(c) + "\n";
    std::cout << log;
    if (found)
      std::cout << "call " << found->call << ": " << found->what << "\n";
  }
  std::cout << "to see it whole: troupe-fuzz --replay " << p.seed << std::endl;
}

// A crash names the seeds in hand.
watchdog* on_watch = nullptr;

void name_seeds(int signal) {
  if (on_watch)
    on_watch->name_seeds();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// ---- many seeds -------------------------------------------------------------------------------

class campaign {
public:
  explicit campaign(const options& o)
    : options_{o},
      dog_{std::make_unique<watchdog>(o.threads)},
      next_{o.seed} {}

  int run() {
    on_watch = dog_.get();
    for (auto signal : {SIGSEGV, SIGABRT, SIGBUS, SIGTERM})
      std::signal(signal, name_seeds);
    std::vector<std::thread> workers;
    for (std::uint64_t i = 0; i < options_.threads; ++i)
      workers.emplace_back([this, i] { work(i); });
    for (auto& w : workers)
      w.join();
    on_watch = nullptr;
    dog_.reset();
    if (first_ && !options_.keep_going)
      explain(*first_, options_.shrink);
    std::cout << done_ << " seeds from " << options_.seed << ", " << calls_ << " calls, " << found_
              << " differences" << std::endl;
    return found_ == 0 ? 0 : 1;
  }

private:
  using clock = std::chrono::steady_clock;

  bool over() const {
    if (found_ > 0 && !options_.keep_going)
      return true;
    if (options_.runs)
      return next_ >= options_.seed + *options_.runs;
    return clock::now() - begin_ >= std::chrono::seconds{options_.seconds.value_or(10)};
  }

  void work(std::size_t slot) {
    hosts on;
    while (!over()) {
      auto seed = next_++;
      dog_->begins(slot, seed);
      auto p = make_plan(seed);
      auto found = try_plan(p, on);
      ++done_;
      calls_ += p.calls.size();
      if (found)
        report(p, *found);
    }
    dog_->begins(slot, 0);
  }

  void report(const plan& p, const finding& found) {
    std::lock_guard guard{mutex_};
    if (found_++ > 0 && !options_.keep_going)
      return;
    std::cout << "seed " << p.seed << ", call " << found.call << ": " << found.what << std::endl;
    if (!first_)
      first_ = p;
  }

  options options_;
  std::unique_ptr<watchdog> dog_;
  std::optional<plan> first_;
  clock::time_point begin_ = clock::now();
  std::atomic<std::uint64_t> next_;
  std::atomic<std::uint64_t> done_{0}, calls_{0}, found_{0};
  std::mutex mutex_;
};

int replay(std::uint64_t seed, bool smaller) {
  constexpr const char* paces[] = {"plain", "blocking", "coroutine", "delayed"};
  auto p = make_plan(seed);
  std::cout << show(*p.graph) << (p.kept == keeper::lmdb ? "LMDB" : "memory") << ", "
            << paces[static_cast<int>(p.pace)] << " bodies" << std::endl;
  std::string log;
  auto found = try_apart(p, &log);
  if (log.empty())
    for (const auto& c : p.calls)
      log += show(c) + "\n";
  std::cout << log;
  if (!found) {
    std::cout << "no difference" << std::endl;
    return 0;
  }
  std::cout << "call " << found->call << ": " << found->what << std::endl;
  if (smaller)
    explain(p, true);
  return 1;
}

} // namespace

int fuzz_main(const std::vector<std::string>& arguments) {
  auto o = parse(arguments);
  if (!o)
    return usage();
  try {
    return o->replay ? replay(*o->replay, o->shrink) : campaign{*o}.run();
  } catch (const std::exception& e) {
    std::cerr << "troupe-fuzz: " << e.what() << std::endl;
    return 3;
  }
}

} // namespace troupe::fuzz

int main(int argc, char** argv) {
  return troupe::fuzz::fuzz_main({argv + 1, argv + argc});
}
