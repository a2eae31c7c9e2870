// DeltaChannel: folds all writes of a step at once. The channel itself stores nothing: the
// checkpoints hold its writes, and the coordinator sometimes stores a snapshot of the value.
// An overwrite replaces the value; all other writes of its step are dropped.
// Source: langgraph/channels/delta.py, DeltaChannel.
#include "channels/kinds.hpp"
#include "channels/message_forms.hpp"

#include <algorithm>

namespace troupe {
namespace {

value put_in_place(const channel_spec& spec, const value& overwrite) {
  const auto& given = overwritten(overwrite);
  return given.is_null() ? spec.batch->initial : given;
}

result<value> fold(const channel_spec& spec, std::string_view name, const value& current,
                   std::span<const value> writes) {
  if (writes.empty())
    return current;
  return try_fold(name, spec.batch->name,
                  [&]() -> result<value> { return spec.batch->op(current, writes); });
}

result<bool> update(const channel_spec& spec, std::string_view name, channel_cell& cell,
                    std::span<const value> writes) {
  if (writes.empty())
    return false;
  auto overwrite = std::ranges::find_if(writes, is_overwrite);
  if (overwrite != writes.end()) {
    if (std::any_of(overwrite + 1, writes.end(), is_overwrite))
      return refused_second_overwrite();
    cell.content = put_in_place(spec, *overwrite);
    return true;
  }
  auto folded = fold(spec, name, cell.content, writes);
  if (!folded)
    return folded.error();
  cell.content = *std::move(folded);
  return true;
}

channel_cell initial(const channel_spec& spec) {
  return {.content = spec.batch->initial, .set = true};
}

// A plain value was stored while the channel was of another kind.
std::optional<channel_cell> load(const channel_spec&, const value& stored) {
  const auto& content = stored.is(value_kind::delta_snapshot) ? stored.payload() : stored;
  return channel_cell{.content = content, .set = true};
}

result<void> replay_at_once(const channel_spec& spec, std::string_view name, channel_cell& cell,
                            std::span<const value> writes) {
  auto last = std::find_if(writes.rbegin(), writes.rend(), is_overwrite);
  if (last != writes.rend()) {
    cell.content = put_in_place(spec, *last);
    writes = {last.base(), writes.end()};
  }
  auto folded = fold(spec, name, cell.content, writes);
  if (!folded)
    return folded.error();
  cell.content = *std::move(folded);
  if (spec.keep_last != 0)
    drop_older(cell, spec.keep_last);
  return {};
}

result<void> replay_one_by_one(const channel_spec& spec, std::string_view name, channel_cell& cell,
                               std::span<const value> writes) {
  for (const auto& write : writes)
    if (auto updated = update_channel(spec, name, cell, {&write, 1}); !updated)
      return updated.error();
  return {};
}

// ---- declaring one --------------------------------------------------------------------------

value fold_each(const reducer& op, value current, std::span<const value> writes) {
  for (const auto& write : writes)
    current = op(current, write);
  return current;
}

channel_spec checked(channel_spec spec) {
  if (spec.snapshot_frequency < 1)
    throw error{errc::invalid_graph,
                "snapshot_frequency must be a positive int, got "
                  + std::to_string(spec.snapshot_frequency),
                "ValueError"};
  return spec;
}

batch_reducer batch_of(const std::shared_ptr<const reducer>& op) {
  if (op->function && op->function == add_messages.op->function)
    return {
      .name = "messages_delta", .op = merge_messages, .initial = *op->initial, .messages = true};
  return {.name = op->name,
          .op = [op](const value& current,
                     std::span<const value> writes) { return fold_each(*op, current, writes); },
          .initial = *op->initial};
}

} // namespace

channel_spec delta(const channel_spec& folding, std::int64_t snapshot_frequency) {
  if (folding.kind != channel_kind::binary_operator || !folding.op)
    throw error{errc::invalid_graph, "make a delta channel: it has no reducer"};
  if (!folding.op->initial)
    throw error{errc::invalid_graph, "make a delta channel: the reducer `" + folding.op->name
                                       + "` has no value to start at: use starting_at"};
  auto out = checked({.kind = channel_kind::delta,
                      .op = folding.op, // distinguishes two such channels
                      .batch = std::make_shared<const batch_reducer>(batch_of(folding.op)),
                      .snapshot_frequency = snapshot_frequency});
  return folding.keep_last == 0 ? out : keep_last(out, folding.keep_last);
}

channel_spec delta(batch_reducer folding, std::int64_t snapshot_frequency) {
  if (!folding.op)
    throw error{errc::invalid_graph,
                "make a delta channel: its reducer has no function: " + folding.name};
  return checked({.kind = channel_kind::delta,
                  .batch = std::make_shared<const batch_reducer>(std::move(folding)),
                  .snapshot_frequency = snapshot_frequency});
}

result<channel_cell> replay_channel(const channel_spec& spec, std::string_view name,
                                    const std::optional<value>& stored,
                                    std::span<const value> writes) {
  auto cell = load_channel(spec, name, stored);
  if (!cell)
    return cell;
  auto replay = spec.kind == channel_kind::delta ? replay_at_once : replay_one_by_one;
  if (auto done = replay(spec, name, *cell, writes); !done)
    return done.error();
  return cell;
}

constinit const channel_rule delta_rule{
  .update = update,
  .initial = initial,
  .store = [](const channel_cell&) -> std::optional<value> { return std::nullopt; },
  .load = load,
};

} // namespace troupe
