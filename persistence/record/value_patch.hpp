// value_patch: the difference between two values. A list that grew, or a map of which an entry
// changed, is stored without storing it again.
#pragma once

#include <troupe/saver.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// Appends to `out` the patch from `before` to `after`. It has the elements after a common part of
/// two lists, the entries of maps that differ, and the same within nested maps and lists. False,
/// with `out` as it was, when the two have too little in common, or a value can't be encoded.
/// Shape:  FORMAT.md, "Patch".
/// Cost:   one comparison of handles for each element or entry, then the new parts. Lists that
/// share their buffer are not compared at all.
bool append_patch(const value& before, const value& after, std::string& out);

/// `before` with the patch applied; shares the unchanged parts.
/// Errors: checkpoint_corrupt when the bytes are not a patch of such a value.
result<value> apply_patch(const value& before, std::string_view patch);

/// The head of a patch in its record. It has the lower version of the channel from which the patch
/// starts, and the lowest bits of the checksum of that version's record.
struct patch_base {
  version at;
  std::uint32_t checksum = 0;
};
void append_patch_head(const patch_base& base, const version& at, std::string& out);

/// Takes the head off the payload of the record of version `at`.
/// Errors: checkpoint_corrupt.
result<patch_base> take_patch_head(std::string_view& payload, const version& at);

} // namespace troupe
