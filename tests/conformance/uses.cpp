#include "tests/conformance/uses.hpp"

#include <utility>

namespace troupe::conformance {

void use_log::add(const std::string& thing, std::string user) {
  std::lock_guard guard{mutex_};
  users_[thing].push_back(std::move(user));
}

use_log::user_lists use_log::users() const {
  std::lock_guard guard{mutex_};
  return users_;
}

std::optional<std::string> use_log::first_difference(const use_log& other) const {
  auto mine = users();
  auto theirs = other.users();
  for (const auto& [thing, users] : mine)
    if (theirs[thing] != users)
      return thing;
  for (const auto& [thing, users] : theirs)
    if (mine[thing] != users)
      return thing;
  return std::nullopt;
}

} // namespace troupe::conformance
