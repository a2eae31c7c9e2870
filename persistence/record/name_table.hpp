// The names of a thread's channels and nodes, each stored once and numbered from 0.
#pragma once

#include <troupe/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe {

/// The writer's side: numbers for names. Names get the next number when they are first asked for
/// and are stored in batches, one for each request that brought new ones.
/// Thread: one at a time.
class name_table {
public:
  /// The number of a name, a new one when it was not there.
  std::uint32_t number(std::string_view name);

  /// All names by number. Owns: nothing; they stay where they are.
  std::vector<std::string_view> all() const;

  /// Takes in a stored batch. Errors: checkpoint_corrupt when it is no batch, or not the next.
  result<void> load(std::string_view payload);

  /// Whether there are names that no batch holds yet, and the batch that holds them.
  bool has_new() const noexcept { return stored_ < order_.size(); }
  std::uint32_t first_new() const noexcept { return stored_; }
  void append_new(std::string& payload) const;
  void new_are_stored() noexcept { stored_ = static_cast<std::uint32_t>(order_.size()); }

private:
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept {
      return std::hash<std::string_view>{}(s);
    }
  };
  std::unordered_map<std::string, std::uint32_t, text_hash, std::equal_to<>> numbers_;
  std::vector<const std::string*> order_; // keys of numbers_, which stay where they are
  std::uint32_t stored_ = 0;
};

/// The reader's side: the names of a batch, appended to those of the batches before it.
/// Owns:   nothing; the names lie in `payload`.
/// Errors: checkpoint_corrupt.
result<void> read_names(std::string_view payload, std::vector<std::string_view>& names);

} // namespace troupe
