// Shared libraries that are loaded while the program runs: graphs of users, parts of the command
// line.
#pragma once

#include <troupe/error.hpp>

#include <filesystem>
#include <string>

namespace troupe {

/// The handle of the library at this path; a path without a directory is looked up as the dynamic
/// loader does. The library is never closed,
/// because objects point into it. A second call gives the same handle.
/// Blocks: on the file system.
/// Errors: unknown_graph with the loader's reason, which names the file.
result<void*> load_library(const std::filesystem::path& library);

/// The address of an exported symbol; null when the library has none of this name.
void* find_symbol(void* library, const std::string& name);

} // namespace troupe
