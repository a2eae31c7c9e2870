// private_file: files that are opened by name but not trusted because of it. Descriptors, and texts
// that hold a secret.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace troupe {

/// A descriptor, closed at the end of its lifetime unless it was released.
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

/// The text of a file, wiped at the end of its lifetime.
class wiped_text {
public:
  wiped_text() = default;
  wiped_text(wiped_text&& other) noexcept : bytes_{std::move(other.bytes_)} {}
  wiped_text& operator=(wiped_text&&) = delete;
  ~wiped_text();

  /// Reads a regular file of at most `bytes_max`. With `is_private`, the file holds a secret: only
  /// its owner, who is this user or root, may be able to read it.
  /// Result: the problem with the file; empty on success.
  std::string read(const std::filesystem::path& file, std::size_t bytes_max, bool is_private);
  std::string_view view() const noexcept { return bytes_; }

private:
  std::string bytes_;
};

} // namespace troupe
