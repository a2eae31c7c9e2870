// EphemeralValue: a value that lives for one step; guarded, it takes one write a step.
// Source: langgraph/channels/ephemeral_value.py, EphemeralValue.
#include "channels/kinds.hpp"

namespace troupe {
namespace {

result<bool> update(const channel_spec& spec, std::string_view name, channel_cell& cell,
                    std::span<const value> writes) {
  if (writes.empty())
    return clear(cell);
  if (spec.guard && writes.size() > 1)
    return refused_update(
      name,
      "several writes in one step: declare it as troupe::ephemeral_unguarded to keep the last "
      "one (EphemeralValue(guard=True) can receive only one value per step.)");
  set_to_last(cell, writes);
  return true;
}

} // namespace

constinit const channel_rule ephemeral_value_rule{.update = update};

} // namespace troupe
