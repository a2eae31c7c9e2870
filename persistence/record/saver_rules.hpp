// The rules every saver keeps: which ids are allowed, which slot a write has, how pending writes
// are ordered, what a list filter matches.
#pragma once

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

/// A slot that is taken is kept, but for the special ones, which are replaced.
constexpr bool slot_is_replaced(std::int64_t slot) noexcept {
  return slot < 0;
}

/// What `entries`, sorted by name, has for a name, or null.
template <class T> const T* find_named(const named<T>& entries, std::string_view name) noexcept {
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

/// What is left of the `stored` writes of a checkpoint when it is to have those of `before` again,
/// most of which it still has: those that came since go, those of special channels that were
/// replaced come back. All others keep their slots.
std::vector<slotted_write> rewound_writes(std::vector<slotted_write> stored,
                                          std::vector<pending_write> before);

/// Whether the metadata has every member of the filter; a missing member equals null.
bool matches_filter(const value& filter, const value& metadata);

/// Whether a request with this claim may be stored in a thread that `owner` wrote to last.
/// Errors: conflict.
result<void> check_claim(const save_request& request, std::uint64_t owner);

/// Whether there is nothing in a request but, perhaps, a claim. From nobody it takes nothing.
bool is_only_claim(const save_request& request) noexcept;

/// Whether a request takes a thread over that `owner` wrote to last, and may only do so where it
/// goes on from the newest checkpoint.
bool takes_newest(const save_request& request, std::uint64_t owner) noexcept;
/// The checkpoint whose step a request is of; empty for none.
const std::string& goes_on_from(const save_request& request) noexcept;
/// Why a request is refused that goes on from a checkpoint which is the newest no more. A conflict.
error was_overtaken(const save_request& request);

/// Whether the claim's run may be undone in a thread that `owner` wrote to last. Errors: conflict.
result<void> check_rewind(const std::string& thread_id, const rewind_point& to,
                          std::uint64_t owner);

/// Whether a run's request holds a checkpoint with channels that only its parent's values are of.
bool needs_parent(const save_request& request) noexcept;

/// Why a request with a claim is refused whose checkpoint goes on from one that was removed: what
/// it did not change is stored no more. A conflict.
error parent_is_gone(const save_request& request);

/// Whether a thread can be copied under this id, as far as the ids tell. Errors: invalid_config.
result<void> check_copy(const std::string& source, const std::string& target);
/// Why a copy is refused whose target has checkpoints. An invalid_config.
error target_is_there(const std::string& target);

} // namespace troupe
