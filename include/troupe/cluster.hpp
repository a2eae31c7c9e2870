// Graphs over processes and hosts: a home that gives placed tasks to workers, and workers that run
// them.
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

/// Who a process is to its peers: PEM files of a private CA. Every certificate of the CA is trusted
/// with everything: one CA a cluster (`troupe cluster init-ca`, `issue-cert`).
/// Shape:  the key is readable by its owner alone. Its passphrase, if it has one, is what
///         TROUPE_TLS_PASSPHRASE says, or the file that TROUPE_TLS_PASSPHRASE_FILE names.
/// Errors: of connect_workers, worker and peer_status: invalid_config, which says what is wrong.
/// Source: troupe.
struct link_certificates {
  std::filesystem::path certificate;
  std::filesystem::path key;
  std::filesystem::path authority;
};

// ---- the home -----------------------------------------------------------------------------------

/// Which workers a home has, and how it reaches them.
/// Shape:  either `tls` or `plain`. Addresses are HOST:PORT.
/// Units:  a lease is lease_heartbeats_min to lease_heartbeats_max heartbeats, at most
///         limits::worker_lease_max; a worker that is silent for longer is lost. With a worker that
///         asks for a longer lease, that one holds.
/// Errors: see connect_workers.
/// Source: troupe.
struct worker_pool_options {
  /// Workers to link to. Links that break, or can't be made yet, are made again.
  std::vector<std::string> workers = {};
  /// More of them, one a line; `#` begins a comment. Read again when it changes, which is seen
  /// within limits::workers_file_interval.
  std::filesystem::path workers_file = {};
  /// Where workers that join from their side are let in; empty: nowhere. Port 0: any.
  std::string listen = {};
  std::optional<link_certificates> tls = std::nullopt;
  bool plain = false; ///< links without TLS: this host only, for tests
  std::chrono::milliseconds heartbeat = limits::heartbeat_interval_default;
  std::chrono::milliseconds lease = limits::worker_lease_default;
  /// Also workers whose code of a graph is another build of the same structure get its tasks, if
  /// they allow it, too. One run may mix both then.
  bool allow_other_builds = false;
};

/// Begins to link to workers.
/// Blocks: until the TLS files are checked and the port is open; for no worker.
/// Errors: invalid_config: an address, a bound, the workers file, a TLS file (it says what is wrong
///         with it), neither or both of `tls` and `plain`, a port that can't be opened, plain links
///         to another host.
/// Source: troupe.
result<std::shared_ptr<worker_pool>> connect_workers(worker_pool_options options);

// ---- the worker ---------------------------------------------------------------------------------

/// What a worker is, and whom it works for.
/// Shape:  either `tls` or `plain`; `listen`, `join` or both. Addresses are HOST:PORT.
/// Units:  as worker_pool_options. A `lease` of 0 is that of each home; a longer one than a home's
///         holds between the two, a shorter one does not. A `heartbeat` of 0: a fifth of the lease.
/// Errors: see worker.
/// Source: troupe.
struct worker_options {
  /// Of it among the workers of a home; empty: the host's name and a random part.
  std::string name = {};
  /// Where homes link to it; empty: it only joins. Port 0: any.
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> join = {}; ///< homes that listen
  std::vector<std::string> labels = {};
  std::uint32_t capacity = 0; ///< tasks at a time, over all homes; 0: four a core
  std::optional<link_certificates> tls = std::nullopt;
  bool plain = false;      ///< links without TLS: this host only, for tests
  std::size_t threads = 0; ///< that run tasks; 0: as many as cores
  std::chrono::milliseconds heartbeat{0};
  std::chrono::milliseconds lease{0};
  /// Also for homes whose code of a graph is another build, if they allow it, too.
  bool allow_other_builds = false;
};

/// Runs tasks of these graphs, and of those within them, for the homes that link to it.
/// Source: troupe.
class worker {
public:
  /// Shape:  at least one graph.
  /// Blocks: until the TLS files are checked and the port is open; for no home.
  /// Errors: throws error: as connect_workers, and invalid_config for a name, label, capacity or
  ///         lease beyond its limit, for no graph, and for one that neither listens nor joins.
  /// Source: troupe.
  worker(worker_options options, std::vector<compiled_graph> graphs);
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  /// Drops what it runs: its homes hand it out again.
  ~worker();

  /// The port where homes reach it.
  /// Shape:  0 when it listens nowhere.
  /// Errors: none.
  /// Source: troupe.
  std::uint16_t port() const;

  /// Takes no more tasks. Graphs it runs are given back at their next step border, other tasks run
  /// to their end; what is left when `patience` is over is told to stop and goes elsewhere at once.
  /// Then wait() returns. A second call may only shorten the time. From when it returns no graph
  /// that ran here begins a step here.
  /// Shape:  `why` is what its homes log.
  /// Units:  `patience` up to limits::worker_drain_max; 0: everything goes elsewhere now.
  /// Blocks: until the worker has taken note: microseconds. Not for a signal handler.
  /// Errors: none.
  /// Source: troupe.
  void drain(std::string why, std::chrono::milliseconds patience = limits::worker_drain_default);

  /// Waits until it has drained.
  /// Blocks: as long as it works.
  /// Errors: none.
  /// Source: troupe.
  void wait();

private:
  class impl;
  std::unique_ptr<impl> impl_;
};

// ---- looking after a cluster --------------------------------------------------------------------

/// How to reach a process of a cluster.
/// Shape:  either `tls` or `plain`.
/// Units:  `patience`: for the link and the answer together.
/// Errors: see peer_status.
/// Source: troupe.
struct peer_access {
  std::optional<link_certificates> tls = std::nullopt;
  bool plain = false;
  std::chrono::milliseconds patience{5000};
};

/// How a worker, or a home that listens, at HOST:PORT is.
/// Shape:  a map; its `kind` is "worker" or "home". Of a worker: name, labels, capacity, running,
///         graphs (with hash, build and version), homes (with lease, round trip, tasks), counts. Of
///         a home: workers (with the same graphs), what waits, counts, latencies.
/// Units:  members that end in `_ms`: milliseconds.
/// Blocks: until the answer, or `patience`.
/// Errors: worker_lost: no answer; as connect_workers.
/// Source: troupe.
result<value> peer_status(const std::string& at, const peer_access& access);

/// Has a worker drain, as worker::drain(), and gives its status from right before.
/// Shape:  as peer_status.
/// Units:  `patience` of worker::drain().
/// Blocks: as peer_status; not until it has drained.
/// Errors: as peer_status.
/// Source: troupe.
result<value> drain_worker(const std::string& at, const std::string& why, const peer_access& access,
                           std::chrono::milliseconds patience = limits::worker_drain_default);

} // namespace troupe
