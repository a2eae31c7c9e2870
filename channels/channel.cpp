// The table of the kinds: which rule serves which kind of channel.
#include "channels/channel.hpp"

#include "channels/kinds.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace troupe {
namespace {

// A managed value is not a channel: it takes no writes and holds nothing.
constinit const channel_rule managed_rule{
  .update = [](const channel_spec&, std::string_view, channel_cell&,
               std::span<const value>) -> result<bool> { return false; },
  .load = [](const channel_spec&,
             const value&) { return std::optional<channel_cell>{channel_cell{}}; },
};

constexpr const channel_rule& find_rule(channel_kind kind) {
  switch (kind) {
    case channel_kind::last_value: return last_value_rule;
    case channel_kind::last_value_after_finish: return last_value_after_finish_rule;
    case channel_kind::any_value: return any_value_rule;
    case channel_kind::ephemeral: return ephemeral_value_rule;
    case channel_kind::untracked: return untracked_value_rule;
    case channel_kind::topic: return topic_rule;
    case channel_kind::binary_operator: return binary_operator_aggregate_rule;
    case channel_kind::delta: return delta_rule;
    case channel_kind::named_barrier: return named_barrier_value_rule;
    case channel_kind::named_barrier_after_finish: return named_barrier_value_after_finish_rule;
    case channel_kind::named_quorum: return named_quorum_rule;
    case channel_kind::defined: return defined_rule;
    case channel_kind::remaining_steps:
    case channel_kind::is_last_step: return managed_rule;
  }
  return managed_rule;
}

// A list, since a state is loaded and stored channel by channel.
constexpr auto rules = [] {
  std::array<const channel_rule*, static_cast<std::size_t>(channel_kind::is_last_step) + 1> all{};
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = &find_rule(static_cast<channel_kind>(i));
  return all;
}();

const channel_rule& rule_of(channel_kind kind) noexcept {
  return *rules[static_cast<std::size_t>(kind)];
}

bool is_available(const channel_rule& rule, const channel_spec& spec, const channel_cell& cell) {
  return rule.available ? rule.available(spec, cell) : cell.set;
}

} // namespace

channel_cell initial_cell(const channel_spec& spec) {
  auto* initial = rule_of(spec.kind).initial;
  return initial ? initial(spec) : channel_cell{};
}

result<bool> update_channel(const channel_spec& spec, std::string_view name, channel_cell& cell,
                            std::span<const value> writes) {
  auto updated = rule_of(spec.kind).update(spec, name, cell, writes);
  if (spec.keep_last != 0 && updated && *updated)
    drop_older(cell, spec.keep_last);
  return updated;
}

result<bool> consume_channel(const channel_spec& spec, std::string_view name, channel_cell& cell) {
  if (spec.definition)
    return consume_defined(*spec.definition, name, cell);
  return rule_of(spec.kind).consume(spec, cell);
}

result<bool> finish_channel(const channel_spec& spec, std::string_view name, channel_cell& cell) {
  if (spec.definition)
    return finish_defined(*spec.definition, name, cell);
  return rule_of(spec.kind).finish(spec, cell);
}

bool channel_available(const channel_spec& spec, const channel_cell& cell) {
  return is_available(rule_of(spec.kind), spec, cell);
}

value read_channel(const channel_spec& spec, const channel_cell& cell) {
  const auto& rule = rule_of(spec.kind);
  return is_available(rule, spec, cell) ? rule.read(cell) : value{};
}

std::optional<value> store_channel(const channel_spec& spec, const channel_cell& cell) {
  return rule_of(spec.kind).store(cell);
}

result<channel_cell> load_channel(const channel_spec& spec, std::string_view name,
                                  const std::optional<value>& stored) {
  if (!stored)
    return initial_cell(spec);
  if (spec.definition)
    return load_defined(*spec.definition, name, *stored);
  auto* load = rule_of(spec.kind).load;
  if (!load)
    return channel_cell{.content = *stored, .set = true};
  if (auto cell = load(spec, *stored))
    return std::move(*cell);
  return error{errc::checkpoint_corrupt, "load a channel: the stored value does not fit its kind: `"
                                           + std::string{name} + "`"};
}

error refused_second_overwrite() {
  return {errc::invalid_update, "Can receive only one Overwrite value per super-step."};
}

error refused_update(std::string_view name, std::string_view text) {
  return {errc::invalid_update, "At key '" + std::string{name} + "': " + std::string{text}};
}

} // namespace troupe
