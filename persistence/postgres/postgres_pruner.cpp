// postgres_pruner: pruning threads by statements.
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
  struct locked_row {
    std::int64_t thread = 0;
    std::optional<wrapped_key> data_key;
  };

  pruner(postgres_connection& on, const postgres_statements& sql, const postgres_sealing& sealing,
         const std::string& thread_id)
    : on_{on},
      sql_{sql},
      sealing_{sealing},
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

  result<bool> cut(locked_row thread, const std::string& up_to) {
    bool is_there = false;
    auto found = decide(thread, [&](thread_summary& all) {
      mark_up_to(all, up_to);
      is_there = !all.empty() && all.front().ns.empty()
                 && std::ranges::any_of(all.front().checkpoints, &checkpoint_summary::stays);
    });
    if (!found)
      return found.error();
    if (!is_there)
      return false;
    if (auto ok = erase(found->chains, found->ids); !ok)
      return ok.error();
    auto values = remove_unused(thread.thread);
    return values ? result<bool>{true} : values.error();
  }

private:
  // Locks the thread's row. Result: nullopt when the thread does not exist.
  result<std::optional<locked_row>> lock() {
    if (auto ok = on_.send(sql_.begin); !ok)
      return ok.error();
    postgres_params params;
    params.bytes_array(std::vector{thread_id_});
    auto rows = on_.ask(sql_.lock_threads, params);
    if (!rows)
      return rows.error();
    if (rows->size() == 0)
      return std::optional<locked_row>{};
    auto data_key = read_data_key(*rows, 0, 3);
    if (!data_key)
      return data_key.error();
    return std::optional{locked_row{rows->number(0, 1), std::move(*data_key)}};
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

  result<removed_checkpoints> decide(const locked_row& thread, const retention_rule& mark) {
    std::map<std::string, std::int64_t> chains;
    auto all = summarize(thread, chains);
    if (!all)
      return all.error();
    mark(*all);
    if (auto ok = mark_what_is_needed(thread.thread, *all); !ok)
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

  result<thread_summary> summarize(const locked_row& thread,
                                   std::map<std::string, std::int64_t>& chains) {
    postgres_params params;
    params.number(thread.thread);
    auto rows = on_.ask(sql_.summaries, params);
    if (!rows)
      return rows.error();
    thread_data_key data_key{sealing_, thread.thread, thread.data_key};
    auto opener = data_key.opener();
    thread_summary all;
    for (std::size_t row = 0; row < rows->size(); ++row) {
      auto ns = rows->string(row, 0);
      if (all.empty() || all.back().ns != ns)
        all.push_back({ns, {}});
      auto chain = chains[ns] = rows->number(row, 1);
      data_key.add_to(opener, chain);
      auto opened = opener.scope();
      auto bytes = opener.open(rows->bytes(row, 5), chain,
                               metadata_place(chain, rows->bytes(row, 2)), record_kind::checkpoint);
      if (!bytes)
        return error{bytes.error().code(), "prune a thread: checkpoint `" + rows->string(row, 2)
                                             + "`: " + bytes.error().message()};
      auto metadata = read_metadata(*bytes);
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
    auto count = *thread ? remove_unused((**thread).thread) : result<std::size_t>{0};
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
  const postgres_sealing& sealing_;
  const std::string& thread_id_;
};

} // namespace

result<prune_report> prune_thread(postgres_connection& on, const postgres_statements& sql,
                                  const postgres_sealing& sealing, const std::string& thread_id,
                                  const retention_rule& mark, bool dry_run) {
  return pruner{on, sql, sealing, thread_id}.prune(mark, dry_run);
}

result<bool> cut_copy(postgres_connection& on, const postgres_statements& sql,
                      const postgres_sealing& sealing, const copied_thread& copy,
                      const std::string& up_to) {
  return pruner{on, sql, sealing, copy.id}.cut({copy.number, copy.data_key}, up_to);
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

} // namespace troupe
