// numbered_put: numbers of a saver's table for names, and for the numbers of a graph.
#include "persistence/numbered_put.hpp"

#include "persistence/record/saver_rules.hpp"

namespace troupe {

void numbered_put::translate(numbered_names& names, name_table& table) {
  for (auto& of : checkpoint.versions)
    of.channel = names.in(table, of.channel);
  for (auto& of : checkpoint.seen)
    of.node = names.in(table, of.node);
  for (auto& of : checkpoint.seen_versions)
    of.channel = names.in(table, of.channel);
  if (checkpoint.updated)
    for (auto& channel : *checkpoint.updated)
      channel = names.in(table, channel);
  for (auto& of : moved)
    of.channel = names.in(table, of.channel);
}

numbered_put number_names(const checkpoint_put& put, name_table& table) {
  numbered_put out;
  const auto& cp = put.checkpoint;
  number_names(cp, table, out.checkpoint);
  out.moved.reserve(put.new_versions.size());
  for (const auto& channel : put.new_versions)
    if (const auto* at = find_named(cp.channel_versions, channel)) {
      const auto* val = find_named(cp.channel_values, channel);
      out.moved.push_back({table.number(channel), *at, val ? std::optional{*val} : std::nullopt});
    }
  return out;
}

} // namespace troupe
