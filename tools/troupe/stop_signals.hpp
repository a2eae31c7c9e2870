// Ctrl-C: the first one stops what runs at a good place, the second one ends the process.
#pragma once

#include "tools/troupe/exit_codes.hpp"

#include <troupe/runtime.hpp>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace troupe::cli {

/// Takes SIGINT and SIGTERM as long as it lives, on a thread of its own. Make it before anything
/// that starts threads: they inherit that the signals are blocked. SIGINT stays ignored where it
/// was (a shell's background job).
/// Invariants: a run is asked to stop at most once; a signal without a run, or after the first one,
/// ends the process.
class stop_signals {
public:
  /// `ends`: a signal that always ends the process; 0: none.
  explicit stop_signals(int ends = 0) : ends_{ends} {
    struct sigaction old {};
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGUSR1); // the destructor's
    if (sigaction(SIGINT, nullptr, &old) != 0 || old.sa_handler != SIG_IGN)
      sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    waiter_ = std::thread{[this] { wait(); }};
  }
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;
  ~stop_signals() {
    ending_ = true;
    pthread_kill(waiter_.native_handle(), SIGUSR1);
    waiter_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  /// Sets the effect of the first signal from now on, and its text, if any; no `stop`: it ends the
  /// process. `before_end`: called before a signal ends the process. Both on a thread of ours.
  void watch(std::function<void()> stop, std::string says, std::function<void()> before_end = {}) {
    std::lock_guard guard{mutex_};
    stop_ = std::move(stop);
    says_ = std::move(says);
    before_end_ = std::move(before_end);
  }
  /// It drains this run; nullopt: none.
  void watch(std::optional<run_control> run) {
    if (run)
      watch([run = *run]() mutable { run.request_drain("interrupted"); },
            "stopping at the end of this step");
    else
      watch({}, {});
  }

private:
  void wait() {
    int signal = 0;
    while (sigwait(&signals_, &signal) == 0 && !ending_)
      if (signal != SIGUSR1)
        on_signal(signal);
  }

  void on_signal(int signal) {
    std::lock_guard guard{mutex_};
    if (!stop_ || signal == ends_) {
      if (before_end_)
        before_end_();
      _exit(exit_stopped);
    }
    std::exchange(stop_, nullptr)();
    if (!says_.empty())
      std::cerr << '\n' << says_ << "; once more stops at once\n" << std::flush;
  }

  const int ends_;
  sigset_t signals_{};
  sigset_t before_{};
  std::mutex mutex_;
  std::function<void()> stop_;
  std::function<void()> before_end_;
  std::string says_;
  std::atomic<bool> ending_{false};
  std::thread waiter_;
};

} // namespace troupe::cli
