// saver_rules: the rules of all savers. They decide which ids are allowed, which slot a write has,
// how pending writes are ordered, and what a list filter matches.
#pragma once

#include "graph/same_text.hpp"

#include <troupe/saver.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace troupe {

/// Whether the ids are within limits. Errors: invalid_config, which names the id and the bound.
result<void> check_thread_id(std::string_view thread_id);
result<void> check_ref(const checkpoint_ref& ref);
result<void> check_request(const save_request& request);
result<void> check_query(const list_query& query);

/// The slot of a task's write: its position, or the special channel's own slot below zero.
/// Source: langgraph/checkpoint/base, WRITES_IDX_MAP.
std::int64_t write_slot(std::string_view channel, std::size_t position) noexcept;

/// A write to a taken slot is ignored, except in the special slots, whose writes are replaced.
constexpr bool slot_is_replaced(std::int64_t slot) noexcept {
  return slot < 0;
}

/// The entry with this name in `entries`, which are sorted by name; null without one.
template <class T> const T* find_named(const named<T>& entries, std::string_view name) noexcept {
  constexpr std::size_t few = 8; // a look at each is cheaper than an order of texts
  if (entries.size() <= few) {
    auto at = std::ranges::find_if(entries,
                                   [name](const auto& e) { return same_text(e.first, name); });
    return at != entries.end() ? &at->second : nullptr;
  }
  auto at = std::ranges::lower_bound(entries, name, {}, &std::pair<std::string, T>::first);
  return at != entries.end() && at->first == name ? &at->second : nullptr;
}

/// A pending write and the slot that orders it.
struct slotted_write {
  std::int64_t slot = 0;
  pending_write write;
};

/// The writes in the order (task_path, task_id, slot).
std::vector<pending_write> in_task_order(std::vector<slotted_write> writes);

/// The rest of a checkpoint's `stored` writes when it returns to the writes of `before`, most of
/// which it still has. Later writes are removed; replaced writes of special channels come back. All
/// others keep their slots.
std::vector<slotted_write> rewound_writes(std::vector<slotted_write> stored,
                                          std::vector<pending_write> before);

/// Whether the metadata has every member of the filter; a missing member equals null, and a number
/// the same number in the other form (1 and 1.0).
bool matches_filter(const value& filter, const value& metadata);

/// Whether a request with this claim may be stored in a thread that `owner` wrote to last.
/// Errors: conflict.
result<void> check_claim(const save_request& request, std::uint64_t owner);

/// Whether a request holds nothing but, perhaps, a claim. On a thread without an owner, such a
/// request changes nothing.
bool is_only_claim(const save_request& request) noexcept;

/// Whether a request takes over a thread that `owner` wrote to last, and may do so only if it
/// continues from the newest checkpoint.
bool takes_newest(const save_request& request, std::uint64_t owner) noexcept;
/// The checkpoint whose step the request stores; empty for none.
const std::string& goes_on_from(const save_request& request) noexcept;
/// The error of a request that continues from a checkpoint which is not the newest any more. A
/// conflict.
error was_overtaken(const save_request& request);

/// Whether the claim's run may be undone in a thread that `owner` wrote to last. Errors: conflict.
result<void> check_rewind(const std::string& thread_id, const rewind_point& to,
                          std::uint64_t owner);

/// Whether a run's request holds a checkpoint some of whose values are stored with its parent only.
bool needs_parent(const save_request& request) noexcept;
/// The same for a checkpoint with so many channels, of which so many moved.
bool needs_parent(const save_request& request, std::size_t channels, std::size_t moved) noexcept;

/// The error of a request with a claim whose checkpoint continues from a removed one. The values
/// that it did not change are not stored any more. A conflict.
error parent_is_gone(const save_request& request);

/// Whether a thread can be copied under this id, as far as the ids show. Errors: invalid_config.
result<void> check_copy(const std::string& source, const std::string& target);
/// The error of a copy up to a checkpoint that the thread does not have. A checkpoint_missing.
error nothing_to_copy(const std::string& source, const std::string& up_to);
/// The error of a copy whose target has checkpoints. An invalid_config.
error target_is_there(const std::string& target);

} // namespace troupe
