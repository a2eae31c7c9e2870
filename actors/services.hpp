// services: the objects of a runtime that its actors use. Outlives all of them.
#pragma once

#include "actors/blocking_pool.hpp"
#include "actors/roster.hpp"
#include "actors/timer.hpp"

#include <caf/actor.hpp>

#include <memory>

namespace troupe {

class prompt_saver;   // persistence/prompt_saver.hpp
class spent_requests; // persistence/spent_requests.hpp
class writer_saver;   // persistence/writer_saver.hpp

/// A saver's actor.
struct saver_link {
  caf::actor actor;
  card_ptr card;
  prompt_saver* prompt = nullptr; // the saver, if it stores within a call
  writer_saver* writer = nullptr; // the saver, if it has a thread that writes; then `spent` is set
  std::shared_ptr<spent_requests> spent = nullptr;
};

class task_placer; // actors/task_placer.hpp

struct services {
  explicit services(std::size_t blocking_threads) : pool{blocking_threads} {}

  roster actors;
  blocking_pool pool;
  timer clock;
  std::shared_ptr<saver_link> saver; // the runtime's own; null without a saver
  task_placer* elsewhere = nullptr;  // runs placed tasks in other processes; null: they run here
};

} // namespace troupe
