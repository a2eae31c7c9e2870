// lmdb_saver: reads on the calling thread, writes through the writer thread.
#include "persistence/committing_saver.hpp"
#include "persistence/crypt/data_keys.hpp"
#include "persistence/lmdb/data_directory.hpp"
#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/lmdb_copy.hpp"
#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/lmdb/lmdb_pruner.hpp"
#include "persistence/lmdb/lmdb_reader.hpp"
#include "persistence/lmdb/lmdb_rewind.hpp"
#include "persistence/lmdb/lmdb_writer.hpp"
#include "persistence/lmdb/runtime_marks.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>

namespace troupe {

namespace {

class lmdb_saver final : public committing_saver<lmdb_saver, lmdb_reader, file_saver> {
  friend committing_saver;

public:
  static result<std::unique_ptr<file_saver>> open(const std::filesystem::path& dir,
                                                  const lmdb_saver_options& options) {
    auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto map_size = (options.map_size_bytes_max + page - 1) / page * page;
    auto access = options.read_only ? lmdb_access::read_only : lmdb_access::read_write;
    auto env = open_saver_file(dir / saver_file_name, map_size, access);
    if (!env)
      return env.error();
    lmdb_writer writer{**env, nullptr, options.compress_bytes_min};
    if (auto ready = options.read_only ? writer.check_format() : writer.prepare(); !ready)
      return ready.error();
    try {
      return std::unique_ptr<file_saver>{new lmdb_saver{std::move(*env), options}};
    } catch (const std::system_error& e) { // the system has no more threads
      return troupe::error{errc::storage_failed,
                           std::string{"open the store: start its writer: "} + e.what()};
    }
  }

  bool submit_or_leave(save_request request, save_ack when,
                       std::function<void(result<void>)> done) override {
    if (auto ok = check_request(request); !ok) {
      done(std::move(ok));
      return false;
    }
    return commits_.submit_or_leave(
      {.request = std::move(request), .when = when, .done = std::move(done)});
  }
  bool write_left() override { return commits_.write_left(); }
  void call_writer() override { commits_.call_writer(); }

  result<std::optional<checkpoint_tuple>>
  get_tuple_of(const checkpoint_ref& ref, const std::vector<std::string>& channels) override {
    return read(check_ref(ref), ref.thread_id,
                [&](lmdb_reader& from) { return from.get_tuple(ref, &channels); });
  }

  result<std::shared_ptr<void>> announce(std::uint32_t mark) override {
    if (env_->access() == lmdb_access::read_only)
      return std::shared_ptr<void>{}; // a reader takes no thread over, so it needs no mark
    return marks_.announce(mark);
  }

  result<std::optional<bool>> is_there(std::uint32_t mark) override {
    auto there = marks_.is_there(mark);
    return there ? result{std::optional{*there}} : there.error();
  }

  result<prune_report> delete_for_runs(const std::vector<std::string>& run_ids,
                                       const std::vector<std::string>& thread_ids) override {
    const auto mark = [&run_ids](auto& thread) { mark_other_runs(thread, run_ids); };
    if (!thread_ids.empty())
      return prune_each(run_ids.empty() ? std::vector<std::string>{} : thread_ids, mark);
    auto infos = run_ids.empty() ? std::vector<thread_info>{} : threads();
    if (!infos)
      return infos.error();
    std::vector<std::string> ids;
    for (auto& info : *infos)
      ids.push_back(std::move(info.thread_id));
    return prune_each(ids, mark);
  }

  result<void> copy_thread(const std::string& source, const std::string& target,
                           const std::string& up_to) override {
    if (auto ok = check_copy(source, target); !ok)
      return ok;
    return upkeep(target, [&] { return troupe::copy_thread(writer_, source, target, up_to); });
  }

  result<void> rewind(const std::string& thread_id, const rewind_point& to) override {
    if (auto ok = check_thread_id(thread_id); !ok)
      return ok;
    if (auto ok = upkeep(thread_id, [&] { return troupe::rewind(writer_, thread_id, to); }); !ok)
      return ok;
    auto values = remove(thread_id, [](auto& records, auto thread) {
      return find_values_to_remove(records, thread);
    });
    return values ? result<void>{} : values.error();
  }

  lmdb_env& env() noexcept override { return *env_; }
  const key_provider* keys() const noexcept override { return keys_.get(); }

  result<rotation_report> rewrap_keys() override {
    auto numbers = thread_numbers();
    if (!numbers)
      return located(numbers.error());
    auto current = keys_->wrapping_id();
    if (!current)
      return current.error();
    rotation_report report;
    for (std::span<const std::uint64_t> left{*numbers}; !left.empty();) {
      rotation_report of_these;
      std::span<const std::uint64_t> after_these;
      auto ok = upkeep("", [&]() -> write_outcome { // may be called again
        after_these = left;
        auto rewrapped = rewrap_thread_keys(writer_.transaction(), after_these, *keys_, *current);
        of_these = rewrapped ? *rewrapped : rotation_report{};
        return writer_.ended(rewrapped ? result<void>{} : located(rewrapped.error()));
      });
      if (!ok)
        return ok.error();
      left = after_these;
      report.threads += of_these.threads;
      report.rewrapped += of_these.rewrapped;
    }
    return report;
  }

private:
  lmdb_saver(std::unique_ptr<lmdb_env> env, const lmdb_saver_options& options)
    : env_{std::move(env)},
      marks_{env_->file().parent_path() / runtimes_file_name},
      keys_{remembering(options.keyring)},
      writer_{*env_, keys_.get(), options.compress_bytes_min},
      commits_{writer_, options.commit_window} {}

  // Runs `work` on the writer thread, in a transaction.
  result<void> upkeep(const std::string& thread_id, std::function<write_outcome()> work) {
    return commits_.submit_and_wait(
      {.request = {{thread_id, {}, {}}, {}, {}}, .upkeep = std::move(work), .done = {}});
  }

  result<std::vector<std::uint64_t>> thread_numbers() {
    commits_.flush("");
    auto txn = env_->begin_read();
    return txn ? all_thread_numbers(*txn) : txn.error();
  }

  using find_removal = std::function<result<removal>(thread_records&, std::uint64_t thread)>;

  // Finds records to remove, and removes them in pieces unless this is a dry run. Returns what was
  // found, without the keys.
  result<removal> remove(const std::string& thread_id, const find_removal& find,
                         bool dry_run = false) {
    removal found;
    {
      commits_.flush(thread_id);
      auto txn = env_->begin_read();
      if (!txn)
        return txn.error();
      auto thread = find_thread_number(*txn, thread_id);
      if (!thread || !*thread)
        return thread ? result<removal>{found} : thread.error();
      thread_records records{*txn, keys_.get()};
      auto all = find(records, **thread);
      if (!all)
        return located(all.error());
      found = std::move(*all);
    }
    removal report;
    report.counted = found.counted;
    report.own_values = std::move(found.own_values);
    if (dry_run)
      return report;
    for (const auto& piece : cut_to_pieces(std::move(found)))
      if (auto ok = upkeep(
            thread_id, [&] { return writer_.ended(troupe::remove(writer_, thread_id, piece)); });
          !ok)
        return ok.error();
    return report;
  }

  result<prune_report> prune_thread(const std::string& thread_id, const retention_rule& mark,
                                    bool dry_run) {
    auto find = [&mark](auto& records, auto thread) {
      return find_checkpoints_to_remove(records, thread, mark);
    };
    auto checkpoints = remove(thread_id, find, dry_run);
    if (!checkpoints)
      return checkpoints.error();
    if (dry_run)
      return prune_report{checkpoints->counted, 0};
    auto values = remove(thread_id, [&checkpoints](auto& records, auto thread) {
      return find_values_to_remove(records, thread, checkpoints->own_values);
    });
    if (!values)
      return values.error();
    return prune_report{checkpoints->counted, values->counted};
  }

  troupe::error located(const troupe::error& err) const {
    return {err.code(), err.message() + ": " + env_->file().string()};
  }

  template <class Fn> std::invoke_result_t<Fn, lmdb_reader&> with_reader(Fn fn) {
    auto txn = env_->begin_read();
    if (!txn)
      return txn.error();
    lmdb_reader from{*txn, keys_.get(), &read_values_};
    auto answer = fn(from);
    if (!answer)
      return located(answer.error());
    return answer;
  }

  std::unique_ptr<lmdb_env> env_;
  const runtime_marks marks_;
  const std::shared_ptr<const key_provider> keys_; // null: new records are plain
  value_cache read_values_;
  lmdb_writer writer_;
  group_commit commits_; // the last member: its thread uses the others
};

result<std::shared_ptr<saver>> saver_at(const std::string& path,
                                        const lmdb_saver_options& options) {
  auto found = open_objects<saver>::of_this_process().find_or_open(
    path, [&]() -> result<std::unique_ptr<saver>> {
      auto opened = lmdb_saver::open(path, options);
      return opened ? result<std::unique_ptr<saver>>{std::move(*opened)} : opened.error();
    });
  if (found && !options.read_only
      && static_cast<lmdb_saver&>(**found).env().access() == lmdb_access::read_only)
    return error{errc::invalid_config,
                 "open the store: this process has it open read-only: " + path};
  if (found && !serves_keys(static_cast<const lmdb_saver&>(**found).keys(), options.keyring.get()))
    return open_with_other_keys("store", path);
  return found;
}

} // namespace

result<std::shared_ptr<saver>> open_lmdb_saver(const std::string& dir, lmdb_saver_options options) {
  auto path = options.read_only ? find_data_directory(dir) : make_data_directory(dir);
  if (!path)
    return path.error();
  return saver_at(*path, options);
}

result<std::unique_ptr<lmdb_env>> open_saver_file(std::filesystem::path file,
                                                  std::size_t map_size_bytes, lmdb_access access) {
  return lmdb_env::open(std::move(file), map_size_bytes, {tree_names, tree_of}, access);
}

result<std::shared_ptr<file_saver>> open_existing_saver(const std::filesystem::path& dir,
                                                        std::shared_ptr<const key_provider> keys) {
  auto path = find_data_directory(dir);
  if (!path)
    return path.error();
  auto file = std::filesystem::path{*path} / saver_file_name;
  std::error_code failed;
  if (!std::filesystem::exists(file, failed))
    return lmdb_error(failed ? failed.value() : ENOENT, "open the store", file);
  lmdb_saver_options options;
  options.keyring = std::move(keys);
  options.read_only = possible_access(file) == lmdb_access::read_only;
  auto opened = saver_at(*path, options);
  if (!opened)
    return opened.error();
  return std::static_pointer_cast<file_saver>(std::move(*opened));
}

} // namespace troupe
