// lmdb_store: the long-term store in an LMDB file of its own, beside the saver's. Reads run on the
// calling thread. When several threads change something at the same time, one of them makes all
// changes, in one synced transaction.
//
// The saver's file has one writer thread with a group commit: a put would wait for it, and delay
// it. So the store has a file of its own. Several stores of this process, each with options of its
// own, share one file object, since LMDB must not open a file twice.
#include "persistence/crypt/data_keys.hpp"
#include "persistence/lmdb/data_directory.hpp"
#include "persistence/lmdb/data_files.hpp"
#include "persistence/store/item_change.hpp"
#include "persistence/store/item_snapshot.hpp"
#include "persistence/store/local_store.hpp"
#include "persistence/store/shared_turn.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>

namespace troupe {

namespace {

/// A change that a thread waits for.
struct change_job {
  bool frees = false;
  const store_backend::change_work* work = nullptr;
  result<void> answer = {};
  std::vector<std::uint64_t> gone = {}; // part of the answer
  std::exception_ptr thrown = nullptr;  // thrown by the change; takes the place of the answer
  bool is_done = false;
};

class lmdb_backend final : public store_backend {
public:
  static result<std::unique_ptr<lmdb_backend>> open(const std::filesystem::path& dir,
                                                    const lmdb_store_options& options) {
    auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto map_size = std::max(options.map_size_bytes_max, limits::store_map_bytes_min) / page * page;
    auto env = lmdb_env::open(dir / store_file_name, map_size);
    if (!env)
      return env.error();
    std::unique_ptr<lmdb_backend> opened{new lmdb_backend{std::move(*env), options}};
    auto ready = opened->try_change([](item_change&) { return result<void>{}; });
    return ready ? result<std::unique_ptr<lmdb_backend>>{std::move(opened)} : ready.error();
  }

  lmdb_env& env() noexcept { return *env_; }
  const key_provider* keys() const noexcept { return sealing_.keys.get(); }

  result<void> read(const read_work& work) override {
    auto items = read_items(*env_, keys());
    return items ? work(**items) : items.error();
  }

  result<std::vector<std::uint64_t>> change(bool frees, const change_work& work) override {
    change_job mine{.frees = frees, .work = &work};
    turn_.run(mine, [this](const std::vector<change_job*>& jobs) { do_all(jobs); });
    if (mine.thrown)
      std::rethrow_exception(mine.thrown);
    if (!mine.answer)
      return mine.answer.error();
    return std::move(mine.gone);
  }

  result<std::optional<bool>> rewrap_key() {
    std::optional<bool> rewrapped;
    auto done = change(false, [&rewrapped](store_change& to) -> result<void> {
      auto how = static_cast<item_change&>(to).rewrap_key();
      rewrapped = how ? *how : std::nullopt;
      return how ? result<void>{} : how.error();
    });
    if (!done)
      return done.error();
    return rewrapped;
  }

private:
  lmdb_backend(std::unique_ptr<lmdb_env> env, const lmdb_store_options& options)
    : env_{std::move(env)},
      sealing_{items_sealing(remembering(options.keyring), options.compress_bytes_min)} {}

  // When changes fail together, even if only one of them is the reason, they are made one by one.
  void do_all(const std::vector<change_job*>& jobs) noexcept {
    if (jobs.size() > 1 && do_together(jobs))
      return;
    for (auto* job : jobs)
      try {
        job->answer = do_alone(*job);
      } catch (...) {
        job->thrown = std::current_exception();
      }
  }

  bool do_together(const std::vector<change_job*>& jobs) noexcept try {
    return try_change([&jobs](item_change& to) -> result<void> {
             for (auto* job : jobs)
               if (auto ok = work_of(*job, to); !ok)
                 return ok;
             return {};
           })
      .has_value();
  } catch (...) {
    return false;
  }

  result<void> do_alone(change_job& job) {
    auto work = [&job](item_change& to) { return work_of(job, to); };
    auto done = try_change(work);
    if (done || done.error().code() != errc::storage_full || !job.frees)
      return done;
    return change_in_reserve(work);
  }

  static result<void> work_of(change_job& job, item_change& to) {
    auto before = to.gone().size();
    auto ok = (*job.work)(to);
    job.gone.assign(to.gone().begin() + static_cast<std::ptrdiff_t>(before), to.gone().end());
    return ok;
  }

  template <class Work> result<void> try_change(Work work) {
    if (reopen_first_)
      if (auto ok = env_->reopen(); !ok)
        return ok;
    reopen_first_ = false;
    auto begun = item_change::begin<item_change>(*env_, sealing_);
    if (!begun)
      return begun.error();
    if (auto ok = work(*begun); !ok)
      return ok;
    auto committed = begun->commit();
    reopen_first_ = !committed;
    return committed;
  }

  // Removing needs room itself, so it gets the reserve beyond the map. Freed pages can be used two
  // transactions later, so a second transaction follows.
  template <class Work> result<void> change_in_reserve(Work work) {
    env_->clear_dead_readers();
    if (auto ok = env_->resize(env_->map_size_bytes() + limits::store_reserve_bytes); !ok)
      return ok;
    auto done = try_change(work);
    if (done)
      done = try_change([](item_change& to) {
        to.touch();
        return result<void>{};
      });
    auto shrunk = env_->resize(env_->map_size_bytes());
    return done ? shrunk : done;
  }

  std::unique_ptr<lmdb_env> env_;
  shared_turn<change_job> turn_; // the thread whose turn it is uses the members below
  file_sealing sealing_;
  bool reopen_first_ = false; // set after a failed commit
};

result<std::shared_ptr<lmdb_backend>> backend_at(const std::string& dir,
                                                 const lmdb_store_options& options) {
  auto found = open_objects<lmdb_backend>::of_this_process().find_or_open(dir, [&] {
    return lmdb_backend::open(dir, options);
  });
  if (found && !serves_keys((*found)->keys(), options.keyring.get()))
    return open_with_other_keys("long-term store", dir);
  return found;
}

} // namespace

result<std::uint64_t> copy_store_file(const std::string& dir, const std::filesystem::path& to,
                                      bool compact) {
  auto file = std::filesystem::path{dir} / store_file_name;
  if (possible_access(file) == lmdb_access::read_only) {
    auto env = lmdb_env::open(file, limits::store_map_bytes_min, {}, lmdb_access::read_only);
    return env ? (*env)->copy_to(to, compact) : env.error();
  }
  auto backend = backend_at(dir, {});
  return backend ? (*backend)->env().copy_to(to, compact) : backend.error();
}

result<std::optional<bool>> rewrap_store_key(const std::string& dir,
                                             std::shared_ptr<const key_provider> keys) {
  auto backend = backend_at(dir, {.keyring = std::move(keys)});
  return backend ? (*backend)->rewrap_key() : backend.error();
}

result<std::shared_ptr<store>> open_lmdb_store(const std::string& dir, lmdb_store_options options) {
  if (auto ok = check_store_options(options.store); !ok)
    return ok.error();
  auto path = make_data_directory(dir);
  if (!path)
    return path.error();
  auto backend = backend_at(*path, options);
  if (!backend)
    return backend.error();
  return std::shared_ptr<store>{
    std::make_shared<local_store>(std::move(*backend), std::move(options.store))};
}

} // namespace troupe
