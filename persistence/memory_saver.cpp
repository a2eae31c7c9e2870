// The saver in memory. One lock around everything; values are handles, so nothing is copied.
// It accepts every value: none is too deep or too large.
#include "persistence/record/saver_rules.hpp"
#include "persistence/retention.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

namespace troupe {

namespace {

struct kept_checkpoint {
  troupe::checkpoint checkpoint; // without channel_values
  value metadata;
  std::string parent_id;
};

struct stored_namespace {
  std::map<std::string, kept_checkpoint> checkpoints;
  std::map<std::pair<std::string, version>, value> values; // by channel
  // checkpoint id → (task id, slot)
  std::map<std::string, std::map<std::pair<std::string, std::int64_t>, pending_write>> writes;
};

struct stored_thread {
  std::map<std::string, stored_namespace> namespaces;
  std::uint64_t owner = 0;
};

void store_writes(stored_namespace& ns, const std::string& checkpoint_id, const task_writes& task) {
  auto& slots = ns.writes[checkpoint_id];
  for (std::size_t i = 0; i < task.writes.size(); ++i) {
    const auto& [channel, val] = task.writes[i];
    auto slot = write_slot(channel, i);
    pending_write write{task.task_id, channel, val, task.task_path};
    auto [at, is_new] = slots.try_emplace({task.task_id, slot}, write);
    if (!is_new && slot_is_replaced(slot))
      at->second = std::move(write);
  }
}

void store_checkpoint(stored_namespace& ns, const checkpoint_put& put) {
  for (const auto& channel : put.new_versions) {
    auto* at = find_named(put.checkpoint.channel_versions, channel);
    if (!at)
      continue;
    std::pair key{channel, *at};
    if (auto* val = find_named(put.checkpoint.channel_values, channel))
      ns.values.insert_or_assign(std::move(key), *val);
    else
      ns.values.erase(key);
  }
  auto& stored = ns.checkpoints[put.checkpoint.id];
  stored = {put.checkpoint, put.metadata, put.parent_id};
  stored.checkpoint.channel_values.clear();
}

bool has_parent(const stored_namespace& ns, const save_request& request) {
  return ns.checkpoints.contains(request.put->parent_id);
}

bool has_checkpoint(const stored_thread& thread, const std::string& id) {
  auto root = thread.namespaces.find("");
  return root != thread.namespaces.end() && root->second.checkpoints.contains(id);
}

thread_summary summarize(const stored_thread& thread) {
  thread_summary all;
  for (const auto& [name, ns] : thread.namespaces) {
    auto& out = all.emplace_back(namespace_summary{name, {}});
    for (const auto& [id, stored] : ns.checkpoints)
      out.checkpoints.push_back({id, stored.parent_id, stored.checkpoint.ts, stored.metadata});
  }
  return all;
}

bool stores(const stored_namespace& ns, const std::string& id, const std::string& channel) {
  auto* at = find_named(ns.checkpoints.at(id).checkpoint.channel_versions, channel);
  return at && ns.values.contains({channel, *at});
}

std::size_t remove_unused_values(stored_namespace& ns) {
  std::set<std::pair<std::string, version>> used;
  for (const auto& [id, stored] : ns.checkpoints)
    used.insert(stored.checkpoint.channel_versions.begin(),
                stored.checkpoint.channel_versions.end());
  return std::erase_if(ns.values, [&used](const auto& e) { return !used.contains(e.first); });
}

prune_report prune(stored_thread& thread, const std::function<void(thread_summary&)>& mark,
                   bool dry_run = false) {
  auto all = summarize(thread);
  mark(all);
  // mark_needed() can't fail, because `stores` returns no error.
  static_cast<void>(mark_needed(all, [&](const auto& at, const auto& cp, const auto& channel) {
    return stores(thread.namespaces.at(at.ns), cp.id, channel);
  }));
  prune_report report;
  for (const auto& at : all)
    report.checkpoints += static_cast<std::size_t>(
      std::ranges::count(at.checkpoints, false, [](const auto& cp) -> bool { return cp.stays; }));
  if (dry_run)
    return report;
  for (const auto& at : all) {
    auto& ns = thread.namespaces.at(at.ns);
    for (const auto& cp : at.checkpoints)
      if (!cp.stays) {
        ns.checkpoints.erase(cp.id);
        ns.writes.erase(cp.id);
      }
    report.values += remove_unused_values(ns);
    if (ns.checkpoints.empty() && ns.writes.empty())
      thread.namespaces.erase(at.ns);
  }
  return report;
}

void drop_older(stored_thread& thread, const std::string& ns_name, const std::string& id) {
  auto& ns = thread.namespaces.at(ns_name);
  ns.checkpoints.erase(ns.checkpoints.begin(), ns.checkpoints.lower_bound(id));
  ns.writes.erase(ns.writes.begin(), ns.writes.lower_bound(id));
  remove_unused_values(ns);
  std::erase_if(thread.namespaces, [&](const auto& e) {
    const auto& checkpoints = e.second.checkpoints;
    return is_of_a_task_of(e.first, ns_name) && !checkpoints.empty()
           && checkpoints.rbegin()->first < id;
  });
}

void rewind_writes(stored_namespace& ns, const std::string& checkpoint_id,
                   const std::vector<pending_write>& before) {
  auto there = ns.writes.find(checkpoint_id);
  if (there == ns.writes.end())
    return;
  std::vector<slotted_write> stored;
  for (const auto& [key, write] : there->second)
    stored.push_back({key.second, write});
  there->second.clear();
  for (auto& left : rewound_writes(std::move(stored), before))
    there->second.emplace(std::pair{left.write.task_id, left.slot}, std::move(left.write));
  if (there->second.empty())
    ns.writes.erase(there);
}

void rewind_namespace(stored_namespace& ns, const std::string& after_id) {
  ns.checkpoints.erase(ns.checkpoints.upper_bound(after_id), ns.checkpoints.end());
  ns.writes.erase(ns.writes.upper_bound(after_id), ns.writes.end());
  remove_unused_values(ns);
}

checkpoint_tuple tuple_of(const std::string& thread_id, const std::string& ns_name,
                          const stored_namespace& ns, const kept_checkpoint& stored) {
  checkpoint_tuple tuple;
  const auto& id = stored.checkpoint.id;
  tuple.ref = {thread_id, ns_name, id};
  tuple.checkpoint = stored.checkpoint;
  tuple.metadata = stored.metadata;
  tuple.parent_id = stored.parent_id;
  for (const auto& [channel, at] : stored.checkpoint.channel_versions)
    if (auto val = ns.values.find({channel, at}); val != ns.values.end())
      tuple.checkpoint.channel_values.emplace_back(channel, val->second);
  if (auto writes = ns.writes.find(id); writes != ns.writes.end()) {
    std::vector<slotted_write> slotted;
    for (const auto& [key, write] : writes->second)
      slotted.push_back({key.second, write});
    tuple.pending_writes = in_task_order(std::move(slotted));
  }
  return tuple;
}

class memory_saver final : public saver {
public:
  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref) override {
    if (auto ok = check_ref(ref); !ok)
      return ok.error();
    std::scoped_lock lock{mutex_};
    auto thread = threads_.find(ref.thread_id);
    if (thread == threads_.end())
      return std::optional<checkpoint_tuple>{};
    const auto& namespaces = thread->second.namespaces;
    auto ns = namespaces.find(ref.checkpoint_ns);
    if (ns == namespaces.end() || ns->second.checkpoints.empty())
      return std::optional<checkpoint_tuple>{};
    const auto& all = ns->second.checkpoints;
    auto at = ref.checkpoint_id.empty() ? std::prev(all.end()) : all.find(ref.checkpoint_id);
    if (at == all.end())
      return std::optional<checkpoint_tuple>{};
    return std::optional{tuple_of(ref.thread_id, ref.checkpoint_ns, ns->second, at->second)};
  }

  result<std::vector<checkpoint_tuple>> list(const list_query& query) override {
    if (auto ok = check_query(query); !ok)
      return ok.error();
    std::scoped_lock lock{mutex_};
    std::vector<checkpoint_tuple> found;
    for (const auto& [thread_id, thread] : threads_)
      if (thread_id == query.thread_id.value_or(thread_id))
        for (const auto& [name, ns] : thread.namespaces)
          if (name == query.checkpoint_ns.value_or(name))
            list_namespace(query, thread_id, name, ns, found);
    return found;
  }

  result<void> put(const checkpoint_ref& ref, const checkpoint_put& put) override {
    checkpoint_ref where{ref.thread_id, ref.checkpoint_ns, {}};
    return store({std::move(where), {}, put});
  }

  result<void> put_writes(const checkpoint_ref& ref, const task_writes& writes) override {
    return store({ref, {writes}, {}});
  }

  result<void> delete_thread(const std::string& thread_id) override {
    if (auto ok = check_thread_id(thread_id); !ok)
      return ok;
    std::scoped_lock lock{mutex_};
    threads_.erase(thread_id);
    return {};
  }

  result<prune_report> prune(const std::vector<std::string>& thread_ids,
                             const retention& keep) override {
    for (const auto& id : thread_ids)
      if (auto ok = check_thread_id(id); !ok)
        return ok.error();
    std::scoped_lock lock{mutex_};
    prune_report all;
    for (const auto& id : thread_ids)
      if (auto thread = threads_.find(id); thread != threads_.end())
        all += troupe::prune(
          thread->second, [&keep](auto& of) { mark_kept(of, keep); }, keep.dry_run);
    return all;
  }

  result<prune_report> delete_for_runs(const std::vector<std::string>& run_ids) override {
    std::scoped_lock lock{mutex_};
    prune_report all;
    for (auto& [id, thread] : threads_)
      all += troupe::prune(thread, [&run_ids](auto& of) { mark_other_runs(of, run_ids); });
    return all;
  }

  result<void> copy_thread(const std::string& source, const std::string& target,
                           const std::string& up_to) override {
    if (auto ok = check_copy(source, target); !ok)
      return ok;
    std::scoped_lock lock{mutex_};
    auto from = threads_.find(source);
    if (from == threads_.end())
      return up_to.empty() ? result<void>{} : nothing_to_copy(source, up_to);
    if (threads_.contains(target))
      return target_is_there(target);
    if (!up_to.empty() && !has_checkpoint(from->second, up_to))
      return nothing_to_copy(source, up_to);
    stored_thread copy{from->second.namespaces};
    if (!up_to.empty())
      troupe::prune(copy, [&up_to](auto& of) { mark_up_to(of, up_to); });
    threads_.emplace(target, std::move(copy));
    return {};
  }

  result<void> rewind(const std::string& thread_id, const rewind_point& to) override {
    if (auto ok = check_thread_id(thread_id); !ok)
      return ok;
    std::scoped_lock lock{mutex_};
    auto found = threads_.find(thread_id);
    if (found == threads_.end())
      return {};
    auto& thread = found->second;
    if (auto ok = check_rewind(thread_id, to, thread.owner); !ok)
      return ok;
    for (const auto& head : to.heads)
      if (auto ns = thread.namespaces.find(head.ref.checkpoint_ns); ns != thread.namespaces.end())
        rewind_writes(ns->second, head.ref.checkpoint_id, head.writes);
    for (auto& [name, ns] : thread.namespaces)
      rewind_namespace(ns, to.after_id);
    std::erase_if(thread.namespaces, [](const auto& e) {
      return e.second.checkpoints.empty() && e.second.writes.empty();
    });
    if (thread.namespaces.empty())
      threads_.erase(found);
    return {};
  }

  result<std::uint64_t> thread_owner(const std::string& thread_id) override {
    std::scoped_lock lock{mutex_};
    auto thread = threads_.find(thread_id);
    return thread == threads_.end() ? 0 : thread->second.owner;
  }

  result<std::vector<owned_thread>> owners() override {
    std::scoped_lock lock{mutex_};
    std::vector<owned_thread> out;
    for (const auto& [thread_id, thread] : threads_)
      out.push_back({thread_id, thread.owner});
    return out;
  }

  result<std::shared_ptr<void>> announce(std::uint32_t mark) override {
    auto there = std::make_shared<std::uint32_t>(mark);
    std::scoped_lock lock{mutex_};
    std::erase_if(marks_, [](const auto& known) { return known.expired(); });
    marks_.push_back(there);
    return std::shared_ptr<void>{std::move(there)};
  }

  result<std::optional<bool>> is_there(std::uint32_t mark) override {
    std::scoped_lock lock{mutex_};
    return std::optional{std::ranges::any_of(marks_, [mark](const auto& known) {
      auto there = known.lock();
      return there && *there == mark;
    })};
  }

  result<std::vector<thread_info>> threads() override {
    std::scoped_lock lock{mutex_};
    std::vector<thread_info> infos;
    for (const auto& [thread_id, thread] : threads_)
      infos.push_back(describe(thread_id, thread));
    return infos;
  }

  void submit(save_request request, save_ack, std::function<void(result<void>)> done) override {
    done(store(request));
  }

private:
  result<void> store(const save_request& request) {
    if (auto ok = check_request(request); !ok)
      return ok;
    std::scoped_lock lock{mutex_};
    auto known = threads_.find(request.ref.thread_id);
    auto owner = known == threads_.end() ? 0 : known->second.owner;
    if (auto ok = check_claim(request, owner); !ok)
      return ok;
    if (is_only_claim(request) && (!request.claim || owner == 0))
      return {};
    auto& thread = threads_[request.ref.thread_id];
    auto& ns = thread.namespaces[request.ref.checkpoint_ns];
    if (takes_newest(request, owner)) {
      const auto& all = ns.checkpoints;
      if ((all.empty() ? std::string{} : std::prev(all.end())->first) != goes_on_from(request))
        return was_overtaken(request);
    }
    if (needs_parent(request) && !has_parent(ns, request))
      return parent_is_gone(request);
    if (request.claim)
      thread.owner = request.claim->owner;
    for (const auto& task : request.writes)
      store_writes(ns, request.ref.checkpoint_id, task);
    if (request.put)
      store_checkpoint(ns, *request.put);
    if (request.put && request.put->drops_older)
      drop_older(thread, request.ref.checkpoint_ns, request.put->checkpoint.id);
    return {};
  }

  static void list_namespace(const list_query& query, const std::string& thread_id,
                             const std::string& name, const stored_namespace& ns,
                             std::vector<checkpoint_tuple>& found) {
    const auto& all = ns.checkpoints;
    auto at = query.before ? all.lower_bound(*query.before) : all.end();
    while (at != all.begin() && found.size() < query.limit.value_or(SIZE_MAX)) {
      --at;
      if (at->first == query.checkpoint_id.value_or(at->first)
          && matches_filter(query.filter, at->second.metadata))
        found.push_back(tuple_of(thread_id, name, ns, at->second));
    }
  }

  static thread_info describe(const std::string& thread_id, const stored_thread& thread) {
    thread_info info{.thread_id = thread_id, .checkpoint_id = {}, .ts = {}};
    auto from_root = false;
    for (const auto& [name, ns] : thread.namespaces) {
      info.checkpoints += ns.checkpoints.size();
      if (ns.checkpoints.empty() || from_root)
        continue;
      const auto& [id, newest] = *ns.checkpoints.rbegin();
      if (!name.empty() && id < info.checkpoint_id)
        continue;
      info.checkpoint_id = id;
      info.ts = newest.checkpoint.ts;
      from_root = name.empty();
    }
    return info;
  }

  std::vector<std::weak_ptr<std::uint32_t>> marks_; // of runtimes that announced themselves
  std::mutex mutex_;
  std::map<std::string, stored_thread> threads_;
};

} // namespace

std::shared_ptr<saver> make_memory_saver() {
  return std::make_shared<memory_saver>();
}

} // namespace troupe
