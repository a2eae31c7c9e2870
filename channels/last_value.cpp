// LastValue: keeps the one write of a step.
// Source: langgraph/channels/last_value.py, LastValue.
#include "channels/kinds.hpp"

namespace troupe {
namespace {

result<bool> update(const channel_spec&, std::string_view name, channel_cell& cell,
                    std::span<const value> writes) {
  if (writes.empty())
    return false;
  if (writes.size() > 1)
    return refused_update(name, "Can receive only one value per step. Several nodes wrote it: give "
                                "the channel a reducer, as in ("
                                  + std::string{name} + ", troupe::append)");
  set_to_last(cell, writes);
  return true;
}

} // namespace

constinit const channel_rule last_value_rule{.update = update};

} // namespace troupe
