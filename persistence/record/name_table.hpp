// The names of a thread's channels and nodes, each stored once and numbered from 0.
#pragma once

#include <troupe/error.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe {

/// The writer's side: numbers for names. A name gets the next number when it is first asked for.
/// New names are stored in batches, one for each request that brought some.
/// Thread: one at a time.
class name_table {
public:
  name_table() = default;
  name_table(name_table&&) = default;
  name_table& operator=(name_table&&) = default;

  /// The number of a name; a new name gets the next one.
  std::uint32_t number(std::string_view name);

  /// All names by number. Owns: nothing; the names lie in the table.
  const std::vector<std::string_view>& all() const noexcept { return order_; }

  /// Adds a stored batch. Errors: checkpoint_corrupt when it is not a batch, or not the next one.
  result<void> load(std::string_view payload);

  /// Whether there are names that no batch holds yet; first_new() and append_new() are about the
  /// batch that will hold them.
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
  std::uint32_t number_of(std::string_view name);

  std::unordered_map<std::string, std::uint32_t, text_hash, std::equal_to<>> numbers_;
  std::vector<std::string_view> order_;    // the keys of numbers_, which do not move
  std::array<std::uint32_t, 64> recent_{}; // numbers by a mark of their name, each only a guess
  std::uint32_t stored_ = 0;
};

/// The reader's side: appends the names of a batch to those of the batches before it.
/// Owns:   nothing; the names lie in `payload`.
/// Errors: checkpoint_corrupt.
result<void> read_names(std::string_view payload, std::vector<std::string_view>& names);

} // namespace troupe
