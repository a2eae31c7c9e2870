// authorise: what a caller may do, as a user's function decides it. Pure.
//
// The function sees a request's resource and action, and allows it, refuses it, or gives a filter.
// A filter is added to the metadata of what the caller makes, and must fit the metadata of what the
// caller reads or changes.
#pragma once

#include "server/edge/caller.hpp"

#include <troupe/value.hpp>

#include <functional>
#include <string_view>

namespace troupe::server {

/// The resource and action of a route: "threads" and "create_run".
struct access {
  std::string_view resource = {};
  std::string_view action = {};
};

/// A question for an authoriser. Shape: `body` is the request's, or null.
struct access_question {
  const caller& who;
  access what;
  const value& body;
};

/// Shape:  `filter`: null, or a map of members: {"owner": id}, {"owner": {"$eq": id}} or
///         {"shared_with": {"$contains": id}}, where the last fits a list that has all of the
///         values: one, or a list of them.
struct access_verdict {
  bool is_allowed = true;
  value filter = {};
};

/// Thread: any, several at once. An exception refuses the request with status 500.
/// Source: langgraph_sdk/auth, Auth.on.
using authoriser = std::function<access_verdict(const access_question&)>;

/// Whether a document with this metadata may be read or changed. A null filter fits all.
bool fits_filter(const value& filter, const value& metadata);

/// The metadata of what a caller makes: its own with the filter's members, which win.
value with_filter(const value& filter, const value& metadata);

/// The metadata members that equal those of the filter, for a search by containment. Members with
/// `$contains` are lists.
value filter_as_metadata(const value& filter);

/// The message of what is wrong with a filter; empty when it is one.
/// Shape:  unknown operators and empty ones are wrong: they would fit everything or nothing.
std::string filter_problem(const value& filter);

} // namespace troupe::server
