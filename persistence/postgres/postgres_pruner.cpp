// postgres_pruner: pruning and copying threads by statements.
#include "persistence/postgres/postgres_pruner.hpp"

#include "persistence/record/metadata_record.hpp"
#include "persistence/record/saver_rules.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace troupe {

namespace {

using stored_place = std::pair<std::string, std::string>; // namespace, checkpoint

struct removed_checkpoints {
  std::vector<std::int64_t> chains;
  std::vector<std::string> ids;
};

class pruner {
public:
  pruner(postgres_connection& on, const postgres_statements& sql, const std::string& thread_id)
    : on_{on},
      sql_{sql},
      thread_id_{thread_id} {}

  result<prune_report> prune(const retention_rule& mark, bool dry_run) {
    auto found = decide(mark);
    if (!found)
      return found.error();
    const auto& [chains, ids] = *found;
    if (dry_run)
      return prune_report{ids.size(), 0};
    for (std::size_t begin = 0; begin < ids.size(); begin += limits::postgres_pruned_max) {
      auto size = std::min(limits::postgres_pruned_max, ids.size() - begin);
      if (auto ok = remove(std::span{chains}.subspan(begin, size),
                           std::span{ids}.subspan(begin, size));
          !ok)
        return ok.error();
    }
    auto values = remove_unused();
    if (!values)
      return values.error();
    return prune_report{ids.size(), *values};
  }

  /// Removes what a copy does not keep, in the transaction that made it.
  result<void> cut(std::int64_t thread, const thread_copied& what) {
    bool is_there = false;
    auto found = decide(thread, [&](thread_summary& all) {
      mark_up_to(all, what.up_to);
      is_there = !all.empty() && all.front().ns.empty()
                 && std::ranges::any_of(all.front().checkpoints, &checkpoint_summary::stays);
    });
    if (!found)
      return found.error();
    if (!is_there)
      return nothing_to_copy(what.source, what.up_to);
    if (auto ok = erase(found->chains, found->ids); !ok)
      return ok;
    auto values = remove_unused(thread);
    return values ? result<void>{} : values.error();
  }

private:
  // Locks the thread's row. Result: the thread's number; nullopt when the thread does not exist.
  result<std::optional<std::int64_t>> lock() {
    if (auto ok = on_.send(sql_.begin); !ok)
      return ok.error();
    postgres_params params;
    params.bytes_array(std::vector{thread_id_});
    auto rows = on_.ask(sql_.lock_threads, params);
    if (!rows)
      return rows.error();
    return rows->size() == 0 ? std::optional<std::int64_t>{} : rows->number(0, 1);
  }

  result<void> commit() {
    auto done = on_.ask(sql_.commit);
    return done ? result<void>{} : done.error();
  }

  result<removed_checkpoints> decide(const retention_rule& mark) {
    auto thread = lock();
    if (!thread)
      return thread.error();
    auto found = *thread ? decide(**thread, mark) : result{removed_checkpoints{}};
    if (!found)
      return found;
    if (auto ok = commit(); !ok)
      return ok.error();
    return found;
  }

  result<removed_checkpoints> decide(std::int64_t thread, const retention_rule& mark) {
    std::map<std::string, std::int64_t> chains;
    auto all = summarize(thread, chains);
    if (!all)
      return all.error();
    mark(*all);
    if (auto ok = mark_what_is_needed(thread, *all); !ok)
      return ok.error();
    removed_checkpoints found;
    for (const auto& at : *all)
      for (auto cp = at.checkpoints.rbegin(); cp != at.checkpoints.rend(); ++cp)
        if (!cp->stays) {
          found.chains.push_back(chains.at(at.ns));
          found.ids.push_back(cp->id);
        }
    return found;
  }

  result<thread_summary> summarize(std::int64_t thread,
                                   std::map<std::string, std::int64_t>& chains) {
    postgres_params params;
    params.number(thread);
    auto rows = on_.ask(sql_.summaries, params);
    if (!rows)
      return rows.error();
    thread_summary all;
    for (std::size_t row = 0; row < rows->size(); ++row) {
      auto ns = rows->string(row, 0);
      if (all.empty() || all.back().ns != ns)
        all.push_back({ns, {}});
      chains[ns] = rows->number(row, 1);
      auto metadata = read_metadata(rows->bytes(row, 5));
      if (!metadata)
        return error{errc::checkpoint_corrupt, "prune a thread: the metadata of checkpoint `"
                                                 + rows->string(row, 2) + "` are malformed"};
      all.back().checkpoints.push_back(
        {rows->string(row, 2), rows->string(row, 3), rows->string(row, 4), std::move(*metadata)});
    }
    return all;
  }

  // Asks once for each channel where its values are stored.
  result<void> mark_what_is_needed(std::int64_t thread, thread_summary& all) {
    std::map<std::string, std::set<stored_place>> by_channel;
    auto stores = [&](const auto& at, const auto& cp, const auto& channel) -> result<bool> {
      auto known = by_channel.find(channel);
      if (known == by_channel.end()) {
        auto found = stored_places(thread, channel);
        if (!found)
          return found.error();
        known = by_channel.emplace(channel, std::move(*found)).first;
      }
      return known->second.contains({at.ns, cp.id});
    };
    return mark_needed(all, stores);
  }

  result<std::set<stored_place>> stored_places(std::int64_t thread, const std::string& channel) {
    postgres_params params;
    params.number(thread).bytes(channel);
    auto rows = on_.ask(sql_.stored_of, params);
    if (!rows)
      return rows.error();
    std::set<stored_place> found;
    for (std::size_t row = 0; row < rows->size(); ++row)
      found.emplace(rows->string(row, 0), rows->string(row, 1));
    return found;
  }

  result<void> remove(std::span<const std::int64_t> chains, std::span<const std::string> ids) {
    auto thread = lock();
    if (!thread)
      return thread.error();
    if (auto ok = erase(chains, ids); !ok)
      return ok;
    return commit();
  }

  result<void> erase(std::span<const std::int64_t> chains, std::span<const std::string> ids) {
    postgres_params params;
    params.number_array(chains).bytes_array(ids);
    for (const auto* statement : {&sql_.erase_their_writes, &sql_.erase_checkpoints})
      if (auto ok = on_.send(*statement, params); !ok)
        return ok;
    return {};
  }

  result<std::size_t> remove_unused() {
    auto thread = lock();
    if (!thread)
      return thread.error();
    auto count = *thread ? remove_unused(**thread) : result<std::size_t>{0};
    if (!count)
      return count;
    auto done = commit();
    return done ? count : done.error();
  }

  result<std::size_t> remove_unused(std::int64_t thread) {
    postgres_params params;
    params.number(thread);
    auto rows = on_.ask(sql_.erase_unused_values, params);
    if (!rows)
      return rows.error();
    if (auto ok = on_.send(sql_.erase_empty_chains, params); !ok)
      return ok.error();
    return static_cast<std::size_t>(rows->number(0, 0));
  }

  postgres_connection& on_;
  const postgres_statements& sql_;
  const std::string& thread_id_;
};

} // namespace

result<prune_report> prune_thread(postgres_connection& on, const postgres_statements& sql,
                                  const std::string& thread_id, const retention_rule& mark,
                                  bool dry_run) {
  return pruner{on, sql, thread_id}.prune(mark, dry_run);
}

result<std::vector<std::string>> threads_of_runs(postgres_connection& on,
                                                 const postgres_statements& sql,
                                                 const std::vector<std::string>& run_ids) {
  postgres_params params;
  params.bytes_array(run_ids);
  auto rows = on.ask(sql.threads_of_runs, params);
  if (!rows)
    return rows.error();
  std::vector<std::string> ids;
  for (std::size_t row = 0; row < rows->size(); ++row)
    ids.push_back(rows->string(row, 0));
  return ids;
}

result<void> copy_thread(postgres_connection& on, const postgres_statements& sql,
                         const std::string& sequence, const thread_copied& what,
                         bool& may_be_done) {
  const auto& [source, target, up_to] = what;
  if (may_be_done)
    return error{
      errc::storage_failed,
      "copy a thread: the connection was lost while the copy was committed: check whether `"
        + target + "` exists"};
  if (auto ok = on.send(sql.begin); !ok)
    return ok;
  postgres_params both;
  both.bytes_array(std::vector{source, target});
  auto there = on.ask(sql.lock_threads, both);
  if (!there)
    return there.error();
  std::optional<std::int64_t> from;
  for (std::size_t row = 0; row < there->size(); ++row) {
    if (there->bytes(row, 0) == source)
      from = there->number(row, 1);
  }
  if (from && there->size() > 1)
    return target_is_there(target);
  if (!from)
    return up_to.empty() ? result<void>{} : nothing_to_copy(source, up_to);
  postgres_params numbers;
  numbers.bytes(sequence);
  auto number = on.ask(sql.next_numbers, numbers);
  if (!number)
    return number.error();
  auto to = number->number(0, 0);
  postgres_params row;
  row.bytes_array(std::vector{target}).number_array(std::vector{to});
  auto made = on.ask(sql.make_threads, row);
  if (!made)
    return made.error();
  if (made->size() == 0)
    return target_is_there(target);
  postgres_params numbered;
  numbered.number(*from).number(to).bytes(sequence);
  if (auto ok = on.send(sql.copy_chains, numbered); !ok)
    return ok;
  postgres_params plain;
  plain.number(*from).number(to);
  for (const auto* statement : {&sql.copy_checkpoints, &sql.copy_values, &sql.copy_writes})
    if (auto ok = on.send(*statement, plain); !ok)
      return ok;
  if (!up_to.empty())
    if (auto ok = pruner{on, sql, target}.cut(to, what); !ok)
      return ok;
  may_be_done = true;
  auto done = on.ask(sql.commit);
  may_be_done = !done && on.failure() == postgres_failure::lost;
  return done ? result<void>{} : done.error();
}

} // namespace troupe
