// nearest_name: the known name that a misspelt one probably means. Pure.
#pragma once

#include <string_view>
#include <vector>

namespace troupe {

/// The name that differs least from `word`, and in at most two letters; the first of several.
/// Empty when all of them differ more.
std::string_view nearest_name(std::string_view word, const std::vector<std::string_view>& names);

} // namespace troupe
