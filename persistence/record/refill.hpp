// refill: fills a list anew in its own place. Entries that are there give their memory to the new
// ones, and a name that is the same again is not copied.
#pragma once

#include "graph/same_text.hpp"

#include <troupe/saver.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

inline void set_name(std::string& there, std::string_view name) {
  if (!same_text(there, name))
    there = name;
}

/// When it ends, the list has the entries that were asked for, and no others.
template <class Entry> class refill {
public:
  refill(std::vector<Entry>& list, std::size_t at_most) : list_{list} { list_.reserve(at_most); }
  refill(const refill&) = delete;
  refill& operator=(const refill&) = delete;
  ~refill() { list_.resize(used_); }

  /// The next entry, with old contents.
  Entry& next() {
    if (used_ == list_.size())
      list_.emplace_back();
    return list_[used_++];
  }
  std::size_t size() const noexcept { return used_; }

private:
  std::vector<Entry>& list_;
  std::size_t used_ = 0;
};

template <class T> class refill_named {
public:
  refill_named(named<T>& list, std::size_t at_most) : entries_{list, at_most} {}
  T& add(std::string_view name) {
    auto& [there, of_name] = entries_.next();
    set_name(there, name);
    return of_name;
  }

private:
  refill<std::pair<std::string, T>> entries_;
};

} // namespace troupe
