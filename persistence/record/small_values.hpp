// small_values: the small values of one version share a record. In a record of its own, each would
// be mostly key and header.
#pragma once

#include "persistence/record/value_base.hpp"

#include <troupe/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

inline constexpr std::size_t small_value_bytes_max = 64;
static_assert(small_value_bytes_max < patch_base_bytes_min); // patches build on records of single
                                                             // values

/// A channel's small value, as msgpack. Owns: nothing.
struct small_value {
  std::uint32_t channel = 0;
  std::string_view bytes;
  friend bool operator==(const small_value&, const small_value&) = default;
};

/// Applies the changes, each in its channel's place; a change without bytes removes the value.
/// Order:  `there` by channel, before and after.
void change_small_values(std::vector<small_value>& there, std::span<const small_value> changes);

/// Shape:  FORMAT.md, "Small values".
void append_small_values(std::span<const small_value> values, std::string& out);

/// Order:  by channel; `values` must be empty. Errors: checkpoint_corrupt.
result<void> read_small_values(std::string_view payload, std::vector<small_value>& values);

} // namespace troupe
