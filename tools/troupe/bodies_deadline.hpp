// Ending a process whose runtime ends, though a body of it may not.
#pragma once

#include "tools/troupe/exit_codes.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

namespace troupe::cli {

/// A body that does not end on request must not keep the process. Ends the process when it is not
/// destroyed in time.
class bodies_deadline {
public:
  bodies_deadline() = default;
  bodies_deadline(const bodies_deadline&) = delete;
  bodies_deadline& operator=(const bodies_deadline&) = delete;
  ~bodies_deadline() = default;

private:
  static void wait(const std::stop_token& in_time) {
    std::mutex mutex;
    std::unique_lock lock{mutex};
    std::condition_variable_any changed;
    changed.wait_for(lock, in_time, bodies_patience, [] { return false; });
    if (in_time.stop_requested())
      return;
    std::cerr << "bodies that still run here did not end in time and are abandoned" << std::endl;
    std::_Exit(exit_done);
  }

  static constexpr std::chrono::seconds bodies_patience{1};
  std::jthread thread_{wait};
};

} // namespace troupe::cli
