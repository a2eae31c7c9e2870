// stored_events: the events of a run as documents, for readers after a restart and on other
// servers.
#pragma once

#include "server/documents/document_store.hpp"
#include "server/runs/event_log.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::server {

document_change change_to_event(const std::string& run_id, const run_event& event);
document_change removal_of_event(const std::string& run_id, std::uint64_t seq);
std::vector<document_change> removal_of_events(document_store& documents,
                                               const std::string& run_id);

/// The number of the newest event, 0 without one.
std::uint64_t last_stored_event(document_store& documents, const std::string& run_id);

/// The next events after a number; empty at the end. Numbers may have holes.
/// Order:  by number. At most limits::server_events_read, or all after a hole.
std::vector<run_event> stored_events_after(document_store& documents, const std::string& run_id,
                                           std::uint64_t after);

} // namespace troupe::server
