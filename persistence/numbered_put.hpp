// numbered_put: a checkpoint that a run stores in memory. Its names are numbers, so the same names
// are not copied, hashed and compared in each step.
#pragma once

#include "persistence/record/checkpoint_record.hpp"
#include "persistence/record/name_table.hpp"

#include <troupe/saver.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// The names of a graph by its own numbers, with their numbers in the table of one saver.
class numbered_names {
public:
  /// Owns: nothing; the texts must outlive it.
  void use(std::vector<std::string_view> texts) {
    texts_ = std::move(texts);
    in_table_.assign(texts_.size(), nothing);
  }
  /// The table of the numbers below; the numbers in another one are forgotten.
  void use_table(std::uint64_t table) {
    if (table != table_)
      in_table_.assign(texts_.size(), nothing);
    table_ = table;
  }
  /// The number in the table.
  std::uint32_t in(name_table& table, std::uint32_t name) {
    auto& known = in_table_[name];
    if (known == nothing)
      known = table.number(texts_[name]);
    return known;
  }

private:
  static constexpr std::uint32_t nothing = UINT32_MAX;
  std::vector<std::string_view> texts_;
  std::vector<std::uint32_t> in_table_;
  std::uint64_t table_ = 0; // of no saver
};

/// The channels and nodes of a checkpoint_put.
struct numbered_put {
  /// A channel whose version moved, as in checkpoint_put::new_versions.
  struct moved_channel {
    std::uint32_t channel = 0;
    version at;
    std::optional<value> val; // nullopt: the channel is empty
  };

  checkpoint_numbers checkpoint;
  std::vector<moved_channel> moved;

  /// Puts the numbers of the table in the place of those of the names.
  void translate(numbered_names& names, name_table& table);
};

/// The same of a checkpoint_put, with the numbers of the table.
numbered_put number_names(const checkpoint_put& put, name_table& table);

} // namespace troupe
