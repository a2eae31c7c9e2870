// The rules of all savers. Ids have bounds of length. A checkpoint's id has no zero byte, since one
// ends it in keys; other ids are any bytes.
#include "persistence/record/saver_rules.hpp"

#include <algorithm>
#include <tuple>

namespace troupe {

namespace {

[[gnu::cold]] error wrong_length(std::size_t size, std::size_t max, std::string_view name) {
  auto id = "address a checkpoint: " + std::string{name};
  if (size <= max)
    return {errc::invalid_config, id + " is empty"};
  return {errc::invalid_config,
          id + " is too long: " + std::to_string(size) + " bytes, at most " + std::to_string(max)};
}

// Inlined, since a request has many ids, and nearly all fit.
[[gnu::always_inline]] inline result<void> check_length(std::string_view id, std::size_t min,
                                                        std::size_t max, std::string_view name) {
  if (id.size() >= min && id.size() <= max)
    return {};
  return wrong_length(id.size(), max, name);
}

[[gnu::cold]] error zero_byte(std::string_view name) {
  return {errc::invalid_config,
          "address a checkpoint: " + std::string{name} + " contains a zero byte"};
}

result<void> check_checkpoint_id(std::string_view id, std::size_t min, std::string_view name) {
  if (auto ok = check_length(id, min, limits::checkpoint_id_bytes_max, name); !ok)
    return ok;
  return id.find('\0') == id.npos ? result<void>{} : zero_byte(name);
}

result<void> check_namespace(std::string_view ns) {
  return check_length(ns, 0, limits::checkpoint_ns_bytes_max, "checkpoint_ns");
}

} // namespace

result<void> check_thread_id(std::string_view thread_id) {
  return check_length(thread_id, 1, limits::thread_id_bytes_max, "thread_id");
}

result<void> check_ref(const checkpoint_ref& ref) {
  if (auto ok = check_thread_id(ref.thread_id); !ok)
    return ok;
  if (auto ok = check_namespace(ref.checkpoint_ns); !ok)
    return ok;
  return check_checkpoint_id(ref.checkpoint_id, 0, "checkpoint_id");
}

result<void> check_request(const save_request& request) {
  if (auto ok = check_ref(request.ref); !ok)
    return ok;
  if (!request.writes.empty())
    if (auto ok = check_checkpoint_id(request.ref.checkpoint_id, 1, "checkpoint_id"); !ok)
      return ok;
  for (const auto& task : request.writes)
    if (auto ok = check_length(task.task_id, 0, limits::task_id_bytes_max, "task_id"); !ok)
      return ok;
  if (!request.put)
    return {};
  if (auto ok = check_checkpoint_id(request.put->parent_id, 0, "parent_id"); !ok)
    return ok;
  return check_checkpoint_id(request.put->checkpoint.id, 1, "the checkpoint's id");
}

result<void> check_query(const list_query& query) {
  if (query.thread_id)
    if (auto ok = check_thread_id(*query.thread_id); !ok)
      return ok;
  return check_namespace(query.checkpoint_ns.value_or(""));
}

std::int64_t write_slot(std::string_view channel, std::size_t position) noexcept {
  if (channel == "__error__")
    return -1;
  if (channel == "__scheduled__")
    return -2;
  if (channel == "__interrupt__")
    return -3;
  if (channel == "__resume__")
    return -4;
  return static_cast<std::int64_t>(position);
}

std::vector<pending_write> in_task_order(std::vector<slotted_write> writes) {
  auto rank = [](const slotted_write& w) {
    return std::tie(w.write.task_path, w.write.task_id, w.slot);
  };
  auto before = [&rank](const auto& a, const auto& b) { return rank(a) < rank(b); };
  if (!std::is_sorted(writes.begin(), writes.end(), before))
    std::sort(writes.begin(), writes.end(), before);
  std::vector<pending_write> ordered;
  ordered.reserve(writes.size());
  for (auto& w : writes)
    ordered.push_back(std::move(w.write));
  return ordered;
}

// A stored write is one of `before` when task and channel are the same and, outside the special
// slots, all else is equal. The first slots of equal writes of a task stay.
std::vector<slotted_write> rewound_writes(std::vector<slotted_write> stored,
                                          std::vector<pending_write> before) {
  std::ranges::sort(stored, {}, &slotted_write::slot);
  std::vector<slotted_write> left;
  for (auto& there : stored) {
    auto& write = there.write;
    auto was = std::ranges::find_if(before, [&](const pending_write& w) {
      return w.task_id == write.task_id && w.channel == write.channel
             && (slot_is_replaced(there.slot) || w == write);
    });
    if (was == before.end())
      continue;
    left.push_back({there.slot, std::move(*was)});
    before.erase(was);
  }
  return left;
}

bool matches_filter(const value& filter, const value& metadata) {
  return std::ranges::all_of(filter.entries(), [&metadata](const detail::map_entry& wanted) {
    const auto& there = metadata[wanted.key()];
    if (wanted.val.is_double() || there.is_double()) // 1 and 1.0 are equal
      return wanted.val.is_number() && there.is_number()
             && wanted.val.as_double() == there.as_double();
    return there == wanted.val;
  });
}

result<void> check_claim(const save_request& request, std::uint64_t owner) {
  if (!request.claim || owner == request.claim->owner || owner == request.claim->before)
    return {};
  return error{errc::conflict,
               "store a step of thread `" + request.ref.thread_id
                 + (owner == 0 ? "`: the thread was deleted"
                               : "`: another run has taken it over: run again to continue from its "
                                 "state, or from a checkpoint_id to make a branch")};
}

bool is_only_claim(const save_request& request) noexcept {
  return request.writes.empty() && !request.put;
}

bool takes_newest(const save_request& request, std::uint64_t owner) noexcept {
  return request.claim && request.claim->from_newest && owner != request.claim->owner;
}

const std::string& goes_on_from(const save_request& request) noexcept {
  return request.put ? request.put->parent_id : request.ref.checkpoint_id;
}

error was_overtaken(const save_request& request) {
  return {errc::conflict, "store a step of thread `" + request.ref.thread_id
                            + "`: another run has continued from checkpoint `"
                            + goes_on_from(request)
                            + "`: run again to continue from the newest one"};
}

result<void> check_rewind(const std::string& thread_id, const rewind_point& to,
                          std::uint64_t owner) {
  if (!to.claim || owner == to.claim->owner || owner == to.claim->before)
    return {};
  return error{errc::conflict,
               "undo a run of thread `" + thread_id
                 + "`: another run has taken it over, or it was deleted: its present state stays"};
}

bool needs_parent(const save_request& request, std::size_t channels, std::size_t moved) noexcept {
  return request.claim && request.put && !request.put->parent_id.empty() && moved < channels;
}

bool needs_parent(const save_request& request) noexcept {
  return request.put
         && needs_parent(request, request.put->checkpoint.channel_versions.size(),
                         request.put->new_versions.size());
}

error parent_is_gone(const save_request& request) {
  return {errc::conflict,
          "store a step of thread `" + request.ref.thread_id + "`: checkpoint `"
            + request.put->parent_id
            + "`, its parent, was removed: run again to continue from the newest one"};
}

result<void> check_copy(const std::string& source, const std::string& target) {
  if (auto ok = check_thread_id(source); !ok)
    return ok;
  if (auto ok = check_thread_id(target); !ok)
    return ok;
  return source == target ? target_is_there(target) : result<void>{};
}

error nothing_to_copy(const std::string& source, const std::string& up_to) {
  return {errc::checkpoint_missing,
          "copy a thread: `" + source + "` has no checkpoint `" + up_to + "`"};
}

error target_is_there(const std::string& target) {
  return {errc::invalid_config,
          "copy a thread: `" + target + "` exists already: delete it, or choose another id"};
}

} // namespace troupe
