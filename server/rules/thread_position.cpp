// thread_position: ids of events, and the order of runs.
#include "server/rules/thread_position.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace troupe::server {

namespace {

constexpr std::string_view end_of_run = "end";
constexpr std::size_t seq_digits_max = 18;

bool has_begun(const run_record& run) {
  return run.attempt + run.left > 0;
}

// Ids are UUIDs of version 7, in the order of their times.
auto order_of(const run_record& run) {
  return std::tuple{!is_over(run.status), is_over(run.status) ? run.updated_at : std::string{},
                    run.run_id};
}

} // namespace

std::string to_string(const thread_position& at) {
  return at.run_id + ':' + (at.is_at_end ? std::string{end_of_run} : std::to_string(at.seq));
}

std::optional<thread_position> thread_position_after(std::string_view last_event_id) {
  if (last_event_id == "-" || last_event_id == "-1")
    return thread_position{};
  auto colon = last_event_id.find(':');
  if (colon == 0 || colon == last_event_id.npos)
    return std::nullopt;
  thread_position out{.run_id = std::string{last_event_id.substr(0, colon)}};
  auto rest = last_event_id.substr(colon + 1);
  out.is_at_end = rest == end_of_run;
  if (out.is_at_end)
    return out;
  if (rest.empty() || rest.size() > seq_digits_max
      || rest.find_first_not_of("0123456789") != rest.npos)
    return std::nullopt;
  out.seq = std::stoull(std::string{rest});
  return out;
}

std::vector<run_record> runs_after(std::vector<run_record> all, const thread_position& at) {
  std::erase_if(all, [](const run_record& run) { return !has_begun(run); });
  std::ranges::sort(all, {}, order_of);
  if (at.run_id.empty())
    return all;
  auto here = std::ranges::find(all, at.run_id, &run_record::run_id);
  if (here == all.end())
    std::erase_if(all, [&at](const run_record& run) { return run.run_id <= at.run_id; });
  else
    all.erase(all.begin(), here + (at.is_at_end ? 1 : 0));
  return all;
}

} // namespace troupe::server
