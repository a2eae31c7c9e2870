// AnyValue: keeps the last write of a step and forgets it in a step that writes nothing.
// Source: langgraph/channels/any_value.py, AnyValue.
#include "channels/kinds.hpp"

namespace troupe {
namespace {

result<bool> update(const channel_spec&, std::string_view, channel_cell& cell,
                    std::span<const value> writes) {
  if (writes.empty())
    return clear(cell);
  set_to_last(cell, writes);
  return true;
}

} // namespace

constinit const channel_rule any_value_rule{.update = update};

} // namespace troupe
