// Every bound of troupe, with its unit. Each has an error code and a test at the bound and past it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace troupe::limits {

inline constexpr std::uint32_t recursion_limit_default = 25;   // super-steps of one run
inline constexpr std::uint32_t tasks_per_step_max = 1'000'000; // tasks; overloaded
inline constexpr std::uint32_t tasks_in_flight_max = 1024;     // of one run at a time; more wait

// Super-steps after which a delta channel's value is stored even if few of them wrote to it.
inline constexpr std::int64_t delta_supersteps_max = 5000;

inline constexpr std::size_t value_depth_max = 128; // nested lists and maps; invalid_value
inline constexpr std::size_t value_size_bytes_max = 64u << 20; // one encoded value; invalid_value
inline constexpr std::size_t json_size_bytes_max = 64u << 20;  // JSON text read in; invalid_value
inline constexpr std::size_t thread_id_bytes_max = 400;        // of UTF-8; invalid_config
inline constexpr std::size_t checkpoint_ns_bytes_max = 64u << 10; // of UTF-8; invalid_config
inline constexpr std::size_t checkpoint_id_bytes_max = 128;       // a uuid6 has 36; invalid_config
inline constexpr std::size_t task_id_bytes_max = 200;    // a task id has 36; invalid_config
inline constexpr std::size_t node_name_bytes_max = 1024; // of UTF-8; invalid_graph

inline constexpr std::size_t stream_queue_parts_max = 256; // parts a reader may lag behind a writer
inline constexpr std::size_t stream_log_parts_max = 1024; // of a thread, for readers that follow it
inline constexpr std::size_t stream_log_threads_max = 64; // whose parts are kept; the oldest go
inline constexpr std::size_t blocking_threads_max = 64;   // threads of the blocking lane
inline constexpr std::size_t blocking_queue_max = 1'000'000; // jobs that wait for one; overloaded
inline constexpr std::size_t queued_runs_max = 256;          // that wait for one thread; overloaded
inline constexpr std::size_t pooled_groups_max = 64;         // idle groups a graph keeps
inline constexpr std::chrono::milliseconds pooled_group_idle{2000}; // then an idle group ends
inline constexpr std::chrono::milliseconds slow_body{50}; // a default-lane body is reported past it

inline constexpr std::size_t memory_cache_entries_max = 100'000; // values; the oldest go
inline constexpr std::size_t cache_key_bytes_max = 64u << 10;    // space and key; invalid_value
inline constexpr std::size_t cache_file_bytes_default = std::size_t{1}
                                                        << 30; // sparse; the oldest values go
inline constexpr std::size_t cache_file_bytes_min = 1u << 20;  // a smaller bound counts as this
inline constexpr std::size_t graph_depth_max = 64;             // runs within runs; invalid_graph
inline constexpr std::size_t waiting_threads_max = 4096; // of the blocking lane that wait for a
                                                         // graph or task; overloaded

inline constexpr std::size_t store_map_bytes_default = std::size_t{64}
                                                       << 30; // sparse; storage_full
inline constexpr std::chrono::milliseconds commit_window{
  2}; // async: a group commit is at most this old
inline constexpr std::size_t commit_bytes_max = 8u << 20; // then a group commit is due
inline constexpr std::chrono::microseconds commit_poll{
  50}; // the writer looks for work this long before it sleeps
inline constexpr unsigned store_readers_max =
  4096; // read transactions at once, of all processes; storage_failed
inline constexpr std::size_t store_threads_cached_max =
  4096; // threads whose names the writer remembers
inline constexpr std::size_t store_threads_chains_max = 1024; // namespaces of a thread it remembers
// Another process may hold the whole store this long while it opens it; storage_locked.
inline constexpr std::chrono::milliseconds store_lock_wait{2000};
inline constexpr std::size_t damages_listed_max = 1000;   // of a data directory; more are counted
inline constexpr std::chrono::seconds prune_every_min{1}; // between rounds; invalid_config
inline constexpr std::size_t prune_records_max = 512;     // removed in one transaction
inline constexpr std::size_t store_reserve_bytes =
  4u << 20; // beyond the map, so that a full store can delete

} // namespace troupe::limits
