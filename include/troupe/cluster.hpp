// Graphs over processes and hosts: a home that gives placed tasks to workers, and a worker that
// runs them. CAF-free for those who use it.
#pragma once

#include <troupe/compiled_graph.hpp>
#include <troupe/error.hpp>
#include <troupe/limits.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

class task_placer; // actors/task_placer.hpp

/// The workers of a home: runtime_options::workers. One may serve several runtimes; it lives as
/// long as any of them.
class worker_pool {
public:
  worker_pool() = default;
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;
  virtual ~worker_pool() = default;

  /// What a runtime hands its placed tasks to.
  virtual task_placer& placer() = 0;
};

} // namespace troupe
