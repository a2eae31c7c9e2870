// value_base: a value that the writer remembers, so that the channel's next version can be stored
// as a patch.
#pragma once

#include <troupe/saver.hpp>

#include <string>
#include <string_view>
#include <unordered_map>

namespace troupe {

inline constexpr std::size_t patch_base_bytes_min = 128; // smaller values are stored whole
/// The most bytes of remembered values. Above it, all are forgotten, and the next ones are stored
/// whole.
inline constexpr std::size_t patch_bases_bytes_max = 64u << 20;

/// A stored value of a channel, of which another one may be stored as a patch.
struct value_base {
  version at;
  value val;
  std::size_t bytes = 0;      // of the whole value, encoded; approximate
  std::uint32_t depth = 0;    // number of patches from a whole value to this one
  std::uint32_t checksum = 0; // of its record, so that a patch is never applied to another value
};

/// By channel name, within one chain.
using value_bases = std::unordered_map<std::string, value_base>;

/// Whether a value of this size is worth remembering as a base.
inline bool may_be_base(const value& v, std::size_t bytes) {
  return (v.is_list() || v.is_map()) && bytes >= patch_base_bytes_min;
}

/// Whether the next version is stored whole, whatever changed. Regular whole values bound the cost
/// of reading. The larger a value is, the less often that happens, so that all whole values
/// together cost a few bytes a version.
inline bool whole_is_due(const value_base& base) {
  constexpr std::size_t bytes_a_patch = 64, depth_min = 16;
  return base.depth >= depth_min && base.depth * bytes_a_patch >= base.bytes;
}

} // namespace troupe
