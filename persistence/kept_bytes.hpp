// kept_bytes: a record in memory. A text of its size in one piece, with a handle of one word.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace troupe {

/// Units: below 4 GiB. Owns: a copy of the bytes.
class kept_bytes {
public:
  kept_bytes() = default;
  explicit kept_bytes(std::string_view bytes)
    : at_{std::make_unique_for_overwrite<char[]>(head + bytes.size())} {
    auto size = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(at_.get(), &size, head);
    bytes.copy(at_.get() + head, bytes.size());
  }
  kept_bytes(const kept_bytes& other) : kept_bytes{other.view()} {}
  kept_bytes(kept_bytes&&) noexcept = default;
  kept_bytes& operator=(const kept_bytes& other) { return *this = kept_bytes{other}; }
  kept_bytes& operator=(kept_bytes&&) noexcept = default;
  ~kept_bytes() = default;

  std::string_view view() const noexcept {
    if (!at_)
      return {};
    std::uint32_t size = 0;
    std::memcpy(&size, at_.get(), head);
    return {at_.get() + head, size};
  }

private:
  static constexpr std::size_t head = sizeof(std::uint32_t);
  std::unique_ptr<char[]> at_;
};

} // namespace troupe
