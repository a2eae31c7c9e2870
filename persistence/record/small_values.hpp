// small_values: the small values of one version share a record. In a record of its own, each would
// be mostly key and header.
#pragma once

#include "persistence/record/value_base.hpp"

#include <troupe/error.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

inline constexpr std::size_t small_value_bytes_max = 64;
/// The most bytes of small values in the record of a checkpoint. Above it, they go to records of
/// their versions.
inline constexpr std::size_t own_small_values_bytes_max = 128;
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

/// The bytes of a value in a payload, about.
inline std::size_t small_value_room(std::string_view bytes) noexcept {
  return 2 + bytes.size(); // with its channel and length
}

/// Shape:  FORMAT.md, "Small values".
void append_small_values(std::span<const small_value> values, std::string& out);

/// Order:  by channel; `values` must be empty. Errors: checkpoint_corrupt.
result<void> read_small_values(std::string_view payload, std::vector<small_value>& values);

/// The value of a channel as msgpack; nullopt when it is missing.
/// Order:  `values` by channel.
std::optional<std::string_view> find_small_value(std::span<const small_value> values,
                                                 std::uint32_t channel);
/// The same in a payload. Errors: checkpoint_corrupt.
result<std::optional<std::string_view>> find_small_value(std::string_view payload,
                                                         std::uint32_t channel);

} // namespace troupe
