// unit_pool: the execution units of a runtime. They are made when needed, reused, and kept until
// the runtime ends, because an actor points to the unit that resumed it last.
#pragma once

#include <caf/fwd.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace troupe {

/// Any thread may call. `Owner` is a smart pointer to a unit.
template <class Unit, class Owner = std::unique_ptr<Unit>> class unit_pool {
public:
  explicit unit_pool(caf::actor_system& system) : system_{system} {}

  Unit& acquire() {
    std::lock_guard lock{mutex_};
    if (free_.empty()) {
      all_.push_back(Owner{new Unit{system_}});
      free_.push_back(all_.back().get());
    }
    auto* unit = free_.back();
    free_.pop_back();
    return *unit;
  }

  void release(Unit& unit) {
    std::lock_guard lock{mutex_};
    free_.push_back(&unit);
  }

private:
  caf::actor_system& system_;
  std::mutex mutex_;
  std::vector<Owner> all_;
  std::vector<Unit*> free_;
};

} // namespace troupe
