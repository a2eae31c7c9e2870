// small_values: changing, writing and reading the small values of a version.
#include "persistence/record/small_values.hpp"

#include "persistence/record/bytes.hpp"
#include "persistence/record/record.hpp"

#include <algorithm>

namespace troupe {

void change_small_values(std::vector<small_value>& there, std::span<const small_value> changes) {
  for (const auto& change : changes) {
    auto at = std::ranges::lower_bound(there, change.channel, {}, &small_value::channel);
    if (at != there.end() && at->channel == change.channel)
      at = there.erase(at);
    if (!change.bytes.empty())
      there.insert(at, change);
  }
}

void append_small_values(std::span<const small_value> values, std::string& out) {
  for (const auto& [channel, bytes] : values) {
    append_varint(out, channel);
    append_sized(out, bytes);
  }
}

result<void> read_small_values(std::string_view payload, std::vector<small_value>& values) {
  byte_reader in{payload};
  while (in.ok() && !in.rest().empty()) {
    auto channel = in.varint();
    auto bytes = in.sized();
    auto is_next = values.empty() || values.back().channel < channel;
    if (!in.ok() || !is_next || channel > UINT32_MAX || bytes.empty())
      return damaged(record_kind::small_values);
    values.push_back({static_cast<std::uint32_t>(channel), bytes});
  }
  return {};
}

std::optional<std::string_view> find_small_value(std::span<const small_value> values,
                                                 std::uint32_t channel) {
  auto at = std::ranges::lower_bound(values, channel, {}, &small_value::channel);
  return at != values.end() && at->channel == channel ? std::optional{at->bytes} : std::nullopt;
}

result<std::optional<std::string_view>> find_small_value(std::string_view payload,
                                                         std::uint32_t channel) {
  std::vector<small_value> values;
  auto read = read_small_values(payload, values);
  return read ? result{find_small_value(values, channel)} : read.error();
}

} // namespace troupe
