// The error codes, grouped by who must act, and result<T>, the value of a function that can fail.
#pragma once

#if __cplusplus < 202002L
#error "troupe needs C++20: compile with -std=c++20 or newer"
#elif !defined(__cpp_exceptions)
#error "troupe needs exceptions: compile without -fno-exceptions"
#endif

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace troupe {

class value;

/// Every failure troupe reports, grouped by who must act. Values are wire and storage format:
/// append only. A new code also goes into to_string, reference_name and the table of
/// ARCHITECTURE.md.
/// Errors: none.
/// Source: troupe; reference_name gives the reference's class names.
enum class errc : std::uint8_t {
  ok = 0,

  // the author of the graph, or the caller
  invalid_graph = 1,   ///< the graph can't be built: the message names the node, edge or channel
  invalid_update = 2,  ///< a write that a channel or a node mapping refuses
  empty_input = 3,     ///< nothing to run: no input on a fresh thread, or an empty command
  graph_recursion = 4, ///< recursion_limit super-steps did not reach the end
  invalid_config = 5,  ///< a contradictory or impossible run option, e.g. recursion_limit 0
  invalid_value = 6,   ///< a value that is not JSON / msgpack, too deep, too large, of another kind
  missing_key = 7,     ///< a missing entry: a label of a path map, a thread_id
  unknown_interrupt = 8, ///< a resume that names no waiting question
  ambiguous_resume = 9,  ///< one plain answer for several waiting questions

  // the node, its body or its host
  node_failed = 10,    ///< the body threw; `error::type()` is the class of the exception
  node_timeout = 11,   ///< the task or the step ran out of time
  node_lost = 12,      ///< the actor that ran the task died
  parent_command = 13, ///< a command for an enclosing graph that does not exist
  graph_drained = 14,  ///< the run stopped at a step's end because a drain was requested
  cancelled = 15,      ///< the run was given up by its owner
  invalid_resume = 16, ///< an answer of the wrong kind; its question still waits

  // the operator
  checkpoint_missing = 20, ///< no such checkpoint
  checkpoint_corrupt = 21, ///< a stored record that does not match its checksum or format
  storage_full = 22,       ///< no space left, or the map size is used up
  storage_failed = 23,     ///< any other failure of the store
  storage_locked = 24,     ///< another process holds the data directory exclusively
  format_too_new = 25,     ///< written by a newer troupe
  no_saver = 26,           ///< the call needs a saver and the runtime has none
  unknown_graph = 27,      ///< no graph of that name, or a library that exports none
  abi_mismatch = 28,       ///< a graph library built for another ABI version
  conflict = 29, ///< another run took the thread over; this run's later output is not stored

  // try again later
  worker_lost = 30,
  overloaded = 31, ///< a queue or limit is full
  protocol_mismatch = 32,
  runtime_stopped = 33, ///< the runtime is shutting down

  // the operator, too
  key_missing = 34, ///< encrypted with a key that the key ring lacks, or has otherwise
};

/// The code's name as in this file, e.g. "invalid_update"; "unknown" for a value not listed.
/// Errors: none.
/// Source: troupe.
std::string_view to_string(errc code) noexcept;

/// A failure: a code, a message for people and, for node_failed, the class of the exception. The
/// message reads "what was being done: what happened: which name". Where the reference's text is
/// part of the contract, the message is that text verbatim.
/// Errors: none.
/// Source: langgraph/errors.py.
class error : public std::exception {
public:
  error(errc code, std::string message, std::string type = {}, std::string text = {})
    : code_{code},
      message_{std::move(message)},
      type_{std::move(type)},
      text_{std::move(text)} {}

  errc code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

  /// For node_failed, the class name of the exception ("std::out_of_range", or the name of a
  /// node_error). For other codes, the reference's class where the code is less precise; else
  /// empty.
  const std::string& type() const noexcept { return type_; }

  /// The message without its place. For node_failed, the exception's own text; for an error that a
  /// node's body threw, that error's message.
  const std::string& text() const noexcept { return text_.empty() ? message_ : text_; }

  /// For node_failed, the reference's class that the exception counts as by inheritance
  /// (reference_base), e.g. "RuntimeError"; else empty. Retry policies read it.
  const std::string& base() const noexcept { return base_; }
  error&& with_base(std::string_view base) && {
    base_ = base;
    return std::move(*this);
  }

  /// Facts about the failure for programs; null without facts. The error keeps them when a nested
  /// graph or another process passes it on.
  /// Shape:  a map, or null. A failed model: see model_facts. A time-out of a node: {node, kind,
  ///         timeout, elapsed}, where `kind` is "run" or "idle".
  /// Units:  times in seconds.
  /// Errors: none.
  /// Source: troupe; langgraph/errors.py, NodeTimeoutError.
  const value& details() const noexcept;
  error&& with_details(value facts) &&;

  friend bool operator==(const error& a, const error& b) {
    return a.code_ == b.code_ && a.message_ == b.message_ && a.type_ == b.type_;
  }

private:
  errc code_;
  std::string message_;
  std::string type_;
  std::string text_;
  std::string base_;
  std::shared_ptr<const value> details_;
};

/// The class that the reference raises for this failure, e.g. "InvalidUpdateError", "ValueError":
/// `err.type()` unless that is empty.
/// Errors: none.
/// Source: langgraph/errors.py.
std::string reference_name(const error& err);

/// The reference's class that an exception counts as because of its standard base class; empty for
/// any other exception.
/// Shape:
///         - OSError: std::system_error, std::filesystem::filesystem_error, std::ios_base::failure;
///           ConnectionError instead when the code is a refused, reset, aborted or broken
///           connection
///         - ArithmeticError: std::range_error, overflow_error, underflow_error
///         - RuntimeError: any other std::runtime_error
///         - IndexError: std::out_of_range
///         - ValueError: any other std::logic_error; std::bad_optional_access, bad_variant_access
///         - TypeError: std::bad_cast, bad_typeid
/// Errors: none.
/// Source: troupe.
std::string_view reference_base(const std::exception& thrown) noexcept;

/// An exception that fails a node with a class name of the body's choice. Any other exception fails
/// the node too, under the name of its C++ type.
/// Errors: none.
/// Source: troupe.
class node_error : public std::exception {
public:
  node_error(std::string type, std::string message)
    : type_{std::move(type)},
      message_{std::move(message)} {}
  const std::string& type() const noexcept { return type_; }
  const char* what() const noexcept override { return message_.c_str(); }

private:
  std::string type_;
  std::string message_;
};

/// A value, or the error that prevented it. Calls on apps, runners, streams, savers, stores,
/// caches, data directories and clusters have a form that returns a result. Beside a form that
/// throws, its name begins with `try_`. These have no such form, and throw troupe::error:
/// - constructors, and the functions that make graphs, channels, models, tools and agents
///   (runtime::open and try_compile return a result)
/// - conversions of values and messages
/// - members and coroutines for bodies, in which an error ends the task
/// Errors: only value() throws.
/// Source: troupe.
template <class T> class [[nodiscard]] result {
public:
  result(T value) : value_(std::move(value)), has_value_{true} {}
  result(troupe::error err) : error_(std::move(err)), has_value_{false} {}
  result(const result& other) requires std::is_copy_constructible_v<T>
    : has_value_{other.has_value_} {
    take(other);
  }
  result(result&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
    : has_value_{other.has_value_} {
    take(std::move(other));
  }
  result& operator=(const result& other) requires std::is_copy_constructible_v<T> {
    return *this = result{other};
  }
  result& operator=(result&& other) noexcept {
    static_assert(std::is_nothrow_move_constructible_v<T>, "assigning must not lose both");
    if (this != &other) {
      destroy();
      has_value_ = other.has_value_;
      take(std::move(other));
    }
    return *this;
  }
  ~result() { destroy(); }

  bool has_value() const noexcept { return has_value_; }
  explicit operator bool() const noexcept { return has_value_; }

  /// The value; throws the error when the value is missing.
  T& value() & {
    check();
    return value_;
  }
  const T& value() const& {
    check();
    return value_;
  }
  T value() && {
    check();
    return std::move(value_);
  }

  /// The value, which must be there.
  T& operator*() & noexcept { return value_; }
  const T& operator*() const& noexcept { return value_; }
  T operator*() && noexcept { return std::move(value_); }
  T* operator->() noexcept { return std::addressof(value_); }
  const T* operator->() const noexcept { return std::addressof(value_); }

  /// The error, which must be there.
  const troupe::error& error() const noexcept { return error_; }

private:
  void check() const {
    if (!has_value_)
      throw error_;
  }
  template <class Other> void take(Other&& other) { // a std::variant takes twice as long to compile
    if (has_value_)
      ::new (static_cast<void*>(std::addressof(value_))) T(std::forward<Other>(other).value_);
    else
      ::new (static_cast<void*>(std::addressof(error_)))
        troupe::error(std::forward<Other>(other).error_);
  }
  void destroy() noexcept {
    if (has_value_)
      value_.~T();
    else
      error_.~error_type();
  }
  using error_type = troupe::error;
  union {
    T value_;
    error_type error_;
  };
  bool has_value_;
};

namespace detail {
struct nothing {}; // the value of a result<void>
} // namespace detail

template <> class [[nodiscard]] result<void> {
public:
  result() noexcept : rep_{detail::nothing{}} {}
  result(troupe::error err) : rep_{std::move(err)} {}

  bool has_value() const noexcept { return rep_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const { (void)rep_.value(); }
  const troupe::error& error() const noexcept { return rep_.error(); }

private:
  result<detail::nothing> rep_; // a std::optional takes longer to compile
};

} // namespace troupe
