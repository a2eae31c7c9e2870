// stream_source: reading streams.
#include "coordinator/stream_source.hpp"

#include "coordinator/print_sink.hpp"
#include "coordinator/transform_sink.hpp"

namespace troupe {

run_source::run_source(std::shared_ptr<app_core> app, const run_input& input,
                       const run_config& config, const stream_options& options)
  : app_{std::move(app)},
    options_{options} {
  auto request = app_->check(input, config, true);
  auto begins = request ? app_->begin_turn(**request) : request.error();
  if (!begins) {
    failure_ = begins.error();
  } else if (*begins) {
    begin(std::move(*request));
  } else {
    turn_ = std::make_unique<awaited_turn>(app_->runtime(), *(*request)->shared);
    waiting_ = std::move(*request);
  }
}

void run_source::begin(std::shared_ptr<run_request> request) {
  if (auto loaded = app_->load(*request); !loaded) {
    failure_ = loaded.error();
    return;
  }
  auto& runtime = app_->runtime();
  const auto& config = request->shared->config;
  group_ = app_->take_lent_group();
  unit_ = group_->unit;
  unit_->lend(true);
  queue_ = std::make_shared<stream_queue>(options_, *unit_);
  if (!config.thread_id.empty())
    queue_->keep_in(runtime.log().of(config.thread_id));
  completion_ = std::make_shared<pending_run>(request->shared->control, runtime.shared().actors);
  completion_->lent_by(unit_);
  completion_->of_group(group_->shared_card());
  auto number = app_->enter(*completion_, group_, *request->shared);
  if (!number) {
    failure_ = runtime_is_stopping();
    std::exchange(unit_, nullptr)->give_back();
    app_->give_group(group_);
    return;
  }
  request->shared->home = unit_;
  sink_ = transforming(*app_->plan(), options_.transforms, queue_);
  request->shared->sink = printing(config.print_mode, sink_);
  lent_thread::at_work here{*unit_};
  app_core::begin(group_, *number, std::move(request), completion_);
}

// Runs on the reader's thread, which then drives the run.
void run_source::await_turn() {
  auto come = turn_->wait();
  auto request = std::move(waiting_);
  if (come)
    begin(std::move(request));
  else
    failure_ = come.error();
  turn_.reset(); // not before: it keeps the runtime alive
}

run_source::~run_source() {
  if (!unit_)
    return;
  queue_->close();
  completion_->control().request_drain("the reader of the stream was closed");
  unit_->run_until([this] { return completion_->done(); });
  finish();
}

result<std::optional<stream_part>> run_source::next() {
  while (true) {
    if (waiting_)
      await_turn();
    if (batch_.empty() && queue_ && !queue_->empty()) {
      queue_->gather();
      queue_->take_all(batch_);
    }
    if (!batch_.empty()) {
      auto part = std::move(batch_.front());
      batch_.pop_front();
      return std::optional{std::move(part)};
    }
    if (failure_)
      return *failure_;
    if (!unit_)
      return std::optional<stream_part>{};
    unit_->run_until([this] { return completion_->done() || !queue_->empty(); });
    if (completion_->done() && queue_->empty())
      finish();
  }
}

void run_source::finish() {
  std::exchange(unit_, nullptr)->give_back();
  app_->leave(*completion_, group_);
  auto how = completion_->take().how;
  if (auto stopped = sink_->failure())
    failure_ = std::move(*stopped);
  else if (how)
    outcome_ = std::move(*how);
  else
    failure_ = how.error();
}

std::vector<actor_info> run_source::actors() const {
  return completion_ ? completion_->actors() : std::vector<actor_info>{};
}

result<std::optional<stream_part>> log_source::next() {
  if (batch_.empty() && log_) {
    auto more = log_->parts_after(after_);
    if (!more)
      return more.error();
    batch_ = std::move(*more);
  }
  if (batch_.empty())
    return std::optional<stream_part>{};
  auto part = std::move(batch_.front());
  batch_.pop_front();
  after_ = part.seq;
  return std::optional{std::move(part)};
}

log_sink::log_sink(const std::vector<stream_mode>& modes, std::shared_ptr<thread_log> log)
  : log_{std::move(log)} {
  for (auto m : modes)
    modes_ |= 1u << static_cast<unsigned>(m);
  log_->open();
}

log_sink::~log_sink() {
  log_->close();
}

bool log_sink::wants(stream_mode mode) const noexcept {
  return (modes_ & (1u << static_cast<unsigned>(mode))) != 0;
}

} // namespace troupe
