// lmdb_reader: reads stored data. Records are checked by their checksums, payloads by their
// readers.
#include "persistence/lmdb/lmdb_reader.hpp"

#include "persistence/delta_history.hpp"
#include "persistence/record/metadata_record.hpp"
#include "persistence/record/saver_rules.hpp"
#include "persistence/record/value_base.hpp"
#include "persistence/record/value_patch.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

// Shortens a bound so that it fits into a key. The same ids are before it.
std::string_view cut_to_key(std::string_view before) {
  return before.substr(0, limits::checkpoint_id_bytes_max + 1);
}

std::string_view thread_id_of(std::string_view key) {
  return key.substr(1); // after the byte of the area
}

result<std::optional<value>> read_small_value(std::string_view stored) {
  auto val = from_msgpack(stored);
  return val ? result{std::optional{std::move(*val)}} : damaged(record_kind::small_values);
}

// Calls `visit` with the id and the entry of each thread, in the order of ids.
template <class Visit> result<void> each_thread(const lmdb_txn& txn, Visit visit) {
  store_key all;
  all.append_byte(static_cast<unsigned char>(key_area::thread));
  return scan(txn, all, [&visit](std::string_view key, auto data) -> result<void> {
    auto thread = read_thread(data, key);
    return thread ? visit(thread_id_of(key), *thread) : thread.error();
  });
}

} // namespace

result<std::optional<checkpoint_tuple>>
lmdb_reader::get_tuple(const checkpoint_ref& ref, const std::vector<std::string>* only) {
  auto number = find_thread_number(txn_, ref.thread_id);
  if (!number)
    return number.error();
  if (!*number)
    return std::optional<checkpoint_tuple>{};
  auto chain = find_chain(txn_, **number, ref.checkpoint_ns);
  if (!chain)
    return chain.error();
  if (!*chain)
    return std::optional<checkpoint_tuple>{};
  records_.enter(**number);
  auto found = ref.checkpoint_id.empty() ? newest(**chain) : find(**chain, ref.checkpoint_id);
  if (!found)
    return found.error();
  if (!*found)
    return std::optional<checkpoint_tuple>{};
  auto thread = open(ref.thread_id, **number);
  if (!thread)
    return thread.error();
  return read_tuple(*thread, {ref.checkpoint_ns, **chain}, std::move(**found), {}, only);
}

result<lmdb_reader::open_thread> lmdb_reader::open(std::string_view thread_id,
                                                   std::uint64_t number) {
  records_.enter(number);
  auto names = records_.names();
  if (!names)
    return names.error();
  return open_thread{thread_id, number, std::move(*names)};
}

result<std::optional<lmdb_reader::found_checkpoint>> lmdb_reader::find(std::uint64_t chain,
                                                                       const std::string& id) {
  auto key = checkpoint_key(chain, id);
  auto stored = txn_.get(key);
  if (!stored)
    return stored.error();
  if (!*stored)
    return std::optional<found_checkpoint>{};
  auto payload = records_.open(**stored, key, record_kind::checkpoint);
  if (!payload)
    return payload.error();
  return std::optional{found_checkpoint{id, *payload}};
}

result<std::optional<lmdb_reader::found_checkpoint>> lmdb_reader::newest(std::uint64_t chain) {
  checkpoint_cursor at{txn_, chain};
  auto found = at.last();
  if (!found)
    return found.error();
  if (!*found)
    return std::optional<found_checkpoint>{};
  auto payload = records_.open(at.data(), at.key(), record_kind::checkpoint);
  if (!payload)
    return payload.error();
  return std::optional{found_checkpoint{std::string{at.id()}, *payload}};
}

// ---- one checkpoint -----------------------------------------------------------------------------

// A checkpoint; nullopt when its metadata does not match, which is decided before all else is read.
result<std::optional<checkpoint_tuple>> lmdb_reader::read_tuple(
  const open_thread& thread, const namespace_entry& at, found_checkpoint found, const value& filter,
  const std::vector<std::string>* only) {
  auto stored = read_checkpoint(found.payload, thread.names);
  if (!stored)
    return stored.error();
  auto metadata = read_metadata(stored->metadata);
  if (!metadata)
    return metadata.error();
  if (!matches_filter(filter, *metadata))
    return std::optional<checkpoint_tuple>{};
  std::optional<checkpoint_tuple> tuple{std::in_place};
  tuple->ref = {std::string{thread.id}, at.ns, std::move(found.id)};
  tuple->metadata = std::move(*metadata);
  tuple->checkpoint = std::move(stored->checkpoint);
  tuple->checkpoint.id = tuple->ref.checkpoint_id;
  tuple->parent_id = std::move(stored->parent_id);
  if (auto ok = read_values(at.chain, {stored->channels.data(), stored->channels.size()},
                            stored->small_values, tuple->checkpoint, only);
      !ok)
    return ok.error();
  auto pending = read_pending(thread.names, at.chain, tuple->ref.checkpoint_id);
  if (!pending)
    return pending.error();
  tuple->pending_writes = std::move(*pending);
  return tuple;
}

// `own`: the small values in the checkpoint's record.
result<void> lmdb_reader::read_values(std::uint64_t chain, std::span<const std::uint32_t> channels,
                                      std::string_view own, checkpoint& cp,
                                      const std::vector<std::string>* only) {
  own_values_.clear();
  if (auto ok = read_small_values(own, own_values_); !ok)
    return ok;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const auto& [name, at] = cp.channel_versions[i];
    if (only && !std::ranges::binary_search(*only, name))
      continue;
    auto small = find_small_value(own_values_, channels[i]);
    auto val = small ? read_small_value(*small) : read_value(chain, at, channels[i]);
    if (!val)
      return val.error();
    if (*val) // without a value the channel is empty
      cp.channel_values.emplace_back(name, std::move(**val));
  }
  return {};
}

result<std::optional<value>> lmdb_reader::read_value(std::uint64_t chain, const version& at,
                                                     std::uint32_t channel) {
  auto scope = records_.scope();
  auto found = values_.find(chain, at, channel);
  if (!found)
    return found.error();
  if (!*found)
    return std::optional<value>{};
  auto [is_small, stored] = **found;
  if (is_small)
    return read_small_value(stored);
  auto val = read_record(chain, channel, at, stored);
  return val ? result{std::optional{std::move(*val)}} : val.error();
}

// Follows patches back to the nearest whole or known value, and applies them from there.
result<value> lmdb_reader::read_record(std::uint64_t chain, std::uint32_t channel, version at,
                                       std::string_view stored) {
  const value_cache::place place{chain, channel};
  value_cache::entry decoded{at, checksum_of(stored), {}, 0};
  auto is_large = kind_of(stored) == record_kind::patch || stored.size() >= patch_base_bytes_min;
  auto cached = cache_ && is_large ? cache_->find(place) : std::nullopt;
  std::vector<std::pair<value_place, std::string_view>> patches;
  while (true) {
    if (auto known = patched_.find({chain, channel, at}); known != patched_.end()) {
      decoded.val = known->second;
      break;
    }
    auto key = value_key(chain, at, channel);
    auto kind = kind_of(stored) == record_kind::patch ? record_kind::patch : record_kind::value;
    if (cached && cached->at == at && cached->checksum == checksum_of(stored)) {
      if (auto intact = open_flagged_record(stored, key, kind); !intact)
        return intact.error();
      decoded.val = std::move(cached->val);
      decoded.bytes += cached->bytes;
      break;
    }
    auto payload = records_.open(stored, key, kind);
    if (!payload)
      return payload.error();
    decoded.bytes += payload->size();
    if (kind == record_kind::value) {
      auto whole = from_msgpack(*payload);
      if (!whole)
        return damaged(record_kind::value);
      decoded.val = std::move(*whole);
      break;
    }
    auto base = take_patch_head(*payload, at);
    if (!base)
      return base.error();
    patches.push_back({{chain, channel, at}, *payload});
    at = base->at;
    auto before = txn_.get(value_key(chain, at, channel));
    if (!before)
      return before.error();
    if (!*before || short_checksum(**before) != base->checksum)
      return damaged(record_kind::patch);
    stored = **before;
  }
  for (auto patch = patches.rbegin(); patch != patches.rend(); ++patch) {
    auto next = apply_patch(decoded.val, patch->second);
    if (!next)
      return next;
    decoded.val = std::move(*next);
    if (keeps_patched_)
      patched_[patch->first] = decoded.val;
  }
  auto val = decoded.val;
  auto is_new = !cached || cached->at != decoded.at || cached->checksum != decoded.checksum;
  if (cache_ && is_large && is_new && !keeps_patched_ && may_be_base(val, decoded.bytes))
    cache_->keep(place, std::move(decoded));
  return val;
}

result<std::vector<pending_write>> lmdb_reader::read_pending(const names_view& names,
                                                             std::uint64_t chain,
                                                             const std::string& checkpoint_id) {
  std::vector<slotted_write> found;
  auto read = [&](auto key, const std::string& task_id, auto data) -> result<void> {
    auto scope = records_.scope();
    auto payload = records_.open(data, key, record_kind::writes);
    if (!payload)
      return payload.error();
    auto writes = read_writes(*payload, names);
    if (!writes)
      return writes.error();
    for (const auto& write : *writes) {
      auto val = from_msgpack(write.value);
      if (!val)
        return damaged(record_kind::writes);
      found.push_back({write.slot,
                       {task_id, std::string{names[write.channel]}, std::move(*val),
                        std::string{write.task_path}}});
    }
    return {};
  };
  auto ok = scan_writes(txn_, chain, checkpoint_id, read);
  if (!ok)
    return ok.error();
  return in_task_order(std::move(found));
}

// ---- histories ----------------------------------------------------------------------------------

result<named<delta_history>>
lmdb_reader::delta_histories(const checkpoint_ref& ref, const std::vector<std::string>& channels) {
  auto none = [&channels] { return history_walk{channels}.finish(); };
  auto number = find_thread_number(txn_, ref.thread_id);
  if (!number || !*number)
    return number ? result<named<delta_history>>{none()} : number.error();
  auto chain = find_chain(txn_, **number, ref.checkpoint_ns);
  if (!chain || !*chain)
    return chain ? result<named<delta_history>>{none()} : chain.error();
  records_.enter(**number);
  auto found = ref.checkpoint_id.empty() ? newest(**chain) : find(**chain, ref.checkpoint_id);
  if (!found || !*found)
    return found ? result<named<delta_history>>{none()} : found.error();
  auto thread = open(ref.thread_id, **number);
  if (!thread)
    return thread.error();
  auto target = read_checkpoint((*found)->payload, thread->names);
  if (!target)
    return target.error();
  return walk_history(channels, std::move(target->parent_id),
                      [&](const std::string& id, const std::vector<std::string>& open) {
                        return read_ancestor(*thread, **chain, id, open);
                      });
}

result<std::optional<checkpoint_tuple>>
lmdb_reader::read_ancestor(const open_thread& thread, std::uint64_t chain, const std::string& id,
                           const std::vector<std::string>& channels) {
  auto scope = records_.scope();
  auto found = find(chain, id);
  if (!found || !*found)
    return found ? result<std::optional<checkpoint_tuple>>{std::nullopt} : found.error();
  auto stored = read_checkpoint((*found)->payload, thread.names);
  if (!stored)
    return stored.error();
  std::optional<checkpoint_tuple> tuple{std::in_place};
  tuple->parent_id = std::move(stored->parent_id);
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i < stored->channels.size(); ++i)
    if (auto& entry = stored->checkpoint.channel_versions[i];
        std::ranges::binary_search(channels, entry.first)) {
      tuple->checkpoint.channel_versions.push_back(std::move(entry));
      numbers.push_back(stored->channels[i]);
    }
  if (auto ok = read_values(chain, numbers, stored->small_values, tuple->checkpoint); !ok)
    return ok.error();
  auto pending = read_pending(thread.names, chain, id);
  if (!pending)
    return pending.error();
  tuple->pending_writes = std::move(*pending);
  return tuple;
}

// ---- many ---------------------------------------------------------------------------------------

result<std::vector<checkpoint_tuple>> lmdb_reader::list(const list_query& query) {
  keeps_patched_ = true;
  std::vector<checkpoint_tuple> found;
  if (query.thread_id) {
    auto number = find_thread_number(txn_, *query.thread_id);
    if (!number || !*number)
      return number ? result<std::vector<checkpoint_tuple>>{found} : number.error();
    auto thread = open(*query.thread_id, **number);
    if (!thread)
      return thread.error();
    if (auto ok = list_thread(query, *thread, found); !ok)
      return ok.error();
    return found;
  }
  auto ok = each_thread(txn_, [&](std::string_view id, const auto& entry) -> result<void> {
    auto scope = records_.scope();
    auto thread = open(id, entry.number);
    return thread ? list_thread(query, *thread, found) : thread.error();
  });
  if (!ok)
    return ok.error();
  return found;
}

result<void> lmdb_reader::list_thread(const list_query& query, const open_thread& thread,
                                      std::vector<checkpoint_tuple>& found) {
  if (query.checkpoint_ns) {
    auto chain = find_chain(txn_, thread.number, *query.checkpoint_ns);
    if (!chain || !*chain)
      return chain ? result<void>{} : chain.error();
    return list_chain(query, thread, {*query.checkpoint_ns, **chain}, found);
  }
  auto all = all_namespaces(txn_, thread.number);
  if (!all)
    return all.error();
  for (const auto& entry : *all)
    if (auto ok = list_chain(query, thread, entry, found); !ok)
      return ok;
  return {};
}

// Lists checkpoints backwards from `before`, or the one checkpoint that was asked for.
result<void> lmdb_reader::list_chain(const list_query& query, const open_thread& thread,
                                     const namespace_entry& at,
                                     std::vector<checkpoint_tuple>& found) {
  auto limit = query.limit.value_or(SIZE_MAX);
  checkpoint_cursor cursor{txn_, at.chain};
  auto more = query.before ? cursor.last_before(cut_to_key(*query.before)) : cursor.last();
  for (; more && *more && found.size() < limit; more = cursor.previous()) {
    if (query.checkpoint_id && cursor.id() != *query.checkpoint_id)
      continue;
    auto scope = records_.scope();
    auto payload = records_.open(cursor.data(), cursor.key(), record_kind::checkpoint);
    if (!payload)
      return payload.error();
    auto tuple = read_tuple(thread, at, {std::string{cursor.id()}, *payload}, query.filter);
    if (!tuple)
      return tuple.error();
    if (*tuple)
      found.push_back(std::move(**tuple));
  }
  return more ? result<void>{} : more.error();
}

result<std::vector<thread_info>> lmdb_reader::threads() {
  std::vector<thread_info> infos;
  auto ok = each_thread(txn_, [&](std::string_view id, const auto& thread) -> result<void> {
    thread_info info{.thread_id = std::string{id}};
    if (auto ok = describe(info, thread.number); !ok) {
      if (ok.error().code() != errc::checkpoint_corrupt)
        return ok;
      info.damage = ok.error().message();
      info.ts.clear();
    }
    infos.push_back(std::move(info));
    return {};
  });
  if (!ok)
    return ok.error();
  return infos;
}

result<std::uint64_t> lmdb_reader::thread_owner(const std::string& thread_id) {
  auto thread = find_thread(txn_, thread_id);
  if (!thread)
    return thread.error();
  return *thread ? (**thread).owner : 0;
}

result<std::vector<owned_thread>> lmdb_reader::owners() {
  std::vector<owned_thread> out;
  auto ok = each_thread(txn_, [&](std::string_view id, const auto& thread) -> result<void> {
    out.push_back({std::string{id}, thread.owner});
    return {};
  });
  if (!ok)
    return ok.error();
  return out;
}

result<void> lmdb_reader::describe(thread_info& info, std::uint64_t number) {
  auto scope = records_.scope();
  auto thread = open(info.thread_id, number);
  auto chains = all_namespaces(txn_, number);
  if (!thread || !chains)
    return thread ? chains.error() : thread.error();
  auto from_root = false;
  for (const auto& entry : *chains) {
    for (auto part : chain_parts) {
      auto count = [&info](auto key, auto data) -> result<void> {
        info.checkpoints += kind_of(data) == record_kind::checkpoint ? 1 : 0;
        info.bytes += key.size() + data.size();
        return {};
      };
      if (auto ok = scan(txn_, chain_prefix(entry.chain, part), count); !ok)
        return ok.error();
    }
    auto found = newest(entry.chain);
    if (!found)
      return found.error();
    if (!*found || from_root || (!entry.ns.empty() && (*found)->id < info.checkpoint_id))
      continue;
    auto stored = read_checkpoint((*found)->payload, thread->names);
    if (!stored)
      return stored.error();
    info.checkpoint_id = std::move((*found)->id);
    info.ts = std::move(stored->checkpoint.ts);
    from_root = entry.ns.empty();
  }
  return {};
}

} // namespace troupe
