// The saver: the interface that stores checkpoints and pending writes of threads, with savers in
// memory and in LMDB.
#pragma once

#include <troupe/limits.hpp>
#include <troupe/value.hpp>

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

class key_provider;

/// A channel's version. `number` grows with every step that moves a channel. `tag` differs between
/// the branches of a thread, so that equal numbers on two branches are two versions.
/// Shape:  as text 32 digits, a dot, 16 hex digits; the null version is {0, 0}.
/// Errors: none.
/// Source: langgraph/checkpoint/base, BaseCheckpointSaver.get_next_version.
struct version {
  std::uint64_t number = 0;
  std::uint64_t tag = 0;
  friend auto operator<=>(const version&, const version&) = default;
};

/// Pairs (name, T), sorted by name, each name once.
/// Errors: none.
/// Source: troupe.
template <class T> using named = std::vector<std::pair<std::string, T>>;

/// The state of a thread between two super-steps.
/// Shape:  `channel_values` holds a value for those channels of `channel_versions` that store one.
///         `versions_seen`: node → the versions of its trigger channels when it last ran; also the
///         keys `__input__` and `__interrupt__`. `updated_channels` is sorted; nullopt after an
///         outside update.
/// Units:  `ts` ISO-8601 UTC with microseconds; `id` a uuid6, sorts by creation.
/// Errors: none; see saver::put.
/// Source: langgraph/checkpoint/base, Checkpoint.
struct checkpoint {
  std::int64_t v = 4;
  std::string id;
  std::string ts;
  named<value> channel_values;
  named<version> channel_versions;
  named<named<version>> versions_seen;
  std::optional<std::vector<std::string>> updated_channels;
  friend bool operator==(const checkpoint&, const checkpoint&) = default;
};

/// The place of a checkpoint. `checkpoint_id` has no zero byte; an empty one means the newest.
/// Shape:  `thread_id` 1 … limits::thread_id_bytes_max bytes; `checkpoint_ns` "" for the root.
/// Errors: see saver.
/// Source: troupe; langgraph's config has the same keys.
struct checkpoint_ref {
  std::string thread_id;
  std::string checkpoint_ns;
  std::string checkpoint_id;
  friend bool operator==(const checkpoint_ref&, const checkpoint_ref&) = default;
};

/// A write of a task in the step after a checkpoint.
/// Errors: none.
/// Source: langgraph/checkpoint/base, PendingWrite; with the task's path.
struct pending_write {
  std::string task_id;
  std::string channel;
  troupe::value value;
  std::string task_path;
  friend bool operator==(const pending_write&, const pending_write&) = default;
};

/// A stored checkpoint with its metadata, parent and pending writes.
/// Shape:  `metadata` is a map with at least source, step, parents. `parent_id` is empty for the
///         first one.
/// Order:  `pending_writes` by (task_path, task_id, position).
/// Errors: none.
/// Source: langgraph/checkpoint/base, CheckpointTuple.
struct checkpoint_tuple {
  checkpoint_ref ref; // with its checkpoint_id
  troupe::checkpoint checkpoint;
  value metadata;
  std::string parent_id;
  std::vector<pending_write> pending_writes;
};

/// Selects the checkpoints of list().
/// Shape:  nullopt means any. `filter`: metadata members that must be equal. `before`: only ids
///         smaller than this one. `limit` counts checkpoints that fit the filter; 0 gives an empty
///         list.
/// Errors: see saver::list.
/// Source: langgraph/checkpoint/base, the arguments of BaseCheckpointSaver.list.
struct list_query {
  std::optional<std::string> thread_id = std::nullopt;
  std::optional<std::string> checkpoint_ns = std::nullopt;
  std::optional<std::string> checkpoint_id = std::nullopt;
  value filter = {};
  std::optional<std::string> before = std::nullopt;
  std::optional<std::size_t> limit = std::nullopt;
};

/// The writes of one task, in the order in which the task made them.
/// Errors: none.
/// Source: langgraph/checkpoint/base, the arguments of BaseCheckpointSaver.put_writes.
struct task_writes {
  std::string task_id;
  std::string task_path;
  std::vector<std::pair<std::string, value>> writes; // (channel, value)
};

/// A checkpoint to store.
/// Shape:  `new_versions`: the channels whose version moved since the parent was stored, sorted.
///         For them `checkpoint.channel_values` holds the value, or no entry (stored as empty). All
///         other channels keep the values stored under the same version. `drops_older`: nothing
///         older is needed to read the checkpoint, and nothing older stays. In the same commit go
///         the checkpoints of the namespace with a smaller id, their writes, the namespaces of
///         their tasks, and values that nothing else uses. A saver may leave some of a long past
///         to later puts.
/// Errors: see saver::put.
/// Source: langgraph/checkpoint/base, the arguments of BaseCheckpointSaver.put; `drops_older` is
///         troupe's.
struct checkpoint_put {
  std::string parent_id; // empty: no parent
  troupe::checkpoint checkpoint;
  value metadata;
  std::vector<std::string> new_versions;
  bool drops_older = false;
};

/// The right to write to a thread, in all of its namespaces: one run at a time. A run reads the
/// owner of the thread before it reads the thread, and its first request makes it the owner. A
/// request is refused when another run became the owner first or later, or the thread was deleted.
/// The owner may still be running. A run that depends on everything stored therefore first takes
/// the thread over with an empty request, and reads afterwards. Later requests of the old owner are
/// refused.
/// Shape:  `before`: the owner that was read; 0: the thread has no owner. After the run's first
///         request was stored, `before` equals `owner`.
///         `owner`: the run, by a number other than 0 that no other run has. The bit thread_at_rest
///         adds that the run has ended and the thread waits: for an answer, at a breakpoint, or for
///         a mended node.
///         `from_newest`: the run continues from the newest checkpoint. The request that makes it
///         the owner is then refused unless that checkpoint is still the newest of the request's
///         namespace. The run in `before` may have stored more after it was read.
/// Errors: conflict, from saver::submit, when the claim does not hold.
/// Source: troupe.
struct thread_claim {
  std::uint64_t before = 0;
  std::uint64_t owner = 0;
  bool from_newest = false;
};

/// The bit of thread_claim::owner for a thread that waits, and whose run has ended.
/// Errors: none.
/// Source: troupe.
inline constexpr std::uint64_t thread_at_rest = std::uint64_t{1} << 31;

/// A thread and its last writer: see saver::thread_owner().
/// Errors: none.
/// Source: troupe.
struct owned_thread {
  std::string thread_id;
  std::uint64_t owner = 0;
};

/// One ordered unit of saving: the writes of tasks (of the checkpoint `ref.checkpoint_id`), then
/// the checkpoint that supersedes them. Without both parts the claim takes the thread over, if the
/// thread has an owner, and nothing else is stored. Without a claim no owner is checked.
/// Errors: see saver::submit.
/// Source: troupe.
struct save_request {
  checkpoint_ref ref;
  std::vector<task_writes> writes;
  std::optional<checkpoint_put> put;
  std::optional<thread_claim> claim = std::nullopt;
};

/// The history of a delta channel, a channel whose checkpoint holds no value for it.
/// Shape:  `seed`: the value of the nearest ancestor checkpoint that holds one; nullopt when no
///         ancestor does. The value is a delta_snapshot or, from a time when the channel was of
///         another kind, a plain value. `writes`: all later writes to the channel, and those of
///         that ancestor's own step.
/// Order:  `writes` oldest checkpoint first, then as checkpoint_tuple::pending_writes.
/// Errors: see saver::get_delta_channel_history.
/// Source: langgraph/checkpoint/base, DeltaChannelHistory.
struct delta_history {
  std::vector<pending_write> writes;
  std::optional<value> seed;
};

/// Prefix of the task path of a write that only a separate branch consumes. The first checkpoint of
/// such a branch holds the values of its delta channels. Delta histories leave such writes out.
/// Errors: none.
/// Source: troupe; the reference lets the other branches read it.
inline constexpr std::string_view branch_path_prefix = "~!";

/// The time at which submit() answers.
/// Errors: none.
/// Source: troupe.
enum class save_ack : std::uint8_t {
  accepted, ///< the request left the queue: it is part of the open group commit, in order
  durable,  ///< the request, and everything submitted before it, survives a power cut
};

/// The state of a thread before a run began on it, as far as the run can have changed it.
/// Shape:  `after_id`: later checkpoints have a greater id. `heads`: the checkpoints from which the
///         run, and runs within it, continued, each once, with the writes of that time. `claim`:
///         the run's.
/// Errors: see saver::rewind.
/// Source: troupe.
struct rewind_point {
  struct head {
    checkpoint_ref ref;
    std::vector<pending_write> writes;
  };
  std::string after_id;
  std::vector<head> heads = {};
  std::optional<thread_claim> claim = std::nullopt;
};

/// The rules by which prune() keeps checkpoints. In each namespace of a thread, a checkpoint stays
/// when a rule names it. It also stays when one that stays can't be read without it (delta
/// channels). In the namespace of a task (`node:task_id`), keep_latest, keep_every and keep_forks
/// keep a checkpoint only if the enclosing checkpoint stays.
/// Shape:  `created_before`: as checkpoint::ts; checkpoints that are not older stay. Nullopt
///         switches the rule off.
/// Units:  `keep_every` counts steps, as in the metadata; 0 switches the rule off.
/// Errors: see saver::prune.
/// Source: langgraph/checkpoint/base, BaseCheckpointSaver.prune. Its strategy "keep_latest" is the
///         default here, and "delete" is delete_thread(). The other rules are troupe's.
struct retention {
  std::size_t keep_latest = 1;  // the newest of each namespace
  std::uint64_t keep_every = 0; // those whose step is a multiple of it
  bool keep_forks = false;      // those with two or more children, and the newest of each branch
  std::optional<std::string> created_before = std::nullopt;
  bool dry_run = false; // counts the checkpoints that would be removed, and removes nothing
};

/// The number of removed records. In a dry run `values` is 0, since only removing checkpoints shows
/// which values are unused.
/// Errors: none.
/// Source: troupe.
struct prune_report {
  std::size_t checkpoints = 0;
  std::size_t values = 0; // channel values that no checkpoint uses any more
  friend bool operator==(const prune_report&, const prune_report&) = default;
  prune_report& operator+=(const prune_report& more) {
    checkpoints += more.checkpoints;
    values += more.values;
    return *this;
  }
};

/// A thread in the list of saver::threads().
/// Units:  `bytes` of records, without unused space in pages; 0: not known.
/// Errors: none.
/// Source: troupe.
struct thread_info {
  std::string thread_id;
  std::string checkpoint_id = {}; // the newest of the root namespace, else of any
  std::string ts = {};
  std::size_t checkpoints = 0; // in all namespaces
  std::uint64_t bytes = 0;     // of its records
  std::string damage = {}; // why it can't be read; then `ts` is empty, and counts are incomplete
};

/// Stores threads. All members may be called from any thread at once; all except submit block.
/// Every call that begins after another one returned (or was acknowledged) sees what that one
/// stored.
/// Errors: see the members.
/// Source: langgraph/checkpoint/base, BaseCheckpointSaver.
class saver {
public:
  virtual ~saver() = default;

  /// The checkpoint at `ref`, or nothing when it is missing.
  /// Blocks: on a read. In memory that is a lock; in LMDB a read transaction, some µs.
  /// Errors: checkpoint_corrupt, format_too_new, key_missing, storage_failed.
  /// Source: langgraph/checkpoint/base, BaseCheckpointSaver.get_tuple.
  virtual result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref) = 0;

  /// The checkpoints selected by the query, newest first within a namespace.
  /// Order:  by thread, namespace, then id descending.
  /// Blocks: as get_tuple, for each checkpoint.
  /// Errors: as get_tuple.
  /// Source: langgraph/checkpoint/base, BaseCheckpointSaver.list.
  virtual result<std::vector<checkpoint_tuple>> list(const list_query& query) = 0;

  /// Stores a checkpoint, replacing one of the same id. Durable when it returns.
  /// Shape:  `ref.checkpoint_id` is ignored.
  /// Blocks: until the request is durable.
  /// Errors: storage_full, storage_failed, invalid_value (too deep or large); nothing is changed.
  /// Source: langgraph/checkpoint/base, BaseCheckpointSaver.put.
  virtual result<void> put(const checkpoint_ref& ref, const checkpoint_put& put) = 0;

  /// Stores writes of one task of the checkpoint `ref`. An existing position (task, index) is kept.
  /// The special channels __error__, __scheduled__, __interrupt__ and __resume__ are replaced
  /// instead: they have one slot a task each. Durable when it returns.
  /// Blocks: as put.
  /// Errors: as put.
  /// Source: langgraph/checkpoint/base, BaseCheckpointSaver.put_writes.
  virtual result<void> put_writes(const checkpoint_ref& ref, const task_writes& writes) = 0;

  /// The histories of delta channels at the checkpoint `ref`. The checkpoint's own writes do not
  /// count: they belong to the next step. The walk follows the parents, and so the branch, and
  /// leaves out writes under branch_path_prefix. For a channel it ends at the first checkpoint that
  /// holds a value for it. For all channels it ends at a checkpoint that is missing or was visited
  /// before.
  /// Shape:  one entry for each of `channels`, sorted, each once; empty histories when `ref` has no
  ///         checkpoint. This implementation calls get_tuple for each checkpoint.
  /// Blocks: as get_tuple, for each checkpoint of the walk.
  /// Errors: as get_tuple.
  /// Source: langgraph/checkpoint/base, BaseCheckpointSaver.get_delta_channel_history.
  virtual result<named<delta_history>>
  get_delta_channel_history(const checkpoint_ref& ref, const std::vector<std::string>& channels);

  /// The owner number of the thread's last writer, 0 without one. A saver without owners returns 0
  /// and must ignore claims; then two runs can write to the same thread. A saver that forwards
  /// requests to another saver must forward this call, too.
  /// Blocks: as get_tuple.
  /// Errors: as get_tuple.
  /// Source: troupe.
  virtual result<std::uint64_t> thread_owner(const std::string& thread_id);

  /// thread_owner() of all threads. This implementation asks for each of threads().
  /// Order:  by thread id.
  /// Errors: as get_tuple.
  /// Source: troupe.
  virtual result<std::vector<owned_thread>> owners();

  /// As get_tuple, for a caller that needs the values of these channels only. Values of other
  /// channels may be missing. This implementation reads all values.
  /// Shape:  `channels` sorted.
  /// Errors: as get_tuple.
  /// Source: troupe.
  virtual result<std::optional<checkpoint_tuple>>
  get_tuple_of(const checkpoint_ref& ref, const std::vector<std::string>& channels);

  /// Announces a running runtime to all processes that share the store. `mark` is the upper 32 bits
  /// of the owner numbers of its runs.
  /// Shape:  null where a saver does not know which runtimes live, as in this implementation.
  /// Owns:   the announcement lasts until the result is dropped, or the process ends in any way.
  /// Errors: storage_failed.
  /// Source: troupe.
  virtual result<std::shared_ptr<void>> announce(std::uint32_t mark);
  /// Whether the runtime of a mark is alive; nullopt when that is not known.
  /// Errors: storage_failed.
  /// Source: troupe.
  virtual result<std::optional<bool>> is_there(std::uint32_t mark);

  /// Removes all records of a thread. No error when the thread is missing. Later saves of a run in
  /// flight on the thread are refused.
  /// Blocks: as put.
  /// Errors: as put.
  /// Source: langgraph/checkpoint/base, BaseCheckpointSaver.delete_thread.
  virtual result<void> delete_thread(const std::string& thread_id) = 0;

  /// Removes the checkpoints of these threads that `keep` does not keep, their writes, and values
  /// that no checkpoint uses any more. A missing thread counts as pruned. A run that continues from
  /// a removed checkpoint gets `conflict` at its next save. With keep_latest > 0 runs in flight are
  /// not disturbed: the newest checkpoint of the root namespace, and the newest ones below it,
  /// always stay.
  /// Blocks: other calls for some ms at most: large removals are done in pieces.
  /// Errors: as put; invalid_config when this saver can't prune. Removals before an error
  ///         stay; every remaining checkpoint can be read.
  /// Source: langgraph/checkpoint/base, BaseCheckpointSaver.prune.
  virtual result<prune_report> prune(const std::vector<std::string>& thread_ids,
                                     const retention& keep = {});

  /// Copies all checkpoints and writes of a thread, in all namespaces, under another id. With
  /// `up_to`, a checkpoint of the root namespace, copies this one and its ancestors, with their
  /// writes, and what runs within their tasks stored. No error when `source` is missing, without
  /// `up_to`.
  /// Errors: as put; invalid_config when `target` has checkpoints or is `source`, or when this
  ///         saver can't copy; checkpoint_missing for `up_to`. Either everything is copied, or
  ///         nothing.
  /// Source: langgraph/checkpoint/base, copy_thread; `up_to` is troupe's.
  virtual result<void> copy_thread(const std::string& source, const std::string& target,
                                   const std::string& up_to = {});

  /// As prune(), removes the checkpoints of all namespaces whose metadata member `run_id` is one of
  /// these.
  /// Shape:  `thread_ids`: the threads to look at; none: all of them, however many there are.
  /// Errors: as prune.
  /// Source: langgraph/checkpoint/base, BaseCheckpointSaver.delete_for_runs; `thread_ids` is
  ///         troupe's.
  virtual result<prune_report> delete_for_runs(const std::vector<std::string>& run_ids,
                                               const std::vector<std::string>& thread_ids = {});

  /// Undoes a run that ended. Removes all checkpoints of the thread with an id greater than
  /// `to.after_id`, with their writes, in all namespaces. Gives each head its former writes back. A
  /// head that is gone stays gone. A thread without checkpoints and writes is then deleted.
  /// Errors: - as put
  ///         - conflict when the thread's last writer is not the claim's run
  ///         - invalid_config when this saver can't rewind
  ///         Either everything is done, or nothing. Values that no checkpoint uses any more may
  ///         stay until prune().
  /// Source: troupe.
  virtual result<void> rewind(const std::string& thread_id, const rewind_point& to);

  /// All threads. A damaged one has its `damage`.
  /// Order:  by thread id.
  /// Blocks: on reading all keys.
  /// Errors: as get_tuple, except for damage of a thread.
  /// Source: troupe.
  virtual result<std::vector<thread_info>> threads() = 0;

  /// Stores a request in the order of the calls. Calls `done` once, from any thread or from within
  /// the call. Never blocks on the disk. This implementation puts, and prunes after a put that
  /// drops what is older.
  /// Order:  requests are stored in the order of submission; a request's writes before its put.
  ///         `done` may submit; it must not wait for this saver nor drop the saver's last
  ///         reference.
  /// Errors: as put, and conflict for a claim that does not hold: nothing of the request is stored.
  ///         A failure after the answer `accepted` is reported to the thread's next request, which
  ///         is not stored.
  /// Source: troupe.
  virtual void submit(save_request request, save_ack when, std::function<void(result<void>)> done);
};

/// A saver in memory, for tests and for runs that need no durability.
/// Errors: none.
/// Source: langgraph/checkpoint/memory, InMemorySaver.
std::shared_ptr<saver> make_memory_saver();

/// The options of open_lmdb_saver.
/// Units:  `map_size_bytes_max`: the largest size of the file; address space, not memory.
///         `commit_window`: the largest age of an open group commit.
/// Errors: see open_lmdb_saver.
/// Source: troupe.
struct lmdb_saver_options {
  std::size_t map_size_bytes_max = limits::store_map_bytes_default;
  std::chrono::milliseconds commit_window = limits::commit_window;
  /// With a key ring or another provider, records stored from now on are encrypted (AES-256-GCM):
  /// values, writes, checkpoints and the names of channels and nodes. Ids of threads, checkpoints
  /// and tasks, namespaces, sizes and times of writing stay plain. Older plain records stay
  /// readable, and plain.
  std::shared_ptr<const key_provider> keyring = nullptr;
  /// Payloads of at least this many bytes are compressed (zstd); SIZE_MAX: never.
  std::size_t compress_bytes_min = limits::compress_bytes_min;
  /// Opens an existing directory and changes nothing in it: for snapshots, backups and users
  /// without write permission. Each call that stores fails with storage_failed. Other processes may
  /// write meanwhile only if this user may write to the lock file `troupe.mdb-lock`.
  bool read_only = false;
};

/// The saver in the data directory `dir`, which is created when missing (mode 0700). One writer
/// thread with group commit. One saver a directory and process; several processes may share a
/// directory.
/// Errors: storage_locked, format_too_new, and
///         - storage_failed: missing parent, not a directory, not writable; with `read_only` a
///           missing file or one of an older format
///         - checkpoint_corrupt: not an LMDB file
///         - invalid_config: this process has it open with other keys, or read-only
///         A thread whose key is not in the ring gives key_missing when it is read or written.
/// Source: troupe; persistence/FORMAT.md.
result<std::shared_ptr<saver>> open_lmdb_saver(const std::string& dir,
                                               lmdb_saver_options options = {});

} // namespace troupe
