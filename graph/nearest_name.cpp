// nearest_name: the distance of two words.
#include "graph/nearest_name.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace troupe {

namespace {

constexpr std::size_t letters_max = 2; // that may differ

// How many letters are added, left out or changed between two words.
std::size_t letters_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto above_left = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto changed = above_left + (a[i - 1] == b[j - 1] ? 0 : 1);
      above_left = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

} // namespace

std::string_view nearest_name(std::string_view word, const std::vector<std::string_view>& names) {
  std::string_view out;
  auto best = letters_max + 1;
  for (auto name : names) {
    auto longer = std::max(word.size(), name.size());
    if (longer - std::min(word.size(), name.size()) >= best)
      continue;
    if (auto far = letters_between(word, name); far < best) {
      best = far;
      out = name;
    }
  }
  return out;
}

} // namespace troupe
