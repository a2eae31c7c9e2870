// The policies of a node: the default retry rule, and the policies that ask for nothing.
#include "graph/policy_rules.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

namespace {

// Classes that are not retried: those of the reference, and standard C++ classes. The latter count
// when an error's base class (error::base) is not known.
constexpr std::array<std::string_view, 38> final_classes{
  "ValueError",          "UnicodeError",        "UnicodeDecodeError", "UnicodeEncodeError",
  "ValidationError",     "JSONDecodeError",     "TypeError",          "ArithmeticError",
  "ZeroDivisionError",   "OverflowError",       "FloatingPointError", "ImportError",
  "ModuleNotFoundError", "LookupError",         "KeyError",           "IndexError",
  "NameError",           "UnboundLocalError",   "SyntaxError",        "IndentationError",
  "RuntimeError",        "NotImplementedError", "RecursionError",     "GraphRecursionError",
  "ReferenceError",      "StopIteration",       "StopAsyncIteration", "OSError",
  "FileNotFoundError",   "PermissionError",     "std::logic_error",   "std::invalid_argument",
  "std::domain_error",   "std::length_error",   "std::out_of_range",  "std::runtime_error",
  "std::range_error",    "std::overflow_error",
};

// Whether the failure is the task's. Failures of the engine or its store are not: they end the run.
bool of_task(errc code) {
  return code < errc::checkpoint_missing || code == errc::worker_lost || code == errc::overloaded;
}

constexpr std::string_view any_exception = "Exception";

// Python's own exceptions below others than Exception.
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> parent_classes{
  {{"IndexError", "LookupError"},
   {"KeyError", "LookupError"},
   {"FloatingPointError", "ArithmeticError"},
   {"OverflowError", "ArithmeticError"},
   {"ZeroDivisionError", "ArithmeticError"},
   {"NotImplementedError", "RuntimeError"},
   {"RecursionError", "RuntimeError"},
   {"GraphRecursionError", "RecursionError"},
   {"UnicodeError", "ValueError"},
   {"UnicodeDecodeError", "UnicodeError"},
   {"UnicodeEncodeError", "UnicodeError"},
   {"ConnectionError", "OSError"},
   {"BrokenPipeError", "ConnectionError"},
   {"ConnectionAbortedError", "ConnectionError"},
   {"ConnectionRefusedError", "ConnectionError"},
   {"ConnectionResetError", "ConnectionError"},
   {"FileExistsError", "OSError"},
   {"FileNotFoundError", "OSError"},
   {"PermissionError", "OSError"},
   {"TimeoutError", "OSError"}}};

// The class above one; empty above Exception, which is above each class that is not known.
std::string_view parent_class(std::string_view name) {
  auto found = std::ranges::find(parent_classes, name,
                                 &std::pair<std::string_view, std::string_view>::first);
  if (found != parent_classes.end())
    return found->second;
  return name == any_exception ? std::string_view{} : any_exception;
}

} // namespace

bool default_retry_on(const error& err) {
  if (!of_task(err.code()))
    return false;
  auto name = err.base().empty() ? reference_name(err) : err.base();
  return std::find(final_classes.begin(), final_classes.end(), name) == final_classes.end();
}

retry_filter::retry_filter(std::vector<std::string> classes)
  : fits_{[classes = std::move(classes)](const error& err) {
      auto has = [&classes, is_exception = of_task(err.code())](std::string_view name) {
        for (; !name.empty(); name = parent_class(name))
          if (std::ranges::find(classes, name) != classes.end())
            return name != any_exception || is_exception;
        return false;
      };
      return has(reference_name(err)) || has(err.base());
    }} {}
retry_filter::retry_filter(std::initializer_list<const char*> classes)
  : retry_filter{std::vector<std::string>(classes.begin(), classes.end())} {}

bool retry_filter::operator()(const error& err) const {
  return fits_ ? fits_(err) : default_retry_on(err);
}

std::optional<std::string> find_unusable(const retry_policy& retry, const timeout_policy& timeout,
                                         const cache_policy& cache) {
  if (retry.initial_interval.count() < 0)
    return "retry_policy.initial_interval must not be negative";
  if (retry.max_interval.count() < 0)
    return "retry_policy.max_interval must not be negative";
  if (!(retry.backoff_factor >= 0)) // also when it is not a number
    return "retry_policy.backoff_factor must be a number of at least 0";
  if (timeout.run_timeout.count() < 0)
    return "timeout.run_timeout must not be negative; 0 stands for unbounded";
  if (timeout.idle_timeout.count() < 0)
    return "timeout.idle_timeout must not be negative; 0 stands for unbounded";
  if (cache.ttl && cache.ttl->count() < 0)
    return "cache_policy.ttl must not be negative";
  for (const auto& other : retry.otherwise)
    if (auto unusable = find_unusable(other, {}, no_cache_policy))
      return unusable;
  return std::nullopt;
}

// Made before the other globals of a program, since a graph may be one of them.
[[gnu::init_priority(200)]] const retry_policy no_retry_policy{.max_attempts = 0};
[[gnu::init_priority(200)]] const cache_policy no_cache_policy{.given = false};

} // namespace troupe
