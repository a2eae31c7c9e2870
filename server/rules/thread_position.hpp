// thread_position: a place in the stream of all runs of a thread, as the id of its events. Pure.
#pragma once

#include "server/rules/records.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::server {

/// A place after an event of a run, or after its end. Shape: an empty run is the beginning.
struct thread_position {
  std::string run_id = {};
  std::uint64_t seq = 0;
  bool is_at_end = false; ///< of the run

  bool operator==(const thread_position&) const = default;
};

/// The id of the event before a place: "RUN:SEQ", or "RUN:end".
std::string to_string(const thread_position& at);
/// The place after an event. Shape: "-" and "-1" are the beginning; nullopt for an empty or unknown
/// id.
std::optional<thread_position> thread_position_after(std::string_view last_event_id);

/// The runs that a reader at this place has not read to their ends.
/// Order:  as they ran. A thread runs one run at a time, so this is the order of their ends.
/// Shape:  without those that never began. When the run of the place was removed, those that were
///         made after it.
std::vector<run_record> runs_after(std::vector<run_record> all, const thread_position& at);

} // namespace troupe::server
