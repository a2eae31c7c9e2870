// authorise: what a caller may do, as a user's function decides it. Pure.
//
// The function sees a request's resource and action, and allows it, refuses it, or gives a filter.
// A filter is added to the metadata of what the caller makes, and must fit the metadata of what the
// caller reads or changes.
#pragma once

#include <troupe/server/access.hpp>
#include <troupe/value.hpp>

#include <string>
#include <string_view>

namespace troupe::server {

/// Whether a document with this metadata may be read or changed. A null filter fits all.
bool fits_filter(const value& filter, const value& metadata);

/// The metadata of what a caller makes: its own with the filter's members, which win.
value with_filter(const value& filter, const value& metadata);

/// The metadata members that equal those of the filter, for a search by containment. Members with
/// `$contains` are lists.
value filter_as_metadata(const value& filter);

/// The message of what is wrong with a filter; empty when it is one.
/// Shape:  unknown operators and empty ones are wrong: they would fit everything or nothing. So are
///         lists, maps and nulls as values: a search by containment would find more than fits.
std::string filter_problem(const value& filter);

} // namespace troupe::server
