// UntrackedValue: kept from step to step of a run, never stored.
// Source: langgraph/channels/untracked_value.py, UntrackedValue.
#include "channels/kinds.hpp"

namespace troupe {
namespace {

result<bool> update(const channel_spec& spec, std::string_view name, channel_cell& cell,
                    std::span<const value> writes) {
  if (writes.empty())
    return false;
  if (spec.guard && writes.size() > 1)
    return refused_update(
      name,
      "several writes in one step: declare it as troupe::untracked_unguarded to keep the last "
      "one (UntrackedValue(guard=True) can receive only one value per step.)");
  set_to_last(cell, writes);
  return true;
}

// A stored value means that the channel was of another kind before; the channel starts empty all
// the same.
std::optional<channel_cell> load(const channel_spec&, const value&) {
  return channel_cell{};
}

} // namespace

constinit const channel_rule untracked_value_rule{
  .update = update,
  .store = [](const channel_cell&) -> std::optional<value> { return std::nullopt; },
  .load = load,
};

} // namespace troupe
