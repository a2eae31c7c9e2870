// lmdb_writer: the part that removes the past of a checkpoint that needs none, in the transaction
// that stores it.
//
// A run that keeps only the latest checkpoint finds one older checkpoint at each put. Its record
// names the values to remove, so the cost does not depend on the length of the run. A longer past
// is from a time when all was kept. It is removed as prune() does, a piece at each put.
//
// Invariants:
//  - A value stays as long as a patch of a newer value builds on it.
//  - The writer remembers no base that was removed.
#include "persistence/lmdb/lmdb_index.hpp"
#include "persistence/lmdb/lmdb_pruner.hpp"
#include "persistence/lmdb/lmdb_writer.hpp"
#include "persistence/record/checkpoint_record.hpp"
#include "persistence/record/saver_rules.hpp"
#include "persistence/record/value_patch.hpp"

#include "graph/crash_point.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

result<void> lmdb_writer::drop_older(known_thread& thread, known_chain& chain,
                                     const save_request& request) {
  const auto& now = request.put->checkpoint;
  if (auto ok = drop_task_namespaces(thread, request); !ok)
    return ok;
  auto older = some_older(chain.number, now.id);
  if (!older || older->empty())
    return older ? result<void>{} : older.error();
  auto done = older->size() == 1 ? drop_one(thread, chain, older->front(), now) : result{false};
  crash_point("request.past");
  if (!done || *done)
    return done ? result<void>{} : done.error();
  return drop_long_past(thread, request); // forgets the thread: comes last
}

// At most two ids: more need no distinction.
result<std::vector<std::string>> lmdb_writer::some_older(std::uint64_t chain,
                                                         std::string_view id) const {
  std::vector<std::string> out;
  checkpoint_cursor at{*txn_, chain};
  auto more = at.first();
  for (; more && *more && out.size() < 2 && at.id() < id; more = at.next())
    out.emplace_back(at.id());
  if (!more)
    return more.error();
  return out;
}

// False, with nothing removed: a value of `now` builds on another value than the one before it.
result<bool> lmdb_writer::drop_one(known_thread& thread, known_chain& chain,
                                   const std::string& older, const checkpoint& now) {
  auto key = checkpoint_key(chain.number, older);
  auto data = txn_->get(key);
  if (!data)
    return data.error();
  if (!*data)
    return damaged(record_kind::checkpoint);
  std::vector<old_value> gone;
  {
    record_opener::scope scope{opener_};
    auto payload = opener_.open(**data, key, record_kind::checkpoint, cipher_of(thread));
    auto stored = payload ? read_checkpoint(*payload, thread.names.all()) : payload.error();
    if (!stored)
      return stored.error();
    const auto& versions = stored->checkpoint.channel_versions;
    for (std::size_t i = 0; i < versions.size(); ++i) {
      const auto* at = find_named(now.channel_versions, versions[i].first);
      if (at && *at == versions[i].second)
        continue;
      auto found = find_old_value(thread, chain.number, {versions[i].second, stored->channels[i]},
                                  at, gone);
      if (!found || !*found)
        return found;
    }
  }
  if (auto ok = erase_writes(*txn_, chain.number, older); !ok)
    return ok.error();
  if (auto ok = txn_->erase(key); !ok)
    return ok.error();
  if (auto ok = drop_values(thread, chain, std::move(gone)); !ok)
    return ok.error();
  return true;
}

// Adds a value, and those it builds on, to `out`, unless the value at version `now` builds on it.
// False: that value builds on another one.
result<bool> lmdb_writer::find_old_value(known_thread& thread, std::uint64_t chain, old_value at,
                                         const version* now, std::vector<old_value>& out) {
  if (now) {
    auto base = base_of(thread, value_key(chain, *now, at.channel), *now);
    if (!base)
      return base.error();
    if (*base)
      return **base == at.at;
  }
  for (std::optional<version> next = at.at; next;) {
    out.push_back({*next, at.channel});
    auto base = base_of(thread, value_key(chain, *next, at.channel), *next);
    if (!base)
      return base.error();
    next = *base;
  }
  return true;
}

// The version that the value at this key is a patch of; nullopt when it is not a patch.
result<std::optional<version>> lmdb_writer::base_of(known_thread& thread, const store_key& key,
                                                    const version& at) {
  auto data = txn_->get(key);
  if (!data)
    return data.error();
  if (!*data || kind_of(**data) != record_kind::patch)
    return std::optional<version>{};
  record_opener::scope scope{opener_};
  auto payload = opener_.open(**data, key, record_kind::patch, cipher_of(thread));
  if (!payload)
    return payload.error();
  auto base = take_patch_head(*payload, at);
  return base ? result{std::optional{base->at}} : base.error();
}

result<void> lmdb_writer::drop_values(known_thread& thread, known_chain& chain,
                                      std::vector<old_value> old_values) {
  const auto& names = thread.names.all();
  std::ranges::sort(old_values, {}, [](const auto& v) { return std::pair{v.at, v.channel}; });
  for (auto from = old_values.begin(); from != old_values.end();) {
    auto to = std::find_if(from, old_values.end(),
                           [from](const auto& v) { return v.at != from->at; });
    std::vector<small_value> small;
    for (auto v = from; v != to; ++v) {
      small.push_back({v->channel, {}});
      if (auto ok = txn_->erase(value_key(chain.number, v->at, v->channel)); !ok)
        return ok;
      auto base = chain.bases.find(std::string{names[v->channel]});
      if (base != chain.bases.end() && base->second.at == v->at) {
        bases_bytes_ -= base->second.bytes;
        chain.bases.erase(base);
      }
    }
    if (auto ok = store_small_values(chain.number, from->at, small, cipher_of(thread)); !ok)
      return ok;
    from = to;
  }
  return {};
}

// The tasks of older checkpoints are over, and with them what they ran. Their namespaces hold older
// checkpoints only.
result<void> lmdb_writer::drop_task_namespaces(known_thread& thread, const save_request& request) {
  auto all = all_namespaces(*txn_, thread.number);
  if (!all)
    return all.error();
  for (const auto& entry : *all) {
    if (!is_of_a_task_of(entry.ns, request.ref.checkpoint_ns))
      continue;
    auto newest = newest_checkpoint(*txn_, entry.chain);
    if (!newest)
      return newest.error();
    if (newest->empty() || *newest >= request.put->checkpoint.id)
      continue;
    if (auto ok = erase_chain(*txn_, entry.chain); !ok)
      return ok;
    if (auto ok = txn_->erase(namespace_key(thread.number, entry.ns)); !ok)
      return ok;
    if (auto known = thread.chains.find(entry.ns); known != thread.chains.end()) {
      for (const auto& [channel, base] : known->second.bases)
        bases_bytes_ -= base.bytes;
      thread.chains.erase(known);
    }
  }
  return {};
}

result<void> lmdb_writer::drop_long_past(const known_thread& thread, const save_request& request) {
  auto mark = [&request](thread_summary& all) {
    for (auto& at : all)
      for (auto& cp : at.checkpoints)
        cp.stays = at.ns != request.ref.checkpoint_ns || cp.id >= request.put->checkpoint.id;
  };
  auto number = thread.number;
  const auto thread_id = request.ref.thread_id;
  thread_records records{*txn_, keys_};
  auto checkpoints = find_checkpoints_to_remove(records, number, mark);
  if (!checkpoints)
    return checkpoints.error();
  auto pieces = cut_to_pieces(std::move(*checkpoints));
  if (auto ok = remove(*this, thread_id, pieces.front()); !ok || pieces.size() > 1)
    return ok;
  thread_records rest{*txn_, keys_};
  auto values = find_values_to_remove(rest, number);
  if (!values)
    return values.error();
  return remove(*this, thread_id, cut_to_pieces(std::move(*values)).front());
}

} // namespace troupe
