// postgres_writer: storing requests within the open transaction.
//
// Invariants:
//  - locked_ holds exactly the threads whose rows the open transaction has locked.
//  - The data known of a thread was read after its row was locked, and is dropped with the lock.
//  - A connection that failed is given up; the server rolls back what it had not committed.
#include "persistence/postgres/postgres_writer.hpp"

#include "persistence/postgres/postgres_schema.hpp"
#include "persistence/record/saver_rules.hpp"
#include "persistence/record/versions_seen.hpp"
#include "persistence/retention.hpp"

#include <algorithm>
#include <bit>

namespace troupe {

namespace {

constexpr std::size_t row_overhead_bytes = 512; // the checkpoint's own row, ids, messages
constexpr int lock_rounds_max = 4; // rounds for a thread that others make and delete all the time

std::int64_t signed_bits(std::uint64_t n) {
  return std::bit_cast<std::int64_t>(n);
}

// Versions as the arrays that a row or a statement has.
struct version_arrays {
  std::vector<std::string_view> channels;
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> tags;

  void add(const std::string& channel, const version& at) {
    channels.push_back(channel);
    numbers.push_back(signed_bits(at.number));
    tags.push_back(signed_bits(at.tag));
  }
  void append_to(postgres_params& params) const {
    params.bytes_array(channels).number_array(numbers).number_array(tags);
  }
};

// The special channels have one slot a task: in one statement only the last write to each counts.
struct write_arrays {
  std::vector<std::int64_t> slots;
  std::vector<std::string_view> channels;
  std::vector<std::string_view> values;
  std::size_t bytes = 0;

  void add(std::int64_t slot, const std::string& channel, std::string_view val) {
    bytes += val.size();
    auto at = std::ranges::find(slots, slot);
    if (!slot_is_replaced(slot) || at == slots.end()) {
      slots.push_back(slot);
      channels.push_back(channel);
      values.push_back(val);
      return;
    }
    values[static_cast<std::size_t>(at - slots.begin())] = val;
  }
};

} // namespace

postgres_writer::postgres_writer(const postgres_options& options, const postgres_statements& sql)
  : options_{options},
    sql_{sql},
    numbers_{quoted_identifier(options.schema) + ".numbers"} {}

// ---- transactions -------------------------------------------------------------------------------

// All in one transaction: one by one, each request would cost as much as all of them together.
bool postgres_writer::foresee(std::span<const commit_job> jobs) {
  foreseen_.clear();
  for (const auto& job : jobs)
    if (!job.is_empty() && !job.upkeep)
      foreseen_.insert(place_of(job.request));
  return true;
}

// While a server is unreachable, a job waits for one attempt at most. After a failure, no attempt
// is made for as long as the failed one took.
result<void> postgres_writer::connect() {
  if (connection_ && connection_->is_usable())
    return {};
  give_up();
  auto began = clock::now();
  if (unreachable_ && began < no_attempt_before_)
    return *unreachable_;
  auto opened = postgres_connection::open(options_);
  if (!opened) {
    auto now = clock::now();
    no_attempt_before_ = now + (now - began);
    unreachable_ = opened.error();
    return opened.error();
  }
  unreachable_.reset();
  connection_ = std::move(*opened);
  return {};
}

result<void> postgres_writer::begin() {
  if (auto ok = connect(); !ok)
    return ok;
  locked_.clear();
  return connection_->send(sql_.begin);
}

result<void> postgres_writer::commit() {
  std::vector<std::int64_t> unused;
  for (const auto& [id, thread] : locked_)
    if (thread.is_unused)
      unused.push_back(thread.number);
  result<void> sent;
  if (!unused.empty()) {
    postgres_params params;
    params.number_array(unused);
    sent = connection_->send(sql_.erase_threads, params);
  }
  if (sent)
    sent = connection_->send(sql_.commit);
  auto committed = sent ? connection_->finish() : sent.error();
  locked_.clear();
  may_repeat_ = !committed && connection_->failure() != postgres_failure::statement;
  if (committed)
    return {};
  auto why = committed.error();
  give_up();
  return why;
}

void postgres_writer::abort() {
  locked_.clear();
  if (!connection_ || !connection_->is_usable() || !connection_->ask(sql_.rollback))
    give_up();
}

void postgres_writer::give_up() {
  connection_.reset();
  locked_.clear();
}

write_outcome postgres_writer::write(const commit_job& job) {
  const auto& request = job.request;
  if (auto encoded = encoded_.encode(request, nullptr); !encoded)
    return {.answer = encoded.error()};
  auto found = find_or_lock(request);
  if (!found)
    return {.answer = found.error(), .transaction_stands = false};
  foreseen_.erase(place_of(request));
  auto& thread = **found;
  if (auto ok = check_claim(request, thread.is_there ? thread.owner : 0); !ok)
    return {.answer = ok.error()};
  if (auto ok = check_parent(request, thread); !ok)
    return {.answer = ok.error(), .transaction_stands = connection_->is_usable()};
  auto owned = thread.is_there && thread.owner != 0;
  if (!job.delete_thread && is_only_claim(request) && !owned)
    return {};
  auto written = job.delete_thread ? erase(thread) : store(request, thread);
  if (!written)
    return {.answer = written.error(), .transaction_stands = false};
  return {.answer = {}, .bytes = encoded_.size() + row_overhead_bytes};
}

// ---- threads and numbers ------------------------------------------------------------------------

postgres_writer::place postgres_writer::place_of(const save_request& request) {
  return {request.ref.thread_id, request.ref.checkpoint_ns,
          request.claim && request.put ? request.put->parent_id : std::string{}};
}

// Locks all announced threads with it: usually two round trips, however many there are.
result<postgres_writer::locked_thread*> postgres_writer::find_or_lock(const save_request& request) {
  const auto& thread_id = request.ref.thread_id;
  if (auto known = locked_.find(thread_id); known != locked_.end())
    return &known->second;
  std::set<std::string> wanted{thread_id};
  std::vector<place> places{place_of(request)};
  for (const auto& at : foreseen_) {
    if (places.size() == limits::postgres_threads_locked_max)
      break;
    if (locked_.contains(at.thread_id))
      continue;
    wanted.insert(at.thread_id);
    places.push_back(at);
  }
  if (auto ok = lock({wanted.begin(), wanted.end()}); !ok)
    return ok.error();
  if (auto ok = look_up(places); !ok)
    return ok.error();
  return &locked_.at(thread_id);
}

// In the order of the ids, so that two writers do not wait for each other in a circle.
result<void> postgres_writer::lock(std::vector<std::string> wanted) {
  for (int round = 0; round < lock_rounds_max; ++round) {
    if (auto ok = lock_those_there(wanted); !ok)
      return ok;
    std::erase_if(wanted, [this](const auto& id) { return locked_.contains(id); });
    if (wanted.empty())
      return {};
    if (auto ok = make_missing(wanted); !ok)
      return ok;
    std::erase_if(wanted, [this](const auto& id) { return locked_.contains(id); });
    if (wanted.empty())
      return {};
  }
  return error{errc::storage_locked,
               "store a step: other processes keep creating and deleting thread `" + wanted[0]
                 + "`: try again"};
}

result<void> postgres_writer::lock_those_there(const std::vector<std::string>& thread_ids) {
  postgres_params params;
  params.bytes_array(thread_ids);
  auto rows = connection_->ask(sql_.lock_threads, params);
  if (!rows)
    return rows.error();
  for (std::size_t row = 0; row < rows->size(); ++row)
    locked_[rows->string(row, 0)] = {.number = rows->number(row, 1),
                                     .owner = std::bit_cast<std::uint64_t>(rows->number(row, 2)),
                                     .chains = {}};
  return {};
}

result<void> postgres_writer::make_missing(const std::vector<std::string>& thread_ids) {
  if (auto ok = take_numbers(thread_ids.size()); !ok)
    return ok;
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < thread_ids.size(); ++i)
    numbers.push_back(next_number_++);
  postgres_params params;
  params.bytes_array(thread_ids).number_array(numbers);
  auto rows = connection_->ask(sql_.make_threads, params);
  if (!rows)
    return rows.error();
  for (std::size_t row = 0; row < rows->size(); ++row)
    locked_[rows->string(row, 0)] = {
      .number = rows->number(row, 1), .is_unused = true, .chains = {}};
  return {};
}

// Afterwards, at least `count` numbers are left.
result<void> postgres_writer::take_numbers(std::size_t count) {
  static_assert(limits::postgres_threads_locked_max <= numbers_in_block);
  if (numbers_end_ - next_number_ >= static_cast<std::int64_t>(count))
    return {};
  postgres_params params;
  params.bytes(numbers_);
  auto rows = connection_->ask(sql_.next_numbers, params);
  if (!rows)
    return rows.error();
  next_number_ = rows->number(0, 0);
  numbers_end_ = next_number_ + numbers_in_block;
  return {};
}

result<void> postgres_writer::look_up(const std::vector<place>& places) {
  std::vector<std::int64_t> threads;
  std::vector<std::string_view> namespaces;
  std::vector<std::string_view> parents;
  for (const auto& at : places) {
    auto& thread = locked_.at(at.thread_id);
    thread.chains.try_emplace(at.ns);
    threads.push_back(thread.number);
    namespaces.push_back(at.ns);
    parents.push_back(at.parent_id);
  }
  postgres_params params;
  params.number_array(threads).bytes_array(namespaces).bytes_array(parents);
  auto rows = connection_->ask(sql_.find_chains, params);
  if (!rows)
    return rows.error();
  for (std::size_t row = 0; row < rows->size(); ++row) {
    const auto& at = places.at(static_cast<std::size_t>(rows->number(row, 0)) - 1);
    auto& chain = locked_.at(at.thread_id).chains.at(at.ns);
    chain.number = rows->number(row, 1);
    if (!rows->is_null(row, 2))
      chain.present.insert(at.parent_id);
    if (!rows->is_null(row, 3))
      chain.newest = rows->string(row, 3);
  }
  return {};
}

result<postgres_writer::known_chain*> postgres_writer::find_chain(const save_request& request,
                                                                  locked_thread& thread) {
  const auto& ns = request.ref.checkpoint_ns;
  if (!thread.chains.contains(ns))
    if (auto ok = look_up({place_of(request)}); !ok)
      return ok.error();
  return &thread.chains.at(ns);
}

// Checks the checkpoint from which a run continues: it may have been pruned, or another run may
// have continued from it.
result<void> postgres_writer::check_parent(const save_request& request, locked_thread& thread) {
  if (takes_newest(request, thread.owner)) {
    auto chain = find_chain(request, thread);
    if (!chain)
      return chain.error();
    return (*chain)->newest == goes_on_from(request) ? result<void>{} : was_overtaken(request);
  }
  if (!needs_parent(request))
    return {};
  const auto& parent = request.put->parent_id;
  auto chain = find_chain(request, thread);
  if (!chain)
    return chain.error();
  if ((*chain)->number != 0 && !(*chain)->present.contains(parent))
    if (auto ok = look_up({place_of(request)}); !ok)
      return ok;
  return (*chain)->present.contains(parent) ? result<void>{} : parent_is_gone(request);
}

// ---- storing ------------------------------------------------------------------------------------

result<void> postgres_writer::erase(locked_thread& thread) {
  if (!thread.is_there)
    return {};
  postgres_params params;
  params.number(thread.number);
  for (const auto* statement : {&sql_.erase_chains_values, &sql_.erase_chains_writes,
                                &sql_.erase_chains_checkpoints, &sql_.erase_chains})
    if (auto ok = connection_->send(*statement, params); !ok)
      return ok;
  postgres_params row;
  row.number_array(std::vector{thread.number});
  thread.is_there = false;
  thread.is_unused = false;
  for (auto& [ns, chain] : thread.chains)
    chain = {};
  return connection_->send(sql_.erase_threads, row);
}

result<void> postgres_writer::store(const save_request& request, locked_thread& thread) {
  if (auto ok = store_owner(request, thread); !ok || is_only_claim(request))
    return ok;
  auto found = find_chain(request, thread);
  if (!found)
    return found.error();
  auto& chain = **found;
  if (chain.number == 0)
    if (auto ok = make_chain(request, thread, chain); !ok)
      return ok;
  for (const auto& task : request.writes)
    if (auto ok = store_writes(chain.number, request.ref.checkpoint_id, task); !ok)
      return ok;
  if (!request.put)
    return {};
  chain.present.insert(request.put->checkpoint.id);
  chain.newest = std::max(chain.newest, request.put->checkpoint.id);
  if (auto ok = store_values(chain.number, *request.put); !ok)
    return ok;
  if (auto ok = store_checkpoint(chain.number, *request.put); !ok)
    return ok;
  return request.put->drops_older ? drop_older(thread, chain, request) : result<void>{};
}

result<void> postgres_writer::drop_older(locked_thread& thread, known_chain& chain,
                                         const save_request& request) {
  const auto& ns = request.ref.checkpoint_ns;
  const auto& id = request.put->checkpoint.id;
  postgres_params older;
  older.number(chain.number).bytes(id);
  postgres_params values;
  values.number(chain.number);
  auto prefix = ns.empty() ? ns : ns + "|";
  postgres_params within;
  within.number(thread.number).bytes(prefix).bytes(id);
  auto sent = connection_->send(sql_.drop_older_writes, older);
  if (sent)
    sent = connection_->send(sql_.drop_older_checkpoints, older);
  if (sent)
    sent = connection_->send(sql_.drop_other_values, values);
  if (sent)
    sent = connection_->send(sql_.drop_task_namespaces, within);
  std::erase_if(chain.present, [&id](const std::string& there) { return there < id; });
  std::erase_if(thread.chains,
                [&ns](const auto& known) { return is_of_a_task_of(known.first, ns); });
  return sent;
}

// No other writer can make the chain meanwhile, because the thread is locked.
result<void> postgres_writer::make_chain(const save_request& request, const locked_thread& thread,
                                         known_chain& chain) {
  if (auto ok = take_numbers(1); !ok)
    return ok;
  chain.number = next_number_++;
  postgres_params params;
  params.number(chain.number).number(thread.number).bytes(request.ref.checkpoint_ns);
  return connection_->send(sql_.make_chain, params);
}

// A thread that this transaction deleted is made anew; its row stays locked.
result<void> postgres_writer::store_owner(const save_request& request, locked_thread& thread) {
  if (!thread.is_there) {
    if (auto ok = take_numbers(1); !ok)
      return ok;
    thread.number = next_number_++;
    thread.owner = 0;
    thread.is_there = true;
    const std::string_view ids[] = {request.ref.thread_id};
    postgres_params params;
    params.bytes_array(ids).number_array(std::vector{thread.number});
    if (auto ok = connection_->send(sql_.make_threads, params); !ok)
      return ok;
  }
  thread.is_unused = false;
  if (!request.claim || thread.owner == request.claim->owner)
    return {};
  thread.owner = request.claim->owner;
  postgres_params params;
  params.number(thread.number).number(signed_bits(thread.owner));
  return connection_->send(sql_.set_owner, params);
}

result<void> postgres_writer::store_writes(std::int64_t chain, const std::string& checkpoint_id,
                                           const task_writes& task) {
  for (std::size_t next = 0; next < task.writes.size();) {
    write_arrays part;
    for (; next < task.writes.size() && part.bytes < limits::postgres_statement_bytes_max; ++next) {
      const auto& channel = task.writes[next].first;
      part.add(write_slot(channel, next), channel, encoded_.take().bytes);
    }
    postgres_params params;
    params.number(chain).bytes(checkpoint_id).bytes(task.task_id).bytes(task.task_path);
    params.number_array(part.slots).bytes_array(part.channels).bytes_array(part.values);
    if (auto ok = connection_->send(sql_.store_writes, params); !ok)
      return ok;
  }
  return {};
}

result<void> postgres_writer::store_values(std::int64_t chain, const checkpoint_put& put) {
  const auto& cp = put.checkpoint;
  version_arrays empty;
  version_arrays full;
  std::vector<std::string_view> values;
  std::size_t bytes = 0;
  auto send_full = [&]() -> result<void> {
    postgres_params params;
    params.number(chain);
    std::exchange(full, {}).append_to(params);
    params.bytes_array(std::exchange(values, {}));
    bytes = 0;
    return connection_->send(sql_.store_values, params);
  };
  for (const auto& channel : put.new_versions) {
    auto* val = find_named(cp.channel_values, channel);
    auto data = val ? encoded_.take().bytes : std::string_view{};
    auto* at = find_named(cp.channel_versions, channel);
    if (!at)
      continue;
    (val ? full : empty).add(channel, *at);
    if (val)
      values.push_back(data);
    bytes += data.size();
    if (bytes >= limits::postgres_statement_bytes_max)
      if (auto ok = send_full(); !ok)
        return ok;
  }
  if (!values.empty())
    if (auto ok = send_full(); !ok)
      return ok;
  if (empty.channels.empty())
    return {};
  postgres_params params;
  params.number(chain);
  empty.append_to(params);
  return connection_->send(sql_.erase_values, params);
}

result<void> postgres_writer::store_checkpoint(std::int64_t chain, const checkpoint_put& put) {
  const auto& cp = put.checkpoint;
  auto metadata = encoded_.take().bytes;
  const auto& run_id = put.metadata["run_id"];
  auto seen = encode_versions_seen(cp.versions_seen);
  version_arrays versions;
  for (const auto& [channel, at] : cp.channel_versions)
    versions.add(channel, at);
  postgres_params params;
  params.number(chain).bytes(cp.id).bytes(put.parent_id).number(cp.v).bytes(cp.ts).bytes(metadata);
  if (run_id.is_string())
    params.bytes(run_id.as_string());
  else
    params.null();
  versions.append_to(params);
  params.bytes(seen);
  if (cp.updated_channels)
    params.bytes_array(*cp.updated_channels);
  else
    params.null();
  return connection_->send(sql_.store_checkpoint, params);
}

} // namespace troupe
