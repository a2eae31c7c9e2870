// random_thread: a thread of a seed, with branches, growing values and a delta channel.
#pragma once

#include "testing/saver_subject.hpp"

#include <map>
#include <random>
#include <string_view>

namespace troupe::testing {

/// The member of the metadata that a checkpoint without the delta channel's value has.
inline constexpr std::string_view delta_counters = "counters_since_delta_snapshot";

/// A thread t with branches, and with lists and maps that grow, so that savers may store
/// differences.
class random_thread {
public:
  random_thread(saver_subject& to, unsigned seed) : to_{to}, random_{seed} {}

  void grow(unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      put_next();
  }

private:
  struct made_checkpoint {
    std::map<std::string, std::pair<version, value>> channels;
    std::int64_t since_snapshot = 0;
  };

  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  void put_next();
  void move_channels(made_checkpoint& next, version to, std::vector<std::string>& moved);

  saver_subject& to_;
  std::mt19937 random_;
  unsigned count_ = 0;
  std::uint64_t tag_ = 1;
  std::map<unsigned, made_checkpoint> made_;
};

/// The history of the thread's delta channel at a checkpoint.
delta_history delta_of(saver_subject& t, const std::string& id);

} // namespace troupe::testing
