// The LMDB saver: reads on the calling thread, everything else through the writer thread.
#include "persistence/data_directory.hpp"
#include "persistence/group_commit.hpp"
#include "persistence/lmdb_env.hpp"
#include "persistence/lmdb_reader.hpp"
#include "persistence/lmdb_writer.hpp"
#include "persistence/saver_rules.hpp"

#include <unistd.h>

#include <system_error>

namespace troupe {

namespace {

constexpr std::string_view store_file = "troupe.mdb";

class lmdb_saver final : public saver {
public:
  static result<std::unique_ptr<saver>> open(const std::filesystem::path& dir,
                                             const lmdb_saver_options& options) {
    auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto map_size = (options.map_size_bytes_max + page - 1) / page * page;
    auto env = lmdb_env::open(dir / store_file, map_size);
    if (!env)
      return env.error();
    lmdb_writer writer{**env};
    if (auto ready = writer.prepare(); !ready)
      return ready.error();
    try {
      return std::unique_ptr<saver>{new lmdb_saver{std::move(*env), options.commit_window}};
    } catch (const std::system_error& e) { // no more threads
      return troupe::error{errc::storage_failed,
                           std::string{"open the store: start its writer: "} + e.what()};
    }
  }

  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref) override {
    if (auto ok = check_ref(ref); !ok)
      return ok.error();
    return read(ref.thread_id, [&ref](lmdb_reader& from) { return from.get_tuple(ref); });
  }

  result<std::vector<checkpoint_tuple>> list(const list_query& query) override {
    if (auto ok = check_query(query); !ok)
      return ok.error();
    return read(query.thread_id.value_or(""),
                [&query](lmdb_reader& from) { return from.list(query); });
  }

  result<named<delta_history>> get_delta_channel_history(
    const checkpoint_ref& ref, const std::vector<std::string>& channels) override {
    if (auto ok = check_ref(ref); !ok)
      return ok.error();
    return read(ref.thread_id,
                [&](lmdb_reader& from) { return from.delta_histories(ref, channels); });
  }

  result<std::uint64_t> thread_owner(const std::string& thread_id) override {
    if (auto ok = check_thread_id(thread_id); !ok)
      return ok.error();
    commits_.flush(thread_id);
    auto txn = env_->begin_read();
    if (!txn)
      return txn.error();
    auto thread = find_thread(*txn, thread_id);
    if (!thread)
      return thread.error();
    return *thread ? (**thread).owner : 0;
  }

  result<std::vector<thread_info>> threads() override {
    return read("", [](lmdb_reader& from) { return from.threads(); });
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

  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    if (auto ok = check_request(request); !ok) {
      done(std::move(ok));
      return;
    }
    commits_.submit({.request = std::move(request), .when = when, .done = std::move(done)});
  }

private:
  lmdb_saver(std::unique_ptr<lmdb_env> env, std::chrono::milliseconds window)
    : env_{std::move(env)},
      writer_{*env_},
      commits_{writer_, window} {}

  result<void> store(save_request request) {
    if (auto ok = check_request(request); !ok)
      return ok;
    return commits_.submit_and_wait({.request = std::move(request), .done = {}});
  }

  // What was accepted of the thread is committed first, so that the transaction sees it.
  template <class Fn>
  auto read(const std::string& thread_id, Fn fn) -> decltype(fn(std::declval<lmdb_reader&>())) {
    commits_.flush(thread_id);
    auto txn = env_->begin_read();
    if (!txn)
      return txn.error();
    lmdb_reader from{*txn};
    auto answer = fn(from);
    if (!answer)
      return troupe::error{answer.error().code(),
                           answer.error().message() + ": " + env_->file().string()};
    return answer;
  }

  std::unique_ptr<lmdb_env> env_;
  lmdb_writer writer_;
  group_commit commits_; // the last member: its thread uses the others
};

} // namespace

result<std::shared_ptr<saver>> open_lmdb_saver(const std::filesystem::path& dir,
                                               lmdb_saver_options options) {
  auto path = make_data_directory(dir);
  if (!path)
    return path.error();
  return open_objects<saver>::of_this_process().find_or_open(*path, [&] {
    return lmdb_saver::open(*path, options);
  });
}

} // namespace troupe
