#include "persistence/encoded_request.hpp"

#include "persistence/saver_rules.hpp"

namespace troupe {

namespace {

constexpr std::size_t kept_bytes_max = 1 << 20; // of memory between requests

error refused(std::string_view what, std::string_view name, std::string_view why) {
  std::string text{"store "};
  text.append(what).append("`").append(name).append("`: ").append(why);
  return {errc::invalid_value, std::move(text)};
}

} // namespace

result<void> encoded_request::encode(const save_request& request) {
  if (bytes_.capacity() > kept_bytes_max)
    bytes_ = {};
  bytes_.clear();
  ends_.clear();
  next_ = 0;
  for (const auto& task : request.writes)
    for (const auto& [channel, val] : task.writes)
      if (auto ok = append(val, "a write to ", channel); !ok)
        return ok;
  if (!request.put)
    return {};
  const auto& cp = request.put->checkpoint;
  for (const auto& channel : request.put->new_versions)
    if (auto* val = find_named(cp.channel_values, channel))
      if (auto ok = append(*val, "channel ", channel); !ok)
        return ok;
  return append(request.put->metadata, "the metadata of ", cp.id);
}

result<void> encoded_request::append(const value& v, std::string_view what, std::string_view name) {
  auto begin = bytes_.size();
  if (auto encoded = encode_msgpack(v, bytes_); !encoded)
    return refused(what, name, encoded.error().message());
  auto size = bytes_.size() - begin;
  if (size > limits::value_size_bytes_max)
    return refused(what, name,
                   "too large: " + std::to_string(size) + " bytes, at most "
                     + std::to_string(limits::value_size_bytes_max));
  ends_.push_back(bytes_.size());
  return {};
}

std::string_view encoded_request::take() {
  auto begin = next_ == 0 ? 0 : ends_[next_ - 1];
  return std::string_view{bytes_}.substr(begin, ends_[next_++] - begin);
}

} // namespace troupe
