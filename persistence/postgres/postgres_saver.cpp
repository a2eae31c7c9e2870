// postgres_saver: reads on the calling thread, everything else through the writer thread.
#include "persistence/committing_saver.hpp"
#include "persistence/postgres/postgres_copy.hpp"
#include "persistence/postgres/postgres_pool.hpp"
#include "persistence/postgres/postgres_pruner.hpp"
#include "persistence/postgres/postgres_reader.hpp"
#include "persistence/postgres/postgres_rewind.hpp"
#include "persistence/postgres/postgres_schema.hpp"
#include "persistence/postgres/postgres_statements.hpp"
#include "persistence/postgres/postgres_writer.hpp"

namespace troupe {

namespace {

class postgres_saver final : public committing_saver<postgres_saver, postgres_reader> {
  friend committing_saver;

public:
  explicit postgres_saver(const postgres_options& options)
    : sql_{options.schema},
      sealing_{options},
      numbers_{quoted_identifier(options.schema) + ".numbers"},
      pool_{options},
      writer_{options, sql_, sealing_},
      commits_{writer_, options.commit_window} {}

  result<prune_report> delete_for_runs(const std::vector<std::string>& run_ids,
                                       const std::vector<std::string>& thread_ids) override {
    const auto mark = [&run_ids](auto& thread) { mark_other_runs(thread, run_ids); };
    if (!thread_ids.empty())
      return prune_each(run_ids.empty() ? std::vector<std::string>{} : thread_ids, mark);
    commits_.flush("");
    auto ids =
      pool_.with([&](postgres_connection& on) { return threads_of_runs(on, sql_, run_ids); });
    if (!ids)
      return ids.error();
    return prune_each(*ids, mark);
  }

  result<void> copy_thread(const std::string& source, const std::string& target,
                           const std::string& up_to) override {
    if (auto ok = check_copy(source, target); !ok)
      return ok;
    commits_.flush(source);
    commits_.flush(target);
    auto may_be_done = false;
    return pool_.with([&](postgres_connection& on) {
      return troupe::copy_thread(on, sql_, sealing_, numbers_, {source, target, up_to},
                                 may_be_done);
    });
  }

  result<void> rewind(const std::string& thread_id, const rewind_point& to) override {
    if (auto ok = check_thread_id(thread_id); !ok)
      return ok;
    commits_.flush(thread_id);
    return pool_.with(
      [&](postgres_connection& on) { return rewind_thread(on, sql_, sealing_, thread_id, to); });
  }

private:
  result<prune_report> prune_thread(const std::string& thread_id, const retention_rule& mark,
                                    bool dry_run) {
    commits_.flush(thread_id);
    return pool_.with([&](postgres_connection& on) {
      return troupe::prune_thread(on, sql_, sealing_, thread_id, mark, dry_run);
    });
  }

  template <class Fn> std::invoke_result_t<Fn, postgres_reader&> with_reader(Fn fn) {
    return pool_.with([&](postgres_connection& on) {
      postgres_reader from{on, sql_, sealing_.keys.get()};
      return fn(from);
    });
  }

  const postgres_statements sql_;
  const postgres_sealing sealing_;
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
