// lmdb_pruner: finds and removes checkpoints and values that are not needed.
#include "persistence/lmdb/lmdb_pruner.hpp"

#include "graph/crash_point.hpp"
#include "persistence/lmdb/value_finder.hpp"
#include "persistence/record/bytes.hpp"
#include "persistence/record/checkpoint_record.hpp"
#include "persistence/record/metadata_record.hpp"
#include "persistence/record/value_patch.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace troupe {

namespace {

using key_set = std::unordered_set<std::string>;
using names_view = std::vector<std::string_view>;

result<stored_checkpoint> read_stored(thread_records& records, std::string_view key,
                                      std::string_view data, const names_view& names) {
  auto payload = records.open(data, key, record_kind::checkpoint);
  return payload ? read_checkpoint(*payload, names) : payload.error();
}

// Calls `fn(id, checkpoint)` for each checkpoint of a chain.
template <class Fn>
result<void> each_checkpoint(thread_records& records, std::uint64_t chain, const names_view& names,
                             Fn fn) {
  checkpoint_cursor at{records.txn(), chain};
  auto more = at.first();
  for (; more && *more; more = at.next()) {
    auto scope = records.scope();
    auto stored = read_stored(records, at.key(), at.data(), names);
    if (!stored)
      return stored.error();
    if (auto ok = fn(at.id(), *stored); !ok)
      return ok;
  }
  return more ? result<void>{} : more.error();
}

// ---- checkpoints --------------------------------------------------------------------------------

result<namespace_summary> summarize(thread_records& records, const namespace_entry& at,
                                    const names_view& names) {
  namespace_summary out{at.ns, {}};
  auto ok = each_checkpoint(
    records, at.chain, names, [&](std::string_view id, stored_checkpoint& stored) -> result<void> {
      auto metadata = read_metadata(stored.metadata);
      if (!metadata)
        return metadata.error();
      out.checkpoints.push_back({std::string{id}, std::move(stored.parent_id),
                                 std::move(stored.checkpoint.ts), std::move(*metadata)});
      return {};
    });
  if (!ok)
    return ok.error();
  return out;
}

result<bool> stores(thread_records& records, std::uint64_t chain, const names_view& names,
                    const std::string& checkpoint_id, const std::string& channel) {
  auto scope = records.scope();
  auto key = checkpoint_key(chain, checkpoint_id);
  auto data = records.txn().get(key);
  if (!data || !*data)
    return data ? result<bool>{false} : data.error();
  auto stored = read_stored(records, key, **data, names);
  if (!stored)
    return stored.error();
  const auto& versions = stored->checkpoint.channel_versions;
  for (std::size_t i = 0; i < versions.size(); ++i)
    if (versions[i].first == channel) {
      auto own = find_small_value(stored->small_values, stored->channels[i]);
      if (!own || *own)
        return own ? result<bool>{true} : own.error();
      auto val = value_finder{records}.find(chain, versions[i].second, stored->channels[i]);
      return val ? result<bool>{val->has_value()} : val.error();
    }
  return false;
}

result<void> add_own_values(thread_records& records, std::uint64_t chain, const names_view& names,
                            const std::string& checkpoint_id, removal& out) {
  auto scope = records.scope();
  auto key = checkpoint_key(chain, checkpoint_id);
  auto data = records.txn().get(key);
  if (!data || !*data)
    return data ? damaged(record_kind::checkpoint) : data.error();
  auto stored = read_stored(records, key, **data, names);
  if (!stored)
    return stored.error();
  std::vector<small_value> values;
  if (auto ok = read_small_values(stored->small_values, values); !ok)
    return ok;
  const auto& versions = stored->checkpoint.channel_versions;
  for (std::size_t i = 0; i < versions.size(); ++i)
    if (find_small_value(values, stored->channels[i]))
      out.own_values.emplace_back(value_key(chain, versions[i].second, stored->channels[i]).view());
  return {};
}

// Adds the writes before their checkpoint, so that a crash in between leaves a complete checkpoint.
result<void> add_checkpoint(const lmdb_txn& txn, std::uint64_t chain, const std::string& id,
                            removal& out) {
  auto ok = scan_writes(txn, chain, id, [&out](auto key, const auto&, auto) -> result<void> {
    out.keys.emplace_back(key);
    return {};
  });
  out.keys.emplace_back(checkpoint_key(chain, id).view());
  ++out.counted;
  return ok;
}

// ---- values -------------------------------------------------------------------------------------

// The keys of all values that checkpoints of the chain refer to.
result<key_set> values_in_use(thread_records& records, std::uint64_t chain,
                              const names_view& names) {
  key_set used;
  auto ok = each_checkpoint(
    records, chain, names, [&](auto, const stored_checkpoint& stored) -> result<void> {
      const auto& versions = stored.checkpoint.channel_versions;
      for (std::size_t i = 0; i < stored.channels.size(); ++i)
        used.emplace(value_key(chain, versions[i].second, stored.channels[i]).view());
      return {};
    });
  if (!ok)
    return ok.error();
  return used;
}

result<std::string> key_of_base(thread_records& records, std::uint64_t chain, std::string_view key,
                                std::string_view data) {
  auto scope = records.scope();
  auto place = read_value_key(key);
  auto payload = records.open(data, key, record_kind::patch);
  if (!payload)
    return payload.error();
  if (!place || !place->channel)
    return damaged(record_kind::patch);
  auto base = take_patch_head(*payload, place->at);
  if (!base)
    return base.error();
  return std::string{value_key(chain, base->at, *place->channel).view()};
}

// Adds unused small values, each by the key of a value with its own record.
result<void> add_small_values(thread_records& records, std::string_view key, std::string_view data,
                              const key_set& used, removal& out) {
  auto scope = records.scope();
  auto payload = records.open(data, key, record_kind::small_values);
  std::vector<small_value> values;
  auto read = payload ? read_small_values(*payload, values) : payload.error();
  auto place = read_value_key(key);
  if (!read || !place)
    return read ? damaged(record_kind::small_values) : read;
  for (const auto& small : values)
    if (std::string alone{value_key(place->chain, place->at, small.channel).view()};
        !used.contains(alone))
      out.keys.push_back(std::move(alone));
  return {};
}

// Adds unused values. Goes from the newest to the oldest, since a patch builds on an older value.
result<void> add_values(thread_records& records, std::uint64_t chain, key_set used, removal& out) {
  auto prefix = chain_prefix(chain, chain_part::values);
  lmdb_cursor at{records.txn(), prefix};
  auto more = at.seek_before(behind(prefix));
  for (; more && *more && at.key().starts_with(prefix.view()); more = at.previous()) {
    std::string key{at.key()};
    if (kind_of(at.data()) == record_kind::small_values) {
      if (auto ok = add_small_values(records, key, at.data(), used, out); !ok)
        return ok;
      continue;
    }
    if (!used.contains(key)) {
      out.keys.push_back(std::move(key));
      continue;
    }
    if (kind_of(at.data()) != record_kind::patch)
      continue;
    auto base = key_of_base(records, chain, key, at.data());
    if (!base)
      return base.error();
    used.insert(std::move(*base));
  }
  return more ? result<void>{} : more.error();
}

result<bool> has_any(const lmdb_txn& txn, const store_key& prefix) {
  lmdb_cursor at{txn};
  auto found = at.seek(prefix);
  return found ? result<bool>{*found && at.key().starts_with(prefix.view())} : found.error();
}

result<bool> holds_nothing(const lmdb_txn& txn, std::uint64_t chain) {
  for (auto part : {chain_part::checkpoints, chain_part::old_writes}) {
    auto any = has_any(txn, chain_prefix(chain, part));
    if (!any || *any)
      return any ? result<bool>{false} : any.error();
  }
  return true;
}

result<void> remove_namespace(lmdb_txn& txn, std::uint64_t thread, const namespace_entry& at) {
  auto empty = holds_nothing(txn, at.chain);
  if (!empty || !*empty) // the namespace was used again meanwhile
    return empty ? result<void>{} : empty.error();
  if (auto ok = erase_chain(txn, at.chain); !ok)
    return ok;
  return txn.erase(namespace_key(thread, at.ns));
}

} // namespace

result<removal> find_checkpoints_to_remove(thread_records& records, std::uint64_t thread,
                                           const retention_rule& mark) {
  const auto& txn = records.txn();
  records.enter(thread);
  auto names = records.names();
  auto namespaces = all_namespaces(txn, thread);
  if (!names || !namespaces)
    return names ? namespaces.error() : names.error();
  thread_summary all;
  for (const auto& entry : *namespaces) {
    auto summary = summarize(records, entry, *names);
    if (!summary)
      return summary.error();
    all.push_back(std::move(*summary));
  }
  mark(all);
  auto chain_of = [&](const namespace_summary& at) {
    return (*namespaces)[&at - all.data()].chain;
  };
  auto needed = mark_needed(all, [&](const auto& at, const auto& cp, const auto& channel) {
    return stores(records, chain_of(at), *names, cp.id, channel);
  });
  if (!needed)
    return needed.error();
  removal out;
  for (const auto& at : all)
    for (const auto& cp : at.checkpoints)
      if (!cp.stays) {
        auto ok = add_own_values(records, chain_of(at), *names, cp.id, out);
        if (ok)
          ok = add_checkpoint(txn, chain_of(at), cp.id, out);
        if (!ok)
          return ok.error();
      }
  return out;
}

result<removal> find_values_to_remove(thread_records& records, std::uint64_t thread,
                                      std::span<const std::string> own_values) {
  const auto& txn = records.txn();
  records.enter(thread);
  auto names = records.names();
  auto namespaces = all_namespaces(txn, thread);
  if (!names || !namespaces)
    return names ? namespaces.error() : names.error();
  removal out;
  std::unordered_map<std::uint64_t, std::vector<std::string_view>> own_of; // by chain
  for (const auto& own : own_values)
    if (auto place = read_value_key(own))
      own_of[place->chain].push_back(own);
  key_set gone; // a value may be in several checkpoints, and under its version, too
  for (auto& entry : *namespaces) {
    auto used = values_in_use(records, entry.chain, *names);
    if (!used)
      return used.error();
    for (auto own : own_of[entry.chain])
      if (std::string key{own}; !used->contains(key))
        gone.insert(std::move(key));
    if (auto ok = add_values(records, entry.chain, std::move(*used), out); !ok)
      return ok.error();
    auto empty = holds_nothing(txn, entry.chain);
    if (!empty)
      return empty.error();
    if (*empty && !entry.ns.empty())
      out.emptied.push_back(std::move(entry));
  }
  gone.insert(out.keys.begin(), out.keys.end());
  out.counted = gone.size();
  return out;
}

std::vector<removal> cut_to_pieces(removal all) {
  std::vector<removal> pieces;
  if (all.keys.empty())
    pieces.emplace_back();
  for (std::size_t i = 0; i < all.keys.size(); i += limits::prune_records_max) {
    auto end = std::min(i + limits::prune_records_max, all.keys.size());
    pieces.push_back(
      {{std::make_move_iterator(all.keys.begin() + static_cast<std::ptrdiff_t>(i)),
        std::make_move_iterator(all.keys.begin() + static_cast<std::ptrdiff_t>(end))},
       {},
       {}});
  }
  for (std::size_t i = 0; i < all.emptied.size(); ++i) {
    if (pieces.empty()
        || pieces.back().keys.size() + pieces.back().emptied.size() >= limits::prune_records_max)
      pieces.emplace_back();
    pieces.back().emptied.push_back(std::move(all.emptied[i]));
  }
  return pieces;
}

result<void> remove(lmdb_writer& writer, const std::string& thread_id, const removal& piece) {
  crash_point("prune.piece");
  writer.will_delete();
  writer.forget_thread(thread_id);
  if (auto ok = writer.store_meta_record(); !ok) // makes other processes forget the thread, too
    return ok;
  auto& txn = writer.transaction();
  auto thread = find_thread_number(txn, thread_id);
  if (!thread || !*thread) // deleted meanwhile
    return thread ? result<void>{} : thread.error();
  auto cipher = find_thread_cipher(txn, **thread, writer.keys());
  if (!cipher)
    return cipher.error();
  for (const auto& key : piece.keys) {
    auto value = read_value_key(key);
    auto erased = value ? writer.erase_value(*value, *cipher ? &**cipher : nullptr)
                        : txn.erase(key);
    if (!erased)
      return erased;
  }
  crash_point("prune.erased");
  for (const auto& entry : piece.emptied)
    if (auto ok = remove_namespace(txn, **thread, entry); !ok)
      return ok;
  return {};
}

} // namespace troupe
