// The bounds of clients of an Agent Server, as limits.hpp has those of the rest: each with its
// unit.
#pragma once

#include <troupe/limits.hpp>

namespace troupe::limits {

// A server's text in an error is cut after so many bytes.
inline constexpr std::size_t client_detail_bytes_max = 2048;
inline constexpr std::size_t client_answer_bytes_max = json_size_bytes_max; // of a whole answer
// A connection that was lost is made again so often. An event that arrives begins a new count.
inline constexpr unsigned client_reconnects_max = 5;
// The wait before the first of them. It doubles each time, up to the second number.
inline constexpr std::chrono::milliseconds client_reconnect_first{500};
inline constexpr std::chrono::milliseconds client_reconnect_most{5000};
// A stream or a wait that is silent for so long counts as lost. Servers send a sign each 5 s.
inline constexpr std::chrono::milliseconds client_silence_max{60'000};
// Ids of events that a stream remembers, so that no event comes twice; older ones go.
inline constexpr std::size_t client_event_ids_kept = 10'000;

} // namespace troupe::limits
