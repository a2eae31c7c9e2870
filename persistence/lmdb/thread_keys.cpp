// thread_keys: data keys of threads (FORMAT.md, "Key").
#include "persistence/lmdb/thread_keys.hpp"

#include "persistence/lmdb/lmdb_index.hpp"
#include "persistence/record/name_table.hpp"

#include <span>
#include <vector>

namespace troupe {

namespace {

data_key_place key_of(std::uint64_t thread) {
  return {data_key_key(thread), "an encrypted thread"};
}

} // namespace

result<std::optional<aes_gcm>> find_thread_cipher(const lmdb_txn& txn, std::uint64_t thread,
                                                  const key_provider* keys) {
  return find_cipher(txn, key_of(thread), keys);
}

result<aes_gcm> make_thread_cipher(lmdb_txn& txn, std::uint64_t thread, const key_provider& keys) {
  return make_cipher(txn, key_of(thread), keys);
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

result<rotation_report> rewrap_thread_keys(lmdb_txn& txn, std::span<const std::uint64_t>& threads,
                                           const key_provider& keys, std::string_view current) {
  using clock = std::chrono::steady_clock;
  rotation_report report;
  auto until = clock::now() + rewrapping_max;
  for (auto is_first = true; !threads.empty() && (is_first || clock::now() < until);
       is_first = false, threads = threads.subspan(1)) {
    auto rewrapped = rewrap_data_key(txn, key_of(threads.front()), keys, current);
    if (!rewrapped)
      return rewrapped.error();
    report.threads += *rewrapped ? 1 : 0;
    report.rewrapped += rewrapped->value_or(false) ? 1 : 0;
  }
  return report;
}

// ---- thread_records -----------------------------------------------------------------------------

thread_records::thread_records(const lmdb_txn& txn, const key_provider* keys)
  : txn_{txn},
    keys_{keys},
    cipher_{key_of(0), keys} {}

void thread_records::enter(std::uint64_t thread) {
  if (thread != thread_)
    cipher_ = data_cipher{key_of(thread), keys_};
  thread_ = thread;
}

result<std::string_view> thread_records::open(std::string_view stored, std::string_view key,
                                              record_kind kind) {
  return cipher_.open(txn_, opener_, stored, key, kind);
}

result<std::vector<std::string_view>> thread_records::names() {
  std::vector<std::string_view> names;
  names.reserve(16); // usually fewer
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
