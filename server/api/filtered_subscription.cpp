// filtered_subscription: a look at the thread, then its events.
//
// Invariants:
//  - with a filter, no event is taken before the thread was read and fits. A thread that is created
//    under the id of a removed one is read again.
//  - a thread is stored before the events of its runs. So events that came before a read without a
//    thread are those of a removed one.
//  - until the thread fits, a probe waits in the hub. The probe takes no event, and its first one
//    asks for the next look. The hub keeps the events meanwhile.
#include "server/api/filtered_subscription.hpp"

#include "server/auth/authorise.hpp"
#include "server/rules/ids.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace troupe::server {

namespace {

class filtered_subscription : public std::enable_shared_from_this<filtered_subscription> {
public:
  filtered_subscription(const rooms& with, std::shared_ptr<thread_hub> hub, thread_subscriber one)
    : documents_{with.documents},
      runs_{with.runs},
      log_{with.log},
      hub_{std::move(hub)},
      one_{std::move(one)} {}

  void look(const std::function<void()>& begins = [] {});

private:
  enum class sight : std::uint8_t { missing, seen, hidden };

  sight sight_of_thread();
  void probe();
  void look_later();
  void refuse();

  const std::shared_ptr<document_store> documents_;
  run_service& runs_;
  const std::function<void(const std::string&)> log_;
  const std::shared_ptr<thread_hub> hub_;
  std::mutex mutex_; // of one look at a time
  thread_subscriber one_;
  std::shared_ptr<void> reading_; // the probe, then the subscription
};

void filtered_subscription::look(const std::function<void()>& begins) {
  std::lock_guard lock{mutex_};
  const auto so_far = hub_->last_seq(); // before the read
  const auto found = sight_of_thread();
  if (found == sight::hidden) {
    begins();
    return refuse();
  }
  if (found == sight::missing)
    one_.what.since = std::max(one_.what.since, so_far);
  if (one_.filter.is_null()) {
    reading_ = hub_->subscribe(one_.what, {.take = one_.take}, begins);
  } else if (found == sight::seen) {
    auto replaced = [weak = weak_from_this()] {
      if (auto self = weak.lock())
        self->look_later();
    };
    reading_ = hub_->subscribe(one_.what, {.take = one_.take, .replaced = replaced}, begins);
  } else {
    begins();
    probe();
  }
}

filtered_subscription::sight filtered_subscription::sight_of_thread() {
  auto read = documents_->newest(document_kind::thread, one_.thread_id);
  if (!read) {
    log_("look at thread " + one_.thread_id + ": " + read.error().message());
    return sight::hidden;
  }
  const auto& thread = read.value();
  if (!thread)
    return sight::missing;
  one_.what.thread_created_at = micros_of(thread_record::of(thread->body).created_at);
  return fits_filter(one_.filter, thread->body["metadata"]) ? sight::seen : sight::hidden;
}

void filtered_subscription::probe() {
  auto ask = [weak = weak_from_this(), asked = false](const numbered_event&) mutable {
    if (std::exchange(asked, true))
      return;
    if (auto self = weak.lock())
      self->look_later();
  };
  reading_ = hub_->subscribe(one_.what, {.take = std::move(ask)});
}

// The hub's callers may not read documents.
void filtered_subscription::look_later() {
  runs_.later([weak = weak_from_this()] {
    if (auto self = weak.lock())
      self->look();
  });
}

void filtered_subscription::refuse() {
  reading_.reset();
  one_.take = {};
  one_.refused();
}

} // namespace

std::shared_ptr<void> subscribe_filtered(const rooms& with, std::shared_ptr<thread_hub> hub,
                                         thread_subscriber one,
                                         const std::function<void()>& begins) {
  auto out = std::make_shared<filtered_subscription>(with, std::move(hub), std::move(one));
  out->look(begins);
  return out;
}

} // namespace troupe::server
