// Merging a run's config into the metadata of its checkpoints.
#include "engine/checkpoint_metadata.hpp"

#include "graph/value_node.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace troupe {

namespace {

bool is_scalar(const value& v) {
  return v.is_string() || v.is_bool() || v.is_number();
}

// The thread is part of each checkpoint's place.
bool kept_in_metadata(std::string_view key, const value& v, bool whole, bool with_place) {
  return !key.starts_with("__") && key != "thread_id" && (whole ? !v.is_null() : is_scalar(v))
         && ((whole && with_place) || !is_place_member(key));
}

value without_nul(const value& v) {
  if (!v.is_string() || v.as_string().find('\0') == std::string_view::npos)
    return v;
  std::string text{v.as_string()};
  std::erase(text, '\0');
  return text;
}

} // namespace

bool is_place_member(std::string_view key) noexcept {
  constexpr std::array<std::string_view, 9> members{
    "thread_id",          "checkpoint_id",  "checkpoint_ns",
    "checkpoint_map",     "langgraph_step", "langgraph_node",
    "langgraph_triggers", "langgraph_path", "langgraph_checkpoint_ns"};
  return std::ranges::find(members, key) != members.end();
}

value checkpoint_metadata(std::string_view source, std::int64_t step, const value& parents,
                          const run_config& config) {
  std::array<value, 6> members{
    "parents", parents.is_map() ? parents : value::map(), "source", source, "step", step};
  bool duplicates = false;
  return with_extras(value_access::map(members, duplicates), config);
}

value with_extras(value metadata, const run_config& config) {
  for (const auto* extra : {&config.metadata, &config.configurable})
    for (const auto& e : extra->entries())
      if (!metadata.contains(e.key())
          && kept_in_metadata(e.key(), e.val, config.whole_metadata, extra == &config.metadata))
        metadata = metadata.with(e.key(), without_nul(e.val));
  return metadata;
}

value without_extras(const value& metadata, const run_config& config) {
  auto out = metadata;
  for (const auto* extra : {&config.metadata, &config.configurable})
    for (const auto& e : extra->entries())
      if (e.key() != "source" && e.key() != "step" && e.key() != "parents")
        out = out.without(e.key());
  return out;
}

} // namespace troupe
