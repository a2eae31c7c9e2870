// index_list: places of channels or nodes in a plan. Plans are kept in large numbers, and most of
// their lists have one element or two.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

namespace troupe {

/// A list in 16 bytes. Up to two elements need no memory besides.
/// Invariant: a longer list has place for bit_ceil(size) elements.
class index_list {
public:
  index_list() noexcept = default;
  index_list(std::initializer_list<std::uint32_t> list) : index_list{std::span{list}} {}
  explicit index_list(std::span<const std::uint32_t> list) {
    for (auto index : list)
      push_back(index);
  }
  index_list(const index_list& other) : index_list{std::span{other}} {}
  index_list(index_list&& other) noexcept
    : size_{std::exchange(other.size_, 0)},
      place_{other.place_} {}
  index_list& operator=(index_list other) noexcept {
    std::swap(size_, other.size_);
    std::swap(place_, other.place_);
    return *this;
  }
  ~index_list() {
    if (size_ > inside_max)
      delete[] place_.outside;
  }

  void push_back(std::uint32_t index) {
    if (size_ >= inside_max && std::has_single_bit(size_))
      grow();
    data(size_ + 1)[size_] = index;
    ++size_;
  }

  std::uint32_t* data() noexcept { return data(size_); }
  const std::uint32_t* data() const noexcept {
    return size_ > inside_max ? place_.outside : place_.inside;
  }
  std::uint32_t* begin() noexcept { return data(); }
  std::uint32_t* end() noexcept { return data() + size_; }
  const std::uint32_t* begin() const noexcept { return data(); }
  const std::uint32_t* end() const noexcept { return data() + size_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::uint32_t operator[](std::size_t i) const noexcept { return data()[i]; }

  friend bool operator==(const index_list& a, const index_list& b) noexcept {
    return a == std::span<const std::uint32_t>{b};
  }
  friend bool operator==(const index_list& a, std::span<const std::uint32_t> b) noexcept {
    return std::ranges::equal(a, b);
  }

private:
  static constexpr std::uint32_t inside_max = 2;

  std::uint32_t* data(std::uint32_t size) noexcept {
    return size > inside_max ? place_.outside : place_.inside;
  }
  void grow() { // the number of elements is a power of two, which fills the place
    auto* wider = new std::uint32_t[2 * std::size_t{size_}];
    std::copy_n(data(), size_, wider);
    if (size_ > inside_max)
      delete[] place_.outside;
    place_.outside = wider;
  }

  std::uint32_t size_ = 0;
  union {
    std::uint32_t inside[inside_max] = {};
    std::uint32_t* outside;
  } place_;
};

static_assert(sizeof(index_list) == 16);

} // namespace troupe
