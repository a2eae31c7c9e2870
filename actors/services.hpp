// What a runtime gives its actors. Outlives all of them.
#pragma once

#include "actors/blocking_pool.hpp"
#include "actors/roster.hpp"
#include "actors/timer.hpp"

#include <caf/actor.hpp>

#include <memory>

namespace troupe {

struct services {
  explicit services(std::size_t blocking_threads) : pool{blocking_threads} {}

  roster actors;
  blocking_pool pool;
  timer clock;
  caf::actor saver; // none without a saver
  card_ptr saver_card;
};

} // namespace troupe
