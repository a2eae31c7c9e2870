// The payloads of checkpoint and writes records.
#pragma once

#include "persistence/record/name_table.hpp"
#include "persistence/record/saver_rules.hpp"

#include <troupe/saver.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace troupe {

using small_numbers = boost::container::small_vector<std::uint32_t, 16>;

/// A checkpoint as in its record: without its id, which is the key, and without values.
struct stored_checkpoint {
  troupe::checkpoint checkpoint;
  small_numbers channels; // the numbers of the names in checkpoint.channel_versions
  std::string parent_id;
  std::string_view metadata;     // for read_metadata(); lies in the payload
  std::string_view small_values; // for read_small_values(); lies in the payload
};

/// A channel, by the number of its name, and its version.
struct numbered_version {
  std::uint32_t channel = 0;
  version at;
  friend bool operator==(const numbered_version&, const numbered_version&) = default;
};

/// A node, by the number of its name, and how many versions of channels it saw.
struct numbered_node {
  std::uint32_t node = 0;
  std::size_t channels = 0;
};

/// The channels and nodes of a checkpoint, with numbers for names.
/// Order:  as in the checkpoint. `seen_versions` has those of each node of `seen`, one node after
///         the other.
struct checkpoint_numbers {
  template <class T> using few = boost::container::small_vector<T, 8>;

  few<numbered_version> versions;
  few<numbered_node> seen;
  few<numbered_version> seen_versions;
  std::optional<small_numbers> updated;
};

/// A checkpoint as in its record: names are numbers of a name_table.
struct numbered_checkpoint : checkpoint_numbers {
  std::int64_t v = 4;
  std::string ts;
  std::string parent_id;
  std::string_view small_values; // for read_small_values(); lies in the payload
};

/// Reads a payload whose names have numbers below `names`, in the place of another checkpoint.
/// After an error, parts of `out` may be of either.
/// Result: the metadata, for read_metadata(); they lie in the payload.
/// Errors: checkpoint_corrupt.
result<std::string_view> read_checkpoint(std::string_view payload, std::size_t names,
                                         numbered_checkpoint& out);

/// The other parts of a checkpoint's record.
/// Owns:   nothing.
struct checkpoint_head {
  std::int64_t v = 4;
  std::string_view ts;
  std::string_view parent_id;
  std::string_view metadata; // encoded
};

/// Puts the checkpoint in the place of `out`; names get numbers from `names`.
void number_names(const checkpoint& cp, name_table& names, checkpoint_numbers& out);

/// Appends the payload of a checkpoint's record to `out`. The numbers are those of the table that
/// read_checkpoint() will be given. Small values may be appended after it (append_small_values).
void append_checkpoint(const checkpoint_head& head, const checkpoint_numbers& numbers,
                       std::string& out);

/// The same with names. Errors: checkpoint_corrupt.
result<stored_checkpoint> read_checkpoint(std::string_view payload,
                                          std::span<const std::string_view> names);

/// A write of a task as in its record.
/// Owns:   nothing.
struct stored_write {
  std::int64_t slot = 0;
  std::uint32_t channel = 0;
  std::string_view task_path;
  std::string_view value; // msgpack
};

/// Adds writes of the same task to those in `there`: taken slots are kept or replaced by the rule
/// of slot_is_replaced().
/// Order:  `there` by slot, before and after.
template <class Write> // a stored_write, or another type with a slot
void merge_writes(std::vector<Write>& there, std::type_identity_t<std::span<const Write>> more) {
  for (const auto& write : more) {
    auto at = std::ranges::lower_bound(there, write.slot, {}, &Write::slot);
    if (at == there.end() || at->slot != write.slot)
      there.insert(at, write);
    else if (slot_is_replaced(write.slot))
      *at = write;
  }
}

/// Appends the payload of a writes record, with at least one write, to `out`. The path of a node
/// gets a number from `names`; with null, no path does.
void append_writes(std::span<const stored_write> writes, name_table* names, std::string& out);

/// Owns:   nothing; paths lie in the payload or in `names`.
/// Errors: checkpoint_corrupt, also for an unknown name, and for a payload without writes.
result<std::vector<stored_write>> read_writes(std::string_view payload,
                                              std::span<const std::string_view> names);
/// The same in the place of other writes.
result<void> read_writes(std::string_view payload, std::span<const std::string_view> names,
                         std::vector<stored_write>& out);

} // namespace troupe
