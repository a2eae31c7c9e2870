// Requests that wait to be used again.
#include "persistence/spent_requests.hpp"

#include <utility>

namespace troupe {

namespace {

constexpr std::size_t entries_kept_max = 256; // channels, or tasks with writes, of a request

bool is_large(const save_request& request) noexcept {
  return request.put->checkpoint.channel_versions.size() > entries_kept_max
         || request.writes.size() > entries_kept_max;
}

} // namespace

void drop_values(save_request& request) noexcept {
  if (auto& put = request.put) {
    for (auto& [name, val] : put->checkpoint.channel_values)
      val = {};
    put->metadata = {};
  }
  for (auto& task : request.writes)
    for (auto& [channel, val] : task.writes)
      val = {};
}

void spent_requests::give(save_request request) {
  if (!request.put || is_large(request))
    return;
  drop_values(request);
  std::lock_guard lock{mutex_};
  if (requests_.size() < limits::spent_requests_max)
    requests_.push_back(std::move(request));
}

std::optional<save_request> spent_requests::take() noexcept {
  std::unique_lock lock{mutex_, std::try_to_lock};
  if (!lock || requests_.empty())
    return std::nullopt;
  std::optional<save_request> one{std::move(requests_.back())};
  requests_.pop_back();
  return one;
}

} // namespace troupe
