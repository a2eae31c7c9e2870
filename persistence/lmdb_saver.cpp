// The LMDB saver: reads on the calling thread, everything else through the writer thread.
#include "persistence/group_commit.hpp"
#include "persistence/lmdb_env.hpp"
#include "persistence/lmdb_reader.hpp"
#include "persistence/lmdb_writer.hpp"
#include "persistence/saver_rules.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <map>
#include <mutex>

namespace troupe {

namespace {

constexpr std::string_view store_file = "troupe.mdb";

class lmdb_saver final : public saver {
public:
  static result<std::unique_ptr<lmdb_saver>> open(const std::filesystem::path& dir,
                                                  const lmdb_saver_options& options) {
    auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto map_size = (options.map_size_bytes_max + page - 1) / page * page;
    auto env = lmdb_env::open(dir / store_file, map_size);
    if (!env)
      return env.error();
    lmdb_writer writer{**env};
    if (auto ready = writer.prepare(); !ready)
      return ready.error();
    return std::unique_ptr<lmdb_saver>{new lmdb_saver{std::move(*env), options.commit_window}};
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

// ---- one saver a directory ----------------------------------------------------------------------

// The savers of this process by directory. An entry stays until its saver is gone altogether: LMDB
// must not open a file a second time before it closed it.
struct saver_registry {
  std::mutex mutex;
  std::condition_variable closed;
  std::map<std::string, std::weak_ptr<saver>> open;
};

// Never destroyed: a saver may outlive the end of main. One for each process, because a child of
// fork() must not use what its parent opened.
saver_registry& registry() {
  static auto& mutex = *new std::mutex;
  static auto& by_process = *new std::map<pid_t, saver_registry*>;
  std::scoped_lock lock{mutex};
  auto& mine = by_process[getpid()];
  if (!mine)
    mine = new saver_registry;
  return *mine;
}

std::shared_ptr<saver> share(std::unique_ptr<lmdb_saver> opened, std::string dir) {
  auto close = [dir = std::move(dir)](lmdb_saver* gone) {
    delete gone;
    auto& savers = registry();
    std::scoped_lock lock{savers.mutex};
    savers.open.erase(dir);
    savers.closed.notify_all();
  };
  return {opened.release(), std::move(close)};
}

error directory_error(int code, const std::filesystem::path& dir) {
  return lmdb_error(code, "open the data directory", dir);
}

result<std::string> make_directory(const std::filesystem::path& dir) {
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST)
    return directory_error(errno, dir);
  std::error_code failed;
  auto path = std::filesystem::canonical(dir, failed);
  if (failed)
    return directory_error(failed.value(), dir);
  if (!std::filesystem::is_directory(path, failed))
    return directory_error(ENOTDIR, dir);
  return path.string();
}

} // namespace

result<std::shared_ptr<saver>> open_lmdb_saver(const std::filesystem::path& dir,
                                               lmdb_saver_options options) {
  auto path = make_directory(dir);
  if (!path)
    return path.error();
  auto& savers = registry();
  std::unique_lock lock{savers.mutex};
  for (auto at = savers.open.find(*path); at != savers.open.end(); at = savers.open.find(*path)) {
    if (auto there = at->second.lock())
      return there;
    savers.closed.wait(lock); // it is being closed
  }
  auto opened = lmdb_saver::open(*path, options);
  if (!opened)
    return opened.error();
  auto shared = share(std::move(*opened), *path);
  savers.open[*path] = shared;
  return shared;
}

} // namespace troupe
