// part_pump: calls a function with each part of a run, on the scheduler.
#pragma once

#include "coordinator/stream_front.hpp"

#include <caf/intrusive_ptr.hpp>
#include <caf/resumable.hpp>

#include <atomic>
#include <functional>
#include <memory>

namespace troupe {

/// In the scheduler's queue, or being resumed, from start() on while parts wait. The runtime lives
/// until it has ended.
class part_pump : public caf::resumable {
public:
  using part_listener = std::function<void(stream_part&)>;
  using end_listener = std::function<void(const result<run_result>&)>;

  static void start(std::shared_ptr<open_reader> reader, part_listener each, end_listener end);

  resume_result resume(caf::execution_unit* worker, std::size_t max_throughput) override;
  void intrusive_ptr_add_ref_impl() override;
  void intrusive_ptr_release_impl() override;
  friend void intrusive_ptr_add_ref(part_pump* pump) { pump->intrusive_ptr_add_ref_impl(); }
  friend void intrusive_ptr_release(part_pump* pump) { pump->intrusive_ptr_release_impl(); }

private:
  part_pump(std::shared_ptr<open_reader> reader, part_listener each, end_listener end);
  void schedule();
  bool take_part();
  void finish(const result<run_result>& how);

  runtime_core& runtime_;
  std::shared_ptr<open_reader> reader_;
  part_listener each_;
  end_listener end_;
  std::atomic<std::size_t> owners_{0};
};

} // namespace troupe
