// task_placer: runs placed tasks in other processes. Implemented by cluster/.
#pragma once

#include "actors/services.hpp"
#include "tasks/task_scope.hpp"

#include <functional>

namespace troupe {

/// Any thread may call.
class task_placer {
public:
  virtual ~task_placer() = default;

  /// Runs the task in another process: once or, when it is lost, again. `begun` is called each time
  /// the task is begun, if it has time-outs. `then` is called once, when the result is filled in.
  /// Both are called from any thread or from within start(). A task that can't be run is filled in
  /// as failed.
  /// The returned function gives the task up. It must be called while `home` lives, unless `then`
  /// was called; afterwards, neither the task nor `home` is touched.
  /// Owns:   not `home`, which belongs to the runtime that the task runs in.
  virtual std::function<void()> start(services& home, task_ptr task, std::function<void()> begun,
                                      std::function<void()> then) = 0;
};

} // namespace troupe
