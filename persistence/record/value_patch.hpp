// What one value has that another one has not: how a list that grew, or a map of which an entry
// changed, is stored without storing it again.
#pragma once

#include <troupe/saver.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// Appends to `out` what makes `after` of `before`: the elements behind a common part of two lists,
/// the entries of maps that differ, and the same for maps and lists within maps. False, and `out`
/// as it was, when the two have nothing in common that is worth it, or a value can't be encoded.
/// Shape:  FORMAT.md, "Patch".
/// Cost:   one comparison of handles for each element or entry, then what is new. Lists that share
///         their buffer are not compared at all.
bool append_patch(const value& before, const value& after, std::string& out);

/// `before` with the patch applied; shares what stayed.
/// Errors: checkpoint_corrupt when the patch is no patch of such a value.
result<value> apply_patch(const value& before, std::string_view patch);

/// What stands before a patch in its record: the version of the same channel that it starts from,
/// a lower one, and the lowest bits of the checksum of that one's record.
struct patch_base {
  version at;
  std::uint32_t checksum = 0;
};
void append_patch_head(const patch_base& base, const version& at, std::string& out);

/// Takes the head off the payload of the record of version `at`.
/// Errors: checkpoint_corrupt.
result<patch_base> take_patch_head(std::string_view& payload, const version& at);

} // namespace troupe
