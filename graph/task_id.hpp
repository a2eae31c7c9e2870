// Identities, byte for byte the reference's: task ids and paths, interrupt ids, checkpoint ids.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

/// The 32 lower-case hex digits of XXH3-128 with seed 0, high half first.
std::string xxh3_128_hex(std::string_view bytes);

/// A task's id: XXH3-128 over the checkpoint id's 16 bytes and the parts, in UUID form.
/// Shape:  `checkpoint_id` is a UUID text; the parts are those of the reference.
/// Errors: throws error{invalid_value} when `checkpoint_id` is not a UUID; the functions below do
///         so too.
/// Source: langgraph/pregel/_algo.py, _xxhash_str.
std::string task_id(std::string_view checkpoint_id, std::span<const std::string_view> parts);

/// The parts of the ids of a step's tasks that do not depend on the task.
struct plan_context {
  std::string_view checkpoint_id; // the checkpoint the step starts from
  std::string_view checkpoint_ns; // "" for the root
  std::int64_t step = 0;          // super-steps, from -1: of the checkpoint the step makes
};

/// The id of a task of this node. `suffix`: the parts at the end of its hash.
std::string node_task_id(const plan_context& at, std::string_view node,
                         std::span<const std::string_view> suffix);
/// The id of the task that the send at this index starts.
std::string sent_task_id(const plan_context& at, std::string_view node, std::uint32_t index);

/// uuid5 with a UUID as namespace.
/// Source: langgraph/pregel/main.py, Pregel.bulk_update_state (task ids).
std::string uuid5(std::string_view namespace_uuid, std::string_view name);

/// The random UUID of these bits, of which 122 are used. Source: langgraph/graph/message.py
/// (message ids).
std::string uuid4(std::uint64_t high, std::uint64_t low);

/// A part of a task path: text, a number, or a nested path.
struct path_part;
using task_path = std::vector<path_part>;
struct path_part {
  std::variant<std::string, std::int64_t, bool, task_path> part;
  friend bool operator==(const path_part&, const path_part&) = default;
};

task_path pull_path(std::string_view node);
task_path push_path(std::int64_t index);

/// The text that tasks are ordered by: `~` and the parts, numbers padded to 10 digits.
/// Source: langgraph/pregel/_algo.py, task_path_str.
std::string task_path_str(const task_path& path);
/// The same of pull_path(node). The second one takes the place of a text, in its memory.
std::string pull_path_str(std::string_view node);
void pull_path_str(std::string_view node, std::string& into);

/// The id of the next question of the task with this namespace.
/// Units:  `answers`: how many answers the task holds when it asks.
/// Source: langgraph/types.py, Interrupt.from_ns.
std::string interrupt_id(std::string_view task_ns, std::size_t answers);

/// The time in a checkpoint id.
/// Units:  100 ns since 1582-10-15, at most id_ticks_max. 0 for a text that is not a uuid6, and
///         for a time so late that few ids could follow.
std::uint64_t id_ticks(std::string_view checkpoint_id);
inline constexpr std::uint64_t id_ticks_max = (std::uint64_t{1} << 60) - (std::uint64_t{1} << 50);

/// Puts the checkpoint id (uuid6) with this time in the place of a text.
/// Units:  `ticks` as id_ticks(); `step` ≥ -2; `random` 48 bits are used.
/// Source: langgraph/checkpoint/base/id.py.
void checkpoint_id(std::uint64_t ticks, std::int64_t step, std::uint64_t random, std::string& into);

/// The times in checkpoint ids: each is later than the one before. Pure: the time is an argument.
/// One per process; guard it when threads share it.
/// Source: langgraph/checkpoint/base/id.py.
class checkpoint_id_clock {
public:
  /// The time for a new id, as id_ticks().
  /// Units:  `now_ns` nanoseconds since 1970 UTC. `above`: id_ticks() of an id of another process,
  ///         whose clock may be ahead. The new id sorts after that id, too; later ids need not.
  std::uint64_t next_ticks(std::uint64_t now_ns, std::uint64_t above) noexcept;

private:
  std::uint64_t last_ = 0; // 100 ns ticks since 1582-10-15
};

} // namespace troupe
