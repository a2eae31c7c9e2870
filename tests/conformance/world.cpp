#include "tests/conformance/world.hpp"

namespace troupe::conformance {

std::int64_t world::count(const std::string& name) {
  std::lock_guard guard{mutex_};
  return ++counts_[name];
}

void world::note_handler(const std::string& ns) {
  std::lock_guard guard{mutex_};
  handlers_.push_back(ns);
}

std::vector<std::string> world::handlers() const {
  std::lock_guard guard{mutex_};
  return handlers_;
}

void world::refuse(std::string_view what) {
  std::lock_guard guard{mutex_};
  if (!refused_)
    refused_.emplace("unsupported: " + std::string{what});
  throw unsupported{*refused_};
}

void world::check() const {
  std::lock_guard guard{mutex_};
  if (refused_)
    throw unsupported{*refused_};
}

} // namespace troupe::conformance
