// lmdb_writer: writes requests into LMDB. A request is encoded as a whole before the transaction is
// touched, so that an invalid request is refused there. A later failure gives up the transaction,
// and with it all that the writer remembers of the store.
#include "persistence/lmdb/lmdb_writer.hpp"

#include "graph/crash_point.hpp"
#include "persistence/lmdb/lmdb_index.hpp"
#include "persistence/record/checkpoint_record.hpp"
#include "persistence/record/saver_rules.hpp"
#include "persistence/record/store_format.hpp"

#include <array>
#include <utility>

namespace troupe {

namespace {

constexpr std::size_t request_overhead_bytes = 512; // keys, headers, the checkpoint's own record

// The key of a task's writes. Writes that format 2 put elsewhere stay there, and get more there.
result<store_key> place_of_writes(const lmdb_txn& txn, std::uint64_t chain,
                                  std::string_view checkpoint_id, std::string_view task_id) {
  if (has_old_writes(txn)) {
    auto old = old_writes_key(chain, checkpoint_id, task_id);
    auto there = txn.get(old);
    if (!there || *there)
      return there ? result{old} : there.error();
  }
  return writes_key(chain, checkpoint_id, task_id);
}

} // namespace

// ---- transactions -------------------------------------------------------------------------------

result<void> lmdb_writer::prepare() {
  auto txn = env_.begin_write();
  if (!txn)
    return txn.error();
  txn_.emplace(std::move(*txn));
  auto ready = load_meta();
  crash_point("prepare.begun");
  if (ready)
    ready = env_.make_trees(*txn_);
  if (ready && format_ < store_format)
    ready = upgrade();
  if (ready)
    return commit();
  abort();
  return ready;
}

result<void> lmdb_writer::check_format() {
  auto txn = env_.begin_read();
  if (!txn)
    return txn.error();
  txn_.emplace(std::move(*txn));
  auto checked = load_meta();
  if (checked && format_ < store_format_read_min)
    checked = error{errc::storage_failed,
                    "open the store read-only: its format " + std::to_string(format_)
                      + " is older than " + std::to_string(store_format_read_min)
                      + ": open it once for writing, which converts it: " + env_.file().string()};
  abort();
  return checked;
}

// Sorts records into trees, since format 1 had one tree. Records of format 2 stay where they are.
result<void> lmdb_writer::upgrade() {
  if (format_ == 1)
    if (auto sorted = env_.sort_into_trees(*txn_); !sorted)
      return sorted;
  format_ = store_format;
  next_number_ = std::max<std::uint64_t>(next_number_, 1);
  return store_meta_record();
}

result<void> lmdb_writer::begin() {
  reopen_first_ = reopen_first_ || !env_.is_open();
  if (reopen_first_)
    if (auto opened = env_.reopen(); !opened)
      return opened;
  is_extended_ = is_extended_ && !reopen_first_;
  reopen_first_ = false;
  if (is_full_)
    if (auto ok = make_room(); !ok)
      return ok;
  if (auto ok = extend_map(wants_reserve_); !ok)
    return ok;
  has_deleted_ = false;
  auto txn = env_.begin_write();
  if (!txn)
    return txn.error();
  txn_.emplace(std::move(*txn));
  if (txn_->id() == last_commit_ + 1 && threads_.size() < limits::store_threads_cached_max)
    return {};
  forget();
  auto loaded = load_meta();
  if (!loaded)
    abort();
  return loaded;
}

// LMDB reuses pages that a transaction freed only two transactions later. So a full store could
// never use the pages of a deletion. A commit of one small record, in the reserve beyond the map,
// makes these pages usable.
result<void> lmdb_writer::make_room() {
  env_.clear_dead_readers();
  if (auto ok = extend_map(true); !ok)
    return ok;
  auto txn = env_.begin_write();
  if (!txn)
    return txn.error();
  txn_.emplace(std::move(*txn));
  auto touched = load_meta();
  if (touched)
    touched = store_meta_record();
  if (!touched) {
    abort();
    return touched;
  }
  is_full_ = false;
  return commit();
}

result<void> lmdb_writer::extend_map(bool extended) {
  if (extended == is_extended_)
    return {};
  is_extended_ = false; // the state when the resize fails
  auto resized = env_.resize(env_.map_size_bytes() + (extended ? limits::store_reserve_bytes : 0));
  is_extended_ = extended && resized;
  return resized;
}

result<void> lmdb_writer::commit() {
  auto id = txn_->changes() ? txn_->id() : txn_->id() - 1;
  reopen_first_ = true; // set first: a failed commit may lack memory for an error
  auto committed = txn_->commit();
  txn_.reset();
  if (!committed) {
    failed(committed.error());
    return committed;
  }
  reopen_first_ = false;
  last_commit_ = id;
  wants_reserve_ = wants_reserve_ && !has_deleted_;
  return {};
}

void lmdb_writer::abort() {
  txn_.reset();
  forget();
}

void lmdb_writer::failed(const troupe::error& err) {
  forget();
  if (err.code() != errc::storage_full)
    return;
  is_full_ = true;
  wants_reserve_ = has_deleted_ && !is_extended_;
}

void lmdb_writer::forget() {
  last_commit_ = 0;
  next_number_ = 0;
  threads_.clear();
  bases_bytes_ = 0;
}

write_outcome lmdb_writer::write(const commit_job& job) {
  encoded_.texts().clear(); // they were of the request before
  if (job.upkeep)
    return job.upkeep();
  auto* chain = known_chain_of(job.request.ref);
  if (auto encoded = encoded_.encode(job.request, chain ? &chain->bases : nullptr); !encoded)
    return {.answer = encoded.error()};
  if (auto ok = check(job.request); !ok)
    return {.answer = ok.error()};
  auto written = job.delete_thread ? erase_thread(job.request.ref.thread_id) : store(job.request);
  if (!written) {
    failed(written.error());
    return {.answer = written.error(), .transaction_stands = false};
  }
  return {.answer = {}, .bytes = encoded_.size() + request_overhead_bytes};
}

write_outcome lmdb_writer::ended(result<void> how) {
  if (how)
    return {};
  failed(how.error());
  return {.answer = std::move(how), .transaction_stands = false};
}

result<void> lmdb_writer::check(const save_request& request) {
  if (!request.claim || mutated(mutation::no_claim))
    return {};
  auto owner = owner_of(request.ref.thread_id);
  if (auto ok = owner ? check_claim(request, *owner) : owner.error(); !ok)
    return ok;
  if (takes_newest(request, *owner)) {
    auto chain = find_chain(*txn_, request.ref);
    if (!chain)
      return chain.error();
    auto newest = *chain ? newest_checkpoint(*txn_, **chain) : result{std::string{}};
    if (!newest)
      return newest.error();
    return *newest == goes_on_from(request) ? result<void>{} : was_overtaken(request);
  }
  if (!needs_parent(request))
    return {};
  auto there = has_parent(request);
  if (!there)
    return there.error();
  return *there ? result<void>{} : parent_is_gone(request);
}

result<bool> lmdb_writer::has_parent(const save_request& request) {
  const auto& parent = request.put->parent_id;
  auto* known = known_chain_of(request.ref);
  if (known && known->newest == parent)
    return true;
  auto chain = known ? result{std::optional{known->number}} : find_chain(*txn_, request.ref);
  if (!chain || !*chain)
    return chain ? result<bool>{false} : chain.error();
  auto stored = txn_->get(checkpoint_key(**chain, parent));
  return stored ? result<bool>{stored->has_value()} : stored.error();
}

// ---- storing ------------------------------------------------------------------------------------

result<void> lmdb_writer::put(const store_key& key, record_kind kind) {
  seal_record(record_, key, kind);
  return txn_->put(key, record_);
}

// Stores a sealed record of a thread. Deleting a thread does not need to read such records.
result<void> lmdb_writer::put(known_thread& thread, const store_key& key, record_kind kind) {
  if (auto ok = sealer_.seal(record_, key, kind, cipher_of(thread), &encoded_.texts()); !ok)
    return ok;
  return txn_->put(key, record_);
}

result<void> lmdb_writer::store(const save_request& request) {
  if (is_only_claim(request)) {
    auto owner = owner_of(request.ref.thread_id);
    if (!owner || *owner == 0)
      return owner ? result<void>{} : owner.error();
  }
  auto found = find_or_make_thread(request.ref.thread_id);
  if (!found)
    return found.error();
  auto& thread = **found;
  if (request.claim && thread.owner != request.claim->owner) {
    thread.owner = request.claim->owner;
    if (auto ok = store_thread(request.ref.thread_id, thread); !ok)
      return ok;
  }
  if (is_only_claim(request))
    return {};
  auto chain = find_or_make_chain(thread, request.ref.checkpoint_ns);
  if (!chain)
    return chain.error();
  for (const auto& task : request.writes)
    if (auto ok = store_writes(thread, (*chain)->number, request.ref.checkpoint_id, task); !ok)
      return ok;
  crash_point("request.writes");
  if (mutated(mutation::two_transactions) && request.put)
    if (auto ok = split_transaction(thread); !ok)
      return ok;
  if (request.put) {
    number_names(request.put->checkpoint, thread.names, numbers_);
    if (auto ok = store_values(thread, **chain, *request.put); !ok)
      return ok;
    crash_point("request.values");
    if (auto ok = store_checkpoint(thread, **chain, *request.put); !ok)
      return ok;
  }
  crash_point("request.checkpoint");
  if (auto ok = store_names(thread); !ok || !request.put || !request.put->drops_older)
    return ok;
  return drop_older(thread, **chain, request);
}

// For a test only, which must notice the split.
result<void> lmdb_writer::split_transaction(known_thread& thread) {
  auto ok = store_names(thread);
  if (ok)
    ok = commit();
  crash_point("request.split");
  return ok ? begin() : ok;
}

result<void> lmdb_writer::store_writes(known_thread& thread, std::uint64_t chain,
                                       const std::string& checkpoint_id, const task_writes& task) {
  if (task.writes.empty())
    return {};
  std::vector<stored_write> more;
  more.reserve(task.writes.size());
  for (std::size_t i = 0; i < task.writes.size(); ++i) {
    const auto& channel = task.writes[i].first;
    more.push_back({write_slot(channel, i), thread.names.number(channel), task.task_path,
                    encoded_.take().bytes});
  }
  auto place = place_of_writes(*txn_, chain, checkpoint_id, task.task_id);
  if (!place)
    return place.error();
  const auto& key = *place;
  std::vector<stored_write> writes;
  merge_writes(writes, more);
  if (auto ok = seal_writes(thread, key, writes); !ok)
    return ok;
  auto stored = txn_->put_new(key, record_);
  if (!stored || !*stored)
    return stored ? result<void>{} : stored.error();
  record_opener::scope scope{opener_};
  auto payload = opener_.open(**stored, key, record_kind::writes, cipher_of(thread));
  if (!payload)
    return payload.error();
  auto there = read_writes(*payload, thread.names.all());
  if (!there)
    return there.error();
  merge_writes(*there, more);
  if (auto ok = seal_writes(thread, key, *there); !ok)
    return ok;
  return txn_->put(key, record_);
}

result<void> lmdb_writer::seal_writes(known_thread& thread, const store_key& key,
                                      std::span<const stored_write> writes) {
  begin_record(record_);
  append_writes(writes, &thread.names, record_);
  return sealer_.seal(record_, key, record_kind::writes, cipher_of(thread), &encoded_.texts());
}

const lmdb_writer::known_chain* lmdb_writer::known_chain_of(const checkpoint_ref& ref) const {
  auto thread = threads_.find(ref.thread_id);
  if (thread == threads_.end())
    return nullptr;
  auto chain = thread->second.chains.find(ref.checkpoint_ns);
  return chain == thread->second.chains.end() ? nullptr : &chain->second;
}

result<void> lmdb_writer::store_checkpoint(known_thread& thread, known_chain& chain,
                                           const checkpoint_put& put) {
  begin_record(record_);
  const auto& cp = put.checkpoint;
  append_checkpoint({cp.v, cp.ts, put.parent_id, encoded_.take().bytes}, numbers_, record_);
  for (const auto& [channel, at, bytes] : chain.own.values)
    append_small_values(std::array{small_value{channel, bytes}}, record_);
  chain.newest = cp.id;
  return this->put(thread, checkpoint_key(chain.number, cp.id), record_kind::checkpoint);
}

result<void> lmdb_writer::store_names(known_thread& thread) {
  if (!thread.names.has_new())
    return {};
  begin_record(record_);
  thread.names.append_new(record_);
  auto stored = put(thread, names_key(thread.number, thread.names.first_new()), record_kind::names);
  thread.names.new_are_stored();
  return stored;
}

result<void> lmdb_writer::erase_thread(const std::string& thread_id) {
  will_delete();
  forget_thread(thread_id);
  auto number = find_thread_number(*txn_, thread_id);
  if (!number || !*number)
    return number ? result<void>{} : number.error();
  auto chains = all_namespaces(*txn_, **number);
  if (!chains)
    return chains.error();
  for (const auto& entry : *chains) {
    crash_point("erase.chain");
    if (auto ok = erase_chain(*txn_, entry.chain); !ok)
      return ok;
  }
  return txn_->erase(thread_key(thread_id));
}

void lmdb_writer::forget_thread(const std::string& thread_id) {
  auto known = threads_.find(thread_id);
  if (known == threads_.end())
    return;
  for (const auto& [ns, chain] : known->second.chains)
    for (const auto& [channel, base] : chain.bases)
      bases_bytes_ -= base.bytes;
  threads_.erase(known);
}

// ---- numbers and names --------------------------------------------------------------------------

result<lmdb_writer::known_thread*> lmdb_writer::find_or_make_thread(const std::string& thread_id) {
  if (auto known = threads_.find(thread_id); known != threads_.end())
    return &known->second;
  auto stored = find_thread(*txn_, thread_id);
  if (!stored)
    return stored.error();
  auto number = *stored ? result<std::uint64_t>{(**stored).number} : new_number();
  if (!number)
    return number.error();
  auto& thread = threads_[thread_id];
  thread.number = *number;
  thread.owner = *stored ? (**stored).owner : 0;
  auto ok = *stored ? load_thread(thread) : store_thread(thread_id, thread);
  if (ok && keys_ && !thread.cipher) {
    auto made = make_thread_cipher(*txn_, thread.number, *keys_);
    ok = made ? result<void>{} : made.error();
    if (made)
      thread.cipher = std::move(*made);
  }
  if (!ok)
    return ok.error();
  return &thread;
}

result<void> lmdb_writer::load_thread(known_thread& thread) {
  auto cipher = find_thread_cipher(*txn_, thread.number, keys_);
  if (!cipher)
    return cipher.error();
  thread.cipher = std::move(*cipher);
  return load_names(thread);
}

result<void> lmdb_writer::store_thread(const std::string& thread_id, const known_thread& thread) {
  begin_record(record_);
  append_thread({thread.number, thread.owner}, record_);
  return put(thread_key(thread_id), record_kind::thread);
}

result<std::uint64_t> lmdb_writer::owner_of(const std::string& thread_id) {
  if (auto known = threads_.find(thread_id); known != threads_.end())
    return known->second.owner;
  auto stored = find_thread(*txn_, thread_id);
  if (!stored)
    return stored.error();
  return *stored ? (**stored).owner : 0;
}

result<void> lmdb_writer::load_names(known_thread& thread) {
  auto prefix = chain_prefix(thread.number, chain_part::names);
  return scan(*txn_, prefix, [this, &thread](auto key, auto data) -> result<void> {
    record_opener::scope scope{opener_};
    auto payload = opener_.open(data, key, record_kind::names, cipher_of(thread));
    if (!payload)
      return payload.error();
    return thread.names.load(*payload);
  });
}

result<lmdb_writer::known_chain*> lmdb_writer::find_or_make_chain(known_thread& thread,
                                                                  const std::string& ns) {
  if (auto known = thread.chains.find(ns); known != thread.chains.end())
    return &known->second;
  if (ns.empty()) // the root namespace has the thread's own number
    return &thread.chains.emplace(ns, known_chain{.number = thread.number}).first->second;
  auto stored = find_chain(*txn_, thread.number, ns);
  if (!stored)
    return stored.error();
  auto chain = *stored ? result<std::uint64_t>{**stored} : new_number();
  if (!chain)
    return chain.error();
  if (!*stored) {
    begin_record(record_);
    append_namespace(*chain, ns, record_);
    if (auto ok = put(namespace_key(thread.number, ns), record_kind::ns); !ok)
      return ok.error();
  }
  if (thread.chains.size() >= limits::store_threads_chains_max)
    thread.chains.clear();
  return &thread.chains.emplace(ns, known_chain{.number = *chain}).first->second;
}

result<std::uint64_t> lmdb_writer::new_number() {
  auto number = next_number_++;
  if (auto ok = store_meta_record(); !ok)
    return ok.error();
  return number;
}

// Loads the meta record. next_number_ and format_ stay at 0 for a file that is not a store yet.
result<void> lmdb_writer::load_meta() {
  auto key = meta_key();
  auto stored = find_meta(*txn_, key, "store");
  if (!stored)
    return stored.error();
  if (!*stored)
    return {};
  auto payload = open_record(**stored, key, record_kind::meta);
  if (!payload)
    return payload.error();
  auto meta = read_meta(*payload);
  if (!meta)
    return meta.error();
  next_number_ = meta->next_number;
  format_ = meta->format;
  return {};
}

result<void> lmdb_writer::store_meta_record() {
  begin_record(record_);
  append_meta({.next_number = next_number_}, record_);
  return put(meta_key(), record_kind::meta);
}

} // namespace troupe
