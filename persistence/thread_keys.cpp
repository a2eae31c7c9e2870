// FORMAT.md, "Key".
#include "persistence/thread_keys.hpp"

#include "persistence/bytes.hpp"
#include "persistence/lmdb_index.hpp"
#include "persistence/name_table.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

namespace {

struct wrapped_key {
  std::string_view id; // of the ring's key
  std::string_view bytes;
};

error missing(std::string_view id, std::string_view why) {
  std::string text{"open an encrypted thread: key `"};
  text.append(id).append("`: ").append(why);
  return {errc::key_missing, std::move(text)};
}

// The id is shown and looked up, so it is checked, although nothing vouches for it yet.
result<wrapped_key> read_wrapped(std::string_view stored, const store_key& key) {
  auto payload = open_record(stored, key, record_kind::key);
  if (!payload)
    return payload.error();
  byte_reader in{*payload};
  wrapped_key wrapped;
  wrapped.id = in.sized();
  wrapped.bytes = in.take(wrapped_key_bytes);
  auto is_shown = [](char c) { return c > ' ' && c < 0x7f; };
  if (!in.finished() || wrapped.id.size() > limits::store_key_id_bytes_max
      || !std::ranges::all_of(wrapped.id, is_shown))
    return damaged(record_kind::key);
  return wrapped;
}

result<secret_key> unwrap(const wrapped_key& wrapped, const store_key& key, const keyring* ring) {
  const auto* found = ring ? ring->find(wrapped.id) : nullptr;
  if (!found)
    return missing(wrapped.id, ring ? "it is not in the key ring"
                                    : "there is no key ring: set TROUPE_STORE_KEY_FILE or open the "
                                      "store with one");
  auto cipher = aes_gcm::with(*found);
  if (!cipher)
    return cipher.error();
  auto data_key = cipher->unwrap(wrapped.bytes, {wrapped.id, key});
  if (!data_key)
    return missing(wrapped.id, "the one in the key ring is not the one it was encrypted with, or "
                               "somebody changed the record");
  return std::move(*data_key);
}

result<void> store_wrapped(lmdb_txn& txn, const store_key& key, const secret_key& data_key,
                           const keyring& ring) {
  const auto& id = ring.current_id();
  auto cipher = aes_gcm::with(*ring.find(id));
  if (!cipher)
    return cipher.error();
  std::string record;
  begin_record(record);
  append_sized(record, id);
  if (auto ok = cipher->wrap(data_key, {id, key}, record); !ok)
    return ok;
  seal_record(record, key, record_kind::key);
  return txn.put(key, record);
}

// ---- rotation -----------------------------------------------------------------------------------

result<void> rewrap(lmdb_txn& txn, std::uint64_t thread, const keyring& ring,
                    rotation_report& report) {
  auto key = data_key_key(thread);
  auto stored = txn.get(key);
  if (!stored)
    return stored.error();
  if (!*stored) // a plain thread, or one that was deleted meanwhile
    return {};
  auto wrapped = read_wrapped(**stored, key);
  if (!wrapped)
    return wrapped.error();
  if (wrapped->id != ring.current_id()) {
    auto data_key = unwrap(*wrapped, key, &ring);
    if (!data_key)
      return data_key.error();
    if (auto ok = store_wrapped(txn, key, *data_key, ring); !ok)
      return ok;
    ++report.rewrapped;
  }
  ++report.threads;
  return {};
}

} // namespace

result<std::optional<aes_gcm>> find_thread_cipher(const lmdb_txn& txn, std::uint64_t thread,
                                                  const keyring* keys) {
  auto key = data_key_key(thread);
  auto stored = txn.get(key);
  if (!stored)
    return stored.error();
  if (!*stored)
    return std::optional<aes_gcm>{};
  auto wrapped = read_wrapped(**stored, key);
  if (!wrapped)
    return wrapped.error();
  auto data_key = unwrap(*wrapped, key, keys);
  if (!data_key)
    return data_key.error();
  auto cipher = aes_gcm::with(*data_key);
  if (!cipher)
    return cipher.error();
  return std::optional{std::move(*cipher)};
}

result<aes_gcm> make_thread_cipher(lmdb_txn& txn, std::uint64_t thread, const keyring& keys) {
  auto data_key = random_key();
  if (!data_key)
    return data_key.error();
  if (auto ok = store_wrapped(txn, data_key_key(thread), *data_key, keys); !ok)
    return ok.error();
  return aes_gcm::with(*data_key);
}

result<std::vector<std::uint64_t>> all_thread_numbers(const lmdb_txn& txn) {
  std::vector<std::uint64_t> numbers;
  store_key all;
  all.append_byte(static_cast<unsigned char>(key_area::thread));
  auto ok = scan(txn, all, [&numbers](auto key, auto data) -> result<void> {
    auto thread = read_thread(data, key);
    if (!thread)
      return thread.error();
    numbers.push_back(thread->number);
    return {};
  });
  if (!ok)
    return ok.error();
  return numbers;
}

result<rotation_report> rewrap_thread_keys(lmdb_txn& txn, std::span<const std::uint64_t> threads,
                                           const keyring& keys) {
  rotation_report report;
  for (auto thread : threads)
    if (auto ok = rewrap(txn, thread, keys, report); !ok)
      return ok.error();
  return report;
}

// ---- thread_records -----------------------------------------------------------------------------

void thread_records::enter(std::uint64_t thread) {
  if (thread != thread_)
    cipher_.reset();
  thread_ = thread;
}

result<std::string_view> thread_records::open(std::string_view stored, std::string_view key,
                                              record_kind kind) {
  if (is_encrypted(stored) && !cipher_) {
    auto cipher = find_thread_cipher(txn_, thread_, keys_);
    if (!cipher)
      return cipher.error();
    cipher_ = std::move(*cipher);
  }
  return opener_.open(stored, key, kind, cipher_ ? &*cipher_ : nullptr);
}

result<std::vector<std::string_view>> thread_records::names() {
  std::vector<std::string_view> names;
  names.reserve(16); // as a rule fewer
  auto prefix = chain_prefix(thread_, chain_part::names);
  auto ok = scan(txn_, prefix, [this, &names](auto key, auto data) -> result<void> {
    auto payload = open(data, key, record_kind::names);
    return payload ? read_names(*payload, names) : payload.error();
  });
  if (!ok)
    return ok.error();
  return names;
}

} // namespace troupe
