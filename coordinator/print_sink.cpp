// print_sink: one line for each printed part.
#include "coordinator/print_sink.hpp"

#include <algorithm>
#include <iostream>

namespace troupe {

namespace {

class print_sink : public part_sink {
public:
  print_sink(std::vector<stream_mode> modes, std::shared_ptr<part_sink> next)
    : modes_{std::move(modes)},
      next_{std::move(next)} {}

  bool wants(stream_mode mode) const noexcept override {
    return prints(mode) || (next_ && next_->wants(mode));
  }
  bool may_block() const noexcept override { return next_ && next_->may_block(); }
  bool gave_up() const noexcept override { return next_ && next_->gave_up(); }
  std::optional<error> failure() const override { return next_ ? next_->failure() : std::nullopt; }
  void wait_for_room() override {
    if (next_)
      next_->wait_for_room();
  }
  void braked_by(run_brake* brake) override {
    if (next_)
      next_->braked_by(brake);
  }
  void run_is_stopped() override {
    if (next_)
      next_->run_is_stopped();
  }
  void emit(stream_part part) override {
    print(part);
    if (next_ && next_->wants(part.mode))
      next_->emit(std::move(part));
  }
  void emit_custom(stream_part part) override {
    print(part);
    if (next_ && next_->wants(part.mode))
      next_->emit_custom(std::move(part));
  }

private:
  bool prints(stream_mode mode) const noexcept {
    return std::find(modes_.begin(), modes_.end(), mode) != modes_.end();
  }

  void print(const stream_part& part) const {
    if (!prints(part.mode))
      return;
    std::string line{"["};
    line.append(to_string(part.mode)).append("] ");
    for (const auto& ns : part.ns)
      line.append(ns).append(" ");
    line.append(to_json(part.data)).append("\n");
    std::cout << line << std::flush; // in one piece, since other threads print too
  }

  std::vector<stream_mode> modes_;
  std::shared_ptr<part_sink> next_;
};

} // namespace

std::shared_ptr<part_sink> printing(const std::vector<stream_mode>& modes,
                                    std::shared_ptr<part_sink> next) {
  if (modes.empty())
    return next;
  return std::make_shared<print_sink>(modes, std::move(next));
}

} // namespace troupe
