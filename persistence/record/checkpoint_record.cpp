// The payloads of checkpoint and writes records. Layout: FORMAT.md, "Checkpoint" and "Writes".
#include "persistence/record/checkpoint_record.hpp"

#include "persistence/record/bytes.hpp"
#include "persistence/record/keys.hpp"
#include "persistence/record/record.hpp"
#include "persistence/record/refill.hpp"
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

  void collect(const named<version>& versions) {
    for (const auto& [name, at] : versions)
      position(at.tag);
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

void append_versions(const named<version>& versions, tag_list& tags, name_table& names,
                     std::string& out) {
  append_varint(out, versions.size());
  for (const auto& [name, at] : versions) {
    append_varint(out, names.number(name));
    append_varint(out, at.number);
    append_varint(out, tags.position(at.tag));
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
  checkpoint_reader(std::string_view payload, std::span<const std::string_view> names)
    : in{payload},
      names_{names} {}

  void tags() {
    auto count = in.count();
    for (; count != 0; --count)
      tags_.push_back(in.fixed64());
  }

  std::uint32_t number() {
    auto n = in.varint();
    if (n < names_.size())
      return static_cast<std::uint32_t>(n);
    fits_ = false;
    return 0;
  }

  std::string_view name(std::uint32_t number) const {
    return number < names_.size() ? names_[number] : std::string_view{};
  }

  // The numbers of the names go to `numbers`, when it is given.
  void versions(named<version>& out, small_numbers* numbers) {
    auto count = in.count();
    refill_named<version> entries{out, count};
    if (numbers)
      numbers->reserve(count);
    for (; count != 0 && fits(); --count) {
      auto n = number();
      entries.add(name(n)) = {.number = in.varint(), .tag = tag()};
      if (numbers)
        numbers->push_back(n);
    }
  }

  std::string time() {
    if (in.byte() == 0)
      return std::string{in.sized()};
    auto micros = in.signed_varint();
    fits_ = fits_ && micros >= timestamp_micros_min && micros <= timestamp_micros_max;
    return fits_ ? timestamp_text(micros) : std::string{};
  }

  std::string id() {
    auto rest = in.rest();
    auto id = take_id(rest);
    fits_ = fits_ && id;
    in.take(in.rest().size() - rest.size());
    return id ? std::move(*id) : std::string{};
  }

  bool fits() const { return fits_ && in.ok(); }
  bool finished() const { return fits_ && in.finished(); }

  byte_reader in;

private:
  std::uint64_t tag() {
    auto n = in.varint();
    if (n < tags_.size())
      return tags_[n];
    fits_ = false;
    return 0;
  }

  std::span<const std::string_view> names_;
  boost::container::small_vector<std::uint64_t, 4> tags_;
  bool fits_ = true;
};

} // namespace

void append_checkpoint(const checkpoint& cp, std::string_view parent_id, std::string_view metadata,
                       name_table& names, std::string& out) {
  append_signed(out, cp.v);
  append_time(cp.ts, out);
  append_id(out, parent_id);
  append_sized(out, metadata);
  tag_list tags;
  tags.collect(cp.channel_versions);
  for (const auto& [node, seen] : cp.versions_seen)
    tags.collect(seen);
  tags.append_to(out);
  append_versions(cp.channel_versions, tags, names, out);
  append_varint(out, cp.versions_seen.size());
  for (const auto& [node, seen] : cp.versions_seen) {
    append_varint(out, names.number(node));
    append_versions(seen, tags, names, out);
  }
  append_varint(out, cp.updated_channels ? cp.updated_channels->size() + 1 : 0);
  if (cp.updated_channels)
    for (const auto& channel : *cp.updated_channels)
      append_varint(out, names.number(channel));
}

result<void> read_checkpoint(std::string_view payload, std::span<const std::string_view> names,
                             stored_checkpoint& out) {
  checkpoint_reader from{payload, names};
  auto& cp = out.checkpoint;
  cp.v = from.in.signed_varint();
  cp.ts = from.time();
  out.parent_id = from.id();
  out.metadata = from.in.sized();
  from.tags();
  out.channels.clear();
  from.versions(cp.channel_versions, &out.channels);
  {
    auto nodes = from.in.count();
    refill_named<named<version>> seen{cp.versions_seen, nodes};
    for (; nodes != 0 && from.fits(); --nodes)
      from.versions(seen.add(from.name(from.number())), nullptr);
  }
  if (auto updated = from.in.varint(); updated == 0) {
    cp.updated_channels.reset();
  } else {
    if (!cp.updated_channels)
      cp.updated_channels.emplace();
    refill<std::string> channels{*cp.updated_channels,
                                 std::min<std::size_t>(updated - 1, from.in.rest().size())};
    for (--updated; updated != 0 && from.fits(); --updated)
      set_name(channels.next(), from.name(from.number()));
  }
  if (!from.finished())
    return damaged(record_kind::checkpoint);
  return {};
}

result<stored_checkpoint> read_checkpoint(std::string_view payload,
                                          std::span<const std::string_view> names) {
  stored_checkpoint out;
  if (auto read = read_checkpoint(payload, names, out); !read)
    return read.error();
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

result<std::vector<stored_write>> read_writes(std::string_view payload,
                                              std::span<const std::string_view> names) {
  byte_reader in{payload};
  boost::container::small_vector<std::string_view, 4> paths;
  auto count_of_paths = in.count();
  if (auto name = count_of_paths == 0 ? in.varint() : names.size(); name < names.size())
    paths.push_back(names[name]);
  for (; count_of_paths != 0; --count_of_paths)
    paths.push_back(in.sized());
  std::vector<stored_write> writes;
  auto count = in.count();
  writes.reserve(count);
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
    writes.push_back(write);
  }
  if (writes.empty() || !in.finished())
    return damaged(record_kind::writes);
  return writes;
}

} // namespace troupe
