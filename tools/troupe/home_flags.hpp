// The flags of commands that run graphs here and may have workers: which ones.
#pragma once

#include "tools/troupe/peer_flags.hpp"

#include <memory>

namespace troupe::cli {

struct home_flags {
  worker_pool_options options;
  std::shared_ptr<peer_flags> peers;
  std::shared_ptr<lease_flags> lease;

  /// Null without a flag for workers: then nodes with a placement run here.
  /// Errors: throws error, as connect_workers.
  std::shared_ptr<worker_pool> workers() const;
};

std::shared_ptr<home_flags> add_home_flags(CLI::App& command);

} // namespace troupe::cli
