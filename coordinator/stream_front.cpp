// stream_front: starting the run of a run_stream, and reading it.
#include "coordinator/stream_front.hpp"

#include "coordinator/print_sink.hpp"
#include "coordinator/transform_sink.hpp"

#include <utility>

namespace troupe {

stream_front::stream_front(std::shared_ptr<app_core> app, const run_input& input,
                           const run_config& config, std::vector<part_transform> transforms)
  : app_{std::move(app)},
    request_{app_->check(input, config, true)},
    transforms_{std::move(transforms)} {
  if (request_)
    control_ = (*request_)->shared->control;
}

stream_front::~stream_front() {
  bool never = false;
  std::call_once(begun_, [&never] { never = true; });
  if (never)
    fan_->end(error{errc::cancelled, "run: its readers were gone before it was started"});
  else
    fan_->abandon();
}

void stream_front::begin() {
  std::call_once(begun_, [this] { start(); });
}

void stream_front::start() {
  if (!request_ || app_->stopped()) {
    fan_->begin(nullptr);
    return fan_->end(request_ ? runtime_is_gone() : request_.error());
  }
  auto request = std::move(*request_);
  const auto& config = request->shared->config;
  fan_->begin(config.thread_id.empty() ? nullptr : app_->runtime().log().of(config.thread_id));
  auto sink = transforming(*app_->plan(), transforms_, fan_);
  request->shared->sink = printing(config.print_mode, sink);
  auto run = app_->start(request, {}, [fan = fan_, sink](const result<run_result>& how) {
    auto stopped = sink->failure();
    fan->end(stopped ? result<run_result>{std::move(*stopped)} : how);
  });
  if (!run)
    fan_->end(run.error());
}

open_reader::open_reader(std::shared_ptr<stream_front> front, const stream_options& options)
  : front_{std::move(front)} {
  if (!options.transforms.empty())
    throw error{errc::invalid_config, "read a run: stream_options::transforms belong to the whole "
                                      "run: give them to stream_events"};
  who_ = front_->fan()->add(options).value();
}

open_reader::~open_reader() {
  front_->fan()->remove(who_);
}

result<std::optional<stream_part>> open_reader::next() {
  front_->begin();
  auto& fan = *front_->fan();
  if (batch_.empty()) {
    fan.wait(*who_);
    batch_ = fan.take_all(*who_);
  }
  if (batch_.empty()) {
    auto how = outcome();
    if (how && !*how)
      return how->error();
    return std::optional<stream_part>{};
  }
  auto part = std::move(batch_.front());
  batch_.pop_front();
  return std::optional{std::move(part)};
}

void open_reader::when_ready(std::function<void()> then) {
  front_->begin();
  if (!batch_.empty())
    return then();
  front_->fan()->when_ready(*who_, std::move(then));
}

} // namespace troupe
