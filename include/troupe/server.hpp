// The server: graphs over HTTP, with the API of LangGraph's Agent Server.
//
//     troupe::agent_server serving{{.graphs = {{"agent", agent.compile()}}, .data_dir = "data"}};
//     std::cout << "http://127.0.0.1:" << serving.port() << "\n";
//     wait_for_a_signal();
//     serving.drain();
#pragma once

#include <troupe/keyring.hpp>
#include <troupe/postgres.hpp>
#include <troupe/runtime.hpp>
#include <troupe/server/access.hpp>
#include <troupe/server/limits.hpp>
#include <troupe/store.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// The URLs that the server may call when a run ends.
/// Shape:  `allowed_domains`: host names, or "*.example.com" for those below one; empty allows all.
///         `allowed_ports`: empty allows all. `headers` of each call.
/// Errors: a run with another webhook is refused with status 422.
/// Source: langgraph_cli/schemas.py, WebhooksConfig, HttpConfig.disable_webhooks; `allow_private`
/// is
///         troupe's.
struct webhook_rules {
  bool require_https = true;
  bool allow_loopback = false; ///< loopback addresses, and relative URLs: routes of the server
  bool allow_private = false;  ///< addresses of private networks
  std::vector<std::string> allowed_domains = {};
  std::vector<std::uint16_t> allowed_ports = {};
  std::size_t url_bytes_max = limits::server_webhook_url_bytes_max;
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool is_off = false; ///< none is called; runs may name one all the same
};

/// The pages of browsers that may ask the server.
/// Shape:  `origins`: "*" allows any page. `headers`: allowed ones of requests; empty allows those
///         that a page asks for. An empty `methods` or `exposed` stands for the usual ones.
/// Errors: see agent_server.
/// Source: langgraph_cli/schemas.py, CorsConfig.
struct cors_rules {
  std::vector<std::string> origins = {"*"};
  std::vector<std::string> methods = {};
  std::vector<std::string> headers = {};
  std::vector<std::string> exposed = {};
  bool credentials = false; ///< cookies and HTTP authentication; needs origins by name
  std::chrono::seconds max_age{600};
};

/// Callers by signed tokens (JWT) in `Authorization: Bearer`: RS256 or ES256 with the keys of
/// `jwks`, or HS256 with the secret of a file.
/// Shape:  `jwks`: a file, or a URL that begins with https:// (or http:// with
///         `allow_private_jwks`); its keys are read again after limits::server_jwks_kept.
///         `secret_file`: at least 32 bytes in a file that its owner alone can read; a line end
///         after them does not count. One of both is set. `issuer` and `audiences`: empty accepts
///         any. `identity` and `permissions`: the claims for them.
/// Errors: see agent_server.
/// Source: RFC 7519; troupe.
struct token_rules {
  std::string jwks = {};
  bool allow_private_jwks = false; ///< the URL may be on this host or in its networks
  std::filesystem::path secret_file = {};
  std::string issuer = {};
  std::vector<std::string> audiences = {};
  std::string identity = "sub";
  std::string permissions = "scope";
};

/// The bound on the requests of each caller, or of each address for callers without an identity. A
/// request above it is refused with status 429.
/// Units:  requests a second, 0 for no bound; `burst`: requests at once after a pause, 0 for those
///         of a second.
/// Errors: see agent_server.
/// Source: troupe.
struct request_rate {
  double per_second = 0;
  double burst = 0;
};

/// The end of threads that nobody uses.
/// Shape:  `strategy`: "delete" removes the thread, "keep_latest" its checkpoints but the newest.
///         A thread with a time to live of its own (`ttl` of its creation or of an update) keeps
///         that. Times count from the thread's last change.
/// Units:  `minutes`: the life of new threads, more than 0; nullopt: they stay. `sweep_interval`:
///         between two looks, a second to 100 days.
/// Errors: see agent_server.
/// Source: langgraph_cli/schemas.py, ThreadTTLConfig.
struct thread_expiry {
  std::optional<double> minutes = std::nullopt;
  std::string strategy = "delete";
  std::chrono::milliseconds sweep_interval = limits::server_sweep_interval;
};

/// Groups of paths that the server does not have; requests get status 404.
/// Shape:  `meta`: /info, /metrics, /docs and /openapi.json. `runs`: also crons, and commands and
///         events of threads.
/// Errors: none.
/// Source: langgraph_cli/schemas.py, HttpConfig.
struct disabled_paths {
  bool assistants = false;
  bool threads = false;
  bool runs = false;
  bool store = false;
  bool mcp = false;
  bool a2a = false;
  bool meta = false;
};

/// The parts of a server.
/// Shape:  `graphs`: a name and a graph each; a client runs it under that name. With an empty
///         `data_dir` and without `postgres`, everything is in memory, and gone with the process.
///         With `api_keys`, `tokens` or `authenticate`, each request needs a caller that one of
///         them knows, but for /ok and /info.
/// Errors: see agent_server.
/// Source: langgraph.json; langgraph-api's settings.
struct server_options {
  std::vector<std::pair<std::string, compiled_graph>> graphs = {};
  std::string address = "127.0.0.1"; ///< numeric
  std::uint16_t port = 2024;         ///< 0: any free one
  /// A certificate, which intermediate ones may follow, and its key, in PEM. Changed files count
  /// from the next connection on; with files that do not fit, the certificate before stays.
  std::filesystem::path tls_certificate = {};
  std::filesystem::path tls_key = {};

  /// The folder of the savers, the store and the server's own records. One server at a time uses
  /// it: the constructor of a second one throws storage_locked.
  std::string data_dir = {};
  /// Savers, the store and the server's own records in a database, which other servers may share.
  std::optional<postgres_options> postgres = std::nullopt;
  /// Keys of all records; null: those of the environment (keyring::from_environment), if any.
  std::shared_ptr<const key_provider> keyring = nullptr;
  store_options store = {}; ///< search by meaning, and times to live of items
  thread_expiry expiry = {};

  /// A line for each key: `sha256:HASH NAME PERMISSION…`, as `troupe serve --new-api-key NAME`
  /// prints it. A changed file counts at once; while it does not fit, the keys before stay.
  std::filesystem::path api_keys = {};
  std::optional<token_rules> tokens = std::nullopt;
  server::caller_lookup authenticate = {};
  server::authoriser authorise = {}; ///< empty: callers may do everything
  /// Serves callers beyond this host without asking who they are.
  bool no_auth = false;
  request_rate rate = {};
  cors_rules cors = {};
  disabled_paths disabled = {};

  webhook_rules webhooks = {};
  std::size_t worker_threads = 0; ///< of the runtime; 0: as many as cores
};

/// Serves during its lifetime. Runs that an earlier server left are taken up again.
/// Thread: any.
/// Errors: the constructor throws error: storage codes for `data_dir` and `postgres`, and
///         invalid_config for
///         - two graphs with one name
///         - an address that is taken or not numeric, or one beyond loopback without
///           authentication and without `no_auth`
///         - options that exclude each other: `data_dir` and `postgres`, `no_auth` and
///           authentication, a TLS certificate without a key, `cors.credentials` for any origin
///         - a file of keys, tokens or TLS that is missing or malformed
/// Source: langgraph-api.
class agent_server {
public:
  explicit agent_server(server_options options);
  agent_server(const agent_server&) = delete;
  agent_server& operator=(const agent_server&) = delete;
  /// As drain(), with default times.
  ~agent_server();

  std::uint16_t port() const noexcept;

  /// Runs that begin from now on, and questions about the graph, get this one under a name that the
  /// server has. Runs in flight keep the graph that they began with. Threads and their states stay.
  /// Owns:   the graph before stays loaded as long as the server.
  /// Errors: throws error{unknown_graph} when the server has no graph of this name.
  void replace_graph(const std::string& name, const compiled_graph& graph);

  /// Takes no new requests, stops running runs at the end of their step, and ends streams. The next
  /// server takes these runs up. Webhooks get half of the time that the runs leave; then they are
  /// given up. Returns whether all runs had stopped in time.
  /// Blocks: at most this long.
  bool drain(std::chrono::milliseconds at_most = limits::server_drain_wait);

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace troupe
