// The channel of a channel_definition: functions of the user's own decide.
// The cell's content is the list [content, value for readers] or, when a checkpoint stores
// something, [content, value for readers, stored value]. The cell is set iff the channel is
// available. So every function of the user's own runs when the content changes, where an error can
// be reported. None runs at a read or a store.
// Source: langgraph/channels/base.py, BaseChannel.
#include "channels/kinds.hpp"

#include <utility>
#include <vector>

namespace troupe {
namespace {

constexpr std::size_t content_at = 0;
constexpr std::size_t shown_at = 1;
constexpr std::size_t stored_at = 2;

const value& content_of(const channel_cell& cell) {
  return cell.content[content_at];
}

std::optional<value> unless_null(const value& content) {
  return content.is_null() ? std::nullopt : std::optional<value>{content};
}

// The cell for a content. Throws what the definition's functions throw.
channel_cell cell_with(const channel_definition& rule, value content) {
  auto shown = rule.get ? rule.get(content) : unless_null(content);
  auto stored = rule.checkpoint ? rule.checkpoint(content) : unless_null(content);
  bool available = shown.has_value();
  std::vector<value> parts{std::move(content), std::move(shown).value_or(value{})};
  if (stored)
    parts.push_back(std::move(*stored));
  return {.content = value::list(std::move(parts)), .set = available};
}

// The result of a change that the definition makes; an exception becomes an error that names the
// channel and the definition.
template <class Change>
result<bool> change(const channel_definition& rule, std::string_view name, channel_cell& cell,
                    std::string_view what, Change next) {
  auto failed = [&](std::string_view why) {
    return "channel `" + rule.name + "`, " + std::string{what} + ": " + std::string{why};
  };
  try {
    std::optional<value> content = next();
    if (!content)
      return false;
    cell = cell_with(rule, std::move(*content));
    return true;
  } catch (const error& e) {
    return error{e.code(), "At key '" + std::string{name} + "': " + failed(e.message()), e.type()};
  } catch (const std::exception& e) {
    return refused_update(name, failed(e.what()));
  } catch (...) {
    return refused_update(name, failed("it threw something that is not a std::exception"));
  }
}

result<bool> update(const channel_spec& spec, std::string_view name, channel_cell& cell,
                    std::span<const value> writes) {
  const auto& rule = *spec.definition;
  if (writes.empty() && !rule.each_step)
    return false;
  return change(rule, name, cell, "update", [&] { return rule.update(content_of(cell), writes); });
}

} // namespace

constinit const channel_rule defined_rule{
  .update = update,
  .initial =
    [](const channel_spec& spec) {
      return cell_with(*spec.definition,
                       spec.definition->initial); // did not throw in define_channel
    },
  .store = [](const channel_cell& cell) -> std::optional<value> {
    if (!cell.content.is_list() || cell.content.size() <= stored_at)
      return std::nullopt;
    return cell.content[stored_at];
  },
  .read = [](const channel_cell& cell) { return cell.content[shown_at]; },
};

result<bool> consume_defined(const channel_definition& rule, std::string_view name,
                             channel_cell& cell) {
  if (!rule.consume)
    return false;
  return change(rule, name, cell, "consume", [&] { return rule.consume(content_of(cell)); });
}

result<bool> finish_defined(const channel_definition& rule, std::string_view name,
                            channel_cell& cell) {
  if (!rule.finish)
    return false;
  return change(rule, name, cell, "finish", [&] { return rule.finish(content_of(cell)); });
}

result<channel_cell> load_defined(const channel_definition& rule, std::string_view name,
                                  const value& stored) {
  channel_cell cell;
  auto loaded = change(rule, name, cell, "from_checkpoint", [&] {
    return std::optional<value>{rule.from_checkpoint ? rule.from_checkpoint(stored) : stored};
  });
  if (!loaded)
    return error{errc::checkpoint_corrupt, "load a channel: " + loaded.error().message()};
  return cell;
}

channel_spec define_channel(channel_definition definition) {
  if (definition.name.empty())
    throw error{errc::invalid_graph, "define a channel: it has no name"};
  if (!definition.update)
    throw error{errc::invalid_graph,
                "define a channel: it has no `update`: `" + definition.name + "`"};
  channel_cell first;
  auto made = change(definition, definition.name, first, "initial content",
                     [&] { return std::optional<value>{definition.initial}; });
  if (!made)
    throw error{errc::invalid_graph, "define a channel: " + made.error().message()};
  return {.kind = channel_kind::defined,
          .definition = std::make_shared<const channel_definition>(std::move(definition))};
}

} // namespace troupe
