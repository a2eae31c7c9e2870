// Key providers: keys for encryption at rest that are kept in the process, or by another program or
// service. A key ring (keyring.hpp) is one; a program that is called for each key is another.
#pragma once

#include <troupe/error.hpp>
#include <troupe/limits.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// 256 bits that are wiped on destruction and can't be copied.
/// Errors: none.
/// Source: troupe.
class secret_key {
public:
  static constexpr std::size_t size = 32; // bytes

  secret_key() noexcept : bytes_{} {}
  /// Takes the bytes over: `other` is wiped.
  secret_key(secret_key&& other) noexcept;
  secret_key& operator=(secret_key&& other) noexcept;
  ~secret_key();

  const std::uint8_t* data() const noexcept { return bytes_.data(); }
  std::uint8_t* data() noexcept { return bytes_.data(); }
  friend bool operator==(const secret_key& a, const secret_key& b) noexcept; // in constant time

private:
  std::array<std::uint8_t, size> bytes_;
};

/// A data key in the form in which it is stored.
/// Shape:  `id` names the key that wrapped it: 1 … limits::store_key_id_bytes_max printable bytes
///         of ASCII without spaces. `bytes`: at most limits::wrapped_key_bytes_max, for the
///         provider alone to read.
/// Errors: none.
/// Source: troupe.
struct wrapped_key {
  std::string id;
  std::string bytes;
  friend bool operator==(const wrapped_key&, const wrapped_key&) = default;
};

/// Wraps data keys under a key that it keeps, and unwraps them. Each encrypted thread has a random
/// data key; the long-term store and the cache have one each. They are stored wrapped, beside the
/// data. Savers, stores and caches remember what a provider other than a key ring has unwrapped, at
/// most limits::data_keys_remembered_max keys each. So they ask once for each data key.
/// Shape:  `context` names the place of the data key. A wrapped key must not be unwrapped with
///         another context.
/// Blocks: a call may block, for at most limits::key_provider_timeout. It is made with the
///         transaction open that stores the first record of a thread: other writers wait for it.
/// Thread: any, several at once.
/// Errors: of wrap and unwrap
///         - key_missing: the provider does not have the key, or refuses its use
///         - storage_failed: the provider can't be reached, or answers nonsense
///         No message, log or error contains a key.
/// Source: troupe; the reference's EncryptedSerializer has one cipher and no keys of its own.
class key_provider {
public:
  virtual ~key_provider() = default;

  /// The id of the key that wraps from now on. Rotation wraps all data keys with another id anew.
  /// Errors: as wrap.
  /// Source: troupe.
  virtual result<std::string> wrapping_id() const = 0;

  /// The data key, encrypted and authenticated together with the context.
  /// Errors: as the class.
  /// Source: troupe.
  virtual result<wrapped_key> wrap(const secret_key& data_key, std::string_view context) const = 0;

  /// The data key that wrap() was given with this context.
  /// Errors: as the class; key_missing also for bytes that wrap() did not make with this context.
  /// Source: troupe.
  virtual result<secret_key> unwrap(const wrapped_key& wrapped, std::string_view context) const = 0;

  /// Whether both give the same keys: a file that is open with one may be opened with the other.
  /// Errors: none.
  /// Source: troupe.
  virtual bool is_same(const key_provider& other) const noexcept { return this == &other; }
};

/// The options of make_command_key_provider.
/// Shape:  `program`: the program, looked up on PATH unless it has a `/`, and its arguments. No
///         shell reads them.
/// Units:  `timeout`: of one call, 1 ms … limits::key_provider_timeout.
/// Errors: see make_command_key_provider.
/// Source: troupe.
struct command_key_options {
  std::vector<std::string> program;
  std::chrono::milliseconds timeout = limits::key_provider_timeout;
};

/// A provider that starts a program for each call, such as a script over the command line of a key
/// management service. The program gets one more argument, the call, and its input as lines on
/// stdin; it answers with one line on stdout. All bytes are lower-case hex digits.
///
///     call      stdin                          stdout
///     current                                  ID
///     wrap      CONTEXT, DATA-KEY              ID WRAPPED
///     unwrap    CONTEXT, ID, WRAPPED           DATA-KEY
///
/// Shape:  exit code 0 after an answer, 3 when the key is missing. The program inherits the
///         environment and stderr, and must print no key there.
/// Blocks: the opening does not; a call until the program has ended. A program that runs longer
///         than the time-out is killed, with all processes of its group.
/// Errors: invalid_config: no program, or a time-out out of range. Calls give
///         - key_missing: exit code 3
///         - storage_failed: the program can't be started, ran out of time, ended with another
///           code, or gave no answer of this form
/// Source: troupe.
result<std::shared_ptr<const key_provider>> make_command_key_provider(command_key_options options);

} // namespace troupe
