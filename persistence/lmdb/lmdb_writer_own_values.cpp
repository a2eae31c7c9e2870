// lmdb_writer: the part that keeps small values in the records of checkpoints, while they are few.
// So a step writes them in the place of its checkpoint, and not in another one.
//
// Invariant: each small value of a checkpoint is in its record or under its version, whatever
// happens to other checkpoints. So a checkpoint takes its parent's over.
#include "persistence/lmdb/lmdb_index.hpp"
#include "persistence/lmdb/lmdb_writer.hpp"
#include "persistence/record/saver_rules.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

// The small values of the checkpoint that stayed since its parent. Most are in the parent's record.
// A copy is the sibling of what it copies, so its values are elsewhere.
result<void> lmdb_writer::take_over_own_values(known_thread& thread, known_chain& chain,
                                               const checkpoint_put& put,
                                               std::span<const moved_value> moved) {
  auto& own = chain.own;
  if (chain.newest.empty() || chain.newest != put.parent_id)
    if (auto ok = load_own_values(thread, chain, put.parent_id); !ok)
      return ok;
  auto is_moved = [moved](std::uint32_t channel, const version& at) {
    return std::ranges::binary_search(moved, std::pair{at, channel}, {}, [](const auto& m) {
      return std::pair{m.at, m.channel};
    });
  };
  const auto& names = thread.names.all();
  std::erase_if(own.values, [&](const own_value& v) {
    auto* at = find_named(put.checkpoint.channel_versions, names[v.channel]);
    return !at || *at != v.at || is_moved(v.channel, v.at);
  });
  std::vector<numbered_version> elsewhere;
  auto before = own.versions.begin(); // both are in the order of names
  for (const auto& now : numbers_.versions) {
    if (is_moved(now.channel, now.at))
      continue;
    auto of = std::find(before, own.versions.end(), now);
    if (of != own.versions.end())
      before = std::next(of);
    else
      elsewhere.push_back(now);
  }
  own.versions.assign(numbers_.versions.begin(), numbers_.versions.end());
  return elsewhere.empty() ? result<void>{}
                           : find_elsewhere(thread, chain, put.parent_id, std::move(elsewhere));
}

result<void> lmdb_writer::load_own_values(known_thread& thread, known_chain& chain,
                                          std::string_view checkpoint_id) {
  chain.own = {};
  auto key = checkpoint_key(chain.number, checkpoint_id);
  auto stored = txn_->get(key);
  if (!stored || !*stored) // a first checkpoint, or one whose parent was removed
    return stored ? result<void>{} : stored.error();
  return read_own_values(thread, key, **stored, chain.own);
}

// Adds to those in `out`.
result<void> lmdb_writer::read_own_values(known_thread& thread, std::string_view key,
                                          std::string_view stored, own_part& out) {
  record_opener::scope scope{opener_};
  auto payload = opener_.open(stored, key, record_kind::checkpoint, cipher_of(thread));
  if (!payload)
    return payload.error();
  auto read = read_checkpoint(*payload, thread.names.all().size(), read_);
  if (!read)
    return read.error();
  std::vector<small_value> values;
  if (auto ok = read_small_values(read_.small_values, values); !ok)
    return ok;
  out.versions.assign(read_.versions.begin(), read_.versions.end());
  for (const auto& [channel, bytes] : values) {
    auto of = std::ranges::find(out.versions, channel, &numbered_version::channel);
    if (of == out.versions.end())
      return damaged(record_kind::checkpoint, "it has a value of an unknown channel");
    out.values.push_back({channel, of->at, std::string{bytes}});
  }
  return {};
}

// Looks for channels at versions that the parent does not have. The first checkpoint that has one
// shows where its value is. That is usually the next one after the parent.
result<void> lmdb_writer::find_elsewhere(known_thread& thread, known_chain& chain,
                                         std::string_view parent_id,
                                         std::vector<numbered_version> wanted) {
  checkpoint_cursor at{*txn_, chain.number};
  auto look = [&]() -> result<void> {
    own_part there;
    if (auto ok = read_own_values(thread, at.key(), at.data(), there); !ok)
      return ok;
    std::erase_if(wanted, [&](const numbered_version& one) {
      if (std::ranges::find(there.versions, one) == there.versions.end())
        return false;
      auto own = std::ranges::find(there.values, one.channel, &own_value::channel);
      if (own != there.values.end())
        chain.own.values.push_back(std::move(*own));
      return true;
    });
    return {};
  };
  auto more = at.first_from(parent_id);
  for (; more && *more && !wanted.empty(); more = at.next())
    if (auto ok = look(); !ok)
      return ok;
  if (more && !wanted.empty())
    more = at.last_before(parent_id);
  for (; more && *more && !wanted.empty(); more = at.previous())
    if (auto ok = look(); !ok)
      return ok;
  return more ? result<void>{} : more.error();
}

// Adds the moved small values, unless they alone are too many: then the result is false. The others
// go under their versions when all together are too many.
result<bool> lmdb_writer::add_own_values(known_thread& thread, known_chain& chain,
                                         std::span<const moved_value> moved) {
  auto& own = chain.own.values;
  std::size_t bytes = 0;
  for (const auto& m : moved)
    bytes += m.is_small() ? small_value_room(m.piece.bytes) : 0;
  const auto are_own = bytes <= own_small_values_bytes_max;
  for (const auto& v : own)
    bytes += small_value_room(v.bytes);
  if (bytes > own_small_values_bytes_max)
    if (auto ok = move_own_values_out(thread, chain); !ok)
      return ok.error();
  if (are_own)
    for (const auto& m : moved)
      if (m.is_small())
        own.push_back({m.channel, m.at, std::string{m.piece.bytes}});
  std::ranges::sort(own, {}, &own_value::channel);
  return are_own;
}

result<void> lmdb_writer::move_own_values_out(known_thread& thread, known_chain& chain) {
  auto& own = chain.own.values;
  std::ranges::sort(own, {}, [](const auto& v) { return std::pair{v.at, v.channel}; });
  for (auto from = own.begin(); from != own.end();) {
    auto to = std::find_if(from, own.end(), [from](const auto& v) { return v.at != from->at; });
    std::vector<small_value> small;
    for (auto v = from; v != to; ++v)
      small.push_back({v->channel, v->bytes});
    if (auto ok = store_small_values(chain.number, from->at, small, cipher_of(thread)); !ok)
      return ok;
    from = to;
  }
  own.clear();
  return {};
}

} // namespace troupe
