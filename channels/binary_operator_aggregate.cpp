// BinaryOperatorAggregate: folds each write into the value with a reducer.
// An overwrite replaces the value; the plain writes after it in the same step are dropped.
// Unlike the reference, an overwrite that is the very first write is unwrapped like any other.
// Source: langgraph/channels/binop.py, BinaryOperatorAggregate.
#include "channels/kinds.hpp"

namespace troupe {
namespace {

constexpr std::string_view overwrite_key = "__overwrite__";

// The value of the fold so far, and whether an overwrite replaced it.
struct fold {
  value current;
  bool set = false;
  bool replaced = false; // by an overwrite of this step
};

result<void> add(fold& acc, const reducer& op, const value& write) {
  if (is_overwrite(write)) {
    if (acc.replaced)
      return refused_second_overwrite();
    acc = {.current = overwritten(write), .set = true, .replaced = true};
  } else if (!acc.set) {
    acc.current = write;
    acc.set = true;
  } else if (!acc.replaced) {
    acc.current = op(acc.current, write);
  }
  return {};
}

result<value> fold_all(const reducer& op, std::string_view name, const channel_cell& cell,
                       std::span<const value> writes) {
  return try_fold(name, op.name, [&]() -> result<value> {
    fold acc{.current = cell.content, .set = cell.set};
    for (const auto& w : writes)
      if (auto added = add(acc, op, w); !added)
        return added.error();
    return std::move(acc.current);
  });
}

result<bool> update(const channel_spec& spec, std::string_view name, channel_cell& cell,
                    std::span<const value> writes) {
  if (writes.empty())
    return false;
  auto folded = fold_all(*spec.op, name, cell, writes);
  if (!folded)
    return folded.error();
  cell.content = *std::move(folded);
  cell.set = true;
  return true;
}

channel_cell initial(const channel_spec& spec) {
  if (!spec.op->initial)
    return {};
  return {.content = *spec.op->initial, .set = true};
}

// A snapshot was stored while the channel was a delta channel.
std::optional<channel_cell> load(const channel_spec&, const value& stored) {
  const auto& content = stored.is(value_kind::delta_snapshot) ? stored.payload() : stored;
  return channel_cell{.content = content, .set = true};
}

} // namespace

bool is_overwrite(const value& write) noexcept {
  if (write.is(value_kind::overwrite))
    return true;
  if (!write.is_map())
    return false;
  if (write.size() == 1)
    return write.contains(overwrite_key);
  const auto& type = write["type"];
  return type.is_string() && type.as_string() == overwrite_key && write.contains("value");
}

const value& overwritten(const value& write) {
  if (write.is(value_kind::overwrite))
    return write.payload();
  return write.size() == 1 ? write[overwrite_key] : write["value"];
}

constinit const channel_rule binary_operator_aggregate_rule{
  .update = update,
  .initial = initial,
  .load = load,
};

} // namespace troupe
