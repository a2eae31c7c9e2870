// http retry: when a request is tried again, and after which wait. Pure.
#pragma once

#include "http/exchange.hpp"

#include <chrono>
#include <optional>

namespace troupe {

/// Whether a response of this status may differ next time: 408, 409, 429 and 5xx, unless the server
/// answers that itself (`x-should-retry`). Source: anthropic/_base_client.py, _should_retry; the
/// same in openai.
bool may_change(const http_head& head) noexcept;
/// Whether a failure of the connection may not occur next time.
bool may_change(http_fault fault) noexcept;

/// The wait that the server asks for: `retry-after-ms`, else `retry-after`, as seconds or a date.
/// Missing without these headers, and when their time is in the past.
std::optional<std::chrono::milliseconds> retry_after(const http_head& head,
                                                     std::chrono::system_clock::time_point now);

/// The wait before attempt `attempt` (from 2): `first`, doubled each time up to `most`, shortened
/// by up to a quarter. `chance` is from 0 to 1.
std::chrono::milliseconds retry_wait(unsigned attempt, std::chrono::milliseconds first,
                                     std::chrono::milliseconds most, double chance);

} // namespace troupe
