// rebuilt_library: a shared library that is built anew while its graphs are served.
//
// The dynamic loader knows a library by its file, and a linker may write into that file while it is
// in use. So each build is loaded as a copy of its own, beside the library: `.NAME.troupe-PID-N`.
// Paths that the library has relative to itself ($ORIGIN) stay right.
#pragma once

#include <troupe/error.hpp>
#include <troupe/state_graph.hpp>

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::server {

/// A graph that a library exports.
struct exported_graph {
  std::string name;      ///< as in TROUPE_GRAPH(name)
  std::string served_as; ///< the server's name for it
};

using named_graphs = std::vector<std::pair<std::string, compiled_graph>>;

/// The process that made a copy of a library, from the name of the copy; nullopt for another file.
std::optional<pid_t> owner_of_copy(std::string_view library_name, std::string_view file_name);

/// Thread: one.
class rebuilt_library {
public:
  /// Removes copies that processes which ended by a crash have left.
  rebuilt_library(std::filesystem::path file, std::vector<exported_graph> graphs);
  rebuilt_library(const rebuilt_library&) = delete;
  rebuilt_library& operator=(const rebuilt_library&) = delete;
  /// Removes the copies.
  ~rebuilt_library();

  const std::filesystem::path& file() const noexcept { return file_; }
  const std::vector<exported_graph>& graphs() const noexcept { return graphs_; }

  /// All graphs of the present build, under the names of the server; nullopt when that build is the
  /// one that was loaded last.
  /// Owns:   the builds before stay mapped until the process ends, since runs may use them.
  /// Blocks: on the disk, and on building the graphs.
  /// Errors: as load_graph; unknown_graph for a file that was written in part, or that changes now;
  ///         storage_failed: the copy can't be made; invalid_config: the file is larger than
  ///         limits::server_library_bytes_max. Then a later call tries the same build again.
  result<std::optional<named_graphs>> load();

private:
  result<std::filesystem::path> copy(const std::string& bytes);
  result<named_graphs> load_from(const std::filesystem::path& copy) const;

  const std::filesystem::path file_;
  const std::vector<exported_graph> graphs_;
  std::optional<std::size_t> loaded_; // the hash of the build's bytes
  std::vector<std::filesystem::path> copies_;
};

} // namespace troupe::server
