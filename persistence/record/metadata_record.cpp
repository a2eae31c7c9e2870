// metadata_record: writing and reading the short form of metadata.
#include "persistence/record/metadata_record.hpp"

#include "graph/value_node.hpp"
#include "persistence/record/bytes.hpp"
#include "persistence/record/record.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <vector>

namespace troupe {

namespace {

constexpr char short_form = '\xc1'; // no msgpack begins with this byte
constexpr std::array<std::string_view, 4> sources{"input", "loop", "update", "fork"};
constexpr std::uint8_t empty_parents = 0x80; // a flag beside the source
constexpr std::uint8_t more_follows = 0x40;

// Parts that are the same again and again.
struct usual_parts {
  value parents = value("parents"), source = value("source"), step = value("step");
  value none = value::map();
  std::array<value, sources.size()> names_of_sources;

  usual_parts() { std::ranges::copy(sources, names_of_sources.begin()); }
};

bool is_empty_map(const value& v) {
  return v.is_map() && v.empty();
}

} // namespace

bool append_short_metadata(const value& metadata, std::string& out) {
  const auto& source = metadata["source"];
  const auto& step = metadata["step"];
  if (!metadata.is_map() || !source.is_string() || !step.is_int())
    return false;
  auto known = std::ranges::find(sources, source.as_string());
  if (known == sources.end())
    return false;
  auto at_the_root = is_empty_map(metadata["parents"]);
  auto has_more = metadata.size() > (at_the_root ? 3u : 2u);
  auto head = static_cast<std::uint8_t>(known - sources.begin());
  head |= (at_the_root ? empty_parents : 0) | (has_more ? more_follows : 0);
  auto begin = out.size();
  out.push_back(short_form);
  out.push_back(static_cast<char>(head));
  append_signed(out, step.as_int());
  if (!has_more)
    return true;
  auto rest = metadata.without("source").without("step");
  if (encode_msgpack(at_the_root ? rest.without("parents") : rest, out))
    return true;
  out.resize(begin);
  return false;
}

result<value> read_metadata(std::string_view bytes) {
  auto bad = [] { return damaged(record_kind::checkpoint, "its metadata are malformed"); };
  if (bytes.empty() || bytes.front() != short_form) {
    auto whole = from_msgpack(bytes);
    return whole ? whole : bad();
  }
  byte_reader in{bytes.substr(1)};
  auto head = in.byte();
  auto step = in.signed_varint();
  std::size_t source = head & ~(empty_parents | more_follows);
  if (source >= sources.size())
    return bad();
  static const usual_parts usual;
  std::array<value, 6> of_all{usual.parents, usual.none,
                              usual.source,  usual.names_of_sources[source],
                              usual.step,    value(step)}; // key, value, key, value …
  std::span<value> members{of_all};
  if ((head & empty_parents) == 0)
    members = members.subspan(2);
  bool duplicates = false;
  if ((head & more_follows) == 0) {
    if (!in.finished())
      return bad();
    return value_access::map(members, duplicates);
  }
  auto more = from_msgpack(in.rest());
  if (!more || !more->is_map())
    return bad();
  std::vector<value> all;
  for (const auto& e : more->entries()) {
    all.push_back(e.key_value);
    all.push_back(e.val);
  }
  std::ranges::move(members, std::back_inserter(all));
  return value_access::map(all, duplicates);
}

} // namespace troupe
