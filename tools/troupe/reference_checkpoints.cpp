// Checkpoints of the reference, from values and to bytes.
#include "tools/troupe/reference_checkpoints.hpp"

#include "tools/troupe/reference_values.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <span>
#include <utility>
#include <vector>

namespace troupe::cli {

namespace {

constexpr std::int64_t layout = 4; // of checkpoints; older ones are migrated by the reference

[[noreturn]] void refuse(const std::string& why) {
  throw error{errc::invalid_value, why};
}

// ---- versions -----------------------------------------------------------------------------------

// A number, or 32 digits, a dot and a random number: the same for all channels of a step.
version stored_version(const value& v) {
  if (v.is_int() && v.as_int() >= 0)
    return {static_cast<std::uint64_t>(v.as_int()), 0};
  auto text = v.is_string() ? v.as_string() : std::string_view{};
  auto dot = std::min(text.find('.'), text.size());
  version out;
  double random = 0;
  const auto* end = text.data() + text.size();
  auto number = std::from_chars(text.data(), text.data() + dot, out.number);
  auto tag = std::from_chars(text.data() + std::min(dot + 1, text.size()), end, random);
  if (number.ec != std::errc{} || number.ptr != text.data() + dot || tag.ec != std::errc{}
      || tag.ptr != end)
    refuse("not a version: " + to_json(v));
  out.tag = std::bit_cast<std::uint64_t>(random);
  return out;
}

named<version> stored_versions(const value& v) {
  named<version> out;
  for (const auto& e : v.entries())
    out.emplace_back(e.key(), stored_version(e.val));
  return out;
}

const value& member(const value& map, const char* name, bool (value::*is_kind)() const noexcept) {
  const auto& out = map[name];
  if (!(out.*is_kind)())
    refuse(std::string{"member `"} + name + "` is missing or of another kind");
  return out;
}

} // namespace

checkpoint from_reference_map(const value& from) {
  checkpoint out;
  out.v = member(from, "v", &value::is_int).as_int();
  if (out.v != layout)
    refuse("it has layout " + std::to_string(out.v) + ", only 4 can be read");
  out.id = member(from, "id", &value::is_string).as_string();
  out.ts = member(from, "ts", &value::is_string).as_string();
  out.channel_versions = stored_versions(member(from, "channel_versions", &value::is_map));
  for (const auto& e : member(from, "channel_values", &value::is_map).entries())
    out.channel_values.emplace_back(e.key(), e.val);
  for (const auto& e : member(from, "versions_seen", &value::is_map).entries()) {
    if (!e.val.is_map())
      refuse("the versions that a node has seen are not a map");
    out.versions_seen.emplace_back(e.key(), stored_versions(e.val));
  }
  out.updated_channels = from["updated_channels"].as<std::optional<std::vector<std::string>>>();
  return out;
}

value from_reference_typed(std::string_view type, std::string_view data) {
  if (type == "msgpack")
    return from_reference_msgpack(data);
  if (type == "null")
    return nullptr;
  if (type == "bytes" || type == "bytearray")
    return value::bytes(std::as_bytes(std::span{data}));
  refuse("a value of type `" + std::string{type} + "` can't be read");
}

// ---- the other direction ------------------------------------------------------------------------

namespace {

bool is_join(std::string_view channel) {
  return channel.starts_with("join:");
}

// A version that came from the reference gets its random number back. The bits of another tag are
// digits after the point.
std::string version_text(const version& v) {
  std::array<char, 64> text{};
  auto number = std::to_string(v.number);
  auto out = std::string(number.size() < 32 ? 32 - number.size() : 0, '0') + number + ".";
  auto random = std::bit_cast<double>(v.tag);
  std::string tag;
  if (v.tag == 0 || (random > 1e-5 && random < 1)) {
    auto end = std::to_chars(text.data(), text.data() + text.size(), random,
                             std::chars_format::fixed);
    tag.assign(text.data(), end.ptr);
  } else {
    tag = std::to_string(v.tag);
    tag = "0." + std::string(20 - tag.size(), '0') + tag;
  }
  return out + std::string(tag.size() < 16 ? 16 - tag.size() : 0, '0') + tag;
}

value versions_map(const named<version>& versions) {
  std::vector<value::map_init> out;
  for (const auto& [channel, at] : versions)
    out.emplace_back(channel, version_text(at));
  return value::map(std::move(out));
}

// The bytes of a map whose members are bytes already.
std::string map_blob(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string out{"\xdf"};
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(members.size() >> shift);
  for (const auto& [name, blob] : members)
    out += to_reference_msgpack(value(name)) + blob;
  return out;
}

} // namespace

std::string to_reference_blob(const checkpoint& from) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const auto& [channel, v] : from.channel_values)
    values.emplace_back(channel, located("channel `" + channel + "`", [&] {
                          return to_reference_msgpack(v, is_join(channel));
                        }));
  std::vector<value::map_init> seen;
  for (const auto& [node, versions] : from.versions_seen)
    seen.emplace_back(node, versions_map(versions));
  auto bytes = [](const value& v) { return to_reference_msgpack(v); };
  return map_blob({{"v", bytes(from.v)},
                   {"ts", bytes(from.ts)},
                   {"id", bytes(from.id)},
                   {"channel_values", map_blob(values)},
                   {"channel_versions", bytes(versions_map(from.channel_versions))},
                   {"versions_seen", bytes(value::map(std::move(seen)))},
                   {"updated_channels", bytes(value::of(from.updated_channels))}});
}

reference_blob to_reference_typed(const value& v) {
  if (v.is_null())
    return {"null", {}};
  if (!v.is_bytes())
    return {"msgpack", to_reference_msgpack(v)};
  auto bytes = v.as_bytes();
  return {"bytes", {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
}

std::int64_t reference_index(std::string_view channel, std::int64_t position) noexcept {
  constexpr std::array<std::string_view, 4> special{"__error__", "__scheduled__", "__interrupt__",
                                                    "__resume__"};
  const auto* at = std::ranges::find(special, channel);
  return at == special.end() ? position : special.begin() - at - 1;
}

std::string place_of(const checkpoint_ref& ref) {
  return "thread `" + ref.thread_id + "`, checkpoint " + ref.checkpoint_id;
}

} // namespace troupe::cli
