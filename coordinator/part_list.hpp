// part_list: parts in their order. They come at the end and go from the front, in one piece of
// memory that is used again.
#pragma once

#include <troupe/runtime.hpp>

#include <boost/circular_buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace troupe {

/// An empty list has no memory of its own until the first part comes.
class part_list {
public:
  using value_type = stream_part;

  part_list() = default;
  /// Copies, or moves from move iterators.
  template <class It> part_list(It first, It last) : parts_(first, last) {}

  void push_back(const stream_part& part) {
    make_room();
    parts_.push_back(part);
  }
  void push_back(stream_part&& part) {
    make_room();
    parts_.push_back(std::move(part));
  }
  void pop_front() { parts_.pop_front(); }
  /// The parts are let go, and their memory is kept.
  void clear() { parts_.clear(); }
  void swap(part_list& other) noexcept { parts_.swap(other.parts_); }

  bool empty() const noexcept { return parts_.empty(); }
  std::size_t size() const noexcept { return parts_.size(); }
  stream_part& front() { return parts_.front(); }
  const stream_part& front() const { return parts_.front(); }
  const stream_part& operator[](std::size_t at) const { return parts_[at]; }
  auto begin() { return parts_.begin(); }
  auto end() { return parts_.end(); }
  auto begin() const { return parts_.begin(); }
  auto end() const { return parts_.end(); }

private:
  void make_room() {
    if (parts_.full())
      parts_.set_capacity(std::max<std::size_t>(2 * parts_.capacity(), 16));
  }

  static_assert(std::is_nothrow_move_constructible_v<stream_part>);
  boost::circular_buffer<stream_part> parts_;
};

} // namespace troupe
