// The metadata of a checkpoint: where it comes from, and what its caller put there. Pure.
#pragma once

#include <troupe/runtime.hpp>

#include <cstdint>
#include <string_view>

namespace troupe {

/// Whether a member of metadata tells where a task or a checkpoint is: that is shown elsewhere.
/// Source: langgraph/checkpoint/base, EXCLUDED_METADATA_KEYS.
bool is_place_member(std::string_view key) noexcept;

/// The metadata of a checkpoint: source, step and parents, then scalars of the config's `metadata`
/// and `configurable`. Scalars with one of these names, names of the engine and hidden names are
/// left out. With run_config::whole_metadata, members of `metadata` may also be maps and lists, and
/// tell where a nested graph is; those of `configurable` may be maps and lists.
/// Shape:  `source` is input, loop, update or fork; `parents` a map, or null without any.
///         Strings lose their NUL characters.
/// Units:  `step` in super-steps, from -1.
/// Errors: none.
/// Source: langgraph/checkpoint/base, get_checkpoint_metadata;
///         langgraph_runtime_inmem/checkpoint.py, InMemorySaver.put.
value checkpoint_metadata(std::string_view source, std::int64_t step, const value& parents,
                          const run_config& config);

/// Metadata with what the config adds to those of each checkpoint.
value with_extras(value metadata, const run_config& config);

/// Such metadata without what the config added: as a run shows a checkpoint that it has made.
/// Source: langgraph/pregel/_loop.py, PregelLoop._put_checkpoint.
value without_extras(const value& metadata, const run_config& config);

} // namespace troupe
