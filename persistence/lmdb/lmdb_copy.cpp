// lmdb_copy: copies the records of a thread under new numbers.
#include "persistence/lmdb/lmdb_copy.hpp"

#include "persistence/lmdb/lmdb_index.hpp"
#include "persistence/lmdb/lmdb_pruner.hpp"
#include "persistence/record/bytes.hpp"
#include "persistence/record/saver_rules.hpp"
#include "persistence/record/value_patch.hpp"

namespace troupe {

namespace {

class thread_copy {
public:
  thread_copy(lmdb_writer& writer, std::uint64_t from)
    : writer_{writer},
      from_{from},
      records_{writer.transaction(), writer.keys()} {
    records_.enter(from);
  }

  result<void> run(const std::string& target) {
    auto number = writer_.new_number();
    if (!number)
      return number.error();
    to_ = *number;
    begin_record(record_);
    append_thread({to_, 0}, record_);
    if (auto ok = put(thread_key(target), record_kind::thread); !ok)
      return ok;
    if (auto ok = make_cipher(); !ok)
      return ok;
    auto namespaces = all_namespaces(txn(), from_);
    if (!namespaces)
      return namespaces.error();
    for (const auto& entry : *namespaces)
      if (auto ok = copy_namespace(entry); !ok)
        return ok;
    return {};
  }

private:
  lmdb_txn& txn() { return writer_.transaction(); }

  result<void> put(std::string_view key, record_kind kind) {
    seal_record(record_, key, kind);
    return txn().put(key, record_);
  }

  // The copy has its own data key, or none when the store has no keys.
  result<void> make_cipher() {
    if (!writer_.keys())
      return {};
    auto made = make_thread_cipher(txn(), to_, *writer_.keys());
    if (!made)
      return made.error();
    cipher_ = std::move(*made);
    return {};
  }

  result<void> copy_namespace(const namespace_entry& entry) {
    if (entry.ns.empty())
      return copy_chain(from_, to_);
    auto chain = writer_.new_number();
    if (!chain)
      return chain.error();
    begin_record(record_);
    append_namespace(*chain, entry.ns, record_);
    if (auto ok = put(namespace_key(to_, entry.ns), record_kind::ns); !ok)
      return ok;
    return copy_chain(entry.chain, *chain);
  }

  result<void> copy_chain(std::uint64_t from, std::uint64_t to) {
    for (auto part : chain_parts)
      // Namespaces get their own numbers, and the data key was made before.
      if (part != chain_part::namespaces && part != chain_part::key)
        if (auto ok = copy_part(from, to, part); !ok)
          return ok;
    return {};
  }

  // Copies one part of a chain. New keys sort after all old ones. A write moves the data that was
  // read, so the cursor starts again for each record.
  result<void> copy_part(std::uint64_t from, std::uint64_t to, chain_part part) {
    auto prefix = chain_prefix(from, part);
    auto number_size = chain_prefix(from).view().size();
    std::string key{prefix.view()}, last;
    for (;;) {
      lmdb_cursor at{txn()};
      auto found = at.seek(key);
      if (!found)
        return found.error();
      if (!*found || !at.key().starts_with(prefix.view()))
        return {};
      last.assign(at.key());
      if (auto ok = copy_record(last, at.data(), number_size, to); !ok)
        return ok;
      key = last;
      key.push_back('\0'); // seeks the next key
    }
  }

  result<void> copy_record(std::string_view key, std::string_view data, std::size_t prefix_size,
                           std::uint64_t to) {
    auto kind = kind_of(data);
    auto scope = records_.scope();
    auto payload = records_.open(data, key, kind);
    if (!payload)
      return payload.error();
    auto new_key = chain_prefix(to);
    new_key.append(key.substr(prefix_size));
    begin_record(record_);
    if (kind == record_kind::patch) {
      if (auto ok = append_head(new_key, *payload, to); !ok)
        return ok;
    }
    record_.append(*payload);
    if (auto ok = writer_.sealer().seal(record_, new_key, kind, cipher_ ? &*cipher_ : nullptr); !ok)
      return ok;
    return txn().put(new_key, record_);
  }

  // Writes the head of a patch, which names its base by a checksum that includes the key. The base
  // has a lower version, so its copy exists.
  result<void> append_head(const store_key& new_key, std::string_view& payload, std::uint64_t to) {
    auto place = read_value_key(new_key);
    if (!place || !place->channel)
      return damaged(record_kind::patch);
    auto base = take_patch_head(payload, place->at);
    if (!base)
      return base.error();
    auto stored = txn().get(value_key(to, base->at, *place->channel));
    if (!stored)
      return stored.error();
    if (!*stored)
      return damaged(record_kind::patch);
    append_patch_head({base->at, short_checksum(**stored)}, place->at, record_);
    return {};
  }

  lmdb_writer& writer_;
  std::uint64_t from_;
  std::uint64_t to_ = 0;
  thread_records records_;
  std::optional<aes_gcm> cipher_; // of the copy
  std::string record_;
};

// Removes what the copy does not keep, in the transaction that made it.
result<void> cut(lmdb_writer& writer, const std::string& target, const std::string& up_to) {
  auto number = find_thread_number(writer.transaction(), target);
  if (!number)
    return number.error();
  auto keep = [&up_to](thread_summary& thread) { mark_up_to(thread, up_to); };
  thread_records records{writer.transaction(), writer.keys()};
  auto checkpoints = find_checkpoints_to_remove(records, **number, keep);
  if (!checkpoints)
    return checkpoints.error();
  if (auto ok = remove(writer, target, *checkpoints); !ok)
    return ok;
  thread_records rest{writer.transaction(), writer.keys()};
  auto values = find_values_to_remove(rest, **number);
  return values ? remove(writer, target, *values) : values.error();
}

} // namespace

write_outcome copy_thread(lmdb_writer& writer, const std::string& source, const std::string& target,
                          const std::string& up_to) {
  const auto& txn = writer.transaction();
  auto from = find_thread_number(txn, source);
  auto to = find_thread_number(txn, target);
  if (!from || !to)
    return {.answer = from ? to.error() : from.error()};
  if (!*from)
    return up_to.empty() ? write_outcome{}
                         : write_outcome{.answer = nothing_to_copy(source, up_to)};
  if (*to)
    return {.answer = target_is_there(target)};
  if (up_to.empty())
    return writer.ended(thread_copy{writer, **from}.run(target));
  auto last = txn.get(checkpoint_key(**from, up_to));
  if (!last || !*last)
    return {.answer = last ? nothing_to_copy(source, up_to) : last.error()};
  auto copied = thread_copy{writer, **from}.run(target);
  return writer.ended(copied ? cut(writer, target, up_to) : copied);
}

} // namespace troupe
