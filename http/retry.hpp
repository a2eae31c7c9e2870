// When a request is tried again, and after how long. Pure.
#pragma once

#include "http/exchange.hpp"

#include <chrono>
#include <optional>

namespace troupe {

/// Whether a response of this status may be another one next time: 408, 409, 429 and 5xx, unless
/// the server says so itself (`x-should-retry`). Source: anthropic/_base_client.py, _should_retry;
/// the same in openai.
bool may_change(const http_head& head) noexcept;
/// Whether what went wrong on the way may not next time.
bool may_change(http_fault fault) noexcept;

/// How long the server wants not to be asked: `retry-after-ms`, else `retry-after`, as seconds or a
/// date; nothing when it does not say, or what it says is in the past.
std::optional<std::chrono::milliseconds> retry_after(const http_head& head,
                                                     std::chrono::system_clock::time_point now);

/// How long to wait before attempt `attempt` (from 2): `first`, doubled each time up to `most`,
/// shortened by up to a quarter. `chance` is from 0 to 1.
std::chrono::milliseconds retry_wait(unsigned attempt, std::chrono::milliseconds first,
                                     std::chrono::milliseconds most, double chance);

} // namespace troupe
