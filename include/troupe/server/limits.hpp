// The bounds of the server, as limits.hpp has those of the rest: each with its unit.
#pragma once

#include <troupe/limits.hpp>

namespace troupe::limits {

// A run that takes its server down so often is given up.
inline constexpr std::int64_t server_run_attempts_max = 5;
inline constexpr std::size_t server_run_events_max = 100'000;   // that a resumable run keeps
inline constexpr std::size_t server_run_threads = 8;            // that store the ends of runs
inline constexpr std::size_t server_thread_events_max = 10'000; // that a followed thread keeps
inline constexpr std::size_t server_threads_followed_max =
  10'000; // with their events; older ones go
inline constexpr int server_cron_years_max =
  30; // a schedule that has no time until then never comes
inline constexpr std::size_t server_time_zone_bytes_max = 64; // of a name; others are unknown
inline constexpr std::size_t server_a2a_tasks_max = 1000;     // in a list: the newest of an agent
inline constexpr std::size_t server_a2a_page_max = 100;       // of them in one answer
inline constexpr std::size_t server_webhook_calls_max = 64;   // on their way at once
inline constexpr std::size_t server_webhooks_waiting_max = 10'000; // further ones are dropped
inline constexpr std::chrono::milliseconds server_webhook_timeout{30'000}; // of one call
// A reader that joins a run that began so long ago gets its events from the first one on; so many
// of them are kept for that.
inline constexpr std::chrono::milliseconds server_join_grace{300};
inline constexpr std::size_t server_join_events_max = 1000;
// Servers that share a database. A server shows that it lives so often; one that did not for the
// lease time is dead for the others, which take its runs up: within 5 s after its death.
inline constexpr std::chrono::milliseconds server_lease_renewal{1000};
inline constexpr std::chrono::milliseconds server_lease{2500};
// Postgres ends a transaction of documents whose server stands still for so long, since the others
// wait for it. With a key provider, which may be slow, it is limits::postgres_idle_in_transaction.
inline constexpr std::chrono::milliseconds server_idle_in_transaction{1500};
// All runs in flight are looked at when a server is gone, and at least so often.
inline constexpr std::chrono::milliseconds server_runs_look{30'000};
// Numbers of events that a takeover leaves out, since a former owner may have told some.
inline constexpr std::uint64_t server_run_events_gap = 1'000'000;
inline constexpr std::size_t server_events_read = 100; // that a follower reads at once
// A run that another server followed leaves its last events, and the record of a stateless run, for
// so long after its end.
inline constexpr std::chrono::milliseconds server_followed_kept{60'000};
// A server whose last reader of a thread has left follows the thread's runs on other servers for so
// long.
inline constexpr std::chrono::milliseconds server_follower_kept{60'000};
// Runs of a thread of which a server tells the first client that asks it for the thread's events.
inline constexpr std::size_t server_thread_runs_replayed = 16;
// Ends of runs that a server remembers, so that a caller who asks at once for one gets it.
inline constexpr std::size_t server_recent_ends_max = 256;
// The end of a run that could not be stored is stored again after so long.
inline constexpr std::chrono::milliseconds server_end_retry{500};
// The end of a run that a client waited for is stored this late at most. A wait that takes longer
// gets its head about then.
inline constexpr std::chrono::milliseconds server_commit_window{10};
// A server that stops waits so long for its running runs to reach the end of a step.
inline constexpr std::chrono::milliseconds server_drain_wait{10'000};
inline constexpr std::chrono::milliseconds server_heartbeat{5000}; // of streams and waits, steadily
inline constexpr std::size_t server_handler_threads = 16;          // threads that run handlers
// Requests that wait for a handler thread; 503 above.
inline constexpr std::size_t server_queued_requests_max = 1024;
inline constexpr std::size_t server_connections_max = 16'384; // at once; 503 above
// Commands of a WebSocket that wait for those before them, and their text; a further command is
// answered with an error.
inline constexpr std::size_t server_socket_commands_max = 1024;
inline constexpr std::size_t server_socket_commands_bytes_max = 32u << 20;
// Subscriptions of a WebSocket at once; a further one is answered with an error.
inline constexpr std::size_t server_socket_subscriptions_max = 1024;
// Connections above server_connections_max that are answered at once; further ones wait.
inline constexpr std::size_t server_turned_away_max = 64;
// A peer whose system acknowledges nothing for so long is gone, and its streams with their bytes.
inline constexpr std::chrono::milliseconds server_peer_timeout{30'000};
inline constexpr std::size_t server_body_bytes_max = json_size_bytes_max; // of a request; 413
inline constexpr std::size_t server_request_id_bytes_max = 128;  // a longer one is replaced
inline constexpr std::size_t server_rated_callers_max = 100'000; // with a bucket; the oldest go
inline constexpr std::size_t server_echo_bytes_max = 200;    // of a value in an error; it is cut
inline constexpr std::size_t server_detail_bytes_max = 4096; // of an error's text; it is cut
// Lists and searches. Entries of an answer where the request does not say how many, and at most; an
// offset in them. 422 above.
inline constexpr std::int64_t server_page_default = 10;
inline constexpr std::int64_t server_namespaces_default = 100; // of a list of namespaces
inline constexpr std::int64_t server_page_max = 1000;
inline constexpr std::int64_t server_offset_max = 1'000'000'000;
inline constexpr std::int64_t server_version_max = 1'000'000'000; // of an assistant; 422
inline constexpr std::int64_t server_xray_max = 1000;             // levels of a drawn graph; 422
inline constexpr std::int64_t server_namespace_depth_max = 1000;  // that a list is cut to; 422
// Documents. Beyond these two, a change is refused with invalid_value.
inline constexpr std::size_t document_id_bytes_max = 200;
inline constexpr std::size_t document_term_bytes_max = 128; // of a text that has an index
// Documents of other servers that share a database are looked for at least so often.
inline constexpr std::chrono::milliseconds document_poll{1000};
// Numbers of changes that a database keeps for other servers. A server that missed more reports all
// documents as changed.
inline constexpr std::size_t document_changes_kept = 100'000;
inline constexpr std::size_t server_api_keys_max = 100'000;             // of a file; invalid_config
inline constexpr std::chrono::milliseconds server_key_file_check{1000}; // between two looks
inline constexpr std::size_t server_jwt_bytes_max = 16u << 10;          // of a token; refused
inline constexpr std::size_t server_jwt_keys_max = 64;                  // of a set; invalid_config
inline constexpr std::size_t server_jwks_bytes_max = 1u << 20;          // of a set; not read
inline constexpr std::chrono::seconds server_jwks_kept{600};            // keys that were fetched
inline constexpr std::chrono::seconds server_jwks_retry{30};            // between two fetches
inline constexpr std::chrono::milliseconds server_jwks_timeout{5000};   // of a fetch
inline constexpr std::size_t server_config_bytes_max = 1u << 20;  // of troupe.json and an env file
inline constexpr std::size_t server_library_bytes_max = 1u << 30; // of one that is reloaded
// A library that is built anew is loaded when nothing has changed its file for so long.
inline constexpr std::chrono::milliseconds server_reload_quiet{200};
inline constexpr std::size_t server_secret_bytes_max = 4096; // of a file with a secret of tokens
inline constexpr std::size_t server_webhook_url_bytes_max = 4096;
// Between two looks for threads and items whose time is over.
inline constexpr std::chrono::milliseconds server_sweep_interval{300'000};
inline constexpr std::chrono::milliseconds server_sweep_interval_min{1000};
inline constexpr std::chrono::milliseconds server_sweep_interval_max{8'640'000'000};
inline constexpr std::size_t server_sweep_page = 500; // threads that a look reads at once
inline constexpr double server_ttl_minutes_max = 100.0 * 365 * 24 * 60; // a longer one is refused

} // namespace troupe::limits
