// writer_saver: a saver with a thread that writes. When it answers, it can be given the next
// request at once, so that it does not wait for the run.
#pragma once

#include "persistence/spent_requests.hpp"

#include <troupe/saver.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace troupe {

/// A saver whose `done` may call submit(). It calls each `done`, also when it ends.
class writer_saver : public saver {
public:
  /// As submit(). `spent`, unless it is null, gets the request when it was stored.
  virtual void submit_lent(save_request request, save_ack when,
                           std::function<void(result<void>)> done,
                           std::shared_ptr<spent_requests> spent) = 0;
  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    submit_lent(std::move(request), when, std::move(done), nullptr);
  }
  /// As submit(), on a thread that will have nothing to do before the answer. True: the request is
  /// left to the caller. The caller soon calls write_left(), or call_writer() if it has something
  /// else to do.
  virtual bool submit_or_leave(save_request request, save_ack when,
                               std::function<void(result<void>)> done) {
    submit(std::move(request), when, std::move(done));
    return false;
  }
  /// Writes what waits, on the calling thread, which also calls the `done`. False: another thread
  /// writes it.
  /// Blocks: on a commit.
  virtual bool write_left() { return false; }
  /// Leaves what waits to the saver's own thread.
  virtual void call_writer() {}
};

} // namespace troupe
