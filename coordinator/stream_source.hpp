// stream_source: the readers' side of streams.
#pragma once

#include "coordinator/app_core.hpp"
#include "coordinator/awaited_turn.hpp"
#include "coordinator/stream_log.hpp"
#include "coordinator/stream_queue.hpp"

namespace troupe {

/// The origin of a part_stream's parts.
class stream_source {
public:
  virtual ~stream_source() = default;
  virtual result<std::optional<stream_part>> next() = 0;
  virtual const run_result* outcome() const noexcept { return nullptr; }
  virtual std::vector<actor_info> actors() const { return {}; }
};

/// A run that advances while its parts are read.
class run_source : public stream_source {
public:
  run_source(std::shared_ptr<app_core> app, const run_input& input, const run_config& config,
             const stream_options& options);
  ~run_source() override;

  result<std::optional<stream_part>> next() override;
  const run_result* outcome() const noexcept override { return outcome_ ? &*outcome_ : nullptr; }
  std::vector<actor_info> actors() const override;

private:
  void begin(std::shared_ptr<run_request> request);
  void await_turn();
  void finish();

  std::shared_ptr<app_core> app_;
  stream_options options_;
  std::unique_ptr<awaited_turn> turn_;   // null when the run need not wait
  std::shared_ptr<run_request> waiting_; // the request that waits for its turn
  lent_thread* unit_ = nullptr;          // null before the run and after its end
  group_ptr group_;
  std::shared_ptr<stream_queue> queue_;
  std::shared_ptr<part_sink> sink_; // `queue_`, after the transforms
  std::shared_ptr<pending_run> completion_;
  part_list batch_;
  std::optional<error> failure_;
  std::optional<run_result> outcome_;
};

/// A source without parts: only an error.
class failed_source : public stream_source {
public:
  explicit failed_source(const error& why) : answer_{why} {}
  result<std::optional<stream_part>> next() override { return answer_; }

private:
  result<std::optional<stream_part>> answer_;
};

/// The kept parts of a thread.
class log_source : public stream_source {
public:
  log_source(std::shared_ptr<thread_log> log, std::uint64_t after)
    : log_{std::move(log)},
      after_{after} {}
  result<std::optional<stream_part>> next() override;

private:
  std::shared_ptr<thread_log> log_; // null: the thread has no log
  std::uint64_t after_;
  part_list batch_;
};

/// Keeps the parts of a run that nothing reads while it runs.
class log_sink : public part_sink {
public:
  log_sink(const std::vector<stream_mode>& modes, std::shared_ptr<thread_log> log);
  ~log_sink() override;
  bool wants(stream_mode mode) const noexcept override;
  void emit(stream_part part) override { log_->append(part); }
  void emit_custom(stream_part part) override { log_->append(part); }

private:
  unsigned modes_ = 0;
  std::shared_ptr<thread_log> log_;
};

} // namespace troupe
