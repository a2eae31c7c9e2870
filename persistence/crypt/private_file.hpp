// Files that are opened by name and not trusted for it: descriptors, and texts with a secret in
// them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace troupe {

/// A descriptor, closed at the end unless somebody took it.
class owned_descriptor {
public:
  explicit owned_descriptor(int fd) noexcept : fd_{fd} {}
  owned_descriptor(owned_descriptor&& other) noexcept : fd_{other.take()} {}
  owned_descriptor& operator=(owned_descriptor&&) = delete;
  ~owned_descriptor();
  int fd() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int take() noexcept;

private:
  int fd_;
};

/// The text of a file, wiped at the end.
class wiped_text {
public:
  wiped_text() = default;
  wiped_text(wiped_text&& other) noexcept : bytes_{std::move(other.bytes_)} {}
  wiped_text& operator=(wiped_text&&) = delete;
  ~wiped_text();

  /// Reads a regular file of at most `bytes_max`. One with a secret in it is `is_private`: others
  /// than its owner, who is this user or root, must not be able to read it.
  /// Gives what is wrong with it; empty when nothing is.
  std::string read(const std::filesystem::path& file, std::size_t bytes_max, bool is_private);
  std::string_view view() const noexcept { return bytes_; }

private:
  std::string bytes_;
};

} // namespace troupe
