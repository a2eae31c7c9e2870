// http retry: reading retry headers, and computing waits.
#include "http/retry.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace troupe {

namespace {

using std::chrono::milliseconds;

constexpr double retry_ms_max = 1e12; // some thirty years

std::optional<double> number_in(std::string_view text) {
  double out = 0;
  auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (bad != std::errc{} || end != text.data() + text.size() || !std::isfinite(out))
    return std::nullopt;
  return out;
}

std::optional<milliseconds> if_positive(double ms) {
  if (ms <= 0)
    return std::nullopt;
  return milliseconds{static_cast<std::int64_t>(std::ceil(std::min(ms, retry_ms_max)))};
}

} // namespace

bool may_change(const http_head& head) noexcept {
  if (auto said = head.header("x-should-retry"); said == "true" || said == "false")
    return said == "true";
  return head.status == 408 || head.status == 409 || head.status == 429 || head.status >= 500;
}

bool may_change(http_fault fault) noexcept {
  return fault == http_fault::no_connection || fault == http_fault::broken
         || fault == http_fault::timed_out;
}

std::optional<milliseconds> retry_after(const http_head& head,
                                        std::chrono::system_clock::time_point now) {
  if (auto ms = number_in(head.header("retry-after-ms")))
    return if_positive(*ms);
  auto text = head.header("retry-after");
  if (auto seconds = number_in(text))
    return if_positive(*seconds * 1000);
  auto date = text.empty() ? time_t{-1} : curl_getdate(std::string{text}.c_str(), nullptr);
  if (date == time_t{-1})
    return std::nullopt;
  auto wait = std::chrono::system_clock::from_time_t(date) - now;
  return if_positive(std::chrono::duration<double, std::milli>(wait).count());
}

milliseconds retry_wait(unsigned attempt, milliseconds first, milliseconds most, double chance) {
  auto doubled = static_cast<double>(first.count()) * std::exp2(std::min(attempt - 2, 60u));
  auto wait = std::min(doubled, static_cast<double>(most.count()));
  return milliseconds{static_cast<std::int64_t>(wait * (1.0 - 0.25 * chance))};
}

} // namespace troupe
