// The policies of a node: the default retry rule, and the policies that ask for nothing.
#include <troupe/policy.hpp>

#include <algorithm>
#include <array>
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

} // namespace

bool default_retry_on(const error& err) {
  if (!of_task(err.code()))
    return false;
  auto name = err.base().empty() ? reference_name(err) : err.base();
  return std::find(final_classes.begin(), final_classes.end(), name) == final_classes.end();
}

retry_filter::retry_filter(std::vector<std::string> classes)
  : fits_{[classes = std::move(classes)](const error& err) {
      auto has = [&classes](const std::string& name) {
        return !name.empty() && std::find(classes.begin(), classes.end(), name) != classes.end();
      };
      return has(reference_name(err)) || has(err.base());
    }} {}
retry_filter::retry_filter(std::initializer_list<const char*> classes)
  : retry_filter{std::vector<std::string>(classes.begin(), classes.end())} {}

bool retry_filter::operator()(const error& err) const {
  return fits_ ? fits_(err) : default_retry_on(err);
}

// Made before the other globals of a program, since a graph may be one of them.
[[gnu::init_priority(200)]] const retry_policy no_retry_policy{.max_attempts = 0};
[[gnu::init_priority(200)]] const cache_policy no_cache_policy{.given = false};

} // namespace troupe
