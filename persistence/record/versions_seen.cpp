// versions_seen: encoding and decoding.
#include "persistence/record/versions_seen.hpp"

#include "persistence/record/bytes.hpp"

namespace troupe {

std::string encode_versions_seen(const named<named<version>>& seen) {
  std::string out;
  append_varint(out, seen.size());
  for (const auto& [node, channels] : seen) {
    append_sized(out, node);
    append_varint(out, channels.size());
    for (const auto& [channel, at] : channels) {
      append_sized(out, channel);
      append_varint(out, at.number);
      append_fixed64(out, at.tag);
    }
  }
  return out;
}

result<named<named<version>>> decode_versions_seen(std::string_view data) {
  byte_reader in{data};
  named<named<version>> seen;
  for (auto nodes = in.count(); nodes != 0 && in.ok(); --nodes) {
    std::string node{in.sized()};
    named<version> channels;
    for (auto count = in.count(); count != 0 && in.ok(); --count) {
      std::string channel{in.sized()};
      auto number = in.varint();
      channels.emplace_back(std::move(channel), version{.number = number, .tag = in.fixed64()});
    }
    seen.emplace_back(std::move(node), std::move(channels));
  }
  if (!in.finished())
    return error{errc::checkpoint_corrupt, "read a checkpoint: the versions seen are malformed"};
  return seen;
}

} // namespace troupe
