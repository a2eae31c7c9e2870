// memory_thread: a thread, as the saver in memory keeps it. Most threads have the root namespace
// alone, so it needs no entry of a map.
#pragma once

#include "persistence/memory_chain.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

/// Thread: one at a time.
class memory_thread {
public:
  std::uint64_t owner = 0;

  /// Null when the namespace has no records. Valid until the namespace is emptied.
  const memory_chain* find(std::string_view ns) const noexcept {
    if (ns.empty())
      return root_.empty() ? nullptr : &root_;
    auto at = nested_.find(ns);
    return at == nested_.end() ? nullptr : &at->second;
  }
  memory_chain* find(std::string_view ns) noexcept {
    return const_cast<memory_chain*>(std::as_const(*this).find(ns));
  }
  /// The namespace, which the caller is about to give a record.
  memory_chain& at(const std::string& ns) { return ns.empty() ? root_ : nested_[ns]; }

  /// Calls `take` with the name and the chain of each namespace that has records, by name.
  template <class F> void each(const F& take) const {
    if (!root_.empty())
      take(std::string{}, root_);
    for (const auto& [name, chain] : nested_)
      take(name, chain);
  }
  template <class F> void each(const F& take) {
    if (!root_.empty())
      take(std::string{}, root_);
    for (auto& [name, chain] : nested_)
      take(name, chain);
  }
  bool empty() const noexcept { return root_.empty() && nested_.empty(); }

  /// Removes nested namespaces that this is true of.
  template <class F> void erase_nested(const F& is_gone) {
    std::erase_if(nested_, [&](const auto& e) { return is_gone(e.first, e.second); });
  }
  /// Removes the namespaces that were left without records.
  void erase_empty() {
    erase_nested([](const std::string&, const memory_chain& chain) { return chain.empty(); });
  }

private:
  memory_chain root_;
  std::map<std::string, memory_chain, std::less<>> nested_;
};

} // namespace troupe
