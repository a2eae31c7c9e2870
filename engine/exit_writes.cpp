// Collecting the writes to delta channels for durability exit.
#include "engine/exit_writes.hpp"

#include "graph/names.hpp"

#include <algorithm>
#include <cstdio>

namespace troupe {

namespace {

// The groups of a UUID text from the nth on, with the hyphen before them.
std::string_view groups_from(std::string_view uuid, std::size_t n) {
  std::size_t at = 0;
  for (; n > 0 && at != std::string_view::npos; --n)
    at = uuid.find('-', at + 1);
  return at == std::string_view::npos ? std::string_view{} : uuid.substr(at);
}

template <class... Numbers> std::string printed(const char* format, Numbers... numbers) {
  char text[40];
  std::snprintf(text, sizeof text, format, numbers...);
  return text;
}

} // namespace

std::string exit_task_id(std::int64_t step, std::string_view task_id) {
  auto id = printed("%08lld", static_cast<long long>(step)).append(groups_from(task_id, 1));
  return id == names::null_task_id ? id.replace(id.size() - 1, 1, "1") : id;
}

std::string late_task_id(std::int64_t step, std::string_view task_id) {
  auto high = static_cast<unsigned>(step >> 16) & 0xffffu;
  auto low = static_cast<unsigned>(step) & 0xffffu;
  return printed("ffffffff-%04x-%04x", high, low).append(groups_from(task_id, 3));
}

std::string late_task_path(std::int64_t step, std::string_view task_path) {
  return printed("~~%010lld", static_cast<long long>(step)).append(task_path);
}

void exit_writes::begin(const graph_plan& plan, std::span<const pending_write> stored) {
  plan_ = &plan;
  first_ = true;
  kept_.clear();
  stored_.clear();
  for (const auto& w : stored)
    if (w.task_id != names::null_task_id)
      stored_.emplace_back(w.task_id, plan.find_channel(w.channel));
  std::ranges::sort(stored_);
}

bool exit_writes::is_stored(const std::string& task_id, channel_index channel) const {
  return first_ && std::ranges::binary_search(stored_, std::pair{task_id, channel});
}

void exit_writes::collect(std::int64_t step, const std::string& task_id,
                          const std::string& task_path, const task_write_list& writes) {
  kept_task task{.id = {}, .path = {}, .writes = {}};
  for (const auto& w : writes)
    if (w.channel != no_index && plan_->channels[w.channel].spec.kind == channel_kind::delta
        && !is_stored(task_id, w.channel))
      task.writes.push_back(w);
  if (task.writes.empty())
    return;
  bool late = !first_ && task_id != names::null_task_id;
  task.id = late ? late_task_id(step, task_id) : exit_task_id(step, task_id);
  task.path = late ? late_task_path(step, task_path) : task_path;
  kept_.push_back(std::move(task));
}

std::vector<task_writes> exit_writes::take(const std::vector<channel_index>& stored) {
  std::vector<task_writes> out;
  for (auto& task : std::exchange(kept_, {})) {
    task_writes left{std::move(task.id), std::move(task.path), {}};
    for (auto& w : task.writes)
      if (std::ranges::find(stored, w.channel) == stored.end())
        left.writes.emplace_back(plan_->channels[w.channel].name, std::move(w.val));
    if (!left.writes.empty())
      out.push_back(std::move(left));
  }
  return out;
}

} // namespace troupe
