// lmdb_rewind: finds the changes of a run and undoes them.
#include "persistence/lmdb/lmdb_rewind.hpp"

#include "persistence/lmdb/lmdb_index.hpp"
#include "persistence/lmdb/lmdb_pruner.hpp"
#include "persistence/lmdb/thread_keys.hpp"
#include "persistence/record/checkpoint_record.hpp"
#include "persistence/record/saver_rules.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

using names_view = std::vector<std::string_view>;

// The changes of a rewind. All are found before the first is made, since a write moves data that
// was read.
struct changes {
  removal gone;
  std::vector<std::pair<std::string, std::string>> rewritten; // keys and payloads
  bool leaves_nothing = true;
};

// Finds the writes of format 2 whose checkpoint has a greater id than `after_id`. They are few: a
// store has them from the time before it was converted.
result<void> find_newer_old_writes(const lmdb_txn& txn, std::uint64_t chain,
                                   const std::string& after_id, changes& out) {
  auto prefix = chain_prefix(chain, chain_part::old_writes);
  return scan(txn, prefix, [&](std::string_view key, auto) -> result<void> {
    auto rest = key.substr(prefix.view().size());
    auto id = take_id(rest);
    if (!id)
      return damaged(record_kind::writes);
    if (*id > after_id)
      out.gone.keys.emplace_back(key);
    else
      out.leaves_nothing = false;
    return {};
  });
}

// Finds newer checkpoints and their writes without reading older ones.
result<void> find_newer(const lmdb_txn& txn, std::uint64_t chain, const std::string& after_id,
                        changes& out) {
  auto prefix = chain_prefix(chain, chain_part::checkpoints);
  auto id_of = [&prefix](std::string_view key) {
    return read_step_key(key.substr(prefix.view().size())).checkpoint_id;
  };
  lmdb_cursor at{txn, prefix};
  auto more = at.seek(prefix);
  if (more && *more && at.key().starts_with(prefix.view()) && id_of(at.key()) <= after_id) {
    out.leaves_nothing = false;
    more = at.seek(behind(writes_prefix(chain, after_id)));
  }
  for (; more && *more && at.key().starts_with(prefix.view()); more = at.next())
    out.gone.keys.emplace_back(at.key());
  if (!more)
    return more.error();
  return has_old_writes(txn) ? find_newer_old_writes(txn, chain, after_id, out) : result<void>{};
}

result<void> find_changed(thread_records& records, std::string_view key, std::string_view data,
                          std::string_view task_id, const names_view& names,
                          const rewind_point::head& head, changes& out) {
  auto scope = records.scope();
  auto payload = records.open(data, key, record_kind::writes);
  if (!payload)
    return payload.error();
  auto there = read_writes(*payload, names);
  if (!there)
    return there.error();
  std::vector<slotted_write> stored;
  for (const auto& write : *there) {
    auto val = from_msgpack(write.value);
    if (!val)
      return damaged(record_kind::writes);
    stored.push_back({write.slot,
                      {std::string{task_id}, std::string{names[write.channel]}, std::move(*val),
                       std::string{write.task_path}}});
  }
  auto left = rewound_writes(stored, head.writes);
  auto same = std::ranges::equal(left, stored, [](const auto& a, const auto& b) {
    return a.slot == b.slot && a.write == b.write;
  });
  if (same)
    return {};
  if (left.empty()) {
    out.gone.keys.emplace_back(key);
    return {};
  }
  std::vector<std::string> values;
  values.reserve(left.size()); // writes point into it
  std::vector<stored_write> kept;
  for (const auto& write : left) {
    auto value = to_msgpack(write.write.value);
    if (!value)
      return value.error();
    values.push_back(std::move(*value));
    auto channel = std::ranges::find(names, write.write.channel) - names.begin();
    kept.push_back(
      {write.slot, static_cast<std::uint32_t>(channel), write.write.task_path, values.back()});
  }
  std::string record;
  begin_record(record);
  append_writes(kept, nullptr, record);
  out.rewritten.emplace_back(std::string{key}, std::move(record));
  return {};
}

result<void> find_head(thread_records& records, std::uint64_t thread, const names_view& names,
                       const rewind_point::head& head, changes& out) {
  auto chain = find_chain(records.txn(), thread, head.ref.checkpoint_ns);
  if (!chain || !*chain)
    return chain ? result<void>{} : chain.error();
  return scan_writes(records.txn(), **chain, head.ref.checkpoint_id,
                     [&](auto key, const std::string& task_id, auto data) {
                       return find_changed(records, key, data, task_id, names, head, out);
                     });
}

result<changes> find_changes(thread_records& records, std::uint64_t thread,
                             const rewind_point& to) {
  changes out;
  const auto& txn = records.txn();
  records.enter(thread);
  auto names = records.names();
  auto namespaces = all_namespaces(txn, thread);
  if (!names || !namespaces)
    return names ? namespaces.error() : names.error();
  for (const auto& entry : *namespaces)
    if (auto ok = find_newer(txn, entry.chain, to.after_id, out); !ok)
      return ok.error();
  for (const auto& head : to.heads)
    if (auto ok = find_head(records, thread, *names, head, out); !ok)
      return ok.error();
  return out;
}

result<void> apply(lmdb_writer& writer, const std::string& thread_id, std::uint64_t thread,
                   changes found) {
  if (auto ok = remove(writer, thread_id, found.gone); !ok)
    return ok;
  auto& txn = writer.transaction();
  auto cipher = find_thread_cipher(txn, thread, writer.keys());
  if (!cipher)
    return cipher.error();
  for (auto& [key, record] : found.rewritten) {
    auto sealed = writer.sealer().seal(record, key, record_kind::writes,
                                       *cipher ? &**cipher : nullptr);
    if (auto ok = sealed ? txn.put(key, record) : sealed; !ok)
      return ok;
  }
  return {};
}

} // namespace

write_outcome rewind(lmdb_writer& writer, const std::string& thread_id, const rewind_point& to) {
  const auto& txn = writer.transaction();
  auto thread = find_thread(txn, thread_id);
  if (!thread || !*thread)
    return {.answer = thread ? result<void>{} : thread.error()};
  if (auto ok = check_rewind(thread_id, to, (**thread).owner); !ok)
    return {.answer = ok};
  thread_records records{txn, writer.keys()};
  auto found = find_changes(records, (**thread).number, to);
  if (!found)
    return {.answer = found.error()};
  if (found->leaves_nothing)
    return writer.ended(writer.erase_thread(thread_id));
  return writer.ended(apply(writer, thread_id, (**thread).number, std::move(*found)));
}

} // namespace troupe
