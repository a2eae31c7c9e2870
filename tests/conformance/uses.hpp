// The uses of things that the bodies of a case share, in order.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe::conformance {

/// The uses of counters, models and the store: what a body finds there depends on those before it.
/// Thread: its members may be called from any thread.
class use_log {
public:
  void add(const std::string& thing, std::string user);
  /// A thing whose users came in another order in `other`, if there is one.
  std::optional<std::string> first_difference(const use_log& other) const;

private:
  using user_lists = std::map<std::string, std::vector<std::string>>;
  user_lists users() const;

  mutable std::mutex mutex_;
  user_lists users_;
};

} // namespace troupe::conformance
