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

/// As checkpoint_tuple, with the page's numbers for names.
/// Order:  `tasks` in any order, each once.
struct numbered_tuple {
  std::string id;
  numbered_checkpoint checkpoint;
  std::vector<std::optional<value>> values; // one for each of checkpoint.versions
  value metadata;
  std::vector<numbered_task> tasks;
};

/// The names that the checkpoints of a page mention, by numbers of the page's own. There are few of
/// them, while a saver's table has the names of all graphs.
class page_names {
public:
  /// Begins with the names of a saver's table: none, unless they are of the same table.
  void use(std::uint64_t table) {
    if (table != table_) {
      texts_.clear();
      slots_.assign(slots_.size(), {});
    }
    table_ = table;
  }
  std::uint64_t table() const noexcept { return table_; }

  std::size_t size() const noexcept { return texts_.size(); }
  const std::string& operator[](std::size_t number) const noexcept { return texts_[number]; }

  /// The number of a name, which has the number `in_table` in the saver's table.
  std::uint32_t number(std::uint32_t in_table, std::string_view name) {
    auto& found = slots_[place(in_table)];
    return found.name != nothing ? found.name : add(in_table, name);
  }

private:
  static constexpr std::uint32_t nothing = UINT32_MAX;
  struct slot {
    std::uint32_t in_table = 0;
    std::uint32_t name = nothing;
  };

  // The slot of a number, or the free one that it would get.
  std::size_t place(std::uint32_t in_table) const noexcept {
    auto at = in_table & last_;
    while (slots_[at].name != nothing && slots_[at].in_table != in_table)
      at = (at + 1) & last_;
    return at;
  }

  std::uint32_t add(std::uint32_t in_table, std::string_view name) {
    auto number = static_cast<std::uint32_t>(texts_.size());
    texts_.emplace_back(name);
    if (2 * texts_.size() > slots_.size()) {
      std::vector<slot> wider(2 * slots_.size());
      wider.swap(slots_);
      last_ = slots_.size() - 1;
      for (const auto& known : wider)
        if (known.name != nothing)
          slots_[place(known.in_table)] = known;
    }
    slots_[place(in_table)] = {in_table, number};
    return number;
  }

  std::uint64_t table_ = 0;
  std::vector<std::string> texts_;
  std::vector<slot> slots_ = std::vector<slot>(32); // a power of two; at most half are used
  std::size_t last_ = slots_.size() - 1;
};

/// Memory that is filled again and again: the parts of new checkpoints take the place of old ones.
struct checkpoint_page {
  std::vector<numbered_tuple> checkpoints; // newest first
  std::size_t older = 0;                   // at most so many of the namespace are older
  page_names names;
};

} // namespace troupe
