// Graphs over processes and hosts: a home that gives placed tasks to workers, and a worker that
// runs them.
//
//   worker   troupe::worker w{{.listen = "10.0.0.7:4242", .tls = files}, {graph}};  w.wait();
//   home     runtime rt{{.workers = troupe::connect_workers({.workers = {"10.0.0.7:4242"}, .tls =
//   files}).value()}};
#pragma once

#include <troupe/compiled_graph.hpp>
#include <troupe/error.hpp>
#include <troupe/limits.hpp>
#include <troupe/value.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class task_placer; // actors/task_placer.hpp

/// Who a process is to its peers: PEM files of a private CA. Every certificate of the CA is trusted
/// with everything: one CA a cluster (`troupe cluster init-ca`, `issue-cert`). The key's
/// passphrase, if it has one, is what TROUPE_TLS_PASSPHRASE says, or the file that
/// TROUPE_TLS_PASSPHRASE_FILE names.
struct link_certificates {
  std::filesystem::path certificate;
  std::filesystem::path key; ///< readable by its owner alone
  std::filesystem::path authority;
};

// ---- the home -----------------------------------------------------------------------------------

struct worker_pool_options {
  /// HOST:PORT of each worker to link to. Links that break, or can't be made yet, are made again.
  std::vector<std::string> workers = {};
  /// More of them, one a line, `#` begins a comment; read again when it changes.
  std::filesystem::path workers_file = {};
  /// HOST:PORT where workers that join from their side are let in; empty: nowhere. Port 0: any.
  std::string listen = {};
  std::optional<link_certificates> tls = std::nullopt;
  bool plain = false; ///< links without TLS: this host only, for tests
  std::chrono::milliseconds heartbeat = limits::heartbeat_interval_default;
  std::chrono::milliseconds lease =
    limits::worker_lease_default; ///< a silent worker is lost past it
};

/// The workers of a home: runtime_options::workers. One may serve several runtimes, and lives as
/// long as any of them.
class worker_pool {
public:
  worker_pool() = default;
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;
  virtual ~worker_pool() = default;

  /// Where workers join; 0 when they can't.
  virtual std::uint16_t port() const = 0;
  /// What a runtime hands its placed tasks to.
  virtual task_placer& placer() = 0;
};

/// Begins to link to workers.
/// Blocks: until the TLS files are checked and the port is open; for no worker.
/// Errors: invalid_config: an address, a bound, a TLS file (it says what is wrong with it), neither
/// or
///         both of `tls` and `plain`, a port that can't be opened, plain links to another host.
/// Source: troupe.
result<std::shared_ptr<worker_pool>> connect_workers(worker_pool_options options);

// ---- the worker ---------------------------------------------------------------------------------

struct worker_options {
  std::string name =
    {}; ///< of it among the workers of a home; empty: the host's name and a random part
  /// HOST:PORT where homes link to it; empty: it only joins. Port 0: any.
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> join = {}; ///< HOST:PORT of homes to join
  std::vector<std::string> labels = {};
  std::uint32_t capacity = 0; ///< tasks at a time, over all homes; 0: four a core
  std::optional<link_certificates> tls = std::nullopt;
  bool plain = false;      ///< links without TLS: this host only, for tests
  std::size_t threads = 0; ///< that run tasks; 0: as many as cores
};

/// Runs tasks of these graphs, and of those within them, for the homes that link to it.
class worker {
public:
  /// Errors: throws error: as connect_workers, and invalid_config for a label or capacity beyond
  /// its
  ///         limit, or no graph.
  worker(worker_options options, std::vector<compiled_graph> graphs);
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  /// Drops what it runs.
  ~worker();

  /// Where homes reach it; 0 when it listens nowhere.
  std::uint16_t port() const;
  /// Takes no more tasks; graphs it runs are given back at their next step border, other tasks run
  /// to their end. Then wait() returns.
  void drain(std::string why);
  /// Blocks: until it has drained.
  void wait();

private:
  class impl;
  std::unique_ptr<impl> impl_;
};

// ---- looking after a cluster --------------------------------------------------------------------

/// How to reach a process of a cluster.
struct peer_access {
  std::optional<link_certificates> tls = std::nullopt;
  bool plain = false;
  std::chrono::milliseconds patience{5000}; ///< for the link and the answer together
};

/// How a worker or a home that listens at HOST:PORT is.
/// Shape:  a map; its `kind` is "worker" or "home". Of a worker: name, labels, capacity, running,
/// homes
///         (with lease, round trip, tasks), counts. Of a home: workers, what waits, counts,
///         latencies.
/// Units:  members that end in `_ms`: milliseconds.
/// Blocks: until the answer, or `patience`.
/// Errors: worker_lost: no answer; as connect_workers.
/// Source: troupe.
result<value> peer_status(const std::string& at, const peer_access& access);

/// Has a worker drain, as worker::drain(), and gives its status.
/// Errors: as peer_status.
result<value> drain_worker(const std::string& at, const std::string& why,
                           const peer_access& access);

} // namespace troupe
