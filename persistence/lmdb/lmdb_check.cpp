// lmdb_check: reads all records of a data directory once, in the order of keys.
#include "persistence/lmdb/data_directory.hpp"
#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/lmdb_index.hpp"
#include "persistence/lmdb/lmdb_pages.hpp"
#include "persistence/lmdb/lmdb_pruner.hpp"
#include "persistence/lmdb/thread_keys.hpp"
#include "persistence/record/bytes.hpp"
#include "persistence/record/checkpoint_record.hpp"
#include "persistence/record/metadata_record.hpp"
#include "persistence/record/small_values.hpp"
#include "persistence/record/value_patch.hpp"

#include <troupe/data_dir.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_map>

namespace troupe {

namespace {

constexpr std::size_t progress_every = 4096; // records

std::string hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (auto c : bytes) {
    out.push_back(digits[static_cast<unsigned char>(c) >> 4]);
    out.push_back(digits[static_cast<unsigned char>(c) & 15]);
  }
  return out;
}

class store_check {
public:
  store_check(const lmdb_txn& txn, const key_provider* keys, const check_progress& progress)
    : txn_{txn},
      keys_{keys},
      records_{txn, keys},
      progress_{progress} {}

  data_report run() {
    if (auto ok = find_owners(); !ok)
      damaged("the list of threads", ok.error());
    all_ = txn_.entries();
    if (auto ok = scan_all(txn_,
                           [this](auto key, auto data) -> result<void> {
                             look_at(key, data);
                             return {};
                           });
        !ok)
      damaged("the file", ok.error()); // a damaged tree: later keys can't be reached
    if (progress_)
      progress_(report_.records, all_);
    return std::move(report_);
  }

private:
  // The thread and namespace of a chain.
  struct owner {
    std::string thread_id;
    std::string ns;
    std::uint64_t thread = 0;
    bool is_locked = false; // its data key is under a key that the ring does not have
  };

  void damaged(std::string where, const error& why) {
    if (report_.damaged++ < limits::damages_listed_max)
      report_.damages.push_back({std::move(where), why.message()});
  }

  static std::string name_of(const owner& of) {
    auto name = "thread `" + of.thread_id + "`";
    return of.ns.empty() ? name : name + ", namespace `" + of.ns + "`";
  }

  // ---- threads

  result<void> find_owners() {
    store_key threads;
    threads.append_byte(static_cast<unsigned char>(key_area::thread));
    return scan(txn_, threads, [this](std::string_view key, auto data) -> result<void> {
      std::string id{key.substr(1)};
      auto thread = read_thread(data, key);
      if (!thread)
        return {}; // look_at() reports it
      add_thread(id, thread->number);
      return {};
    });
  }

  void add_thread(const std::string& id, std::uint64_t number) {
    auto namespaces = all_namespaces(txn_, number);
    auto cipher = find_thread_cipher(txn_, number, keys_);
    auto is_locked = !cipher && cipher.error().code() == errc::key_missing;
    owners_[number] = {id, "", number, is_locked};
    if (is_locked)
      ++report_.locked_threads;
    else
      look_ahead(number);
    if (!namespaces) {
      damaged("thread `" + id + "`", namespaces.error());
      return;
    }
    for (auto& entry : *namespaces)
      owners_[entry.chain] = {id, std::move(entry.ns), number, is_locked};
  }

  // Counts unused values. The names stay until the end.
  void look_ahead(std::uint64_t thread) {
    records_.enter(thread);
    if (auto names = records_.names())
      names_.emplace(thread, std::move(*names));
    auto scope = records_.scope();
    if (auto unused = find_values_to_remove(records_, thread))
      report_.unused_values += unused->counted;
  }

  // ---- records

  void look_at(std::string_view key, std::string_view data) {
    if (++report_.records % progress_every == 0 && progress_)
      progress_(report_.records, all_);
    auto area = key.empty() ? key_area{0xff} : static_cast<key_area>(key.front());
    auto rest = key.substr(std::min<std::size_t>(key.size(), 1));
    if (area == key_area::chain) {
      look_into_chain(key, rest, data);
      return;
    }
    if (area != key_area::meta && area != key_area::thread) {
      damaged("key " + hex(key), {errc::checkpoint_corrupt, "unknown kind of key"});
      return;
    }
    auto kind = area == key_area::meta ? record_kind::meta : record_kind::thread;
    if (auto payload = open_record(data, key, kind); !payload)
      damaged(kind == record_kind::thread ? "thread `" + std::string{rest} + "`" : "the store",
              payload.error());
  }

  void look_into_chain(std::string_view key, std::string_view rest, std::string_view data) {
    auto chain = take_number(rest);
    auto of = chain ? owners_.find(*chain) : owners_.end();
    if (of == owners_.end() || rest.empty()) {
      damaged("key " + hex(key), {errc::checkpoint_corrupt, "the key does not belong to a thread"});
      return;
    }
    if (*chain != chain_) {
      chain_ = *chain;
      values_.clear();
    }
    auto part = static_cast<chain_part>(rest.front());
    rest.remove_prefix(1);
    if (auto ok = look_at_part(of->second, part, key, rest, data); !ok)
      damaged(name_of(of->second), ok.error());
  }

  result<void> look_at_part(const owner& of, chain_part part, std::string_view key,
                            std::string_view rest, std::string_view data) {
    auto scope = records_.scope();
    records_.enter(of.thread);
    if (of.is_locked) {
      auto payload = open_flagged_record(data, key, kind_of(data));
      return payload ? result<void>{} : payload.error();
    }
    switch (part) {
      case chain_part::checkpoints: return look_at_step(of, key, rest, data);
      case chain_part::key: return opens(key, data, record_kind::key);
      case chain_part::names: return opens(key, data, record_kind::names);
      case chain_part::namespaces: return opens(key, data, record_kind::ns);
      case chain_part::values: return look_at_value(key, data);
      case chain_part::old_writes: return look_at_old_writes(of, key, rest, data);
    }
    return error{errc::checkpoint_corrupt, "key " + hex(key) + ": unknown kind of key"};
  }

  result<void> opens(std::string_view key, std::string_view data, record_kind kind) {
    auto payload = records_.open(data, key, kind);
    return payload ? result<void>{} : payload.error();
  }

  const std::vector<std::string_view>& names_of(const owner& of) { return names_[of.thread]; }

  result<void> look_at_step(const owner& of, std::string_view key, std::string_view rest,
                            std::string_view data) {
    auto parts = read_step_key(rest);
    if (!parts.task_id)
      return look_at_checkpoint(of, key, data);
    if (auto task_id = *parts.task_id; !take_id(task_id) || !task_id.empty())
      return troupe::damaged(record_kind::writes, "its key is malformed");
    return look_at_writes(of, key, parts.checkpoint_id, data);
  }

  result<void> look_at_checkpoint(const owner& of, std::string_view key, std::string_view data) {
    ++report_.checkpoints;
    auto payload = records_.open(data, key, record_kind::checkpoint);
    if (!payload)
      return payload.error();
    auto stored = read_checkpoint(*payload, names_of(of));
    if (!stored)
      return stored.error();
    if (auto metadata = read_metadata(stored->metadata); !metadata)
      return metadata.error();
    if (auto ok = look_at_own_values(*stored); !ok)
      return ok;
    if (stored->parent_id.empty())
      return {};
    auto parent = txn_.get(checkpoint_key(chain_, stored->parent_id));
    if (!parent)
      return parent.error();
    report_.removed_parents += parent->has_value() ? 0 : 1;
    return {};
  }

  static result<void> look_at_own_values(const stored_checkpoint& of) {
    std::vector<small_value> values;
    if (auto read = read_small_values(of.small_values, values); !read)
      return read;
    for (const auto& small : values)
      if (std::ranges::find(of.channels, small.channel) == of.channels.end())
        return troupe::damaged(record_kind::checkpoint, "it has a value of an unknown channel");
    return look_at_small_values(of.small_values);
  }

  result<void> look_at_value(std::string_view key, std::string_view data) {
    auto place = read_value_key(key);
    if (!place)
      return troupe::damaged(record_kind::value, "its key is malformed");
    if (!place->channel) {
      auto payload = records_.open(data, key, record_kind::small_values);
      return payload ? look_at_small_values(*payload) : payload.error();
    }
    auto val = kind_of(data) == record_kind::patch ? patched(key, place->at, *place->channel, data)
                                                   : whole(key, data);
    if (!val)
      return val.error();
    values_[{*place->channel, place->at}] = std::move(*val);
    return {};
  }

  static result<void> look_at_small_values(std::string_view payload) {
    std::vector<small_value> values;
    if (auto read = read_small_values(payload, values); !read)
      return read;
    for (const auto& small : values)
      if (!from_msgpack(small.bytes))
        return troupe::damaged(record_kind::small_values, "it holds something that is not a value");
    return {};
  }

  result<value> whole(std::string_view key, std::string_view data) {
    auto payload = records_.open(data, key, record_kind::value);
    if (!payload)
      return payload.error();
    auto val = from_msgpack(*payload);
    return val ? val : troupe::damaged(record_kind::value, "its content is not a value");
  }

  // The base of a patch has a lower version, so it was read before.
  result<value> patched(std::string_view key, const version& at, std::uint64_t channel,
                        std::string_view data) {
    auto payload = records_.open(data, key, record_kind::patch);
    if (!payload)
      return payload.error();
    auto base = take_patch_head(*payload, at);
    if (!base)
      return base.error();
    auto stored = txn_.get(value_key(chain_, base->at, channel));
    if (!stored)
      return stored.error();
    auto before = values_.find({channel, base->at});
    if (!*stored || before == values_.end() || short_checksum(**stored) != base->checksum)
      return troupe::damaged(record_kind::patch, "its base value is missing or was replaced");
    return apply_patch(before->second, *payload);
  }

  result<void> look_at_old_writes(const owner& of, std::string_view key, std::string_view rest,
                                  std::string_view data) {
    auto id = take_id(rest);
    return id ? look_at_writes(of, key, *id, data)
              : troupe::damaged(record_kind::writes, "its key is malformed");
  }

  result<void> look_at_writes(const owner& of, std::string_view key, std::string_view id,
                              std::string_view data) {
    auto payload = records_.open(data, key, record_kind::writes);
    if (!payload)
      return payload.error();
    auto writes = read_writes(*payload, names_of(of));
    if (!writes)
      return writes.error();
    for (const auto& write : *writes)
      if (!from_msgpack(write.value))
        return troupe::damaged(record_kind::writes);
    auto checkpoint = txn_.get(checkpoint_key(chain_, id));
    if (!checkpoint)
      return checkpoint.error();
    report_.lone_writes += checkpoint->has_value() ? 0 : 1;
    return {};
  }

  const lmdb_txn& txn_;
  const key_provider* keys_;
  thread_records records_;
  const check_progress& progress_;
  data_report report_;
  std::size_t all_ = 0;
  std::unordered_map<std::uint64_t, owner> owners_; // by chain
  std::unordered_map<std::uint64_t, std::vector<std::string_view>> names_;
  std::uint64_t chain_ = 0;                                   // the chain that is read now
  std::map<std::pair<std::uint64_t, version>, value> values_; // of chain_; they share memory
};

// Checks a file's pages. A file that is written all the time can't be judged, so its records have
// to do.
result<void> check_pages(const std::filesystem::path& file, bool records_too) {
  constexpr int tries = 5;
  for (int i = 0; i < tries; ++i) {
    auto whole = check_store_file(file, records_too);
    if (whole)
      return {};
    if (whole.error().code() != errc::storage_locked)
      return whole.error();
  }
  return {};
}

// Copies the files of a data directory one after the other. The documents of a server come first: a
// run that ends meanwhile is unfinished in the copy, which has its last checkpoint, and ends again.
class data_copy {
public:
  data_copy(lmdb_env& threads, std::filesystem::path to, bool compact)
    : threads_{threads},
      from_{threads.file().parent_path()},
      to_{std::move(to)},
      compact_{compact} {}

  result<std::uint64_t> run() {
    auto done = copy(documents_file_name, copy_documents_file);
    if (done)
      done = added(saver_file_name, threads_.copy_to(to_ / saver_file_name, compact_));
    if (done)
      done = copy(store_file_name, copy_store_file);
    if (done)
      return bytes_;
    std::error_code ignored;
    for (auto name : made_)
      std::filesystem::remove(to_ / name, ignored);
    return done.error();
  }

private:
  using copy_function = result<std::uint64_t> (*)(const std::string& dir,
                                                  const std::filesystem::path& to, bool compact);

  result<void> copy(std::string_view name, copy_function copy_file) {
    std::error_code ignored;
    if (!std::filesystem::exists(from_ / name, ignored))
      return {};
    return added(name, copy_file(from_.string(), to_ / name, compact_));
  }

  result<void> added(std::string_view name, const result<std::uint64_t>& bytes) {
    if (!bytes)
      return bytes.error();
    made_.push_back(name);
    bytes_ += *bytes;
    return {};
  }

  lmdb_env& threads_;
  const std::filesystem::path from_;
  const std::filesystem::path to_;
  const bool compact_;
  std::vector<std::string_view> made_;
  std::uint64_t bytes_ = 0;
};

} // namespace

result<data_report> check_data(const std::filesystem::path& dir, const check_progress& progress,
                               std::shared_ptr<const key_provider> keys) {
  auto whole = check_pages(dir / saver_file_name, false);
  std::error_code ignored;
  for (auto name : {store_file_name, documents_file_name})
    if (whole && std::filesystem::exists(dir / name, ignored))
      whole = check_pages(dir / name, true);
  if (!whole) {
    if (whole.error().code() != errc::checkpoint_corrupt)
      return whole.error();
    data_report report;
    report.damages.push_back({"the file", whole.error().message()});
    report.damaged = 1;
    return report; // LMDB might crash on it
  }
  auto store = open_existing_saver(dir, std::move(keys));
  if (!store)
    return store.error();
  auto txn = (*store)->env().begin_read();
  if (!txn)
    return txn.error();
  return store_check{*txn, (*store)->keys(), progress}.run();
}

result<data_stats> stat_data(const std::filesystem::path& dir) {
  auto store = open_existing_saver(dir);
  if (!store)
    return store.error();
  auto& env = (*store)->env();
  auto sizes = env.measure();
  if (!sizes)
    return sizes.error();
  auto txn = env.begin_read();
  if (!txn)
    return txn.error();
  std::map<record_kind, record_count> kinds;
  auto ok = scan_all(*txn, [&kinds](auto key, auto data) -> result<void> {
    auto& of = kinds[kind_of(data)];
    ++of.records;
    of.bytes += key.size() + data.size();
    return {};
  });
  if (!ok)
    return ok.error();
  data_stats out{sizes->file, sizes->used, env.map_size_bytes(), 0, sizes->readers, {}};
  for (auto& [kind, count] : kinds) {
    count.kind = to_string(kind);
    if (kind == record_kind::thread)
      out.threads = count.records;
    out.records.push_back(std::move(count));
  }
  return out;
}

result<std::uint64_t> copy_data(const std::filesystem::path& dir, const std::filesystem::path& to,
                                bool compact) {
  auto store = open_existing_saver(dir);
  if (!store)
    return store.error();
  auto target = make_data_directory(to);
  if (!target)
    return target.error();
  return data_copy{(*store)->env(), *target, compact}.run();
}

} // namespace troupe
