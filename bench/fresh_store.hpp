// fresh_store: a new, empty store for each sample, in memory or in a file of the LMDB saver on a
// local disk.
#pragma once

#include "bench/graphs.hpp"

#include <memory>
#include <optional>

namespace troupe::bench {

enum class medium { memory, file, uncompressed_file, encrypted_file };

/// A runtime with a new, empty saver and, for a file, its directory.
/// Errors: all members throw error.
class fresh_store {
public:
  explicit fresh_store(medium where);

  app<> load(const compiled_graph& graph) { return machine_->load(graph); }
  std::size_t checkpoints() { return stored_checkpoints(*store_); }

  /// Closes the store. Returns the size of its files.
  std::uintmax_t close();

private:
  std::optional<scratch_dir> dir_; // outlives the store in it
  std::shared_ptr<saver> store_;
  std::unique_ptr<runtime> machine_;
};

} // namespace troupe::bench
