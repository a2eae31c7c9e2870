// Placement: where the tasks of a node or subgraph run, in this process or on a worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace troupe {

class task_placer; // actors/task_placer.hpp

/// The choice among several workers that could take a task.
/// Errors: none.
/// Source: troupe.
enum class worker_choice : std::uint8_t {
  spread, ///< the one with the fewest tasks; among equals, the one served longest ago
  pack,   ///< the fullest one that still has room, so that others stay empty
};

/// The treatment of a task that no known worker could ever take, since none has the label or none
/// has the graph.
/// Errors: none; see on_worker.
/// Source: troupe.
enum class no_worker : std::uint8_t {
  fail, ///< the task fails, unless a suitable worker was there shortly before
        ///< (limits::worker_return)
  wait, ///< the task waits until such a worker exists
};

/// A worker, any or one with a label: `.placement = troupe::on_worker{.label = "gpu"}`.
/// Shape:  `label` is one of the labels of a worker, at most limits::worker_label_bytes_max bytes
///         of UTF-8. An empty label means any worker.
/// Order:  tasks of one run that wait for the same workers go in the order in which they were
///         started; runs take turns.
/// Units:  a node's time-outs count from the moment at which its worker begins the task.
/// Errors: the task fails with
///         - worker_lost when no worker has the label, or those that had it are gone
///         - unknown_graph when no worker with the label has the same graph
///         - overloaded when too many tasks wait
///         - invalid_config for a label that is too long
///         Each message lists the workers, with the reasons why they could not take the task.
/// Source: troupe.
struct on_worker {
  std::string label = {};
  worker_choice choice = worker_choice::spread;
  no_worker missing = no_worker::fail;

  friend bool operator==(const on_worker&, const on_worker&) = default;
};

/// Where the tasks of a node run.
/// Shape:  without a worker, in the process of the run: the default.
/// Errors: none; see on_worker for those of a task.
/// Source: troupe.
struct placement {
  std::optional<on_worker> worker = std::nullopt;

  placement() = default;
  placement(on_worker where) : worker{std::move(where)} {}

  bool local() const noexcept { return !worker; }
  friend bool operator==(const placement&, const placement&) = default;
};

/// The workers of a home: runtime_options::workers.
/// Owns:   its links. One pool may serve several runtimes, and lives as long as any of them.
/// Errors: see connect_workers.
/// Source: troupe.
class worker_pool {
public:
  worker_pool() = default;
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;
  virtual ~worker_pool() = default;

  /// The port where workers join.
  /// Shape:  0 when worker_pool_options::listen was empty.
  /// Errors: none.
  /// Source: troupe.
  virtual std::uint16_t port() const = 0;

  /// The interface through which a runtime hands out its placed tasks.
  /// Owns:   nothing; the reference is valid as long as the pool.
  /// Errors: none.
  /// Source: troupe.
  virtual task_placer& placer() = 0;
};

} // namespace troupe
