// A new file of LangGraph's SqliteSaver.
#pragma once

#include <troupe/saver.hpp>

#include <filesystem>
#include <functional>
#include <optional>

namespace troupe::cli {

/// Writes all checkpoints that `next` gives to a new file. The file has its name only when it is
/// whole.
/// Shape:  `next` as sqlite_checkpoints::next; the first nullopt ends it.
/// Blocks: on the disk.
/// Errors: throws error: invalid_config when the file exists; storage_failed when it can't be
///         written; invalid_value, naming the thread, the checkpoint and the channel, for values
///         without a counterpart; those of `next`. No file is left then.
/// Source: langgraph/checkpoint/sqlite, SqliteSaver.
void write_sqlite_checkpoints(const std::filesystem::path& file,
                              const std::function<std::optional<checkpoint_tuple>()>& next);

} // namespace troupe::cli
