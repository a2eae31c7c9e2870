// lmdb_env: opens LMDB files, and wraps transactions and cursors.
#include "persistence/lmdb/lmdb_env.hpp"

#include "graph/crash_point.hpp"
#include "persistence/lmdb/lmdb_setup.hpp"
#include "persistence/lmdb/mapped_pages.hpp"

#include <troupe/limits.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

namespace troupe {

namespace {

MDB_val as_val(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

struct meaning {
  errc code;
  std::string_view advice;
};

meaning meaning_of(int rc) {
  switch (rc) {
    case MDB_MAP_FULL:
    case MDB_TXN_FULL: return {errc::storage_full, "delete threads or open it with a larger map"};
    case ENOSPC:
    case EFBIG:
    case EDQUOT: return {errc::storage_full, "free space on the disk"};
    case MDB_INVALID:
      return {errc::checkpoint_corrupt, "not a troupe store: choose another directory"};
    case MDB_VERSION_MISMATCH:
      return {errc::checkpoint_corrupt, "another version of LMDB wrote the file"};
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND: return {errc::checkpoint_corrupt, "it is damaged: restore a copy"};
    case EACCES:
    case EPERM:
      return {errc::storage_failed, "let this user read and write the directory and its files"};
    case EROFS: return {errc::storage_failed, "choose a directory that can be written"};
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
      return {errc::storage_failed, "create what is missing or choose another directory"};
    case MDB_READERS_FULL:
      return {errc::storage_failed, "too many readers at once: close some of them"};
    case EAGAIN:
    case EBUSY: return {errc::storage_locked, "end the process that has the file open"};
    default: return {errc::storage_failed, "see the system's log"};
  }
}

// The size that the file should have, when it is shorter than its pages; otherwise nullopt. Reads
// only the first pages.
std::optional<off_t> missing_end(MDB_env* env, int fd) {
  MDB_envinfo info{};
  MDB_stat stat{};
  mdb_env_info(env, &info);
  mdb_env_stat(env, &stat);
  struct stat file {};
  auto size = static_cast<off_t>((info.me_last_pgno + 1) * stat.ms_psize);
  return fstat(fd, &file) == 0 && file.st_size < size ? std::optional{size} : std::nullopt;
}

// Makes the file as long as its pages need. Reading a file that damage has cut short would end the
// process (SIGBUS). Needs a write transaction, so that no other process extends the file meanwhile.
int cover_pages(MDB_env* env, lmdb_access access) {
  int fd = -1;
  mdb_env_get_fd(env, &fd);
  if (!missing_end(env, fd))
    return 0;
  if (access == lmdb_access::read_only)
    return MDB_CORRUPTED;
  MDB_txn* alone = nullptr;
  if (auto rc = mdb_txn_begin(env, nullptr, 0, &alone); rc != 0)
    return rc;
  auto size = missing_end(env, fd);
  auto rc = size && ftruncate(fd, *size) != 0 ? errno : 0;
  mdb_txn_abort(alone);
  return rc;
}

bool is_writable(const std::filesystem::path& path) {
  return ::access(path.c_str(), W_OK) == 0;
}

// LMDB's flags for an access. A reader without write access to the lock file uses no lock file.
unsigned flags_of(lmdb_access access, const std::filesystem::path& file) {
  if (access == lmdb_access::read_write)
    return mutated(mutation::no_sync) ? MDB_NOSYNC : 0;
  auto lock_file = file;
  lock_file += "-lock";
  auto has_lock_file = std::filesystem::exists(lock_file);
  auto may_lock = is_writable(has_lock_file ? lock_file : file.parent_path());
  return MDB_RDONLY | (may_lock ? 0 : MDB_NOLOCK);
}

} // namespace

lmdb_access possible_access(const std::filesystem::path& file) {
  auto is_refused = [](const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored) && !is_writable(path);
  };
  return is_refused(file) || is_refused(file.parent_path()) ? lmdb_access::read_only
                                                            : lmdb_access::read_write;
}

error lmdb_error(int rc, std::string_view doing, const std::filesystem::path& file) {
  auto [code, advice] = meaning_of(rc);
  std::string text{doing};
  text.append(": ").append(mdb_strerror(rc)).append(": ").append(file.string());
  text.append(": ").append(advice);
  return {code, std::move(text)};
}

error empty_file_error(std::string_view doing, const std::filesystem::path& file) {
  std::string text{doing};
  text.append(": ").append(file.string()).append(" is empty: it was cut short: restore a copy");
  return {errc::checkpoint_corrupt, std::move(text)};
}

// ---- transactions -----------------------------------------------------------------------------

lmdb_txn::lmdb_txn(lmdb_txn&& other) noexcept
  : env_{other.env_},
    lock_{std::move(other.lock_)},
    txn_{std::exchange(other.txn_, nullptr)},
    changes_{other.changes_} {}

lmdb_txn::~lmdb_txn() {
  if (txn_)
    mdb_txn_abort(txn_);
}

result<std::optional<std::string_view>> lmdb_txn::get(std::string_view key) const {
  auto k = as_val(key);
  MDB_val data;
  auto rc = mdb_get(txn_, env_->dbi_of(key), &k, &data);
  if (rc == MDB_NOTFOUND)
    return std::optional<std::string_view>{};
  if (rc != 0)
    return env_->failure(rc, "read the store");
  return std::optional{std::string_view{static_cast<const char*>(data.mv_data), data.mv_size}};
}

result<void> lmdb_txn::put(std::string_view key, std::string_view data) {
  auto k = as_val(key);
  auto d = as_val(data);
  changes_ = true;
  if (auto rc = mdb_put(txn_, env_->dbi_of(key), &k, &d, 0); rc != 0)
    return env_->failure(rc, "write to the store");
  return {};
}

result<std::optional<std::string_view>> lmdb_txn::put_new(std::string_view key,
                                                          std::string_view data) {
  auto k = as_val(key);
  auto d = as_val(data);
  auto rc = mdb_put(txn_, env_->dbi_of(key), &k, &d, MDB_NOOVERWRITE);
  if (rc == MDB_KEYEXIST)
    return std::optional{std::string_view{static_cast<const char*>(d.mv_data), d.mv_size}};
  changes_ = true;
  if (rc != 0)
    return env_->failure(rc, "write to the store");
  return std::optional<std::string_view>{};
}

// Without MDB_APPEND, LMDB splits the last page in halves.
result<void> lmdb_txn::append(std::string_view key, std::string_view data) {
  auto k = as_val(key);
  auto d = as_val(data);
  changes_ = true;
  auto rc = mdb_put(txn_, env_->dbi_of(key), &k, &d, MDB_APPEND);
  if (rc == MDB_KEYEXIST)
    return put(key, data);
  return rc == 0 ? result<void>{} : env_->failure(rc, "write to the store");
}

result<void> lmdb_txn::erase(std::string_view key) {
  auto k = as_val(key);
  auto rc = mdb_del(txn_, env_->dbi_of(key), &k, nullptr);
  changes_ = changes_ || rc == 0;
  if (rc != 0 && rc != MDB_NOTFOUND)
    return env_->failure(rc, "delete from the store");
  return {};
}

result<void> lmdb_txn::erase_all(std::string_view prefix) {
  lmdb_cursor at{*this, prefix};
  for (;;) {
    auto found = at.seek(prefix);
    if (!found)
      return found.error();
    if (!*found || !at.key().starts_with(prefix))
      return {};
    changes_ = true;
    auto key = as_val(at.key());
    auto rc = mdb_del(txn_, env_->dbi_of(prefix), &key, nullptr);
    if (rc != 0)
      return env_->failure(rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc, "delete from the store");
  }
}

std::size_t lmdb_txn::entries() const {
  std::size_t all = 0;
  for (std::size_t tree = 0; tree < trees(); ++tree)
    all += entries(tree);
  return all - (trees() - 1); // each named tree is an entry of tree 0
}

std::size_t lmdb_txn::entries(std::size_t tree) const {
  MDB_stat stat{};
  if (env_->dbis_[tree] != lmdb_env::no_tree)
    mdb_stat(txn_, env_->dbis_[tree], &stat);
  return stat.ms_entries;
}

std::size_t lmdb_txn::trees() const noexcept {
  std::size_t made = 1;
  while (made <= env_->trees_.names.size() && env_->dbis_[made] != lmdb_env::no_tree)
    ++made;
  return made;
}

result<void> lmdb_txn::commit() {
  crash_point("commit.before");
  auto rc = mdb_txn_commit(std::exchange(txn_, nullptr));
  crash_point("commit.after");
  if (rc == 0)
    env_->release_pages_if_grown();
  lock_.unlock();
  if (rc == EIO)
    rc = env_->why_short();
  if (rc != 0)
    return env_->failure(rc, "commit to the store");
  return {};
}

// ---- cursors ----------------------------------------------------------------------------------

lmdb_cursor::lmdb_cursor(const lmdb_txn& txn, std::string_view prefix) noexcept
  : lmdb_cursor{txn, txn.env_->tree_of(prefix)} {}

lmdb_cursor::~lmdb_cursor() {
  if (cursor_)
    mdb_cursor_close(cursor_);
}

result<bool> lmdb_cursor::move(MDB_cursor_op op) {
  if (!cursor_)
    if (auto rc = mdb_cursor_open(txn_.txn_, txn_.env_->dbis_[tree_.value_or(0)], &cursor_);
        rc != 0)
      return txn_.env_->failure(rc, "read the store");
  auto rc = mdb_cursor_get(cursor_, &key_, &data_, op);
  if (rc != 0 && rc != MDB_NOTFOUND)
    return txn_.env_->failure(rc, "read the store");
  return rc == 0;
}

result<bool> lmdb_cursor::seek(std::string_view key) {
  if (!tree_)
    tree_ = txn_.env_->tree_of(key);
  key_ = as_val(key);
  return move(MDB_SET_RANGE);
}

result<bool> lmdb_cursor::seek_before(std::string_view key) {
  auto found = seek(key);
  if (!found)
    return found;
  return move(*found ? MDB_PREV : MDB_LAST);
}

// ---- the environment --------------------------------------------------------------------------

result<std::unique_ptr<lmdb_env>> lmdb_env::open(std::filesystem::path file,
                                                 std::size_t map_size_bytes,
                                                 const lmdb_trees& trees, lmdb_access access) {
  std::unique_ptr<lmdb_env> env{new lmdb_env{std::move(file), map_size_bytes, trees, access}};
  if (access == lmdb_access::read_only) {
    auto opened = env->open_file();
    return opened ? result<std::unique_ptr<lmdb_env>>{std::move(env)} : opened.error();
  }
  if (auto rc = make_lmdb_file(env->file_, map_size_bytes); rc != 0)
    return env->failure(rc, "open the store");
  if (auto opened = env->open_file(); !opened)
    return opened.error();
  // Also for a file that another process made, since that process may have ended before its sync.
  if (auto synced = sync_directory(env->file_.parent_path()); !synced)
    return synced.error();
  return env;
}

lmdb_env::~lmdb_env() {
  if (env_)
    mdb_env_close(env_);
}

result<void> lmdb_env::open_file() {
  struct stat info {};
  if (::stat(file_.c_str(), &info) != 0)
    return failure(errno, "open the store");
  if (S_ISREG(info.st_mode) && info.st_size == 0)
    return empty_file_error("open the store", file_);
  const unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | flags_of(access_, file_);
  if (access_ == lmdb_access::read_write)
    if (auto failed = make_lmdb_file_ready(file_); failed != 0)
      return failure(failed, "open the store");
  MDB_env* env = nullptr;
  auto rc = mdb_env_create(&env);
  if (rc == 0)
    rc = mdb_env_set_maxreaders(env, limits::store_readers_max);
  if (rc == 0)
    rc = mdb_env_set_maxdbs(env, lmdb_trees::names_max);
  if (rc == 0)
    rc = mdb_env_set_mapsize(env, map_size_bytes_);
  crash_point("open.before");
  if (rc == 0)
    rc = mdb_env_open(env, file_.c_str(), flags, 0600);
  crash_point("open.after");
  if (rc == 0)
    rc = cover_pages(env, access_);
  MDB_txn* txn = nullptr;
  if (rc == 0)
    rc = mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn);
  if (rc == MDB_MAP_RESIZED && mdb_env_set_mapsize(env, 0) == 0)
    rc = mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn);
  if (rc == 0)
    rc = open_trees(txn, 0);
  if (rc == 0)
    rc = mdb_txn_commit(std::exchange(txn, nullptr)); // the commit keeps the trees open
  if (txn)
    mdb_txn_abort(txn);
  if (rc != 0) {
    mdb_env_close(env);
    return failure(rc, "open the store");
  }
  env_ = env;
  released_at_ = static_cast<std::uint64_t>(info.st_size);
  clear_dead_readers();
  return {};
}

// Opens the trees. Without MDB_CREATE only existing trees: a new file, or another program's, has
// none of them.
int lmdb_env::open_trees(MDB_txn* txn, unsigned flags) {
  dbis_.fill(no_tree);
  if (auto rc = mdb_dbi_open(txn, nullptr, 0, &dbis_[0]); rc != 0)
    return rc;
  for (std::size_t i = 0; i < trees_.names.size(); ++i) {
    auto rc = mdb_dbi_open(txn, trees_.names[i], flags, &dbis_[i + 1]);
    if (rc != 0 && (flags != 0 || (rc != MDB_NOTFOUND && rc != MDB_INCOMPATIBLE)))
      return rc;
    if (rc != 0)
      dbis_[i + 1] = no_tree;
  }
  return 0;
}

result<void> lmdb_env::make_trees(lmdb_txn& txn) {
  txn.changes_ = true;
  if (auto rc = open_trees(txn.txn_, MDB_CREATE); rc != 0)
    return failure(rc, "make the store");
  return {};
}

result<void> lmdb_env::sort_into_trees(lmdb_txn& txn) {
  txn.changes_ = true;
  MDB_cursor* at = nullptr;
  auto rc = mdb_cursor_open(txn.txn_, dbis_[0], &at);
  MDB_val key, data;
  std::string moved_key, moved;
  while (rc == 0 && (rc = mdb_cursor_get(at, &key, &data, MDB_NEXT)) == 0) {
    moved_key.assign(static_cast<const char*>(key.mv_data), key.mv_size);
    if (tree_of(moved_key) == 0)
      continue;
    moved.assign(static_cast<const char*>(data.mv_data), data.mv_size);
    auto k = as_val(moved_key), d = as_val(moved);
    rc = mdb_cursor_del(at, 0);
    if (rc == 0)
      rc = mdb_put(txn.txn_, dbi_of(moved_key), &k, &d, 0);
  }
  if (at)
    mdb_cursor_close(at);
  if (rc != MDB_NOTFOUND)
    return failure(rc, "bring the store to a newer format");
  return {};
}

result<lmdb_txn> lmdb_env::begin_write() {
  if (access_ == lmdb_access::read_only)
    return error{errc::storage_failed,
                 "write to the store: it was opened read-only: " + file_.string()};
  return begin(0);
}

result<lmdb_txn> lmdb_env::begin(unsigned flags) {
  for (;;) {
    lmdb_txn txn{*this, std::shared_lock{resize_mutex_}};
    if (!env_)
      return failure(EIO, "use the store after a failure");
    auto rc = mdb_txn_begin(env_, nullptr, flags, &txn.txn_);
    if (rc == 0)
      return txn;
    txn.txn_ = nullptr;
    if (rc != MDB_MAP_RESIZED)
      return failure(rc, "begin a transaction");
    txn.lock_.unlock();
    if (auto resized = resize(0); !resized) // another process extended the file: follow it
      return resized.error();
  }
}

result<void> lmdb_env::reopen() {
  std::unique_lock alone{resize_mutex_};
  if (env_)
    mdb_env_close(env_);
  env_ = nullptr;
  return open_file();
}

result<void> lmdb_env::resize(std::size_t map_size_bytes) {
  std::unique_lock alone{resize_mutex_};
  if (!env_)
    return failure(EIO, "use the store after a failure");
  auto rc = mdb_env_set_mapsize(env_, map_size_bytes);
  if (rc == 0)
    return {};
  // LMDB has unmapped the file without noticing the failure. If it does not open here, reopen() may
  // succeed.
  mdb_env_close(std::exchange(env_, nullptr));
  static_cast<void>(open_file());
  return failure(rc, "resize the store's map");
}

bool lmdb_env::is_open() {
  std::shared_lock lock{resize_mutex_};
  return env_ != nullptr;
}

// LMDB reports EIO for a short write, which a full disk causes. Appending a page shows the real
// error. Bytes after the last page are unused.
int lmdb_env::why_short() const {
  auto fd = ::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0)
    return EIO;
  constexpr char page[4096] = {};
  auto written = write(fd, page, sizeof page);
  auto failed = written < 0 ? errno : 0;
  close(fd);
  if (failed == EFBIG || failed == EDQUOT)
    return failed;
  return failed == ENOSPC || (failed == 0 && written < ssize_t{sizeof page}) ? ENOSPC : EIO;
}

// Pages stay resident once they are mapped. A file that grows would make the process grow with it.
void lmdb_env::release_pages_if_grown() {
  MDB_envinfo info{};
  MDB_stat stat{};
  mdb_env_info(env_, &info);
  mdb_env_stat(env_, &stat);
  auto bytes = (info.me_last_pgno + 1) * std::uint64_t{stat.ms_psize};
  if (bytes < released_at_ + limits::store_mapped_growth)
    return;
  released_at_ = bytes;
  int file = -1;
  if (mdb_env_get_fd(env_, &file) == 0)
    release_mapped_pages(file);
}

void lmdb_env::clear_dead_readers() {
  int cleared = 0;
  mdb_reader_check(env_, &cleared);
}

// LMDB lists free pages in its first database, by transaction: a count, then the page numbers.
result<lmdb_env::sizes> lmdb_env::measure() {
  auto txn = begin_read();
  if (!txn)
    return txn.error();
  MDB_envinfo info{};
  MDB_stat stat{};
  mdb_env_info(env_, &info);
  mdb_env_stat(env_, &stat);
  auto pages = info.me_last_pgno + 1;
  MDB_cursor* cursor = nullptr;
  auto rc = mdb_cursor_open(txn->txn_, 0, &cursor);
  std::size_t free = 0;
  while (rc == 0) {
    MDB_val key, data;
    rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT);
    std::size_t count = 0;
    if (rc == 0 && data.mv_size >= sizeof count) {
      std::memcpy(&count, data.mv_data, sizeof count);
      free += count;
    }
  }
  if (cursor)
    mdb_cursor_close(cursor);
  if (rc != MDB_NOTFOUND)
    return failure(rc, "measure the store");
  std::error_code failed;
  auto size = std::filesystem::file_size(file_, failed);
  if (failed)
    return failure(failed.value(), "measure the store");
  // This function's own reader does not count.
  return sizes{size, (pages - std::min(free, pages)) * stat.ms_psize, open_readers() - 1};
}

std::size_t lmdb_env::open_readers() const {
  std::size_t lines = 0;
  auto count = [](const char* line, void* to) {
    *static_cast<std::size_t*>(to) += std::strstr(line, " - ") ? 0 : 1;
    return 0;
  };
  mdb_reader_list(env_, count, &lines);
  return std::max<std::size_t>(lines, 2) - 1; // the first line is a heading
}

result<std::uint64_t> lmdb_env::copy_to(const std::filesystem::path& file, bool compact) {
  std::shared_lock lock{resize_mutex_};
  if (!env_)
    return failure(EIO, "use the store after a failure");
  std::error_code failed;
  if (std::filesystem::exists(file, failed))
    return lmdb_error(EEXIST, "copy the store", file);
  auto draft = draft_of(file);
  int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return lmdb_error(errno, "copy the store", file);
  auto rc = mdb_env_copyfd2(env_, fd, compact ? MDB_CP_COMPACT : 0);
  if (rc == 0 && fsync(fd) != 0)
    rc = errno;
  struct stat copied {};
  if (rc == 0 && fstat(fd, &copied) != 0)
    rc = errno;
  ::close(fd);
  if (rc == 0)
    rc = name_draft(draft, file);
  else
    ::unlink(draft.c_str());
  if (rc != 0)
    return lmdb_error(rc, "copy the store", file);
  if (auto synced = sync_directory(file.parent_path()); !synced)
    return synced.error();
  return static_cast<std::uint64_t>(copied.st_size);
}

} // namespace troupe
