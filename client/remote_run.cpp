// remote_run: what each event says.
#include "client/remote_run.hpp"

#include "client/bodies.hpp"
#include "client/remote_rules.hpp"
#include "client/waiting.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

remote_reader::remote_reader(std::shared_ptr<rejoined_stream> stream,
                             std::vector<stream_mode> wanted, bool with_nested)
  : stream_{std::move(stream)},
    wanted_{std::move(wanted)},
    with_nested_{with_nested} {}

coro<std::optional<stream_part>> remote_reader::next(context* ctx) {
  while (!ending_.upward) {
    auto read = stream_->next(ctx);
    auto event = co_await step_in(ctx, read);
    if (!event)
      break;
    if (auto part = take(*event))
      co_return part;
  }
  co_return std::nullopt;
}

std::optional<stream_part> remote_reader::take(const run_event& event) {
  auto name = event.mode();
  if (name == "error")
    throw failure_of_run(event.data);
  if (name == "command" && event.data["graph"] == value(command::PARENT)) {
    ending_.upward = command_of_event(event.data);
    return std::nullopt;
  }
  auto mode = mode_of_event(name);
  if (!mode)
    return std::nullopt;
  auto ns = event.ns();
  note(*mode, event.data, !ns.empty());
  if (std::ranges::find(wanted_, *mode) == wanted_.end() || (!ns.empty() && !with_nested_))
    return std::nullopt;
  return stream_part{*mode, std::move(ns), part_data_of(*mode, event.data), ++seq_};
}

// A question of a nested graph is reported there, and once more in the run's own graph.
void remote_reader::note(stream_mode mode, const value& data, bool is_nested) {
  if (is_nested || (mode != stream_mode::values && mode != stream_mode::updates))
    return;
  auto asked = questions_in(data);
  if (asked) {
    ending_.is_paused = true;
    for (auto& question : *asked)
      if (std::ranges::find(ending_.questions, question.id, &interrupt::id)
          == ending_.questions.end())
        ending_.questions.push_back(std::move(question));
  }
  if (mode != stream_mode::values)
    return;
  auto state = asked ? data.without("__interrupt__") : data;
  if (!asked || !state.empty()) // some servers send the questions alone
    ending_.values = std::move(state);
}

} // namespace troupe
