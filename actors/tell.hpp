// tell(): sends a message within a process. It is counted in the receiver's card, and the receiver
// is resumed where the sender chooses.
#pragma once

#include "actors/roster.hpp"

#include <caf/abstract_actor.hpp>
#include <caf/actor.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/message_id.hpp>

#include <atomic>
#include <utility>

namespace troupe {

/// Sends `message` to `to`. `host`: the unit that resumes the receiver when it is idle; null: the
/// scheduler.
template <class T>
void tell(const caf::actor& to, actor_card& card, caf::execution_unit* host, T&& message) {
  card.mailbox.fetch_add(1, std::memory_order_relaxed);
  to->enqueue(
    caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, std::forward<T>(message)), host);
}

/// Counts a message that came by tell() as taken.
inline void taken(actor_card& card) {
  card.mailbox.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace troupe
