// Policies of a node: retries, time-outs and caching.
#pragma once

#include <troupe/error.hpp>
#include <troupe/value.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// Whether an error is worth another attempt when a policy names no errors. The class of the thrown
/// exception decides: a user's own class counts as the standard class it is derived from
/// (reference_base).
/// Shape:  retried are
///         - lost connections: node_error "ConnectionError"; std::system_error with the code of a
///           refused, reset, aborted or broken connection
///         - time-outs of a node, lost workers
///         - classes derived from std::exception alone (std::bad_alloc, the user's own), and
///           exceptions not derived from std::exception
///         Not retried are
///         - other classes derived from std::runtime_error or std::logic_error, also
///           std::system_error with another code, std::filesystem::filesystem_error and
///           std::ios_base::failure
///         - std::bad_cast, bad_optional_access, bad_variant_access
///         - a node_error of one of the reference's classes ValueError, TypeError, ArithmeticError,
///           ImportError, LookupError, KeyError, IndexError, NameError, SyntaxError, RuntimeError,
///           ReferenceError, StopIteration, OSError
///         - values of the wrong type, failures of the store
///         std::runtime_error is C++'s general failure. To retry it, set `.retry_on =
///         {"RuntimeError"}` or `.retry_on = [](const troupe::error&) { return true; }`.
/// Errors: none.
/// Source: langgraph/_internal/_retry.py, default_retry_on.
bool default_retry_on(const error& err);

/// The errors a policy is for: a list of error classes, a predicate, or by default
/// default_retry_on. A class in the list stands for all classes derived from it: it is compared
/// with reference_name(), with error::base() and with the classes above these in Python.
/// "Exception" stands for all failures of a task. An empty list fits no error.
/// Shape:  names of the reference's or of Python's classes, or of a body's own.
/// Errors: none; a name that no error has fits none.
/// Source: langgraph/types.py, RetryPolicy.retry_on.
class retry_filter {
public:
  retry_filter() = default;
  retry_filter(std::vector<std::string> classes);
  retry_filter(std::initializer_list<const char*> classes);
  template <class F>
  requires(std::is_invocable_r_v<bool, F&, const error&> && !std::is_same_v<F, retry_filter>)
    retry_filter(F predicate)
    : fits_{std::move(predicate)} {}

  bool operator()(const error& err) const;

private:
  std::function<bool(const error&)> fits_;
};

/// How often a failed task is tried again, and after which wait. The wait after attempt n (from 1)
/// is min(max_interval, initial_interval * backoff_factor^(n-1)), plus up to one second with
/// `jitter`.
/// Errors: the graph is refused with invalid_graph for a negative interval, or a factor that is
///         negative or not a number.
/// Source: langgraph/types.py, RetryPolicy.
struct retry_policy {
  std::chrono::nanoseconds initial_interval = std::chrono::milliseconds{500};
  double backoff_factor = 2.0;
  std::chrono::nanoseconds max_interval = std::chrono::seconds{128};
  std::uint32_t max_attempts = 3; ///< the first one included
  bool jitter = true;
  retry_filter retry_on = {};
  /// Further policies, for errors that this one is not for: the first that fits is used. All of
  /// them share one count of attempts.
  std::vector<retry_policy> otherwise = {};

  bool given() const noexcept { return max_attempts > 0 || !otherwise.empty(); }
};

/// No policy: node_defaults apply; without those a failed task is not tried again. To switch
/// retries off for one node, give it a policy of max_attempts = 1.
/// Errors: none.
/// Source: langgraph/types.py, RetryPolicy.
extern const retry_policy no_retry_policy;

/// The progress that restarts timeout_policy::idle_timeout.
/// Errors: none.
/// Source: langgraph/types.py, TimeoutPolicy.refresh_on ("auto", "heartbeat").
enum class refresh_on : std::uint8_t {
  auto_,     ///< a write to a channel or stream, a call of a graph or task, context::heartbeat()
  heartbeat, ///< context::heartbeat() alone
};

/// How long one attempt at a task may take. 0: no bound.
/// Shape:  `idle_timeout` counts from the attempt's last progress, as `refresh_on` defines it.
/// Errors: the graph is refused with invalid_graph for a negative bound; an attempt that exceeds a
///         bound fails with node_timeout.
/// Source: langgraph/types.py, TimeoutPolicy. There for async nodes only; here for every lane. A
///         body that can't be interrupted runs on without effect (context::stop_requested()).
struct timeout_policy {
  std::chrono::nanoseconds run_timeout{0};
  std::chrono::nanoseconds idle_timeout{0};
  troupe::refresh_on refresh_on = troupe::refresh_on::auto_;

  timeout_policy() = default;
  template <class Rep, class Period>
  timeout_policy(std::chrono::duration<Rep, Period> run) : run_timeout{run} {}
  timeout_policy(std::chrono::nanoseconds run, std::chrono::nanoseconds idle,
                 troupe::refresh_on by = troupe::refresh_on::auto_)
    : run_timeout{run},
      idle_timeout{idle},
      refresh_on{by} {}
  bool given() const noexcept { return run_timeout.count() != 0 || idle_timeout.count() != 0; }
};

/// Caches the writes of a node by its input.
/// Shape:  `ttl` nullopt: no expiry. `key_func` gives the bytes that identify an input; unset: the
///         input's canonical msgpack.
/// Errors: the graph is refused with invalid_graph for a negative `ttl`; after an exception of
///         `key_func` the task runs, and its writes are not cached.
/// Source: langgraph/types.py, CachePolicy.
struct cache_policy {
  std::optional<std::chrono::nanoseconds> ttl = std::nullopt;
  std::function<std::string(const value& input)> key_func = {};
  bool given = true;
};

/// Stops attempts at a node that keeps failing. After `failures` failed attempts in a row the
/// breaker is open: tasks of the node fail at once, and are not retried. After `open_for`, one
/// attempt may begin. When it succeeds, the breaker is closed; else it stays open as long again.
/// Shape:  `failures` 0: no breaker. All runs of the graph in this process share it.
/// Errors: a task fails with `overloaded`, of type CircuitOpenError, while the breaker is open.
/// Source: troupe.
struct circuit_breaker_policy {
  std::uint32_t failures = 0;
  std::chrono::nanoseconds open_for = std::chrono::seconds{30};
  bool given() const noexcept { return failures != 0; }
};

/// Bounds how often attempts at a node begin: `permits` in each time `per`. An attempt that comes
/// too early waits for its place; it holds no thread meanwhile, and its time-outs have not begun.
/// Shape:  `permits` 0: no bound. `burst`: how many may begin at once after a quiet time; 0: as
///         `permits`. All runs of the graph in this process share it.
/// Errors: none.
/// Source: troupe; langchain_core/rate_limiters.py, InMemoryRateLimiter.
struct rate_limit_policy {
  std::uint32_t permits = 0;
  std::chrono::nanoseconds per = std::chrono::seconds{1};
  std::uint32_t burst = 0;
  bool given() const noexcept { return permits != 0; }
};

/// No policy: node_defaults apply; without those nothing is cached.
/// Errors: none.
/// Source: langgraph/types.py, CachePolicy.
extern const cache_policy no_cache_policy;

} // namespace troupe
