// filtered_routes: what a caller may see and change, by the filter of its authoriser.
#pragma once

#include "server/api/rooms.hpp"

namespace troupe::server {

/// The routes, and before each handler the filter of its call (api_call::filter): documents that do
/// not fit are missing for the caller, searches find those that fit, and what the caller makes gets
/// the filter's members as metadata. Handlers of MCP and A2A ask and filter themselves, since their
/// messages name the documents.
/// Errors: of a handler, before it begins: refusal 404 for a document that does not fit, 409 for a
///         new one under the id of such a document; std::runtime_error (500) for a filter of
///         another resource, which would have no effect.
router with_filters(const router& routes, const rooms& with);

/// Whether a thread may be seen under a filter. A missing one may: it is left to the handler.
bool may_see_thread(const rooms& with, const std::string& thread_id, const value& filter);

/// A command of the thread protocol under a filter: its run gets the filter as metadata.
/// Errors: throws refusal{404} when the thread is there and does not fit.
value filtered_command(const rooms& with, const value& filter, const std::string& thread_id,
                       const value& command);

} // namespace troupe::server
