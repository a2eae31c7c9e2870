// runtime_marks: the runtimes that work on a data directory now, in all processes of this host.
//
// Invariants:
//  - A mark is locked while its runtime exists. The kernel unlocks it when the process ends in any
//    way, so nothing has to be cleaned up.
#pragma once

#include <troupe/error.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace troupe {

/// Locks of runtimes. Thread: any.
class runtime_marks {
public:
  /// The file stays empty, and is made on first use.
  explicit runtime_marks(std::filesystem::path file) : file_{std::move(file)} {}

  /// Locks a mark until the returned object is destroyed.
  /// Errors: storage_failed; conflict when another runtime has locked it.
  result<std::shared_ptr<void>> announce(std::uint32_t mark) const;
  /// Whether a runtime has locked the mark.
  /// Errors: storage_failed.
  result<bool> is_there(std::uint32_t mark) const;

private:
  std::filesystem::path file_;
};

} // namespace troupe
