// What can go wrong, by who must act, and how a function says so.
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
/// Source: troupe; the reference's class names are given by reference_name.
enum class errc : std::uint8_t {
  ok = 0,

  // the author of the graph, or the caller
  invalid_graph = 1,   ///< the graph can't be built: the message names the node, edge or channel
  invalid_update = 2,  ///< a write a channel or node mapping refuses
  empty_input = 3,     ///< nothing to run: no input on a fresh thread, or an empty command
  graph_recursion = 4, ///< recursion_limit super-steps did not reach the end
  invalid_config = 5,  ///< a run option that makes no sense, e.g. recursion_limit 0
  invalid_value = 6,   ///< a value that is no JSON / msgpack, too deep, too large, of another kind
  missing_key = 7,     ///< a look-up of something that is not there (path map, thread_id)
  unknown_interrupt = 8, ///< a resume that names no waiting question
  ambiguous_resume = 9,  ///< one plain answer for several waiting questions

  // the node, its body or its host
  node_failed = 10,    ///< the body threw; `error::type()` is the class of what it threw
  node_timeout = 11,   ///< the task or the step ran out of time
  node_lost = 12,      ///< the actor that ran the task died
  parent_command = 13, ///< a command for the parent graph that nobody above took
  graph_drained = 14,  ///< the run stopped at a step's end because it was asked to
  cancelled = 15,      ///< the run was given up by its owner
  invalid_resume = 16, ///< an answer that is not of the kind the question asks for; it still waits

  // the operator
  checkpoint_missing = 20, ///< no such checkpoint
  checkpoint_corrupt = 21, ///< a stored record that does not match its checksum or format
  storage_full = 22,       ///< no space left, or the map size is used up
  storage_failed = 23,     ///< any other failure of the store
  storage_locked = 24,     ///< another process holds the data directory in a way that excludes us
  format_too_new = 25,     ///< written by a newer troupe
  no_saver = 26,           ///< the call needs a saver and the runtime has none
  unknown_graph = 27,      ///< no graph of that name, or a library that exports none
  abi_mismatch = 28,       ///< a graph library built for another ABI version
  conflict = 29, ///< another run has taken the thread over; what this one did since is not stored

  // try again later
  worker_lost = 30,
  overloaded = 31, ///< a queue or limit is full
  protocol_mismatch = 32,
  runtime_stopped = 33, ///< the runtime is shutting down

  // the operator, too
  key_missing = 34, ///< stored encrypted, with a key that is not in the key ring, or another one
};

/// The code's name as in this file, e.g. "invalid_update"; "unknown" for a value not listed.
std::string_view to_string(errc code) noexcept;

/// A failure: a code, a message for people and, for node_failed, the class of what was thrown.
/// The message reads "what was being done: what happened: which name", or is the reference's text
/// verbatim where that text is part of the contract.
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

  /// Of node_failed the class name of what the node threw ("std::out_of_range", or the name a
  /// node_error carries); of other codes the reference's class where the code says too little;
  /// else empty.
  const std::string& type() const noexcept { return type_; }

  /// The message without the place where it happened: of node_failed what the thrown exception
  /// says by itself, of an error that a node's body threw that error's message.
  const std::string& text() const noexcept { return text_.empty() ? message_ : text_; }

  /// Of node_failed the reference's class that the thrown exception counts as by inheritance
  /// (reference_base), e.g. "RuntimeError"; else empty. Retry policies look at it.
  const std::string& base() const noexcept { return base_; }
  error&& with_base(std::string_view base) && {
    base_ = base;
    return std::move(*this);
  }

  /// Facts about the failure that a program can read; null when there are none. The error keeps
  /// them when a nested graph or another process passes it on.
  /// Shape:  a map, or null. The facts of a model's failure: troupe/chat_models.hpp, model_facts.
  /// Errors: none.
  /// Source: troupe.
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

/// The class the reference raises for this failure, e.g. "InvalidUpdateError", "ValueError":
/// `err.type()` when there is one.
/// Source: langgraph/errors.py.
std::string reference_name(const error& err);

/// The reference's class that an exception counts as because of the standard class it is derived
/// from; empty for any other exception.
/// Shape:  std::system_error, std::filesystem::filesystem_error, std::ios_base::failure: OSError,
///         and ConnectionError when the code is a refused, reset, aborted or broken connection;
///         std::range_error, overflow_error, underflow_error: ArithmeticError; any other
///         std::runtime_error: RuntimeError; std::out_of_range: IndexError; any other
///         std::logic_error: ValueError; std::bad_cast, bad_typeid: TypeError;
///         std::bad_optional_access, bad_variant_access: ValueError.
/// Errors: none.
/// Source: troupe.
std::string_view reference_base(const std::exception& thrown) noexcept;

/// What a node body throws to fail with a class name of its own choosing. Any other exception
/// fails the node too, under the name of its C++ type.
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

/// A value or the error that kept it from being made. Every public function that can fail has a
/// form that returns one.
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

  /// The value; throws the error when there is none.
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

template <> class [[nodiscard]] result<void> {
public:
  result() = default;
  result(troupe::error err) : error_{std::move(err)} {}

  bool has_value() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const {
    if (error_)
      throw *error_;
  }
  const troupe::error& error() const noexcept { return *error_; }

private:
  std::optional<troupe::error> error_;
};

} // namespace troupe
