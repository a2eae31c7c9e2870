// value_cache: the values that were decoded last, so that reading a long list or map again costs
// only what was added since.
//
// Invariant: a value is found only for the record that it was decoded from, which its checksum
// names. So it does not matter who writes to the file.
#pragma once

#include <troupe/saver.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace troupe {

/// The most bytes of records whose values are kept. Above it, all values but the newest are
/// forgotten.
inline constexpr std::size_t read_values_bytes_max = 16u << 20;

/// Keeps one value for each channel of a chain.
/// Thread: any.
class value_cache {
public:
  struct place {
    std::uint64_t chain = 0;
    std::uint32_t channel = 0;
    friend auto operator<=>(const place&, const place&) = default;
  };
  /// A value, and the record that holds it or its last patch.
  struct entry {
    version at;
    std::uint64_t checksum = 0;
    value val;
    std::size_t bytes = 0; // of the records that it was decoded from
  };

  /// Units:  `bytes_max` counts entry::bytes.
  explicit value_cache(std::size_t bytes_max = read_values_bytes_max) : bytes_max_{bytes_max} {}

  std::optional<entry> find(const place& of) const;
  /// Replaces the value of the channel.
  void keep(const place& of, entry decoded);

private:
  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::map<place, entry> entries_;
  std::size_t bytes_ = 0;
};

} // namespace troupe
