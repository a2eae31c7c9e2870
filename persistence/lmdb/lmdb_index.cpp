// lmdb_index: reads and writes thread and namespace records (FORMAT.md, "Keys").
#include "persistence/lmdb/lmdb_index.hpp"

#include "persistence/record/bytes.hpp"

#include <algorithm>

namespace troupe {

namespace {

// Reads a namespace. Its name is in the key, or in the record when it is too long for a key.
result<namespace_entry> read_namespace(std::string_view stored, std::string_view key,
                                       std::size_t prefix_size) {
  auto payload = open_record(stored, key, record_kind::ns);
  if (!payload)
    return payload.error();
  byte_reader in{*payload};
  auto chain = in.varint();
  auto in_key = key.size() > prefix_size && key[prefix_size] == 0;
  auto ns = in_key ? key.substr(prefix_size + 1) : in.sized();
  if (!in.finished())
    return damaged(record_kind::ns);
  return namespace_entry{std::string{ns}, chain};
}

// A checkpoint may have writes of thousands of tasks. After so many of them the rest is sought
// over.
constexpr std::size_t skipped_one_by_one_max = 4;

} // namespace

result<bool> checkpoint_cursor::skip_forwards(result<bool> found) {
  for (std::size_t skipped = 0; found && *found && is_inside(); ++skipped) {
    auto parts = read_step_key(id());
    if (!parts.task_id)
      return true;
    found = skipped < skipped_one_by_one_max
              ? at_.next()
              : at_.seek(behind(writes_prefix(chain_, parts.checkpoint_id)));
  }
  return found ? result<bool>{false} : found;
}

result<bool> checkpoint_cursor::skip_backwards(result<bool> found) {
  for (std::size_t skipped = 0; found && *found && is_inside(); ++skipped) {
    auto parts = read_step_key(id());
    if (!parts.task_id)
      return true;
    found = skipped < skipped_one_by_one_max
              ? at_.previous()
              : at_.seek_before(writes_prefix(chain_, parts.checkpoint_id));
  }
  return found ? result<bool>{false} : found;
}

result<void> erase_writes(lmdb_txn& txn, std::uint64_t chain, std::string_view checkpoint_id) {
  auto ok = txn.erase_all(writes_prefix(chain, checkpoint_id));
  return ok && has_old_writes(txn) ? txn.erase_all(old_writes_prefix(chain, checkpoint_id)) : ok;
}

result<std::optional<std::string_view>> find_meta(const lmdb_txn& txn, const store_key& key,
                                                  std::string_view what) {
  auto stored = txn.get(key);
  if (!stored || *stored || txn.entries() == 0)
    return stored;
  std::string text{"open the "};
  text.append(what).append(": another program's LMDB file: ").append(txn.env().file().string());
  return troupe::error{errc::checkpoint_corrupt, text.append(": choose another directory")};
}

void append_thread(const thread_entry& thread, std::string& payload) {
  append_varint(payload, thread.number);
  append_fixed64(payload, thread.owner);
}

result<thread_entry> read_thread(std::string_view stored, std::string_view key) {
  auto payload = open_record(stored, key, record_kind::thread);
  if (!payload)
    return payload.error();
  byte_reader in{*payload};
  thread_entry thread{in.varint(), in.fixed64()};
  if (!in.finished())
    return damaged(record_kind::thread);
  return thread;
}

void append_namespace(std::uint64_t chain, std::string_view ns, std::string& payload) {
  append_varint(payload, chain);
  if (!namespace_in_key(ns))
    append_sized(payload, ns);
}

result<std::optional<thread_entry>> find_thread(const lmdb_txn& txn, std::string_view thread_id) {
  auto key = thread_key(thread_id);
  auto stored = txn.get(key);
  if (!stored)
    return stored.error();
  if (!*stored)
    return std::optional<thread_entry>{};
  auto thread = read_thread(**stored, key);
  if (!thread)
    return thread.error();
  return std::optional{*thread};
}

result<std::optional<std::uint64_t>> find_thread_number(const lmdb_txn& txn,
                                                        std::string_view thread_id) {
  auto thread = find_thread(txn, thread_id);
  if (!thread)
    return thread.error();
  return *thread ? std::optional{(**thread).number} : std::nullopt;
}

result<std::optional<std::uint64_t>> find_chain(const lmdb_txn& txn, std::uint64_t thread,
                                                std::string_view ns) {
  if (ns.empty())
    return std::optional{thread};
  auto key = namespace_key(thread, ns);
  auto stored = txn.get(key);
  if (!stored)
    return stored.error();
  if (!*stored)
    return std::optional<std::uint64_t>{};
  auto prefix_size = chain_prefix(thread, chain_part::namespaces).view().size();
  auto entry = read_namespace(**stored, key, prefix_size);
  if (!entry)
    return entry.error();
  if (entry->ns != ns)
    return troupe::error{errc::storage_failed,
                         "find a namespace: another namespace has the same hash"};
  return std::optional{entry->chain};
}

result<std::optional<std::uint64_t>> find_chain(const lmdb_txn& txn, const checkpoint_ref& ref) {
  auto number = find_thread_number(txn, ref.thread_id);
  if (!number || !*number)
    return number;
  return find_chain(txn, **number, ref.checkpoint_ns);
}

result<std::string> newest_checkpoint(const lmdb_txn& txn, std::uint64_t chain) {
  checkpoint_cursor at{txn, chain};
  auto found = at.last();
  if (!found)
    return found.error();
  return std::string{*found ? at.id() : std::string_view{}};
}

result<void> erase_chain(lmdb_txn& txn, std::uint64_t chain) {
  for (auto part : chain_parts)
    if (auto ok = txn.erase_all(chain_prefix(chain, part)); !ok)
      return ok;
  return {};
}

result<std::vector<namespace_entry>> all_namespaces(const lmdb_txn& txn, std::uint64_t thread) {
  std::vector<namespace_entry> all{{std::string{}, thread}};
  auto prefix = chain_prefix(thread, chain_part::namespaces);
  auto size = prefix.view().size();
  auto ok = scan(txn, prefix, [&all, size](auto key, auto data) -> result<void> {
    auto entry = read_namespace(data, key, size);
    if (!entry)
      return entry.error();
    all.push_back(std::move(*entry));
    return {};
  });
  if (!ok)
    return ok.error();
  std::ranges::sort(all, {}, &namespace_entry::ns); // long names come last in the order of keys
  return all;
}

} // namespace troupe
