// stream_front: the common part of a run_stream and its readers. It starts the run, and stops it
// when all of them are gone.
#pragma once

#include "coordinator/app_core.hpp"
#include "coordinator/part_fan.hpp"

#include <troupe/run_stream.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe {

/// Any thread may call.
class stream_front {
public:
  stream_front(std::shared_ptr<app_core> app, const run_input& input, const run_config& config,
               std::vector<part_transform> transforms);
  stream_front(const stream_front&) = delete;
  stream_front& operator=(const stream_front&) = delete;
  ~stream_front();

  /// Starts the run, once.
  void begin();
  const std::shared_ptr<part_fan>& fan() const noexcept { return fan_; }
  app_core& app() noexcept { return *app_; }
  const run_control& control() const noexcept { return control_; }

private:
  void start();

  std::shared_ptr<app_core> app_;
  std::shared_ptr<part_fan> fan_ = std::make_shared<part_fan>();
  std::once_flag begun_;
  result<std::shared_ptr<run_request>> request_; // null when the run has begun
  std::vector<part_transform> transforms_;
  run_control control_;
};

/// A reader of the fan, with the parts that it has taken.
class open_reader {
public:
  /// Errors: throws error{invalid_config}, as run_stream::read.
  open_reader(std::shared_ptr<stream_front> front, const stream_options& options);
  open_reader(const open_reader&) = delete;
  open_reader& operator=(const open_reader&) = delete;
  ~open_reader();

  result<std::optional<stream_part>> next();
  /// The result of the run; nullopt before the end.
  std::optional<result<run_result>> outcome() const { return front_->fan()->outcome(*who_); }
  bool ready() const { return !batch_.empty() || front_->fan()->ready(*who_); }
  void when_ready(std::function<void()> then);
  stream_front& front() noexcept { return *front_; }

private:
  std::shared_ptr<stream_front> front_;
  part_fan::reader_ptr who_;
  part_list batch_;
};

} // namespace troupe
