// memory_chain: a namespace of a thread, as the saver in memory keeps it. Checkpoints and the
// places of writes are payloads as in a file, which take a fifth of the memory of the objects.
// Values are handles, shared with the run, so nothing of a value is copied.
//
// Invariants:
//  - Checkpoints are sorted by id, values by version and channel, tasks by record, each once.
//  - `names` is the same table in all calls, since payloads hold its numbers.
#pragma once

#include "persistence/checkpoint_page.hpp"
#include "persistence/kept_bytes.hpp"
#include "persistence/numbered_put.hpp"
#include "persistence/record/name_table.hpp"
#include "persistence/record/saver_rules.hpp"
#include "persistence/retention.hpp"

#include <troupe/saver.hpp>

#include <boost/container/vector.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Thread: one at a time.
class memory_chain {
public:
  // ---- checkpoints, by position

  std::size_t checkpoints() const noexcept { return checkpoints_.size(); }
  std::string_view id(std::size_t at) const noexcept { return checkpoints_[at].id(); }
  /// The position of a checkpoint; nullopt when it is missing.
  std::optional<std::size_t> find(std::string_view id) const noexcept;
  /// The number of checkpoints with a smaller id.
  std::size_t before(std::string_view id) const noexcept;
  /// Empty without checkpoints.
  std::string_view newest() const noexcept {
    return checkpoints_.empty() ? std::string_view{} : checkpoints_.back().id();
  }
  bool empty() const noexcept { return checkpoints_.empty() && tasks_.empty(); }

  value metadata(const name_table& names, std::size_t at) const;
  checkpoint_summary summary(const name_table& names, std::size_t at) const;
  /// A checkpoint with its values and writes. The thread and the namespace are left to the caller.
  checkpoint_tuple read(const name_table& names, std::size_t at) const;
  /// The same with numbers of `page` for names, in the place of another one.
  void read(const name_table& names, std::size_t at, numbered_tuple& out, page_names& page) const;
  /// Whether there is a value of the channel under the version that it has at this checkpoint.
  bool stores(const name_table& names, std::size_t at, const std::string& channel) const;

  // ---- changes

  void store_writes(name_table& names, const std::string& checkpoint_id, const task_writes& task);
  /// `numbers`: the channels and nodes of `put`, by numbers of the table. Its values are moved
  /// from.
  void store_checkpoint(const checkpoint_put& put, numbered_put& numbers);
  /// Removes checkpoints, and the writes of checkpoints, by id.
  void erase(const std::function<bool(std::string_view id)>& is_gone);
  /// Removes values that no checkpoint has. Returns their count.
  std::size_t erase_unused_values(const name_table& names);
  /// Leaves those writes of a checkpoint that it had `before`: see rewound_writes().
  void rewind_writes(name_table& names, const std::string& checkpoint_id,
                     const std::vector<pending_write>& before);

private:
  /// Grows by a half, since most threads are short and there are many of them.
  template <class T>
  using short_list =
    boost::container::vector<T, void,
                             boost::container::vector_options_t<
                               boost::container::growth_factor<boost::container::growth_factor_50>,
                               boost::container::stored_size<std::uint32_t>>>;

  /// `record`: the sized id, then the payload. `metadata`: null when they are in the payload.
  struct kept_checkpoint {
    kept_bytes record;
    value metadata;

    std::string_view id() const noexcept { return record.view().substr(1, id_size()); }
    std::string_view payload() const noexcept { return record.view().substr(1 + id_size()); }

  private:
    std::size_t id_size() const noexcept { return static_cast<unsigned char>(record.view()[0]); }
  };
  /// The writes of a task. `record`: the ids of the checkpoint and the task, then the payload of
  /// writes without values.
  struct kept_task {
    kept_bytes record;
    short_list<value> values; // of the writes, in their order
  };
  struct kept_value {
    version at;
    std::uint32_t channel = 0;
    value val;
  };
  /// A write with its slot.
  struct placed_write {
    std::int64_t slot = 0;
    std::uint32_t channel = 0;
    std::string_view path;
    value val;
  };

  numbered_checkpoint numbers(const name_table& names, std::size_t at) const;
  std::size_t value_place(const version& at, std::uint32_t channel) const noexcept;
  const value* find_value(const version& at, std::uint32_t channel) const noexcept;
  void store_value(const version& at, std::uint32_t channel, std::optional<value> val);
  /// The first task whose record does not sort before `key`. The search begins at a guess; the
  /// end is a good one for a new task.
  std::size_t task_place(std::string_view key, std::size_t guess) const noexcept;
  static std::vector<placed_write> read_task(const name_table& names, const kept_task& task,
                                             std::string_view payload);
  static kept_task make_task(name_table& names, std::string_view key,
                             std::span<const placed_write> writes);
  /// A guess at the place of the first task of a checkpoint.
  std::size_t first_task(std::size_t at) const noexcept;
  /// Calls `take` with the record, from the task's id on, and the values of each task. The search
  /// begins at a guess.
  template <class F>
  void each_task(std::string_view checkpoint_id, std::size_t guess, F&& take) const;
  std::vector<slotted_write> writes_of(const name_table& names, std::string_view checkpoint_id,
                                       std::size_t guess) const;
  void read_tasks(const name_table& names, std::size_t at, std::vector<numbered_task>& out,
                  page_names& page) const;

  short_list<kept_checkpoint> checkpoints_;
  short_list<kept_value> values_;
  short_list<kept_task> tasks_;
};

} // namespace troupe
