// What the graphs and calls of one case share.
#pragma once

#include "tests/conformance/labels.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe::conformance {

/// A part of the language of the cases that this driver does not know.
struct unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thread: the members may be called from any thread, `labels` from the one that makes the calls.
class world {
public:
  explicit world(std::string given) : labels{std::move(given)} {}

  label_book labels;

  /// How often `name` was counted, from 1.
  std::int64_t count(const std::string& name);

  /// Throws unsupported, and remembers it: what a node body throws is only a failed node to the
  /// engine.
  [[noreturn]] void refuse(std::string_view what);
  /// Throws what was refused since the case began, if anything was.
  void check() const;

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> counts_;
  std::optional<unsupported> refused_;
};

} // namespace troupe::conformance
