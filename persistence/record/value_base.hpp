// What the writer remembers of the values it stored, so that the next version of a channel can be
// stored as what changed.
#pragma once

#include <troupe/saver.hpp>

#include <string>
#include <string_view>
#include <unordered_map>

namespace troupe {

inline constexpr std::size_t patch_base_bytes_min = 128; // smaller values are stored whole
/// Of the values remembered; then all are forgotten, and the next ones stored whole.
inline constexpr std::size_t patch_bases_bytes_max = 64u << 20;

/// A stored value of a channel that another one may be stored as a patch of.
struct value_base {
  version at;
  value val;
  std::size_t bytes = 0;      // of the whole value, encoded: about
  std::uint32_t depth = 0;    // how many patches lead to it from a whole one
  std::uint32_t checksum = 0; // of its record, so that a patch is never applied to anything else
};

/// By channel name; of one chain.
using value_bases = std::unordered_map<std::string, value_base>;

/// Whether a value of this size is worth being remembered as a base.
inline bool may_be_base(const value& v, std::size_t bytes) {
  return (v.is_list() || v.is_map()) && bytes >= patch_base_bytes_min;
}

/// Whether the next version is stored whole, whatever changed. A whole value every so often bounds
/// what reading costs; it comes the later the larger the value is, so that all of them together
/// cost a few bytes a version.
inline bool whole_is_due(const value_base& base) {
  constexpr std::size_t bytes_a_patch = 64, depth_min = 16;
  return base.depth >= depth_min && base.depth * bytes_a_patch >= base.bytes;
}

} // namespace troupe
