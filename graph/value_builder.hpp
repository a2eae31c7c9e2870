// Builds nested values from what a parser finds, in the order it finds it.
#pragma once

#include "graph/value_node.hpp"

#include <troupe/limits.hpp>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::detail {

/// One stack holds the finished parts of all open lists and maps, so that nothing is reserved for
/// a count that is only declared, and a list is allocated once, at its size.
class value_builder {
public:
  void add(value v) { done_.push_back(std::move(v)); }
  /// Begins a list, map or extension.
  void open() { starts_.push_back(done_.size()); }
  /// Lists, maps and extensions now open.
  std::size_t depth() const noexcept { return starts_.size(); }
  const value& last() const noexcept { return done_.back(); }

  void close_list() {
    auto start = starts_.back();
    close(start, value_access::list(parts(start)));
  }
  /// The parts are key, value, key, value … and the keys strings. Whether a key was there twice;
  /// the last one counts.
  bool close_map() {
    auto start = starts_.back();
    bool duplicates = false;
    close(start, value_access::map(parts(start), duplicates));
    return duplicates;
  }
  /// Why the one part there is can't be the payload of an extension `kind`; empty when it can.
  std::string_view close_extension(value_kind kind) {
    auto problem = payload_problem(kind, last());
    if (problem.empty())
      close(starts_.back(), value::extension(kind, std::move(done_.back())));
    return problem;
  }
  /// Another value instead of the last finished one.
  void replace_last(value v) noexcept { done_.back() = std::move(v); }

  /// What was built, once nothing is open and one value is done.
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
