// Where tasks run that are placed in other processes. Implemented by cluster/.
#pragma once

#include "actors/services.hpp"
#include "tasks/task_scope.hpp"

#include <functional>

namespace troupe {

/// Any thread may call.
class task_placer {
public:
  virtual ~task_placer() = default;

  /// Has the task run somewhere else, once or, where it is lost, again. `begun` is called when it
  /// is begun, each time, if it has time-outs; `then` once, when what came of it is filled in; both
  /// from any thread or from within the call. A task that can't be run is filled in as failed. The
  /// answer gives it up, and must be called while `home` lives, if `then` was not: from then on,
  /// nothing of the task or of `home` is touched. Owns:   `home`, not: it is of the runtime the
  /// task runs in.
  virtual std::function<void()> start(services& home, task_ptr task, std::function<void()> begun,
                                      std::function<void()> then) = 0;
};

} // namespace troupe
