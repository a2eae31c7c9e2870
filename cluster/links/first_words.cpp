// first_words: reads headers of BASP far enough to recognise a peer.
#include "cluster/links/first_words.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <utility>

namespace troupe::cluster {

namespace {

// caf/io/basp/message_type.hpp
constexpr std::uint8_t basp_handshake = 1; // sent by the side that dialled

} // namespace

first_words::state first_words::take(std::span<const char> bytes) {
  while (!bytes.empty() && state_ == state::waiting) {
    auto skipped = std::min(skip_, bytes.size());
    skip_ -= skipped;
    bytes = bytes.subspan(skipped);
    auto more = std::min(header_bytes - have_, bytes.size());
    std::copy_n(bytes.begin(), more, header_.begin() + static_cast<std::ptrdiff_t>(have_));
    have_ += more;
    bytes = bytes.subspan(more);
    if (have_ == header_bytes)
      take_header();
  }
  return state_;
}

void first_words::take_header() {
  have_ = 0;
  if (std::exchange(greeted_, true)) {
    state_ = state::spoken;
    return;
  }
  std::size_t size = 0; // of the bytes after the header, in network byte order
  for (auto at : {4U, 5U, 6U, 7U})
    size = size << 8U | header_[at];
  if (header_[0] != basp_handshake)
    flaw_ = "the peer sent something that is not a message of troupe";
  else if (size > limits::cluster_basp_bytes_max)
    flaw_ = "the peer sent a message of " + std::to_string(size)
            + " bytes, more than cluster_basp_bytes_max ("
            + std::to_string(limits::cluster_basp_bytes_max) + ")";
  if (!flaw_.empty())
    state_ = state::wrong;
  skip_ = size;
}

} // namespace troupe::cluster
