// event_frame: frames of event streams, and where a reader of one continues. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::server {

/// The text of one frame: "event: NAME\ndata: DATA\nid: ID\n\n"; no id line when `id` is empty.
/// `data` is one line. Line ends in `name` and `id` are left out, since they would begin another
/// field.
std::string event_frame(std::string_view name, std::string_view data, std::string_view id = {});

/// The number of the last event that a reader has, by its header Last-Event-ID.
/// Shape:  "-1" and "-" are 0: the reader gets everything. nullopt for other texts than a number:
///         it gets only what comes.
std::optional<std::uint64_t> position_after(std::string_view last_event_id);

} // namespace troupe::server
