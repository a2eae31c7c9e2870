// The saver in memory. One lock around everything; values are handles, so nothing is copied.
// It accepts every value: none is too deep or too large.
#include "persistence/memory_thread.hpp"
#include "persistence/prompt_saver.hpp"
#include "persistence/record/refill.hpp"
#include "persistence/record/saver_rules.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

namespace troupe {

namespace {

bool has_checkpoint(const memory_thread& thread, const std::string& id) {
  const auto* root = thread.find("");
  return root && root->find(id);
}

thread_summary summarize(const name_table& names, const memory_thread& thread) {
  thread_summary all;
  thread.each([&](const std::string& name, const memory_chain& chain) {
    auto& out = all.emplace_back(namespace_summary{name, {}});
    for (std::size_t at = 0; at < chain.checkpoints(); ++at)
      out.checkpoints.push_back(chain.summary(names, at));
  });
  return all;
}

prune_report prune(const name_table& names, memory_thread& thread,
                   const std::function<void(thread_summary&)>& mark, bool dry_run = false) {
  auto all = summarize(names, thread);
  mark(all);
  // mark_needed() can't fail, because `stores` returns no error.
  static_cast<void>(mark_needed(all, [&](const auto& at, const auto& cp, const auto& channel) {
    const auto& chain = *thread.find(at.ns);
    return chain.stores(names, *chain.find(cp.id), channel);
  }));
  prune_report report;
  for (const auto& at : all)
    report.checkpoints += static_cast<std::size_t>(
      std::ranges::count(at.checkpoints, false, [](const auto& cp) -> bool { return cp.stays; }));
  if (dry_run)
    return report;
  for (const auto& at : all) {
    std::set<std::string_view> gone;
    for (const auto& cp : at.checkpoints)
      if (!cp.stays)
        gone.insert(cp.id);
    auto& chain = *thread.find(at.ns);
    chain.erase([&gone](std::string_view id) { return gone.contains(id); });
    report.values += chain.erase_unused_values(names);
  }
  thread.erase_empty();
  return report;
}

void drop_older(const name_table& names, memory_thread& thread, const std::string& ns_name,
                std::string_view id) {
  auto& chain = thread.at(ns_name);
  chain.erase([id](std::string_view other) { return other < id; });
  chain.erase_unused_values(names);
  thread.erase_nested([&](const std::string& name, const memory_chain& of) {
    return is_of_a_task_of(name, ns_name) && of.checkpoints() != 0 && of.newest() < id;
  });
}

class memory_saver final : public prompt_saver {
public:
  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref) override {
    if (auto ok = check_ref(ref); !ok)
      return ok.error();
    std::optional<checkpoint_tuple> out;
    std::scoped_lock lock{mutex_};
    const auto* chain = find(ref.thread_id, ref.checkpoint_ns);
    if (!chain || chain->checkpoints() == 0)
      return out;
    auto at = ref.checkpoint_id.empty() ? std::optional{chain->checkpoints() - 1}
                                        : chain->find(ref.checkpoint_id);
    if (at)
      out = read(ref.thread_id, ref.checkpoint_ns, *chain, *at);
    return out;
  }

  result<std::vector<checkpoint_tuple>> list(const list_query& query) override {
    if (auto ok = check_query(query); !ok)
      return ok.error();
    std::vector<checkpoint_tuple> found;
    std::scoped_lock lock{mutex_};
    if (!query.thread_id) {
      for (const auto* one : in_order())
        list_thread(query, *one, found);
    } else if (auto one = threads_.find(*query.thread_id); one != threads_.end()) {
      list_thread(query, *one, found);
    }
    return found;
  }

  result<void> read_page(const list_query& query, checkpoint_page& into) override {
    if (auto ok = check_query(query); !ok)
      return ok;
    std::scoped_lock lock{mutex_};
    into.names.use(table_);
    into.older = 0;
    refill<numbered_tuple> found{into.checkpoints, 0};
    if (const auto* chain = find(query.thread_id.value_or(""), query.checkpoint_ns.value_or("")))
      each_found(query, *chain, 0, [&](std::size_t at) {
        chain->read(names_, at, found.next(), into.names);
        into.older = at;
      });
    return {};
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
    forget_names();
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
          names_, thread->second, [&keep](auto& of) { mark_kept(of, keep); }, keep.dry_run);
    return all;
  }

  result<prune_report> delete_for_runs(const std::vector<std::string>& run_ids,
                                       const std::vector<std::string>& thread_ids) override {
    const auto mark = [&run_ids](auto& thread) { mark_other_runs(thread, run_ids); };
    std::scoped_lock lock{mutex_};
    prune_report all;
    for (const auto& id : thread_ids)
      if (auto thread = threads_.find(id); thread != threads_.end())
        all += troupe::prune(names_, thread->second, mark);
    if (thread_ids.empty())
      for (auto& [id, thread] : threads_)
        all += troupe::prune(names_, thread, mark);
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
    auto copy = from->second;
    copy.owner = 0;
    if (!up_to.empty())
      troupe::prune(names_, copy, [&up_to](auto& of) { mark_up_to(of, up_to); });
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
      if (auto* chain = thread.find(head.ref.checkpoint_ns))
        chain->rewind_writes(names_, head.ref.checkpoint_id, head.writes);
    thread.each([&](const std::string&, memory_chain& chain) {
      chain.erase([&to](std::string_view id) { return id > to.after_id; });
      chain.erase_unused_values(names_);
    });
    thread.erase_empty();
    if (thread.empty())
      threads_.erase(found);
    forget_names();
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
    for (const auto* one : in_order())
      out.push_back({one->first, one->second.owner});
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
    for (const auto* one : in_order())
      infos.push_back(describe(one->first, one->second));
    return infos;
  }

  void submit(save_request request, save_ack, std::function<void(result<void>)> done) override {
    done(store(request));
  }

  result<void> store(const save_request& request) override {
    return store(request, needs_parent(request),
                 [&] { return number_names(*request.put, names_); });
  }

  result<void> store(const save_request& request, numbered_put& put,
                     numbered_names& names) override {
    auto has_gaps = needs_parent(request, put.checkpoint.versions.size(), put.moved.size());
    return store(request, has_gaps, [&]() -> numbered_put& {
      names.use_table(table_);
      put.translate(names, names_);
      return put;
    });
  }

private:
  // `number` gives the channels and nodes of the checkpoint, by numbers of the table.
  template <class F>
  result<void> store(const save_request& request, bool has_gaps, const F& number) {
    if (auto ok = check_request(request); !ok)
      return ok;
    std::scoped_lock lock{mutex_};
    auto known = threads_.find(request.ref.thread_id);
    auto owner = known == threads_.end() ? 0 : known->second.owner;
    if (auto ok = check_claim(request, owner); !ok)
      return ok;
    if (is_only_claim(request) && (!request.claim || owner == 0))
      return {};
    auto& thread = known == threads_.end() ? threads_[request.ref.thread_id] : known->second;
    auto& chain = thread.at(request.ref.checkpoint_ns);
    if (takes_newest(request, owner) && chain.newest() != goes_on_from(request))
      return was_overtaken(request);
    if (has_gaps && !chain.find(request.put->parent_id))
      return parent_is_gone(request);
    if (request.claim)
      thread.owner = request.claim->owner;
    for (const auto& task : request.writes)
      chain.store_writes(names_, request.ref.checkpoint_id, task);
    if (!request.put)
      return {};
    auto&& numbers = number();
    chain.store_checkpoint(*request.put, numbers);
    if (request.put->drops_older)
      drop_older(names_, thread, request.ref.checkpoint_ns, request.put->checkpoint.id);
    return {};
  }

  checkpoint_tuple read(const std::string& thread_id, const std::string& ns,
                        const memory_chain& chain, std::size_t at) const {
    auto out = chain.read(names_, at);
    out.ref.thread_id = thread_id;
    out.ref.checkpoint_ns = ns;
    return out;
  }

  // Null when it has no records.
  const memory_chain* find(const std::string& thread_id, std::string_view ns) const {
    auto thread = threads_.find(thread_id);
    return thread == threads_.end() ? nullptr : thread->second.find(ns);
  }

  // Names of graphs that are gone stay no longer than the last thread.
  void forget_names() {
    if (!threads_.empty())
      return;
    names_ = {};
    table_ = next_table();
  }

  // A number that no other table of this process has.
  static std::uint64_t next_table() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  using threads_by_id = std::unordered_map<std::string, memory_thread>;

  std::vector<const threads_by_id::value_type*> in_order() const {
    std::vector<const threads_by_id::value_type*> out;
    out.reserve(threads_.size());
    for (const auto& one : threads_)
      out.push_back(&one);
    std::ranges::sort(out, {}, [](const auto* one) -> const std::string& { return one->first; });
    return out;
  }

  void list_thread(const list_query& query, const threads_by_id::value_type& one,
                   std::vector<checkpoint_tuple>& found) const {
    one.second.each([&](const std::string& name, const memory_chain& chain) {
      if (!query.checkpoint_ns || name == *query.checkpoint_ns)
        each_found(query, chain, found.size(),
                   [&](std::size_t at) { found.push_back(read(one.first, name, chain, at)); });
    });
  }

  // Calls `take` with the places of a chain's checkpoints that the query selects. `count`: those
  // that were selected before.
  template <class F>
  void each_found(const list_query& query, const memory_chain& chain, std::size_t count,
                  const F& take) const {
    auto first = std::size_t{0};
    auto at = query.before ? chain.before(*query.before) : chain.checkpoints();
    if (query.checkpoint_id) {
      auto only = chain.find(*query.checkpoint_id);
      if (!only || *only >= at)
        return;
      first = *only;
      at = first + 1;
    }
    while (at != first && count < query.limit.value_or(SIZE_MAX)) {
      --at;
      if (!query.filter.is_null() && !matches_filter(query.filter, chain.metadata(names_, at)))
        continue;
      take(at);
      ++count;
    }
  }

  thread_info describe(const std::string& thread_id, const memory_thread& thread) const {
    thread_info info{.thread_id = thread_id, .checkpoint_id = {}, .ts = {}};
    auto from_root = false;
    thread.each([&](const std::string& name, const memory_chain& chain) {
      info.checkpoints += chain.checkpoints();
      if (chain.checkpoints() == 0 || from_root)
        return;
      if (!name.empty() && chain.newest() < info.checkpoint_id)
        return;
      auto newest = chain.summary(names_, chain.checkpoints() - 1);
      info.checkpoint_id = std::move(newest.id);
      info.ts = std::move(newest.ts);
      from_root = name.empty();
    });
    return info;
  }

  std::vector<std::weak_ptr<std::uint32_t>> marks_; // of runtimes that announced themselves
  std::mutex mutex_;
  threads_by_id threads_;
  name_table names_; // of channels and nodes, of all threads
  std::uint64_t table_ = next_table();
};

} // namespace

std::shared_ptr<saver> make_memory_saver() {
  return std::make_shared<memory_saver>();
}

} // namespace troupe
