// plain_json: values as JSON for others, who know no `$` objects.
#pragma once

#include <troupe/value.hpp>

namespace troupe {

/// The counterpart of json_form::plain: to_json on one line, except that a map with one member that
/// begins with `$` prints as it is. Kinds that JSON lacks print as in to_json.
/// Errors: throws error{invalid_value} when deeper than limits::value_depth_max.
std::string to_plain_json(const value& v);

} // namespace troupe
