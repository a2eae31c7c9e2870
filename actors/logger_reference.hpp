// Whose logger a thread refers to.
#pragma once

#include <caf/logger.hpp>

namespace troupe {

/// A thread that spawns an actor refers to the system's logger until it ends, and the system's
/// destructor waits until no thread does: with a caller's thread it might wait for good. While this
/// lives, CAF may do so; then a thread without a logger is one again.
class logger_reference {
public:
  logger_reference() noexcept : had_one_{caf::logger::current_logger() != nullptr} {}
  logger_reference(const logger_reference&) = delete;
  logger_reference& operator=(const logger_reference&) = delete;
  ~logger_reference() {
    if (!had_one_)
      caf::logger::set_current_actor_system(nullptr);
  }

private:
  bool had_one_;
};

} // namespace troupe
