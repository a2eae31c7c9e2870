// value_builder: builds nested values from a parser's events, in their order.
#pragma once

#include "graph/value_node.hpp"

#include <troupe/limits.hpp>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::detail {

/// One stack holds the finished parts of all open lists and maps. So no memory is reserved for a
/// declared count, and a list is allocated once, at its size.
class value_builder {
public:
  void add(value v) { done_.push_back(std::move(v)); }
  /// Begins a list or map.
  void open() { starts_.push_back(done_.size()); }
  /// The number of lists and maps that are open.
  std::size_t depth() const noexcept { return starts_.size(); }
  const value& last() const noexcept { return done_.back(); }

  void close_list() {
    auto start = starts_.back();
    close(start, value_access::list(parts(start)));
  }
  /// The parts are key, value, key, value …, and the keys are strings. Result: whether a key stood
  /// twice; the last one counts.
  bool close_map() {
    auto start = starts_.back();
    bool duplicates = false;
    close(start, value_access::map(parts(start), duplicates));
    return duplicates;
  }
  /// Replaces the last finished value.
  void replace_last(value v) noexcept { done_.back() = std::move(v); }

  /// The finished value. Requires that nothing is open and one value is done.
  value take() { return std::move(done_.back()); }

private:
  std::span<value> parts(std::size_t start) noexcept { return std::span{done_}.subspan(start); }
  void close(std::size_t start, value made) {
    done_.resize(start);
    starts_.pop_back();
    add(std::move(made));
  }

  std::vector<value> done_;
  std::vector<std::size_t> starts_;
};

} // namespace troupe::detail
