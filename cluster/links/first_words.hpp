// first_words: whether an accepted connection has sent something that only a process of the cluster
// sends. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace troupe::cluster {

/// Follows the bytes of a connection: the handshake of BASP (caf/io/basp/header.hpp), and the
/// header of one message after it. Keeps at most a part of a header.
class first_words {
public:
  enum class state : std::uint8_t { waiting, spoken, wrong };

  /// Takes more bytes. Returns the new state().
  state take(std::span<const char> bytes);
  state now() const noexcept { return state_; }
  /// The fault of a wrong connection.
  const std::string& flaw() const noexcept { return flaw_; }

  static constexpr std::size_t header_bytes = 32;

private:
  void take_header();

  state state_ = state::waiting;
  bool greeted_ = false; // the handshake of BASP arrived
  std::size_t have_ = 0; // bytes of the header
  std::size_t skip_ = 0; // bytes after a header, still to come
  std::array<std::uint8_t, header_bytes> header_{};
  std::string flaw_;
};

} // namespace troupe::cluster
