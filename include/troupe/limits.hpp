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
inline constexpr std::size_t compress_bytes_min = 512; // smaller payloads are stored as they are
inline constexpr std::size_t decompressed_bytes_max =
  value_size_bytes_max + (1u << 20);                      // of one record; checkpoint_corrupt
inline constexpr std::size_t store_keys_max = 256;        // of a key ring; invalid_config
inline constexpr std::size_t store_key_id_bytes_max = 40; // of ASCII; invalid_config
inline constexpr std::size_t store_key_file_bytes_max = 64u << 10; // invalid_config
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

inline constexpr std::size_t store_map_bytes_min =
  1u << 20; // of the long-term store; a smaller bound counts as this

// Of the long-term memory. Each is invalid_value past it, but where something else is said.
inline constexpr std::size_t store_namespace_parts_max = 64;    // of a namespace that is put to
inline constexpr std::size_t store_namespace_bytes_max = 1024;  // all parts, and one more for each
inline constexpr std::size_t store_key_bytes_max = 1024;        // of an item
inline constexpr std::size_t store_results_max = 100'000;       // of a search; more wait: offset
inline constexpr std::size_t store_batch_ops_max = 10'000;      // operations of one batch
inline constexpr std::size_t store_index_fields_max = 64;       // paths of an index or a put
inline constexpr std::size_t store_index_path_bytes_max = 1024; // of one path
inline constexpr std::size_t store_item_texts_max = 256;        // texts embedded for one item
inline constexpr std::size_t store_vector_dims_max = 16'384;    // invalid_config
inline constexpr float store_vector_number_max = 1e15f; // so that no sum is infinite; node_failed
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
// Postgres. Connections for reading; one more writes.
inline constexpr std::size_t postgres_pool_size_default = 4;
inline constexpr std::size_t postgres_pool_size_max = 1024;                    // invalid_config
inline constexpr std::chrono::milliseconds postgres_connect_timeout{5000};     // storage_failed
inline constexpr std::chrono::milliseconds postgres_statement_timeout{30'000}; // storage_failed
inline constexpr std::chrono::milliseconds postgres_silence_margin{5000}; // the client's, beyond it
inline constexpr std::chrono::milliseconds postgres_lock_timeout{15'000}; // storage_locked
// The server ends a transaction whose process stands still; shorter than the wait for its locks.
inline constexpr std::chrono::milliseconds postgres_idle_in_transaction{10'000};
inline constexpr std::size_t postgres_schema_bytes_max = 63;          // of a name; invalid_config
inline constexpr std::size_t postgres_statement_bytes_max = 8u << 20; // of values; more are split
inline constexpr std::size_t postgres_threads_locked_max = 1000; // at once, of those in a queue
inline constexpr std::size_t postgres_rows_fetched = 64;       // checkpoints or items in one answer
inline constexpr std::size_t postgres_ancestors_fetched = 256; // of a history in one answer
inline constexpr std::size_t postgres_pruned_max = 200;        // checkpoints in one transaction

// Of tasks on workers.
inline constexpr std::uint32_t remote_parts_max = 256; // of one task on their way; its body waits

// What processes of a cluster say to each other. From a peer, more is invalid_value.
inline constexpr std::size_t cluster_hash_bytes_max = 64;   // of a graph; it has 32
inline constexpr std::size_t graph_build_bytes_max = 64;    // of a graph; longer ones are hashed
inline constexpr std::size_t graph_version_bytes_max = 128; // as it is shown; longer ones are cut
inline constexpr std::size_t cluster_text_bytes_max = 16u << 10;  // reasons, errors; longer are cut
inline constexpr std::size_t cluster_status_bytes_max = 1u << 20; // of JSON
inline constexpr std::size_t cluster_frame_bytes_max = value_size_bytes_max + (1u << 20);
inline constexpr std::size_t cluster_segment_bytes_max = 32u << 10; // of a frame at a time
// Sent and not acknowledged on one lane; the bulk lane grows from the one to the other while that
// delays nothing by more than `cluster_window_delay`.
inline constexpr std::size_t cluster_window_bytes_min = 72u << 10;
inline constexpr std::size_t cluster_window_bytes_max = 4u << 20;
inline constexpr std::chrono::milliseconds cluster_window_delay{250};
inline constexpr std::size_t cluster_lane_bytes_max = 128u << 20; // that wait; overloaded
// Connections that have not shown a certificate yet; another one closes the oldest.
inline constexpr std::size_t cluster_handshakes_max = 64;
// A connection that has shown none by then is closed.
inline constexpr std::chrono::milliseconds cluster_handshake_timeout{3000};
// Accepted connections that have shown a certificate and said nothing yet; another one closes the
// oldest, and link_quiet_max each of them.
inline constexpr std::size_t cluster_mute_links_max = 256;
// What is wrong with strangers is logged once in so long, by reason.
inline constexpr std::chrono::milliseconds cluster_refusal_log_interval{60'000};
inline constexpr std::size_t cluster_basp_bytes_max = 1u << 20; // of a message; the link is closed

inline constexpr unsigned cluster_certificate_days_max = 3650; // invalid_config
// Files that were replaced are in use after twice this.
inline constexpr std::chrono::milliseconds certificate_look_interval{500};
inline constexpr std::chrono::hours certificate_warning{14 * 24}; // it is said that one ends
inline constexpr std::size_t cluster_hosts_max = 64;       // of a certificate; invalid_config
inline constexpr std::size_t cluster_host_bytes_max = 253; // of a host name; invalid_config
inline constexpr std::size_t cluster_certificate_name_bytes_max = 64; // invalid_config
inline constexpr std::size_t cluster_pem_bytes_max = 1u << 20;        // of a file; invalid_config
inline constexpr std::size_t cluster_passphrase_bytes_max = 1000;     // invalid_config
// Of a cluster. How often the two sides of a link say that they are there.
inline constexpr std::chrono::milliseconds heartbeat_interval_default{500};
inline constexpr std::chrono::milliseconds heartbeat_interval_min{10}; // invalid_config
// A worker that was not heard for so long loses its tasks; worker_lost when nobody else takes them.
inline constexpr std::chrono::milliseconds worker_lease_default{2500};
inline constexpr std::chrono::milliseconds worker_lease_max{600'000}; // invalid_config
inline constexpr int lease_heartbeats_min = 3;                        // in a lease; invalid_config
inline constexpr int lease_heartbeats_max = 64;                       // in a lease; invalid_config
// A worker stops this part of the lease before the home hands its tasks out again.
inline constexpr int lease_margin_divisor = 5;
// So long a worker that is gone, or has not joined a home that just started, is waited for.
inline constexpr std::chrono::milliseconds worker_return{4000}; // worker_lost, unknown_graph
inline constexpr std::uint32_t task_reissues_max = 8;           // of lost workers; worker_lost
inline constexpr std::size_t cluster_queue_tasks_max = 100'000; // that wait; overloaded
inline constexpr std::size_t cluster_queue_bytes_max = std::size_t{256} << 20; // likewise
inline constexpr std::size_t workers_file_bytes_max = 1u << 20;                // invalid_config
inline constexpr std::chrono::milliseconds workers_file_interval{1000}; // between looks at it
// A worker that drains keeps what it has for so long; what is left then goes elsewhere.
inline constexpr std::chrono::milliseconds worker_drain_default{600'000};
inline constexpr std::chrono::milliseconds worker_drain_max{604'800'000}; // longer ones count as it
// Tasks of one step whose workers a checkpoint names; of a step with more it names none.
inline constexpr std::size_t metadata_workers_max = 256;
inline constexpr std::size_t cluster_links_max = 4096; // of one process; more are refused
inline constexpr std::chrono::milliseconds link_dial_timeout{3000};
// A silent host is knocked at again after so long, with another connection.
inline constexpr std::chrono::milliseconds link_knock_interval{500};
// A connection with something sent that nobody acknowledged for so long is closed, and dialled
// again.
inline constexpr std::chrono::milliseconds link_unacknowledged_max{2500};
inline constexpr std::chrono::milliseconds link_retry_first{50}; // doubles with each time
inline constexpr std::chrono::milliseconds link_retry_max{1000};
inline constexpr std::chrono::milliseconds link_retry_refused{
  5000}; // by a peer that will not change
// An accepted link on which nothing came for so long, or for a lease, is dropped.
inline constexpr std::chrono::milliseconds link_quiet_max{10'000};
// Names of peers.
inline constexpr std::chrono::milliseconds peer_lookup_interval{5000}; // of one that has addresses
inline constexpr std::chrono::milliseconds peer_lookup_retry{1000};    // of one that has none
inline constexpr std::size_t peer_lookups_max = 16;      // at a time; others wait for their turn
inline constexpr std::size_t peer_addresses_max = 256;   // of a name; the others are left out
inline constexpr std::size_t cluster_workers_max = 1024; // of one home; overloaded
inline constexpr std::uint32_t worker_capacity_max = 65'536; // tasks at a time; invalid_value
inline constexpr std::size_t worker_name_bytes_max = 128;    // and incarnations; invalid_value
inline constexpr std::size_t boot_id_bytes = 36;             // of a process, a UUID; invalid_value
inline constexpr std::uint32_t process_id_max = 1u << 22;    // of the kernel; invalid_value
inline constexpr std::size_t worker_labels_max = 64;         // of one worker; invalid_value
inline constexpr std::size_t worker_label_bytes_max =
  64;                                                  // invalid_value; of a node: invalid_config
inline constexpr std::size_t worker_graphs_max = 4096; // with nested ones; invalid_value
inline constexpr std::size_t worker_runs_max = 65'536; // a worker has for one home; overloaded
// A worker that refused a task as full is given less for so long; doubles with each time.
inline constexpr std::chrono::milliseconds worker_backoff_first{100};
inline constexpr std::chrono::milliseconds worker_backoff_max{2000};
// Tasks that a home hands a worker beyond its capacity: as many as that, or as its places do in
// `worker_ahead_time` by what its tasks took lately, but no more than so many for each place, and
// for all; and their bytes. They wait there for a place, and go elsewhere when one is free there.
inline constexpr std::chrono::microseconds worker_ahead_time{2000};
inline constexpr std::uint32_t worker_ahead_turns_max = 4;
inline constexpr std::uint32_t worker_ahead_max = 1024;
inline constexpr std::size_t worker_ahead_bytes_max = std::size_t{32} << 20;
// While enough orders wait at a worker, it may keep outcomes for so long, to send them together.
inline constexpr std::chrono::microseconds worker_outcomes_held{500};
// While other tasks run there, a worker sends outcomes no closer together than that.
inline constexpr std::chrono::microseconds worker_outcomes_apart{250};

// Of agents. Calls of one assistant's message that a tool node runs; invalid_value.
inline constexpr std::size_t tool_calls_max = 4096;
// What a tool gives back, and what it keeps beside it (an artifact); the call fails, invalid_value.
inline constexpr std::size_t tool_result_bytes_max = 16u << 20;
// Of a streamed text, kept back until it is clear that no personal data begins in it.
inline constexpr std::size_t pii_held_bytes = 128;
// Characters that are dropped from the end of JSON that was cut off; then it is none.
inline constexpr std::size_t partial_json_dropped_max = 1024;

// Of tools that work in a folder. What is beyond is left out, and the model is told so.
inline constexpr std::size_t search_files_max = 20'000;            // looked at by one search
inline constexpr std::size_t search_hits_max = 200;                // of one search
inline constexpr std::size_t search_file_bytes_default = 2u << 20; // larger ones are passed over
inline constexpr std::size_t search_pattern_bytes_max = 512;       // the call is refused
inline constexpr std::int64_t search_pattern_memory_max = 1 << 20; // bytes; the call is refused
inline constexpr std::size_t file_lines_shown_max = 2000;          // in one call
inline constexpr std::size_t file_line_bytes_max = 1000;           // of each of them
inline constexpr std::chrono::seconds shell_timeout_default{30};   // of a command
inline constexpr std::chrono::seconds shell_timeout_max{86'400};   // invalid_config
inline constexpr std::size_t shell_lines_default = 100;            // of what a command prints
inline constexpr std::size_t shell_bytes_default = 64u << 10;      // likewise
inline constexpr std::size_t shell_command_bytes_max = 64u << 10;  // the call is refused

// Of computers that agents use. What a model asks for beyond is refused, and it is told so; unless
// something else is said.
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
// Before a screenshot shows what an action did.
inline constexpr std::chrono::milliseconds computer_settle_default{2000};
inline constexpr std::chrono::milliseconds computer_action_timeout{150'000}; // the action fails
inline constexpr std::chrono::milliseconds computer_program_timeout{30'000}; // likewise
inline constexpr std::size_t computer_screenshots_default = 10; // that a model is shown
inline constexpr std::uint32_t computer_recursion_limit = 150;  // super-steps: some 50 actions

// Of MCP servers. A message from one; its connection ends with McpError.
inline constexpr std::size_t mcp_message_bytes_max = 16u << 20;
inline constexpr std::size_t mcp_queue_bytes_max = 32u
                                                   << 20; // to one that does not read; overloaded
inline constexpr std::size_t mcp_calls_max = 4096;     // that wait for answers of one; overloaded
inline constexpr std::size_t mcp_tools_max = 2048;     // of one; invalid_value
inline constexpr std::size_t mcp_pages_max = 1000;     // of its list of tools; invalid_value
inline constexpr std::size_t mcp_log_bytes_max = 4096; // of a line that it logs; it is cut
inline constexpr std::chrono::milliseconds mcp_connect_timeout{30'000}; // node_timeout
inline constexpr std::chrono::milliseconds mcp_call_timeout{30'000};    // node_timeout
inline constexpr std::chrono::milliseconds mcp_stop_wait{2000}; // before a server is made to stop
// As an MCP server. Messages of clients, and answers to them, are bounded by mcp_message_bytes_max.
inline constexpr std::size_t mcp_page_tools_max = 128;   // in one answer; more are on the next page
inline constexpr std::size_t mcp_served_calls_max = 256; // of one client at a time; refused
// Of a call; then it fails.
inline constexpr std::chrono::milliseconds mcp_served_call_timeout{3'600'000};
inline constexpr std::chrono::milliseconds mcp_drain_wait{10'000}; // for what runs at the end
inline constexpr std::size_t mcp_sessions_max = 256; // over HTTP; the one idle for longest goes
inline constexpr std::chrono::milliseconds mcp_session_idle{1'800'000}; // then it is forgotten

// Of HTTP, as a client; node_failed where nothing else is said.
inline constexpr std::size_t http_url_bytes_max = 8u << 10;       // invalid_value
inline constexpr std::size_t http_headers_max = 256;              // of a response
inline constexpr std::size_t http_header_bytes_max = 64u << 10;   // all headers of a response
inline constexpr std::size_t http_body_bytes_default = 64u << 20; // of a response
// Of a body that was received and not taken yet; then the server has to wait.
inline constexpr std::size_t http_buffer_bytes_max = 64u << 10;
inline constexpr long http_connections_max = 4096; // at once; more transfers wait
inline constexpr long http_idle_connections_max = 256;
inline constexpr std::chrono::seconds http_lookup_kept{60};              // addresses of a host name
inline constexpr std::chrono::milliseconds http_connect_timeout{10'000}; // node_timeout
inline constexpr std::chrono::milliseconds http_response_timeout{60'000}; // node_timeout
// Of HTTP, as a server.
inline constexpr std::size_t http_served_connections_max = 1024;       // at once; more wait
inline constexpr std::size_t http_served_header_bytes_max = 32u << 10; // of a request; refused
inline constexpr std::chrono::milliseconds http_served_read_timeout{60'000};  // a whole request's
inline constexpr std::chrono::milliseconds http_served_write_timeout{30'000}; // while nobody reads
inline constexpr std::chrono::milliseconds http_served_quiet_max{15'000}; // of a stream; it is told
// Server-sent events.
inline constexpr std::size_t sse_line_bytes_max = 16u << 20;  // node_failed
inline constexpr std::size_t sse_event_bytes_max = 16u << 20; // node_failed

// Of chat models.
inline constexpr std::chrono::milliseconds model_first_token_timeout{300'000}; // node_timeout
inline constexpr std::chrono::milliseconds model_idle_timeout{120'000}; // in a stream; node_timeout
inline constexpr std::chrono::milliseconds model_timeout{600'000};      // of a call; node_timeout
inline constexpr unsigned model_attempts_default = 3;
inline constexpr unsigned model_attempts_max = 100;                    // invalid_config
inline constexpr std::chrono::milliseconds model_retry_first{500};     // doubles with each attempt
inline constexpr std::chrono::milliseconds model_retry_max{8'000};     // of our own choice
inline constexpr std::chrono::milliseconds model_retry_after{120'000}; // longer ones: no retry
inline constexpr std::size_t model_answer_bytes_max = 64u << 20;       // node_failed
inline constexpr std::size_t model_blocks_max = 4096; // blocks and calls of an answer; node_failed
inline constexpr std::size_t model_error_bytes_max = 1024;  // of what a provider says; it is cut
inline constexpr std::size_t malformed_answers_default = 3; // in a row; MalformedToolCallError
inline constexpr std::size_t model_fallbacks_max = 64;      // invalid_config

// Elements of a written list, its last ones, whose type is checked against a typed state's member.
inline constexpr std::size_t typed_elements_checked_max = 256;
// Members of a TROUPE_STATE declaration. More do not compile: group them in structs of their own.
inline constexpr std::size_t state_members_max = 128;

// How often parts of a schema are looked at for one value; beyond, the value does not fit.
inline constexpr std::size_t schema_check_steps_max = 4'000'000;

// Of grammars that constrain what a model may say; invalid_value where nothing else is said.
// Schemas in a schema, each time one is used, choices and required names.
inline constexpr std::size_t grammar_schemas_max = 10'000;
inline constexpr std::size_t grammar_depth_max = 64; // schemas within schemas
inline constexpr std::size_t grammar_bytes_max = 1u << 20;
// Characters of a text, or items of a list, that are counted; servers refuse much more. Larger
// bounds count as this (at least) or none (at most).
inline constexpr std::int64_t grammar_repeat_max = 1000;
inline constexpr std::uint32_t grammar_calls_default = 8; // of one answer

} // namespace troupe::limits
