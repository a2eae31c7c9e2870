// lease_rules: which servers are dead, and what becomes of their runs. Pure.
#pragma once

#include "server/rules/records.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troupe::server {

/// A server's document as one look found it: a living server changes it again and again.
struct server_sign {
  std::string server_id;
  std::uint64_t revision = 0;
};

/// The signs of servers, as one observer saw them. Times are the observer's own, so that clocks of
/// several hosts need not agree.
/// Units:  `silent`: microseconds that were counted since that revision was first seen.
struct seen_server {
  std::uint64_t revision = 0;
  std::int64_t silent = 0;
  friend bool operator==(const seen_server&, const seen_server&) = default;
};

/// The part of the time since an observer's last look that counts as the silence of others, at most
/// two renewals. A cause that held the observer up for longer may have held the others up, too.
/// Units:  microseconds.
std::int64_t counted_silence(std::int64_t since_last_look) noexcept;

/// Shape:  `dead`: those that showed the same sign for the whole lease. `is_one_gone`: a server
///         that was seen before has no document any more.
struct servers_look {
  std::map<std::string, seen_server> seen = {};
  std::vector<server_sign> dead = {};
  bool is_one_gone = false;
};
/// `silence`: counted since the look before.
servers_look look_at_servers(const std::map<std::string, seen_server>& before,
                             const std::vector<server_sign>& now_there, std::int64_t silence,
                             std::int64_t lease_micros);

/// Whether a run in flight is carried out under this record: its owner and attempt are unchanged.
bool is_same_claim(const run_record& mine, const run_record& stored) noexcept;

/// Takes a run from its dead server. It is pending again or, when it began too often, it has
/// failed. Its thread has room for a next one.
void release_run(thread_record& thread, run_record& run, std::int64_t attempts_max);

/// The number of the first event of an attempt. `last`: of the newest event that is stored, or 0.
/// The former owner's readers may have events that were not stored, so it has a range of its own.
std::uint64_t first_event_of(std::uint64_t last, bool has_former_owner) noexcept;

} // namespace troupe::server
