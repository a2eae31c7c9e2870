// checkpoint_page: some checkpoints of a namespace, as a saver in memory keeps them: names of
// channels and nodes are numbers. A reader of many checkpoints so looks at each name once.
#pragma once

#include "persistence/record/checkpoint_record.hpp"

#include <troupe/value.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// As pending_write, without the task.
struct numbered_write {
  std::uint32_t channel = 0;
  troupe::value value;
  std::string task_path;
};

/// The writes of one task. Order: by path, then as the task made them.
struct numbered_task {
  std::string id;
  std::vector<numbered_write> writes;
};

/// As checkpoint_tuple, with numbers for names.
/// Order:  `tasks` in any order, each once.
struct numbered_tuple {
  std::string id;
  numbered_checkpoint checkpoint;
  std::vector<std::optional<value>> values; // one for each of checkpoint.versions
  value metadata;
  std::vector<numbered_task> tasks;
};

/// Memory that is filled again and again: the parts of new checkpoints take the place of old ones.
struct checkpoint_page {
  std::vector<numbered_tuple> checkpoints; // newest first
  std::size_t older = 0;                   // at most so many of the namespace are older
  std::vector<std::string> names;          // by number; empty: not mentioned so far
  std::uint64_t table = 0;                 // tells whose numbers these are; 0: nobody's

  /// Notes what a number stands for in the current table.
  void mention(std::uint32_t number, std::string_view name) {
    if (number >= names.size())
      names.resize(number + std::size_t{1});
    if (names[number].empty())
      names[number] = name;
  }
};

} // namespace troupe
