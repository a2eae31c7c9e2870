// The limits: every bound of troupe, with its unit and, where exceeding it fails, the error code.
// Each has a test at the bound and past it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace troupe::limits {

inline constexpr std::uint32_t recursion_limit_default = 25;   // super-steps of one run
inline constexpr std::uint32_t tasks_per_step_max = 1'000'000; // tasks; overloaded
inline constexpr std::uint32_t tasks_in_flight_max = 1024;     // of one run at a time; more wait

// Super-steps after which a delta channel's value is stored even after few writes.
inline constexpr std::int64_t delta_supersteps_max = 5000;

inline constexpr std::size_t value_depth_max = 128; // nested lists and maps; invalid_value
inline constexpr std::size_t value_size_bytes_max = 64u << 20; // one encoded value; invalid_value
inline constexpr std::size_t json_size_bytes_max = 64u << 20;  // JSON text read in; invalid_value
// Short strings of one decoded value share blocks of memory; a longer string has its own.
inline constexpr std::size_t value_block_bytes = 1024;
inline constexpr std::size_t value_block_string_bytes_max = 128;
inline constexpr std::size_t thread_id_bytes_max = 400;           // of UTF-8; invalid_config
inline constexpr std::size_t checkpoint_ns_bytes_max = 64u << 10; // of UTF-8; invalid_config
inline constexpr std::size_t checkpoint_id_bytes_max = 128;       // a uuid6 has 36; invalid_config
inline constexpr std::size_t task_id_bytes_max = 200;    // a task id has 36; invalid_config
inline constexpr std::size_t node_name_bytes_max = 1024; // of UTF-8; invalid_graph

inline constexpr std::size_t stream_queue_parts_max = 256; // parts a reader may lag behind a writer
inline constexpr std::size_t stream_log_parts_max = 1024; // of a thread, for readers that follow it
inline constexpr std::size_t stream_log_threads_max = 64; // threads with kept parts; the oldest go
// Kept parts of all threads without a run, in bytes that are estimated; the oldest threads go.
inline constexpr std::size_t stream_log_bytes_max = 16u << 20;
inline constexpr std::size_t blocking_threads_max = 64; // threads of the blocking lane
// Jobs that wait for a thread of the blocking lane; overloaded.
inline constexpr std::size_t blocking_queue_max = 1'000'000;
inline constexpr std::size_t queued_runs_max = 256;  // runs that wait for one thread; overloaded
inline constexpr std::size_t pooled_groups_max = 64; // idle groups a graph keeps
inline constexpr std::chrono::milliseconds pooled_group_idle{2000}; // an idle group ends after this
inline constexpr std::chrono::milliseconds slow_body{50}; // a longer default-lane body is reported

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
inline constexpr std::size_t compress_bytes_min = 512; // smaller payloads are stored as they are
inline constexpr std::size_t decompressed_bytes_max =
  value_size_bytes_max + (1u << 20);                      // of one record; checkpoint_corrupt
inline constexpr std::size_t store_keys_max = 256;        // of a key ring; invalid_config
inline constexpr std::size_t store_key_id_bytes_max = 40; // of ASCII; invalid_config
inline constexpr std::size_t store_key_file_bytes_max = 64u << 10; // invalid_config
// Key providers: a wrapped data key, the longest call, the answer of a program (storage_failed),
// and the data keys that one saver, store or cache remembers.
inline constexpr std::size_t wrapped_key_bytes_max = 4096;
inline constexpr std::chrono::milliseconds key_provider_timeout{5000};
inline constexpr std::size_t key_answer_bytes_max = 16u << 10;
inline constexpr std::size_t data_keys_remembered_max = 4096;
inline constexpr std::chrono::milliseconds commit_window{
  2}; // async: a group commit is at most this old
inline constexpr std::size_t commit_bytes_max = 8u << 20; // a group commit of this size is due
// Stored requests, without values, whose memory the next ones of a runtime use.
inline constexpr std::size_t spent_requests_max = 512;
inline constexpr std::chrono::microseconds commit_poll{
  50}; // the writer looks for work this long before it sleeps
inline constexpr unsigned store_readers_max =
  4096; // read transactions at once, of all processes; storage_failed
inline constexpr std::size_t store_threads_cached_max =
  4096; // threads whose names the writer remembers
// Namespaces of a thread that the writer remembers.
inline constexpr std::size_t store_threads_chains_max = 1024;
// Another process may hold the whole store this long while it opens it; storage_locked.
inline constexpr std::chrono::milliseconds store_lock_wait{2000};
inline constexpr std::size_t damages_listed_max = 1000;   // of a data directory; more are counted
inline constexpr std::chrono::seconds prune_every_min{1}; // between rounds; invalid_config
inline constexpr std::size_t prune_records_max = 512;     // removed in one transaction
inline constexpr std::size_t store_reserve_bytes =
  4u << 20; // beyond the map, so that a full store can delete

// Whenever a store's file has grown by so much, its pages leave this process's resident memory.
inline constexpr std::size_t store_mapped_growth = 64u << 20;

inline constexpr std::size_t store_map_bytes_min =
  1u << 20; // of the long-term store; a smaller bound counts as this

// Long-term memory. Exceeding a limit gives invalid_value, unless noted.
inline constexpr std::size_t store_namespace_parts_max = 64;    // of a namespace that is put to
inline constexpr std::size_t store_namespace_bytes_max = 1024;  // all parts, and one more for each
inline constexpr std::size_t store_key_bytes_max = 1024;        // of an item
inline constexpr std::size_t store_results_max = 100'000;       // of a search; more by `offset`
inline constexpr std::size_t store_batch_ops_max = 10'000;      // operations of one batch
inline constexpr std::size_t store_index_fields_max = 64;       // paths of an index or a put
inline constexpr std::size_t store_index_path_bytes_max = 1024; // of one path
inline constexpr std::size_t store_item_texts_max = 256;        // texts embedded for one item
inline constexpr std::size_t store_vector_dims_max = 16'384;    // invalid_config
inline constexpr float store_vector_number_max = 1e15f;         // keeps sums finite; node_failed
inline constexpr std::size_t store_exact_vectors_default =
  16'384; // up to as many, a search compares with all; above, it uses an index
inline constexpr std::size_t store_sweep_items_max = 1000; // removed in one transaction
inline constexpr std::chrono::milliseconds store_sweep_interval_default{60'000};
inline constexpr std::chrono::milliseconds store_ttl_max{
  std::chrono::hours{24 * 365 * 100}}; // a time to live; longer ones count as this

inline constexpr std::size_t embedding_batch_max = 256; // texts of one request; more follow
inline constexpr std::size_t embedding_text_bytes_max = 1u << 20;   // of one text; invalid_value
inline constexpr std::size_t embedding_reply_bytes_max = 64u << 20; // node_failed
inline constexpr std::chrono::milliseconds embedding_timeout_default{30'000}; // of one attempt
inline constexpr unsigned embedding_attempts_default = 4; // on 429, 5xx, lost connections
inline constexpr std::chrono::milliseconds embedding_retry_first{500}; // doubles with each attempt
inline constexpr std::chrono::milliseconds embedding_retry_max{
  30'000}; // longest wait, also when the server asks for more
// Postgres. Connections for reading; one more connection writes.
inline constexpr std::size_t postgres_pool_size_default = 4;
inline constexpr std::size_t postgres_pool_size_max = 1024;         // invalid_config
inline constexpr std::chrono::milliseconds sibling_timeout{10'000}; // run_config::sibling_timeout
inline constexpr std::chrono::milliseconds postgres_connect_timeout{5000};     // storage_failed
inline constexpr std::chrono::milliseconds postgres_statement_timeout{30'000}; // storage_failed
inline constexpr std::chrono::milliseconds postgres_silence_margin{5000}; // added on the client
inline constexpr std::chrono::milliseconds postgres_lock_timeout{15'000}; // storage_locked
// The server ends a transaction whose process stands still; shorter than postgres_lock_timeout.
inline constexpr std::chrono::milliseconds postgres_idle_in_transaction{10'000};
inline constexpr std::size_t postgres_schema_bytes_max = 63;          // of a name; invalid_config
inline constexpr std::size_t postgres_statement_bytes_max = 8u << 20; // of values; more are split
inline constexpr std::size_t postgres_threads_locked_max = 1000; // at once, of those in a queue
inline constexpr std::size_t postgres_rows_fetched = 64;       // checkpoints or items in one answer
inline constexpr std::size_t postgres_ancestors_fetched = 256; // of a history in one answer
inline constexpr std::size_t postgres_pruned_max = 200;        // checkpoints in one transaction
// Search by meaning in the database. Vectors of more dims are searched in memory.
inline constexpr std::size_t postgres_vector_dims_max = 16'000;
inline constexpr std::size_t postgres_indexed_dims_max = 2000; // of more: each search compares all
inline constexpr std::size_t postgres_vectors_filled_max = 1000; // older vectors in one transaction
inline constexpr std::size_t postgres_candidates_max = 1000;     // of one look at an index
inline constexpr std::chrono::milliseconds postgres_index_timeout{3'600'000}; // to build an index
// The node cache in Postgres: bytes of all values; the oldest values go.
inline constexpr std::size_t postgres_cache_bytes_default = std::size_t{1} << 30;
inline constexpr std::size_t postgres_cache_bytes_min = 1u << 20; // a smaller bound counts as this
inline constexpr std::size_t postgres_cache_removed_max = 1000;   // values in one transaction
inline constexpr std::size_t postgres_cache_removals_max = 16;    // transactions after one set()

// Tasks on workers.
// Parts of one task in flight; with more its body waits.
inline constexpr std::uint32_t remote_parts_max = 256;

// Messages between processes of a cluster. A peer that exceeds a limit gets invalid_value.
inline constexpr std::size_t cluster_hash_bytes_max = 64;   // of a graph; it has 32
inline constexpr std::size_t graph_build_bytes_max = 64;    // of a graph; longer ones are hashed
inline constexpr std::size_t graph_version_bytes_max = 128; // in reports; longer ones are cut
inline constexpr std::size_t cluster_text_bytes_max = 16u << 10;  // reasons, errors; longer are cut
inline constexpr std::size_t cluster_status_bytes_max = 1u << 20; // of JSON
inline constexpr std::size_t cluster_frame_bytes_max = value_size_bytes_max + (1u << 20);
inline constexpr std::size_t cluster_segment_bytes_max = 32u << 10; // of a frame at a time
// Sent and not acknowledged on one lane. The bulk lane grows from the minimum to the maximum while
// the growth delays nothing by more than `cluster_window_delay`.
inline constexpr std::size_t cluster_window_bytes_min = 72u << 10;
inline constexpr std::size_t cluster_window_bytes_max = 4u << 20;
inline constexpr std::chrono::milliseconds cluster_window_delay{250};
// Bytes of one lane that wait to be sent; overloaded.
inline constexpr std::size_t cluster_lane_bytes_max = 128u << 20;
// Connections that have not shown a certificate yet; a new connection closes the oldest.
inline constexpr std::size_t cluster_handshakes_max = 64;
// A connection without a certificate is closed after this time.
inline constexpr std::chrono::milliseconds cluster_handshake_timeout{3000};
// Accepted connections with a certificate but without a first message. A new one closes the oldest;
// each is closed after link_quiet_max.
inline constexpr std::size_t cluster_mute_links_max = 256;
// Refusals of strangers are logged once in this interval for each reason.
inline constexpr std::chrono::milliseconds cluster_refusal_log_interval{60'000};
inline constexpr std::size_t cluster_basp_bytes_max = 1u << 20; // of a message; the link is closed

inline constexpr unsigned cluster_certificate_days_max = 3650; // invalid_config
// Replaced files are in use after two intervals.
inline constexpr std::chrono::milliseconds certificate_look_interval{500};
// A warning is logged when a certificate ends within this time.
inline constexpr std::chrono::hours certificate_warning{14 * 24};
inline constexpr std::size_t cluster_hosts_max = 64;       // of a certificate; invalid_config
inline constexpr std::size_t cluster_host_bytes_max = 253; // of a host name; invalid_config
inline constexpr std::size_t cluster_certificate_name_bytes_max = 64; // invalid_config
inline constexpr std::size_t cluster_pem_bytes_max = 1u << 20;        // of a file; invalid_config
inline constexpr std::size_t cluster_passphrase_bytes_max = 1000;     // invalid_config
// Clusters. The interval of heartbeats on both sides of a link.
inline constexpr std::chrono::milliseconds heartbeat_interval_default{500};
inline constexpr std::chrono::milliseconds heartbeat_interval_min{10}; // invalid_config
// A worker that is silent for a lease loses its tasks; worker_lost when no other worker takes them.
inline constexpr std::chrono::milliseconds worker_lease_default{2500};
inline constexpr std::chrono::milliseconds worker_lease_max{600'000}; // invalid_config
inline constexpr int lease_heartbeats_min = 3;                        // in a lease; invalid_config
inline constexpr int lease_heartbeats_max = 64;                       // in a lease; invalid_config
// A worker stops this part of the lease before the home reassigns its tasks.
inline constexpr int lease_margin_divisor = 5;
// How long a home waits for a worker that is gone, or that has not joined since the home started.
inline constexpr std::chrono::milliseconds worker_return{4000}; // worker_lost, unknown_graph
inline constexpr std::uint32_t task_reissues_max = 8;           // of lost workers; worker_lost
inline constexpr std::size_t cluster_queue_tasks_max = 100'000; // that wait; overloaded
inline constexpr std::size_t cluster_queue_bytes_max = std::size_t{256} << 20; // likewise
inline constexpr std::size_t workers_file_bytes_max = 1u << 20;                // invalid_config
inline constexpr std::chrono::milliseconds workers_file_interval{1000}; // between looks at it
// A draining worker keeps its tasks for this long; the remaining ones then go elsewhere.
inline constexpr std::chrono::milliseconds worker_drain_default{600'000};
// A longer drain counts as this.
inline constexpr std::chrono::milliseconds worker_drain_max{604'800'000};
// A checkpoint names the workers of at most this many tasks of its step; with more tasks it names
// none.
inline constexpr std::size_t metadata_workers_max = 256;
inline constexpr std::size_t cluster_links_max = 4096; // of one process; more are refused
inline constexpr std::chrono::milliseconds link_dial_timeout{3000};
// A silent host is dialled again after this time, with another connection.
inline constexpr std::chrono::milliseconds link_knock_interval{500};
// A connection with bytes unacknowledged for this long is closed and dialled again.
inline constexpr std::chrono::milliseconds link_unacknowledged_max{2500};
inline constexpr std::chrono::milliseconds link_retry_first{50}; // doubles with each time
inline constexpr std::chrono::milliseconds link_retry_max{1000};
inline constexpr std::chrono::milliseconds link_retry_refused{
  5000}; // by a peer that will not change
// An accepted link without a message for this long, or for a lease, is dropped.
inline constexpr std::chrono::milliseconds link_quiet_max{10'000};
// Look-ups of peer names.
inline constexpr std::chrono::milliseconds peer_lookup_interval{5000}; // of a name with addresses
inline constexpr std::chrono::milliseconds peer_lookup_retry{1000}; // of a name without addresses
inline constexpr std::size_t peer_lookups_max = 16;                 // at a time; more look-ups wait
inline constexpr std::size_t peer_addresses_max = 256;              // of a name; more are ignored
inline constexpr std::size_t cluster_workers_max = 1024;            // of one home; overloaded
inline constexpr std::uint32_t worker_capacity_max = 65'536; // tasks at a time; invalid_value
inline constexpr std::size_t worker_name_bytes_max = 128;    // and incarnations; invalid_value
inline constexpr std::size_t boot_id_bytes = 36;             // of a process, a UUID; invalid_value
inline constexpr std::uint32_t process_id_max = 1u << 22;    // of the kernel; invalid_value
inline constexpr std::size_t worker_labels_max = 64;         // of one worker; invalid_value
inline constexpr std::size_t worker_label_bytes_max =
  64;                                                  // invalid_value; of a node: invalid_config
inline constexpr std::size_t worker_graphs_max = 4096; // with nested ones; invalid_value
inline constexpr std::size_t worker_runs_max = 65'536; // runs of one home on a worker; overloaded
// A worker that refused a task as full gets fewer tasks for this time; the time doubles with each
// refusal.
inline constexpr std::chrono::milliseconds worker_backoff_first{100};
inline constexpr std::chrono::milliseconds worker_backoff_max{2000};
// Tasks that a home gives a worker ahead of its capacity. Such tasks wait at the worker for a
// place, and go elsewhere when another worker has a free place. Their number is the capacity times
// the tasks that a place finishes within worker_ahead_time at recent durations: at least 1 and at
// most worker_ahead_turns_max. The totals are bounded by worker_ahead_max and
// worker_ahead_bytes_max.
inline constexpr std::chrono::microseconds worker_ahead_time{2000};
inline constexpr std::uint32_t worker_ahead_turns_max = 4;
inline constexpr std::uint32_t worker_ahead_max = 1024;
inline constexpr std::size_t worker_ahead_bytes_max = std::size_t{32} << 20;
// While enough orders wait at a worker, it may hold outcomes for this long to send them together.
inline constexpr std::chrono::microseconds worker_outcomes_held{500};
// While a worker runs other tasks, it sends outcomes at least this far apart.
inline constexpr std::chrono::microseconds worker_outcomes_apart{250};

// Agents. Calls of one assistant message that a tool node runs; invalid_value.
inline constexpr std::size_t tool_calls_max = 4096;
// A tool's result, and its artifact; the call fails with invalid_value.
inline constexpr std::size_t tool_result_bytes_max = 16u << 20;
// Bytes of a streamed text that are held back until they can't begin personal data.
inline constexpr std::size_t pii_held_bytes = 128;
// Characters dropped from the end of truncated JSON; with more it counts as invalid.
inline constexpr std::size_t partial_json_dropped_max = 1024;

// Tools that work in a folder. Results beyond a limit are left out, and the model is informed.
inline constexpr std::size_t search_files_max = 20'000;            // examined by one search
inline constexpr std::size_t search_hits_max = 200;                // of one search
inline constexpr std::size_t search_file_bytes_default = 2u << 20; // larger files are skipped
inline constexpr std::size_t search_pattern_bytes_max = 512;       // the call is refused
inline constexpr std::int64_t search_pattern_memory_max = 1 << 20; // bytes; the call is refused
inline constexpr std::size_t file_lines_shown_max = 2000;          // in one call
inline constexpr std::size_t file_line_bytes_max = 1000;           // of each shown line
inline constexpr std::chrono::seconds shell_timeout_default{30};   // of a command
inline constexpr std::chrono::seconds shell_timeout_max{86'400};   // invalid_config
inline constexpr std::size_t shell_lines_default = 100;            // of a command's output
inline constexpr std::size_t shell_bytes_default = 64u << 10;      // of a command's output
inline constexpr std::size_t shell_command_bytes_max = 64u << 10;  // the call is refused

// Computers that agents use. A larger request of a model is refused with an explanation, unless
// noted.
inline constexpr std::size_t computer_screenshot_bytes_max = 3'500'000; // 5 MB as base64
inline constexpr std::size_t computer_text_bytes_max = 4u << 10;        // typed by one action
inline constexpr std::size_t computer_chords_max = 64;                  // pressed by one action
inline constexpr std::size_t computer_chord_keys_max = 8;               // held at a time
inline constexpr std::size_t computer_key_bytes_max = 32;               // of a name
inline constexpr std::int64_t computer_scroll_max = 100;                // notches of one action
inline constexpr std::chrono::milliseconds computer_wait_max{100'000};  // waited, or keys held
inline constexpr std::size_t computer_actions_max = 64;                 // of one answer
inline constexpr int computer_display_edge_max = 8192;                  // pixels; invalid_config
inline constexpr std::size_t computer_instance_id_bytes_max = 256;      // invalid_value
inline constexpr std::size_t computers_attached_max = 64; // by one agent; idle ones are let go
// The wait before a screenshot that shows the effect of an action.
inline constexpr std::chrono::milliseconds computer_settle_default{2000};
inline constexpr std::chrono::milliseconds computer_action_timeout{150'000}; // the action fails
// for one program; then the action fails
inline constexpr std::chrono::milliseconds computer_program_timeout{30'000};
inline constexpr std::size_t computer_screenshots_default = 10; // kept for a model
inline constexpr std::uint32_t computer_recursion_limit = 150;  // super-steps: some 50 actions

// MCP clients. A message from a server; beyond the limit its connection ends with McpError.
inline constexpr std::size_t mcp_message_bytes_max = 16u << 20;
inline constexpr std::size_t mcp_queue_bytes_max = 32u
                                                   << 20; // to one that does not read; overloaded
inline constexpr std::size_t mcp_calls_max = 4096;        // open calls to a server; overloaded
inline constexpr std::size_t mcp_tools_max = 2048;        // of a server; invalid_value
inline constexpr std::size_t mcp_pages_max = 1000;        // of its list of tools; invalid_value
inline constexpr std::size_t mcp_log_bytes_max = 4096;    // of a line of its log; it is cut
inline constexpr std::chrono::milliseconds mcp_connect_timeout{30'000}; // node_timeout
inline constexpr std::chrono::milliseconds mcp_call_timeout{30'000};    // node_timeout
inline constexpr std::chrono::milliseconds mcp_stop_wait{2000}; // before a server is terminated
// Entries of each list of a server: resources, templates of resources, prompts; invalid_value.
inline constexpr std::size_t mcp_entries_max = 4096;
inline constexpr std::size_t mcp_uri_bytes_max = 8u << 10; // of a resource; invalid_value
// Questions of a server in one call; further ones are refused.
inline constexpr std::size_t mcp_questions_max = 32;
inline constexpr std::chrono::milliseconds mcp_question_wait{3'600'000}; // for a person's answer
inline constexpr std::size_t mcp_held_calls_max = 256; // that wait for a person; the oldest ends
// Requests of a server to a model (sampling). A request beyond a bound is refused.
inline constexpr std::size_t mcp_sampled_max = 8;              // of one call
inline constexpr std::size_t mcp_sampled_messages_max = 256;   // of one request
inline constexpr std::size_t mcp_sampled_bytes_max = 1u << 20; // of one request
inline constexpr std::int64_t mcp_sampled_tokens_max = 4096;   // of an answer; more are cut
inline constexpr std::size_t mcp_replies_max = 64; // to a server, on their way; more are dropped
// A server program that died is started again: so often in a row, with waits that double.
inline constexpr unsigned mcp_restarts_max = 5;
inline constexpr std::chrono::milliseconds mcp_restart_first{100};
inline constexpr std::chrono::milliseconds mcp_restart_wait_max{10'000};
// A program that ran for this long begins a new row of restarts.
inline constexpr std::chrono::milliseconds mcp_restart_forgiven{60'000};
// A server's own stream that ended is opened again: so often without an event between.
inline constexpr unsigned mcp_stream_retries_max = 5;
inline constexpr std::chrono::milliseconds mcp_stream_retry_first{1000};
inline constexpr std::chrono::milliseconds mcp_stream_retry_max{30'000};
// Authorization for servers over HTTP; a text or reply beyond its bound ends it with
// AuthorizationError.
inline constexpr std::size_t oauth_reply_bytes_max = 64u << 10;
inline constexpr std::size_t oauth_text_bytes_max = 8u << 10; // a URL, a token, an id
inline constexpr std::size_t oauth_redirects_max = 16;        // requests to the redirect's address
inline constexpr std::chrono::milliseconds oauth_request_timeout{30'000};
inline constexpr std::chrono::milliseconds oauth_person_wait{300'000}; // for the redirect
// MCP servers. mcp_message_bytes_max also bounds clients' messages and the answers to them.
inline constexpr std::size_t mcp_page_tools_max = 128;   // in one answer; more are on the next page
inline constexpr std::size_t mcp_served_calls_max = 256; // of one client at a time; refused
// A call that takes longer fails.
inline constexpr std::chrono::milliseconds mcp_served_call_timeout{3'600'000};
inline constexpr std::chrono::milliseconds mcp_drain_wait{10'000}; // for calls in flight at the end
inline constexpr std::size_t mcp_sessions_max = 256;       // over HTTP; the longest idle one goes
inline constexpr std::size_t mcp_subscriptions_max = 1024; // of one client; refused
inline constexpr std::size_t mcp_progress_max = 1000; // notifications of a call; more are dropped
// A session idle for this long is removed.
inline constexpr std::chrono::milliseconds mcp_session_idle{1'800'000};

// HTTP clients; node_failed unless noted.
inline constexpr std::size_t http_url_bytes_max = 8u << 10;       // invalid_value
inline constexpr std::size_t http_headers_max = 256;              // of a response
inline constexpr std::size_t http_header_bytes_max = 64u << 10;   // all headers of a response
inline constexpr std::size_t http_body_bytes_default = 64u << 20; // of a response
// Received bytes of a body that the reader has not taken; then the server waits.
inline constexpr std::size_t http_buffer_bytes_max = 64u << 10;
inline constexpr long http_connections_max = 4096; // at once; more transfers wait
inline constexpr long http_idle_connections_max = 256;
inline constexpr std::chrono::seconds http_lookup_kept{60};              // addresses of a host name
inline constexpr std::chrono::milliseconds http_connect_timeout{10'000}; // node_timeout
inline constexpr std::chrono::milliseconds http_response_timeout{60'000}; // node_timeout
// HTTP servers.
inline constexpr std::size_t http_served_connections_max = 1024;       // at once; more wait
inline constexpr std::size_t http_served_header_bytes_max = 32u << 10; // of a request; refused
inline constexpr std::chrono::milliseconds http_served_read_timeout{60'000}; // a whole request's
// How long a client may read nothing.
inline constexpr std::chrono::milliseconds http_served_write_timeout{30'000};
// Bytes of an answer that a client has not taken; then the connection is closed.
inline constexpr std::size_t http_served_unsent_bytes_max = 64u << 20;
// A stream that was silent for this long sends a sign of life.
inline constexpr std::chrono::milliseconds http_served_quiet_max{15'000};
// Bytes of further requests that are read ahead while an answer is awaited.
inline constexpr std::size_t http_served_ahead_bytes_max = 64u << 10;
// WebSockets of a listener.
inline constexpr std::size_t http_socket_message_bytes_max = 16u << 20;
inline constexpr std::chrono::milliseconds http_socket_idle{60'000};
// A certificate's files are looked at with new connections, at most once in this time.
inline constexpr std::chrono::milliseconds http_tls_check{1000};
// Server-sent events.
inline constexpr std::size_t sse_line_bytes_max = 16u << 20;  // node_failed
inline constexpr std::size_t sse_event_bytes_max = 16u << 20; // node_failed

// Chat models.
inline constexpr std::chrono::milliseconds model_first_token_timeout{300'000}; // node_timeout
inline constexpr std::chrono::milliseconds model_idle_timeout{120'000}; // in a stream; node_timeout
inline constexpr std::chrono::milliseconds model_timeout{600'000};      // of a call; node_timeout
inline constexpr unsigned model_attempts_default = 3;
inline constexpr unsigned model_attempts_max = 100;                // invalid_config
inline constexpr std::chrono::milliseconds model_retry_first{500}; // doubles with each attempt
// The longest wait that the client chooses itself.
inline constexpr std::chrono::milliseconds model_retry_max{8'000};
// A server that asks for a longer wait gets no retry.
inline constexpr std::chrono::milliseconds model_retry_after{120'000};
inline constexpr std::size_t model_answer_bytes_max = 64u << 20; // node_failed
inline constexpr std::size_t model_blocks_max = 4096; // blocks and calls of an answer; node_failed
inline constexpr std::size_t model_error_bytes_max = 1024;  // of a provider's message; it is cut
inline constexpr std::size_t malformed_answers_default = 3; // in a row; MalformedToolCallError
inline constexpr std::size_t model_fallbacks_max = 64;      // invalid_config

// The last elements of a written list: those whose type is checked against a typed state's member.
inline constexpr std::size_t typed_elements_checked_max = 256;
// Members of a TROUPE_STATE declaration. More do not compile: group them in structs of their own.
inline constexpr std::size_t state_members_max = 128;

// Visits of schema parts for one value; with more the value does not fit.
inline constexpr std::size_t schema_check_steps_max = 4'000'000;

// Grammars that constrain a model's output; invalid_value unless noted.
// Schemas within a schema, counted at each use, and choices and required names.
inline constexpr std::size_t grammar_schemas_max = 10'000;
inline constexpr std::size_t grammar_depth_max = 64; // schemas within schemas
inline constexpr std::size_t grammar_bytes_max = 1u << 20;
// Characters of a text, or items of a list, that a grammar counts; servers refuse much larger
// counts. A larger lower bound counts as this one; a larger upper bound counts as none.
inline constexpr std::int64_t grammar_repeat_max = 1000;
inline constexpr std::uint32_t grammar_calls_default = 8; // of one answer

// A saver answers a submit of a conformance check within this time, or the check fails.
inline constexpr std::chrono::milliseconds conformance_answer_wait{60'000};

} // namespace troupe::limits
