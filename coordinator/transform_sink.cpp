// transform_sink: one part after the other, through all transforms.
#include "coordinator/transform_sink.hpp"

#include "actors/log.hpp"

#include <atomic>
#include <utility>

namespace troupe {

namespace {

error transform_failed(const char* what) {
  return {errc::node_failed,
          std::string{"stream: a transform threw: "} + what
            + "; the run stopped at the end of its step",
          "Exception", what};
}

class transform_sink : public part_sink {
public:
  transform_sink(std::vector<part_transform> transforms, std::shared_ptr<part_sink> next)
    : transforms_{std::move(transforms)},
      next_{std::move(next)} {}

  bool wants(stream_mode mode) const noexcept override { return next_->wants(mode); }
  void emit(stream_part part) override { pass_all(std::move(part), false); }
  void emit_custom(stream_part part) override { pass_all(std::move(part), true); }
  bool may_block() const noexcept override { return next_->may_block(); }
  void wait_for_room() override { next_->wait_for_room(); }
  bool gave_up() const noexcept override {
    return failed_.load(std::memory_order_acquire) || next_->gave_up();
  }
  std::optional<error> failure() const override {
    return failed_.load(std::memory_order_acquire) ? failure_ : next_->failure();
  }
  void braked_by(run_brake* brake) override { next_->braked_by(brake); }
  void run_is_stopped() override { next_->run_is_stopped(); }

private:
  // Passed on without the lock: passing on may wait for the reader, and the reader's own thread may
  // make the next part.
  void pass_all(stream_part part, bool from_body) {
    for (auto& passed : transformed(std::move(part))) {
      if (!next_->wants(passed.mode))
        continue; // an added part of a mode that nothing reads
      if (from_body)
        next_->emit_custom(std::move(passed));
      else
        next_->emit(std::move(passed));
    }
  }

  std::vector<stream_part> transformed(stream_part part) {
    std::vector<stream_part> out;
    std::lock_guard lock{mutex_};
    if (failed_.load(std::memory_order_relaxed))
      return out;
    try {
      pass(0, std::move(part), out);
      return out;
    } catch (const error& e) {
      fail(e);
    } catch (const std::exception& e) {
      fail(transform_failed(e.what()));
    } catch (...) {
      fail(transform_failed("an exception of an unknown type"));
    }
    return {};
  }

  void pass(std::size_t nth, stream_part part, std::vector<stream_part>& out) const {
    if (nth == transforms_.size())
      return out.push_back(std::move(part));
    transforms_[nth](std::move(part), [this, nth, &out](stream_part passed) {
      pass(nth + 1, std::move(passed), out);
    });
  }

  void fail(error why) {
    log_warning("stream: a transform failed: " + why.message()); // a started run has no reader
    failure_ = std::move(why);
    failed_.store(true, std::memory_order_release);
  }

  const std::vector<part_transform> transforms_;
  const std::shared_ptr<part_sink> next_;
  std::mutex mutex_;
  std::optional<error> failure_; // not changed after failed_ is set
  std::atomic<bool> failed_{false};
};

} // namespace

std::shared_ptr<part_sink> transforming(const graph_plan& graph,
                                        const std::vector<part_transform>& of_stream,
                                        std::shared_ptr<part_sink> next) {
  auto transforms = graph.options.transforms;
  transforms.insert(transforms.end(), of_stream.begin(), of_stream.end());
  if (transforms.empty())
    return next;
  return std::make_shared<transform_sink>(std::move(transforms), std::move(next));
}

} // namespace troupe
