// The names of the graphs that a shared library exports, read from its file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::cli {

/// Nothing of the library is run.
/// Order:  by name.
/// Blocks: on the file system.
/// Errors: throws error{unknown_graph}: the file can't be read, or is not a 64-bit ELF library.
std::vector<std::string> graphs_of_library(const std::filesystem::path& library);

} // namespace troupe::cli
