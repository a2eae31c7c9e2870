// committing_saver: the front of a saver with a group_commit. It checks ids, turns calls into
// requests, and lets reads see every accepted request.
#pragma once

#include "persistence/group_commit.hpp"
#include "persistence/record/saver_rules.hpp"
#include "persistence/retention.hpp"
#include "persistence/writer_saver.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// The members of a saver that do not depend on where it stores.
///
/// `Base` is `writer_saver` or derives from it. A `Reader` sees what is committed, and has
/// get_tuple, list, delta_histories, thread_owner, owners and threads. `Self` is the saver, and
/// has:
///  - `commits_`, its group_commit;
///  - `with_reader(fn)`: the answer of `fn(reader)`, which is a result;
///  - `prune_thread(id, rule, dry_run)`: a result<prune_report>.
template <class Self, class Reader, class Base = writer_saver>
class committing_saver : public Base {
public:
  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref) override {
    return read(check_ref(ref), ref.thread_id, [&ref](auto& from) { return from.get_tuple(ref); });
  }

  result<std::vector<checkpoint_tuple>> list(const list_query& query) override {
    return read(check_query(query), query.thread_id.value_or(""),
                [&query](auto& from) { return from.list(query); });
  }

  result<named<delta_history>> get_delta_channel_history(
    const checkpoint_ref& ref, const std::vector<std::string>& channels) override {
    return read(check_ref(ref), ref.thread_id,
                [&](auto& from) { return from.delta_histories(ref, channels); });
  }

  result<std::uint64_t> thread_owner(const std::string& thread_id) override {
    return read(check_thread_id(thread_id), thread_id,
                [&thread_id](auto& from) { return from.thread_owner(thread_id); });
  }

  result<std::vector<owned_thread>> owners() override {
    return read({}, "", [](auto& from) { return from.owners(); });
  }

  result<std::vector<thread_info>> threads() override {
    return read({}, "", [](auto& from) { return from.threads(); });
  }

  result<void> put(const checkpoint_ref& ref, const checkpoint_put& put) override {
    return store({{ref.thread_id, ref.checkpoint_ns, {}}, {}, put});
  }

  result<void> put_writes(const checkpoint_ref& ref, const task_writes& writes) override {
    return store({ref, {writes}, {}});
  }

  result<void> delete_thread(const std::string& thread_id) override {
    if (auto ok = check_thread_id(thread_id); !ok)
      return ok;
    return self().commits_.submit_and_wait(
      {.request = {{thread_id, {}, {}}, {}, {}}, .delete_thread = true, .done = {}});
  }

  result<prune_report> prune(const std::vector<std::string>& thread_ids,
                             const retention& keep) override {
    for (const auto& id : thread_ids)
      if (auto ok = check_thread_id(id); !ok)
        return ok.error();
    return prune_each(
      thread_ids, [&keep](auto& thread) { mark_kept(thread, keep); }, keep.dry_run);
  }

  void submit_lent(save_request request, save_ack when, std::function<void(result<void>)> done,
                   std::shared_ptr<spent_requests> spent) override {
    if (auto ok = check_request(request); !ok) {
      done(std::move(ok));
      return;
    }
    self().commits_.submit({.request = std::move(request),
                            .when = when,
                            .done = std::move(done),
                            .spent = std::move(spent)});
  }

protected:
  /// The answer of `fn` to a reader, if the ids are `allowed`. Commits the accepted requests of the
  /// thread first (of all threads when empty).
  template <class Fn>
  std::invoke_result_t<Fn, Reader&> read(const result<void>& allowed, const std::string& thread_id,
                                         Fn fn) {
    if (!allowed)
      return allowed.error();
    self().commits_.flush(thread_id);
    return self().with_reader(fn);
  }

  result<prune_report> prune_each(const std::vector<std::string>& thread_ids,
                                  const retention_rule& mark, bool dry_run = false) {
    prune_report all;
    for (const auto& id : thread_ids) {
      auto pruned = self().prune_thread(id, mark, dry_run);
      if (!pruned)
        return pruned.error();
      all += *pruned;
    }
    return all;
  }

private:
  friend Self;
  committing_saver() = default;

  Self& self() noexcept { return static_cast<Self&>(*this); }

  result<void> store(save_request request) {
    if (auto ok = check_request(request); !ok)
      return ok;
    return self().commits_.submit_and_wait({.request = std::move(request), .done = {}});
  }
};

} // namespace troupe
