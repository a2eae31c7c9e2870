// prompt_saver: a saver that stores within a call. A run needs no message and no other thread to
// hear that its step is stored.
#pragma once

#include <troupe/saver.hpp>

namespace troupe {

/// A saver that never waits for a disk or a server.
class prompt_saver : public saver {
public:
  /// Stores the request as submit() does, before it returns.
  /// Blocks: on a short lock.
  /// Errors: as submit.
  virtual result<void> store(const save_request& request) = 0;

  /// As get_tuple(ref), in the place of another checkpoint, whose memory is used again. False: it
  /// is missing, and `into` is as before.
  /// Blocks: on a short lock.
  /// Errors: as get_tuple.
  virtual result<bool> get_tuple(const checkpoint_ref& ref, checkpoint_tuple& into) = 0;
  using saver::get_tuple;

  /// As list(query), in the place of other checkpoints, whose memory is used again.
  /// Blocks: on a short lock.
  /// Errors: as list; `into` is as before.
  virtual result<void> list(const list_query& query, std::vector<checkpoint_tuple>& into) = 0;
  using saver::list;
};

} // namespace troupe
