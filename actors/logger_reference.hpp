// logger_reference: releases the reference to the system's logger that a caller's thread gets from
// CAF.
#pragma once

#include <caf/logger.hpp>

namespace troupe {

/// A thread that spawns an actor refers to the system's logger until the thread ends. The system's
/// destructor waits until no thread does: with a caller's thread it might wait forever. This
/// object's destructor drops the reference if the thread had none before.
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
