// The cluster: a home gives placed tasks to workers in other processes and on other hosts.
//
// A worker:
//   troupe::worker w{{.listen = "10.0.0.7:4242", .tls = files}, {graph}};
//   w.wait();
//
// A home:
//   auto pool = troupe::connect_workers({.workers = {"10.0.0.7:4242"}, .tls = files}).value();
//   troupe::runtime rt{{.workers = pool}};
#pragma once

#include <troupe/compiled_graph.hpp>
#include <troupe/error.hpp>
#include <troupe/limits.hpp>
#include <troupe/placement.hpp>
#include <troupe/value.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The identity of a process towards its peers: PEM files of a private CA. Every certificate of the
/// CA is fully trusted: use one CA a cluster (`troupe cluster init-ca`, `issue-cert`).
/// Shape:  only its owner can read the key. The key's passphrase, if any, comes from
///         TROUPE_TLS_PASSPHRASE, or from the file named by TROUPE_TLS_PASSPHRASE_FILE.
/// Errors: connect_workers, worker and peer_status give invalid_config, which names the fault.
/// Source: troupe.
struct link_certificates {
  std::filesystem::path certificate;
  std::filesystem::path key;
  std::filesystem::path authority;
};

// ---- the home -----------------------------------------------------------------------------------

/// The workers of a home, and how the home reaches them.
/// Shape:  either `tls` or `plain`. Addresses are HOST:PORT.
/// Units:  a lease is lease_heartbeats_min to lease_heartbeats_max heartbeats, at most
///         limits::worker_lease_max; a worker that is silent for longer is lost. A longer lease of
///         a worker replaces the home's for that worker.
/// Errors: see connect_workers.
/// Source: troupe.
struct worker_pool_options {
  /// Workers to link to. A link that breaks, or fails, is tried again.
  std::vector<std::string> workers = {};
  /// A file of further workers, one a line; `#` begins a comment. The file is read again when it
  /// changes, within limits::workers_file_interval.
  std::filesystem::path workers_file = {};
  /// The address at which workers join; an empty one accepts no worker. Port 0: any free port.
  std::string listen = {};
  std::optional<link_certificates> tls = std::nullopt;
  bool plain = false; ///< links without TLS: this host only, for tests
  std::chrono::milliseconds heartbeat = limits::heartbeat_interval_default;
  std::chrono::milliseconds lease = limits::worker_lease_default;
  /// true: workers with another build of a graph's code, but the same structure, get its tasks if
  /// they allow it too. One run may then mix both builds.
  bool allow_other_builds = false;
};

/// Opens the home's port and begins to link to the workers.
/// Blocks: until the TLS files are checked and the port is open; does not wait for workers.
/// Errors: invalid_config for
///         - an address, a bound, the workers file, or a TLS file (the message names its fault)
///         - neither or both of `tls` and `plain`, or plain links to another host
///         - a port that can't be opened
/// Source: troupe.
result<std::shared_ptr<worker_pool>> connect_workers(worker_pool_options options);

// ---- the worker ---------------------------------------------------------------------------------

/// The properties of a worker, and the homes it works for.
/// Shape:  either `tls` or `plain`; `listen`, `join` or both. Addresses are HOST:PORT.
/// Units:  as worker_pool_options. A `lease` of 0 is that of each home; a longer one replaces a
///         home's, a shorter one has no effect. A `heartbeat` of 0: a fifth of the lease.
/// Errors: see worker.
/// Source: troupe.
struct worker_options {
  /// The worker's name at its homes; empty: the host's name and a random part.
  std::string name = {};
  /// The address to which homes link; with an empty one the worker only joins. Port 0: any free
  /// port.
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> join = {}; ///< homes that listen
  std::vector<std::string> labels = {};
  std::uint32_t capacity = 0; ///< tasks at a time, over all homes; 0: four for each core
  std::optional<link_certificates> tls = std::nullopt;
  bool plain = false;      ///< links without TLS: this host only, for tests
  std::size_t threads = 0; ///< threads that run tasks; 0: as many as cores
  std::chrono::milliseconds heartbeat{0};
  std::chrono::milliseconds lease{0};
  /// true: also serves homes with another build of a graph's code, if they allow it too.
  bool allow_other_builds = false;
};

/// Runs tasks of these graphs, and of graphs within them, for the homes to which it is linked.
/// Errors: see the members.
/// Source: troupe.
class worker {
public:
  /// Starts the worker.
  /// Shape:  at least one graph.
  /// Blocks: until the TLS files are checked and the port is open; does not wait for homes.
  /// Errors: throws error: as connect_workers. Also invalid_config for a name, label, capacity or
  ///         lease beyond its limit, without a graph, and when it neither listens nor joins.
  /// Source: troupe.
  worker(worker_options options, std::vector<compiled_graph> graphs);
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  /// Drops the worker's tasks: their homes give them to other workers.
  ~worker();

  /// The port at which homes reach the worker.
  /// Shape:  0 when it does not listen.
  /// Errors: none.
  /// Source: troupe.
  std::uint16_t port() const;

  /// Takes no more tasks. Graphs return to their homes at their next step border; other tasks run
  /// to their end. Tasks left after `patience` are stopped and go elsewhere at once. Then wait()
  /// returns. A second call can only shorten the time. After drain() returns, a graph that ran here
  /// begins no further step here.
  /// Shape:  `why` is logged by its homes.
  /// Units:  `patience` up to limits::worker_drain_max; with 0 all tasks go elsewhere now.
  /// Blocks: until the worker has noted the request, some microseconds. Not for a signal handler.
  /// Errors: none.
  /// Source: troupe.
  void drain(std::string why, std::chrono::milliseconds patience = limits::worker_drain_default);

  /// Waits until the worker has drained.
  /// Blocks: until then.
  /// Errors: none.
  /// Source: troupe.
  void wait();

private:
  class impl;
  std::unique_ptr<impl> impl_;
};

// ---- looking after a cluster --------------------------------------------------------------------

/// The way to reach a process of a cluster.
/// Shape:  either `tls` or `plain`.
/// Units:  `patience`: for the link and the answer together.
/// Errors: see peer_status.
/// Source: troupe.
struct peer_access {
  std::optional<link_certificates> tls = std::nullopt;
  bool plain = false;
  std::chrono::milliseconds patience{5000};
};

/// The status of a worker, or of a home that listens, at HOST:PORT.
/// Shape:  a map; its `kind` is "worker" or "home". A worker has name, labels, capacity, running,
///         graphs (with hash, build and version), homes (with lease, round trip, tasks), counts. A
///         home has workers (with the same graphs), waiting tasks, counts, latencies.
/// Units:  members that end in `_ms`: milliseconds.
/// Blocks: until the answer, or `patience`.
/// Errors: worker_lost when no answer comes; as connect_workers.
/// Source: troupe.
result<value> peer_status(const std::string& at, const peer_access& access);

/// Makes a worker drain, as worker::drain(). Returns its status from right before the drain.
/// Shape:  as peer_status.
/// Units:  `patience` of worker::drain().
/// Blocks: as peer_status; does not wait for the drain.
/// Errors: as peer_status.
/// Source: troupe.
result<value> drain_worker(const std::string& at, const std::string& why, const peer_access& access,
                           std::chrono::milliseconds patience = limits::worker_drain_default);

} // namespace troupe
