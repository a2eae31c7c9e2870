// roster: the live actors of a runtime. Each has a card, which the actor and its senders keep up to
// date.
#pragma once

#include <troupe/runtime.hpp>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

/// The data that the actors of one group share.
struct group_card {
  std::atomic<bool> gone{false}; // the coordinator died: the group takes no further run
  std::mutex mutex;              // of the group; guards `thread`, too
  std::string thread;            // the thread whose run the group works for; empty when idle
};

/// The card of one actor. Kept by the actor, by its senders, and by the roster.
struct actor_card {
  const char* kind = ""; // "run", "channel", "node", "saver", "graph"
  std::string name;
  std::shared_ptr<group_card> group;
  std::atomic<std::uint32_t> mailbox{0}; // messages sent and not yet taken
  std::atomic<bool> running{false};
};
using card_ptr = std::shared_ptr<actor_card>;

/// Any thread may call.
class roster {
public:
  card_ptr add(const char* kind, std::string name, std::shared_ptr<group_card> group);
  void remove(const actor_card& card);

  /// The actors of one group, or of all groups (null). Order: runs, channels, nodes, the rest; then
  /// by name.
  std::vector<actor_info> list(const group_card* group) const;

  std::size_t size() const;
  /// Waits until no card is left.
  void wait_until_empty() const;

private:
  mutable std::mutex mutex_;
  mutable std::condition_variable empty_;
  std::unordered_map<const actor_card*, card_ptr> cards_;
};

} // namespace troupe
