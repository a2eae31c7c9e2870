// Checks of the values that a caller gives to a graph.
#include "engine/given_values.hpp"

#include "channels/typed_write.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace troupe {

namespace {

bool takes(const graph_plan& plan, channel_index c, bool input) {
  if (c == no_index)
    return false;
  if (input)
    return std::ranges::find(plan.input_keys, c) != plan.input_keys.end();
  return plan.channels[c].state && !plan.channels[c].spec.managed();
}

std::string names_taken(const graph_plan& plan, bool input) {
  std::string out;
  for (channel_index c = 0; c < plan.channels.size(); ++c)
    if (takes(plan, c, input))
      out += (out.empty() ? "`" : ", `") + plan.channels[c].name + "`";
  return out.empty() ? "none" : out;
}

result<void> check_one(const graph_plan& plan, std::string_view name, const value& v,
                       const given_as& how) {
  auto c = plan.find_channel(name);
  auto where = [&how] { return std::string{how.what} + ": "; };
  if (takes(plan, c, how.input)) {
    if (auto why = find_misfit(plan.channels[c].spec, v))
      return error{how.code, where() + "channel `" + std::string{name} + "`: " + *why, "TypeError"};
  } else if (how.strict) {
    return error{how.code,
                 where() + "graph `" + plan.options.name + "` has no channel `" + std::string{name}
                   + "` to write; it has " + names_taken(plan, how.input),
                 "KeyError"};
  }
  return {};
}

} // namespace

result<void> check_given(const graph_plan& plan, const state_update& update, const given_as& how) {
  if (plan.single)
    return {};
  for (const auto& [name, v] : update.entries())
    if (auto checked = check_one(plan, name, v, how); !checked)
      return checked;
  return {};
}

result<void> check_given(const graph_plan& plan, const value& input, const given_as& how) {
  if (plan.single)
    return {};
  for (const auto& e : input.entries())
    if (auto checked = check_one(plan, e.key(), e.val, how); !checked)
      return checked;
  return {};
}

} // namespace troupe
