// settling_files: the last change of each file.
#include "server/reload/settling_files.hpp"

#include <algorithm>

namespace troupe::server {

void settling_files::change(const std::filesystem::path& file, bool is_whole,
                            clock::time_point now) {
  changes_.insert_or_assign(file, last_change{is_whole, now});
}

std::vector<std::filesystem::path> settling_files::settle(clock::time_point now) {
  std::vector<std::filesystem::path> out;
  std::erase_if(changes_, [&](const auto& entry) {
    const auto& [file, last] = entry;
    const bool is_at_rest = last.is_whole && now - last.at >= quiet_;
    if (is_at_rest)
      out.push_back(file);
    return is_at_rest;
  });
  return out;
}

std::optional<std::chrono::milliseconds> settling_files::wait(clock::time_point now) const {
  std::optional<std::chrono::milliseconds> out;
  for (const auto& [file, last] : changes_) {
    if (!last.is_whole)
      continue;
    auto left = std::max(std::chrono::ceil<std::chrono::milliseconds>(last.at + quiet_ - now),
                         std::chrono::milliseconds{0});
    out = out ? std::min(*out, left) : left;
  }
  return out;
}

} // namespace troupe::server
