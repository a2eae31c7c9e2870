// LastValueAfterFinish: keeps the last write, readable only when nothing else is left to run.
// Source: langgraph/channels/last_value.py, LastValueAfterFinish.
#include "channels/kinds.hpp"

namespace troupe {
namespace {

result<bool> update(const channel_spec&, std::string_view, channel_cell& cell,
                    std::span<const value> writes) {
  if (writes.empty())
    return false;
  set_to_last(cell, writes);
  cell.finished = false;
  return true;
}

bool consume(const channel_spec&, channel_cell& cell) {
  return cell.finished && clear(cell);
}

bool finish(const channel_spec&, channel_cell& cell) {
  if (!cell.set || cell.finished)
    return false;
  cell.finished = true;
  return true;
}

bool available(const channel_spec&, const channel_cell& cell) {
  return cell.set && cell.finished;
}

std::optional<value> store(const channel_cell& cell) {
  if (!cell.set)
    return std::nullopt;
  return value::list({cell.content, cell.finished});
}

std::optional<channel_cell> load(const channel_spec&, const value& stored) {
  if (!stored.is_list() || stored.size() != 2 || !stored[1].is_bool())
    return std::nullopt;
  return channel_cell{.content = stored[0], .set = true, .finished = stored[1].as_bool()};
}

} // namespace

constinit const channel_rule last_value_after_finish_rule{
  .update = update,
  .consume = consume,
  .finish = finish,
  .available = available,
  .store = store,
  .load = load,
};

} // namespace troupe
