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
};

} // namespace troupe
