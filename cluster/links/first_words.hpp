// Whether a connection that was accepted has said something that only a process of the cluster
// says. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace troupe::cluster {

/// Follows what comes on a connection: the handshake of BASP (caf/io/basp/header.hpp), and as much
/// after it as a message has at least. Nothing is kept but half a header.
class first_words {
public:
  enum class state : std::uint8_t { waiting, spoken, wrong };

  /// More has come. Result: as state().
  state take(std::span<const char> bytes);
  state now() const noexcept { return state_; }
  /// What is wrong with it.
  const std::string& flaw() const noexcept { return flaw_; }

  static constexpr std::size_t header_bytes = 32;

private:
  void take_header();

  state state_ = state::waiting;
  bool greeted_ = false; // the handshake of BASP came
  std::size_t have_ = 0; // of the header
  std::size_t skip_ = 0; // of what follows a header
  std::array<std::uint8_t, header_bytes> header_{};
  std::string flaw_;
};

} // namespace troupe::cluster
