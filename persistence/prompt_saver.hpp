// prompt_saver: a saver that stores within a call. A run needs no message and no other thread to
// hear that its step is stored.
#pragma once

#include "persistence/checkpoint_page.hpp"
#include "persistence/numbered_put.hpp"

#include <troupe/saver.hpp>

namespace troupe {

/// A saver that never waits for a disk or a server.
class prompt_saver : public saver {
public:
  /// Stores the request as submit() does, before it returns.
  /// Blocks: on a short lock.
  /// Errors: as submit.
  virtual result<void> store(const save_request& request) = 0;

  /// The same for a checkpoint whose channels and nodes are in `put`, by the numbers of `names`.
  /// `request.put` names none. Numbers and values of `put` are used up.
  virtual result<void> store(const save_request& request, numbered_put& put,
                             numbered_names& names) = 0;

  /// As list(query), which names a thread and a namespace, in the place of other checkpoints. The
  /// names in `into` stay when they are of the same table.
  /// Blocks: on a short lock.
  /// Errors: as list; `into` is as before.
  virtual result<void> read_page(const list_query& query, checkpoint_page& into) = 0;
};

} // namespace troupe
