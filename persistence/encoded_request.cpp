// encoded_request: encodes the values of a request, as whole values or patches.
#include "persistence/encoded_request.hpp"

#include "persistence/record/metadata_record.hpp"

#include "persistence/record/saver_rules.hpp"
#include "persistence/record/value_patch.hpp"

namespace troupe {

namespace {

constexpr std::size_t kept_request_bytes_max = 1 << 20; // of memory between requests

error refused(std::string_view what, std::string_view name, std::string_view why) {
  std::string text{"store "};
  text.append(what).append("`").append(name).append("`: ").append(why);
  return {errc::invalid_value, std::move(text)};
}

// The value that a channel's new value may be a patch of; null without one. On another branch the
// last stored value may have a higher version, but patches always lead to lower versions.
const value_base* find_base(const value_bases* bases, const std::string& channel,
                            const checkpoint& cp) {
  if (!bases)
    return nullptr;
  auto found = bases->find(channel);
  auto* at = find_named(cp.channel_versions, channel);
  return found != bases->end() && at && found->second.at.number < at->number ? &found->second
                                                                             : nullptr;
}

} // namespace

result<void> encoded_request::encode(const save_request& request, const value_bases* bases) {
  if (bytes_.capacity() > kept_request_bytes_max)
    bytes_ = {};
  bytes_.clear();
  ends_.clear();
  texts_.clear();
  next_ = 0;
  for (const auto& task : request.writes)
    for (const auto& [channel, val] : task.writes)
      if (auto ok = append(val, "a write to ", channel); !ok)
        return ok;
  if (!request.put)
    return {};
  if (bytes_.size() >= large_texts::bytes_min && !request.put->new_versions.empty())
    texts_.find_in(request.writes);
  const auto& cp = request.put->checkpoint;
  for (const auto& channel : request.put->new_versions) {
    auto* val = find_named(cp.channel_values, channel);
    if (!val)
      continue;
    if (auto* base = find_base(bases, channel, cp); base && append_as_patch(*val, *base))
      continue;
    if (auto ok = append(*val, "channel ", channel); !ok)
      return ok;
  }
  if (append_short_metadata(request.put->metadata, bytes_)) {
    ends_.push_back({bytes_.size()});
    return {};
  }
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
  ends_.push_back({bytes_.size()});
  return {};
}

bool encoded_request::append_as_patch(const value& v, const value_base& base) {
  auto begin = bytes_.size();
  if (whole_is_due(base) || !append_patch(base.val, v, bytes_))
    return false;
  auto size = bytes_.size() - begin;
  if (2 * size > base.bytes || size + base.bytes > limits::value_size_bytes_max) {
    bytes_.resize(begin);
    return false;
  }
  ends_.push_back({bytes_.size(), &base});
  return true;
}

encoded_request::piece encoded_request::take() {
  auto begin = next_ == 0 ? 0 : ends_[next_ - 1].at;
  const auto& end = ends_[next_++];
  return {std::string_view{bytes_}.substr(begin, end.at - begin), end.base};
}

} // namespace troupe
