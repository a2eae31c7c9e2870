// A callback drops the last reference of an HTTP loop while the process ends: the loop's thread
// must have ended before OpenSSL frees what is its own.
//
// Handlers of the process's end run in reverse: first the one that lets the callback go on, then
// those of the loop and of OpenSSL, and `check_end` last.
#include "http/loop.hpp"

#include <atomic>
#include <cstdlib>
#include <iostream>

namespace {

std::atomic<bool> callback_runs = false;
std::atomic<bool> process_ends = false;
std::atomic<bool> thread_ended = false;

struct ended_with_its_thread {
  ~ended_with_its_thread() { thread_ended = true; }
};

void check_end() {
  if (thread_ended)
    return;
  std::cerr << "the loop's thread runs on, after OpenSSL ended\n" << std::flush;
  std::_Exit(1);
}

void set(std::atomic<bool>& flag) {
  flag = true;
  flag.notify_all();
}

} // namespace

int main() {
  std::atexit(check_end);
  auto loop = std::make_shared<troupe::http_loop>();
  auto last = std::make_shared<std::shared_ptr<troupe::http_loop>>(loop);
  loop->at(troupe::http_loop::clock::now(), [last] {
    static thread_local ended_with_its_thread mark;
    set(callback_runs);
    process_ends.wait(false);
    last->reset();
  });
  callback_runs.wait(false);
  loop.reset();
  last.reset();
  std::atexit([] { set(process_ends); });
  return 0;
}
