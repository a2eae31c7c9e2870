// Which runtimes work on a data directory now, in all processes of this host.
//
// Invariants:
//  - A mark is locked as long as its runtime is there: the kernel lets go of it when the process
//    ends, however that is. Nothing has to be cleaned up.
#pragma once

#include <troupe/error.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace troupe {

/// Thread: any.
class runtime_marks {
public:
  /// The file, which stays empty, is made when it is needed.
  explicit runtime_marks(std::filesystem::path file) : file_{std::move(file)} {}

  /// Locks a mark until what is given goes.
  /// Errors: storage_failed; conflict when it is locked.
  result<std::shared_ptr<void>> announce(std::uint32_t mark) const;
  /// Whether somebody has locked it.
  /// Errors: storage_failed.
  result<bool> is_there(std::uint32_t mark) const;

private:
  std::filesystem::path file_;
};

} // namespace troupe
