// The payloads of checkpoint and writes records. Layout: FORMAT.md, "Checkpoint" and "Writes".
#include "persistence/record/checkpoint_record.hpp"

#include "persistence/record/bytes.hpp"
#include "persistence/record/keys.hpp"
#include "persistence/record/record.hpp"
#include "persistence/record/saver_rules.hpp"
#include "persistence/record/timestamp_text.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>

namespace troupe {

namespace {

// The tags of a checkpoint's versions: there are few, so versions refer to them by position.
class tag_list {
public:
  std::size_t position(std::uint64_t tag) {
    if (last_ < tags_.size() && tags_[last_] == tag)
      return last_;
    last_ = static_cast<std::size_t>(std::ranges::find(tags_, tag) - tags_.begin());
    if (last_ == tags_.size())
      tags_.push_back(tag);
    return last_;
  }

  void collect(std::span<const numbered_version> versions) {
    for (const auto& of : versions)
      position(of.at.tag);
  }

  void append_to(std::string& out) const {
    append_varint(out, tags_.size());
    for (auto tag : tags_)
      append_fixed64(out, tag);
  }

private:
  boost::container::small_vector<std::uint64_t, 4> tags_;
  std::size_t last_ = 0;
};

constexpr auto version_room = 2 * varint_writer::room + varint_writer::large_room;

void put_versions(std::span<const numbered_version> versions, tag_list& tags, varint_writer& out) {
  out.put(versions.size());
  for (const auto& [channel, at] : versions) {
    out.put(channel);
    out.put(at.number);
    out.put(tags.position(at.tag));
  }
}

void append_time(std::string_view ts, std::string& out) {
  auto micros = timestamp_micros(ts);
  out.push_back(micros ? 1 : 0);
  if (micros)
    append_signed(out, *micros);
  else
    append_sized(out, ts);
}

// Whether the tasks of a node have this path again and again. Other paths hold numbers, for example
// of steps: as names, they would grow without end.
bool is_path_of_node(std::string_view path) {
  return path.starts_with("~__pregel_pull, ");
}

// Reads the parts that refer to names and tags.
class checkpoint_reader {
public:
  checkpoint_reader(std::string_view payload, std::size_t names) : in{payload}, names_{names} {}

  void tags() {
    auto count = in.count();
    for (; count != 0; --count)
      tags_.push_back(in.fixed64());
  }

  std::uint32_t number() {
    auto n = in.varint();
    if (n < names_)
      return static_cast<std::uint32_t>(n);
    fits_ = false;
    return 0;
  }

  /// Appends versions to `out`. Result: their number.
  std::size_t versions(checkpoint_numbers::few<numbered_version>& out) {
    auto rest = in; // known to nobody else, so that it stays in registers
    auto count = rest.count();
    out.reserve(out.size() + count);
    for (auto left = count; left != 0 && fits_ && rest.ok(); --left) {
      auto [channel, number, tag] = rest.three_varints();
      fits_ = channel < names_ && tag < tags_.size();
      if (fits_)
        out.push_back({static_cast<std::uint32_t>(channel), {.number = number, .tag = tags_[tag]}});
    }
    in = rest;
    return count;
  }

  void time(std::string& into) {
    if (in.byte() == 0) {
      into = in.sized();
      return;
    }
    auto micros = in.signed_varint();
    fits_ = fits_ && micros >= timestamp_micros_min && micros <= timestamp_micros_max;
    if (fits_)
      timestamp_text(micros, into);
  }

  void id(std::string& into) {
    auto rest = in.rest();
    fits_ = take_id(rest, into) && fits_;
    in.take(in.rest().size() - rest.size());
  }

  bool fits() const { return fits_ && in.ok(); }

  byte_reader in;

private:
  std::size_t names_;
  boost::container::small_vector<std::uint64_t, 4> tags_;
  bool fits_ = true;
};

named<version> with_names(std::span<const numbered_version> versions,
                          std::span<const std::string_view> names) {
  named<version> out;
  out.reserve(versions.size());
  for (const auto& [channel, at] : versions)
    out.emplace_back(names[channel], at);
  return out;
}

} // namespace

void number_names(const checkpoint& cp, name_table& names, checkpoint_numbers& out) {
  out.versions.clear();
  out.versions.reserve(cp.channel_versions.size());
  for (const auto& [channel, at] : cp.channel_versions)
    out.versions.push_back({names.number(channel), at});
  out.seen.clear();
  out.seen_versions.clear();
  for (const auto& [node, seen] : cp.versions_seen) {
    out.seen.push_back({names.number(node), seen.size()});
    for (const auto& [channel, at] : seen)
      out.seen_versions.push_back({names.number(channel), at});
  }
  out.updated.reset();
  if (!cp.updated_channels)
    return;
  out.updated.emplace();
  for (const auto& channel : *cp.updated_channels)
    out.updated->push_back(names.number(channel));
}

void append_checkpoint(const checkpoint_head& head, const checkpoint_numbers& numbers,
                       std::string& out) {
  append_signed(out, head.v);
  append_time(head.ts, out);
  append_id(out, head.parent_id);
  append_sized(out, head.metadata);
  std::span<const numbered_version> versions{numbers.versions.data(), numbers.versions.size()};
  std::span<const numbered_version> seen{numbers.seen_versions.data(),
                                         numbers.seen_versions.size()};
  tag_list tags;
  tags.collect(versions);
  tags.collect(seen);
  tags.append_to(out);
  auto updated = numbers.updated ? numbers.updated->size() + 1 : 0;
  constexpr auto room = varint_writer::room;
  varint_writer to{out, version_room * (versions.size() + seen.size())
                          + room * (3 + 2 * numbers.seen.size() + updated)};
  put_versions(versions, tags, to);
  to.put(numbers.seen.size());
  for (const auto& [node, channels] : numbers.seen) {
    to.put(node);
    put_versions(seen.first(channels), tags, to);
    seen = seen.subspan(channels);
  }
  to.put(updated);
  if (numbers.updated)
    for (auto channel : *numbers.updated)
      to.put(channel);
}

result<std::string_view> read_checkpoint(std::string_view payload, std::size_t names,
                                         numbered_checkpoint& out) {
  checkpoint_reader from{payload, names};
  out.v = from.in.signed_varint();
  from.time(out.ts);
  from.id(out.parent_id);
  auto metadata = from.in.sized();
  from.tags();
  out.versions.clear();
  from.versions(out.versions);
  out.seen.clear();
  out.seen_versions.clear();
  for (auto nodes = from.in.count(); nodes != 0 && from.fits(); --nodes) {
    auto node = from.number();
    out.seen.push_back({node, from.versions(out.seen_versions)});
  }
  out.updated.reset();
  if (auto updated = from.in.varint(); updated != 0) {
    out.updated.emplace();
    for (--updated; updated != 0 && from.fits(); --updated)
      out.updated->push_back(from.number());
  }
  if (!from.fits())
    return damaged(record_kind::checkpoint);
  out.small_values = from.in.rest();
  return metadata;
}

result<stored_checkpoint> read_checkpoint(std::string_view payload,
                                          std::span<const std::string_view> names) {
  numbered_checkpoint stored;
  auto metadata = read_checkpoint(payload, names.size(), stored);
  if (!metadata)
    return metadata.error();
  stored_checkpoint out;
  out.metadata = *metadata;
  out.small_values = stored.small_values;
  out.parent_id = std::move(stored.parent_id);
  auto& cp = out.checkpoint;
  cp.v = stored.v;
  cp.ts = std::move(stored.ts);
  cp.channel_versions = with_names({stored.versions.data(), stored.versions.size()}, names);
  for (const auto& of : stored.versions)
    out.channels.push_back(of.channel);
  std::span<const numbered_version> rest{stored.seen_versions.data(), stored.seen_versions.size()};
  cp.versions_seen.reserve(stored.seen.size());
  for (const auto& [node, channels] : stored.seen) {
    cp.versions_seen.emplace_back(names[node], with_names(rest.first(channels), names));
    rest = rest.subspan(channels);
  }
  if (stored.updated) {
    cp.updated_channels.emplace().reserve(stored.updated->size());
    for (auto channel : *stored.updated)
      cp.updated_channels->emplace_back(names[channel]);
  }
  return out;
}

void append_writes(std::span<const stored_write> writes, name_table* names, std::string& out) {
  boost::container::small_vector<std::string_view, 4> paths; // usually one
  for (const auto& write : writes)
    if (std::ranges::find(paths, write.task_path) == paths.end())
      paths.push_back(write.task_path);
  auto has_name = names && paths.size() == 1 && is_path_of_node(paths.front());
  append_varint(out, has_name ? 0 : paths.size());
  if (has_name)
    append_varint(out, names->number(paths.front()));
  else
    for (auto path : paths)
      append_sized(out, path);
  append_varint(out, writes.size());
  for (const auto& write : writes) {
    append_signed(out, write.slot);
    append_varint(
      out, static_cast<std::size_t>(std::ranges::find(paths, write.task_path) - paths.begin()));
    append_varint(out, write.channel);
    append_sized(out, write.value);
  }
}

result<void> read_writes(std::string_view payload, std::span<const std::string_view> names,
                         std::vector<stored_write>& out) {
  byte_reader in{payload};
  boost::container::small_vector<std::string_view, 4> paths;
  auto count_of_paths = in.count();
  if (auto name = count_of_paths == 0 ? in.varint() : names.size(); name < names.size())
    paths.push_back(names[name]);
  for (; count_of_paths != 0; --count_of_paths)
    paths.push_back(in.sized());
  out.clear();
  auto count = in.count();
  out.reserve(count);
  for (; count != 0 && in.ok(); --count) {
    stored_write write;
    write.slot = in.signed_varint();
    auto path = in.varint();
    auto channel = in.varint();
    write.value = in.sized();
    if (path >= paths.size() || channel >= names.size())
      return damaged(record_kind::writes);
    write.task_path = paths[path];
    write.channel = static_cast<std::uint32_t>(channel);
    out.push_back(write);
  }
  if (out.empty() || !in.finished())
    return damaged(record_kind::writes);
  return {};
}

result<std::vector<stored_write>> read_writes(std::string_view payload,
                                              std::span<const std::string_view> names) {
  std::vector<stored_write> out;
  if (auto read = read_writes(payload, names, out); !read)
    return read.error();
  return out;
}

} // namespace troupe
