// part_path: paths that consist of parts: the namespaces of the store, the spaces of the cache.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace troupe {

/// Whether `path` begins with all parts of `prefix`. Parts compare whole.
inline bool is_under(const std::vector<std::string>& path, const std::vector<std::string>& prefix) {
  return prefix.size() <= path.size() && std::equal(prefix.begin(), prefix.end(), path.begin());
}

} // namespace troupe
