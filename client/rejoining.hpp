// rejoining: when a lost connection is made again, and which events came before. Pure.
#pragma once

#include <troupe/client/agent_client.hpp>
#include <troupe/client/run_events.hpp>

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>

namespace troupe {

/// Counts lost connections. Something that arrives begins a new count.
class lost_connections {
public:
  explicit lost_connections(const client_options& options)
    : most_{options.reconnects_max},
      first_wait_{options.reconnect_first},
      longest_wait_{options.reconnect_most} {}

  void progressed() noexcept { count_ = 0; }
  /// The wait before the next connection, or nothing when there were too many.
  /// Units:  `chance` from 0 to 1 shortens the wait by up to a quarter.
  std::optional<std::chrono::milliseconds> next(double chance);
  unsigned count() const noexcept { return count_; }

private:
  unsigned most_;
  std::chrono::milliseconds first_wait_;
  std::chrono::milliseconds longest_wait_;
  unsigned count_ = 0;
};

/// The events of a stream over several connections, each once.
class seen_events {
public:
  explicit seen_events(std::size_t kept = limits::client_event_ids_kept) : kept_{kept} {}

  /// Whether the event is new. A server may send again what an earlier connection brought: events
  /// with an id that came then, and the metadata of a run, which has no id everywhere.
  bool is_new(const run_event& event);
  /// A new connection begins.
  void connected_again();

private:
  std::size_t kept_;
  std::unordered_set<std::string> earlier_;
  std::deque<std::string> order_;
  std::vector<std::string> now_;
  std::optional<value> metadata_;
};

} // namespace troupe
