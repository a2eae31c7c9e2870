// status: figures and texts of a status.
#include "cluster/wire/status.hpp"

#include <algorithm>
#include <bit>

namespace troupe::cluster {

namespace {

constexpr std::size_t readable_bytes_max = 300;

} // namespace

std::string count_of(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string{noun} + (count == 1 ? "" : "s");
}

std::string readable(std::string_view text) {
  std::string out{text.substr(0, readable_bytes_max)};
  std::replace_if(
    out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text.size() > readable_bytes_max ? out + "..." : out;
}

void latencies::note(nanoseconds took) noexcept {
  took = std::max(took, nanoseconds{0});
  auto bucket = std::bit_width(static_cast<std::uint64_t>(took.count()));
  ++buckets_[std::min<std::size_t>(bucket, buckets_.size() - 1)];
  ++count_;
  sum_ += took;
  most_ = std::max(most_, took);
}

nanoseconds latencies::mean() const noexcept {
  return count_ == 0 ? nanoseconds{0} : sum_ / static_cast<std::int64_t>(count_);
}

nanoseconds latencies::quantile(double part) const noexcept {
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen > 0 && static_cast<double>(seen) >= part * static_cast<double>(count_))
      return std::min(most_, nanoseconds{(std::int64_t{1} << std::min<std::size_t>(i, 62))});
  }
  return most_;
}

} // namespace troupe::cluster
