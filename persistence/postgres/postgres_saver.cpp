// postgres_saver: reads on the calling thread, everything else through the writer thread.
#include "persistence/group_commit.hpp"
#include "persistence/postgres/postgres_pool.hpp"
#include "persistence/postgres/postgres_pruner.hpp"
#include "persistence/postgres/postgres_reader.hpp"
#include "persistence/postgres/postgres_rewind.hpp"
#include "persistence/postgres/postgres_schema.hpp"
#include "persistence/postgres/postgres_statements.hpp"
#include "persistence/postgres/postgres_writer.hpp"
#include "persistence/record/saver_rules.hpp"

namespace troupe {

namespace {

class postgres_saver final : public saver {
public:
  explicit postgres_saver(const postgres_options& options)
    : sql_{options.schema},
      numbers_{quoted_identifier(options.schema) + ".numbers"},
      pool_{options},
      writer_{options, sql_},
      commits_{writer_, options.commit_window} {}

  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref) override {
    if (auto ok = check_ref(ref); !ok)
      return ok.error();
    return read(ref.thread_id, [&ref](postgres_reader& from) { return from.get_tuple(ref); });
  }

  result<std::vector<checkpoint_tuple>> list(const list_query& query) override {
    if (auto ok = check_query(query); !ok)
      return ok.error();
    return read(query.thread_id.value_or(""),
                [&query](postgres_reader& from) { return from.list(query); });
  }

  result<named<delta_history>> get_delta_channel_history(
    const checkpoint_ref& ref, const std::vector<std::string>& channels) override {
    if (auto ok = check_ref(ref); !ok)
      return ok.error();
    return read(ref.thread_id,
                [&](postgres_reader& from) { return from.delta_histories(ref, channels); });
  }

  result<std::uint64_t> thread_owner(const std::string& thread_id) override {
    if (auto ok = check_thread_id(thread_id); !ok)
      return ok.error();
    return read(thread_id,
                [&thread_id](postgres_reader& from) { return from.thread_owner(thread_id); });
  }

  result<std::vector<owned_thread>> owners() override {
    return read("", [](postgres_reader& from) { return from.owners(); });
  }

  result<std::vector<thread_info>> threads() override {
    return read("", [](postgres_reader& from) { return from.threads(); });
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
    return commits_.submit_and_wait(
      {.request = {{thread_id, {}, {}}, {}, {}}, .delete_thread = true, .done = {}});
  }

  result<prune_report> prune(const std::vector<std::string>& thread_ids,
                             const retention& keep) override {
    for (const auto& id : thread_ids)
      if (auto ok = check_thread_id(id); !ok)
        return ok.error();
    return prune(
      thread_ids, [&keep](auto& thread) { mark_kept(thread, keep); }, keep.dry_run);
  }

  result<prune_report> delete_for_runs(const std::vector<std::string>& run_ids) override {
    commits_.flush("");
    auto ids =
      pool_.with([&](postgres_connection& on) { return threads_of_runs(on, sql_, run_ids); });
    if (!ids)
      return ids.error();
    return prune(*ids, [&run_ids](auto& thread) { mark_other_runs(thread, run_ids); });
  }

  result<void> copy_thread(const std::string& source, const std::string& target) override {
    if (auto ok = check_copy(source, target); !ok)
      return ok;
    commits_.flush(source);
    commits_.flush(target);
    auto may_be_done = false;
    return pool_.with([&](postgres_connection& on) {
      return troupe::copy_thread(on, sql_, numbers_, source, target, may_be_done);
    });
  }

  result<void> rewind(const std::string& thread_id, const rewind_point& to) override {
    if (auto ok = check_thread_id(thread_id); !ok)
      return ok;
    commits_.flush(thread_id);
    return pool_.with(
      [&](postgres_connection& on) { return rewind_thread(on, sql_, thread_id, to); });
  }

  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    if (auto ok = check_request(request); !ok) {
      done(std::move(ok));
      return;
    }
    commits_.submit({.request = std::move(request), .when = when, .done = std::move(done)});
  }

private:
  result<prune_report> prune(const std::vector<std::string>& thread_ids, const postgres_rule& mark,
                             bool dry_run = false) {
    prune_report all;
    for (const auto& id : thread_ids) {
      commits_.flush(id);
      auto pruned = pool_.with(
        [&](postgres_connection& on) { return prune_thread(on, sql_, id, mark, dry_run); });
      if (!pruned)
        return pruned.error();
      all += *pruned;
    }
    return all;
  }

  result<void> store(save_request request) {
    if (auto ok = check_request(request); !ok)
      return ok;
    return commits_.submit_and_wait({.request = std::move(request), .done = {}});
  }

  // Commits the accepted requests of the thread first, so that other connections than the writer's
  // see them.
  template <class Fn>
  auto read(const std::string& thread_id, Fn fn) -> decltype(fn(std::declval<postgres_reader&>())) {
    commits_.flush(thread_id);
    return pool_.with([&](postgres_connection& on) {
      postgres_reader from{on, sql_};
      return fn(from);
    });
  }

  const postgres_statements sql_;
  const std::string numbers_; // the name of the sequence
  postgres_pool pool_;
  postgres_writer writer_;
  group_commit commits_; // the last member: its thread uses the others
};

} // namespace

result<std::shared_ptr<saver>> open_postgres_saver(const postgres_options& options) {
  auto connection = postgres_connection::open(options);
  if (!connection)
    return connection.error();
  if (auto ok = migrate(**connection, options.schema, "saver", saver_migrations()); !ok)
    return ok.error();
  return std::shared_ptr<saver>{std::make_shared<postgres_saver>(options)};
}

} // namespace troupe
