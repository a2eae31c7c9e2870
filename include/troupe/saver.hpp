// The saver: checkpoints and pending writes of threads. Memory and LMDB.
#pragma once

#include <troupe/limits.hpp>
#include <troupe/value.hpp>

#include <chrono>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

class keyring;

/// A channel's version. `number` grows with every step that moves a channel; `tag` tells the
/// branches of a thread apart, so that equal numbers on two branches are two versions.
/// Shape:  as text 32 digits, a dot, 16 hex digits; the null version is {0, 0}.
/// Source: BaseCheckpointSaver.get_next_version.
struct version {
  std::uint64_t number = 0;
  std::uint64_t tag = 0;
  friend auto operator<=>(const version&, const version&) = default;
};

/// Names with something each, sorted by name, unique.
template <class T> using named = std::vector<std::pair<std::string, T>>;

/// The state of a thread between two super-steps.
/// Shape:  `channel_values` holds a value for those channels of `channel_versions` that store one.
///         `versions_seen`: node → the versions of its trigger channels when it last ran; also
///         the keys `__input__` and `__interrupt__`. `updated_channels` sorted, nullopt after an
///         update from outside.
/// Units:  `ts` ISO-8601 UTC with microseconds; `id` a uuid6, sorts by creation.
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

/// Where a checkpoint is: `checkpoint_id` empty means the newest.
/// Shape:  `thread_id` 1 … limits::thread_id_bytes_max bytes; `checkpoint_ns` "" for the root.
struct checkpoint_ref {
  std::string thread_id;
  std::string checkpoint_ns;
  std::string checkpoint_id;
  friend bool operator==(const checkpoint_ref&, const checkpoint_ref&) = default;
};

/// A write of a task that belongs to the step after a checkpoint.
struct pending_write {
  std::string task_id;
  std::string channel;
  troupe::value value;
  std::string task_path;
  friend bool operator==(const pending_write&, const pending_write&) = default;
};

/// A stored checkpoint with all that belongs to it.
/// Shape:  `metadata` a map with at least source, step, parents. `parent_id` empty for the first.
/// Order:  `pending_writes` by (task_path, task_id, position).
struct checkpoint_tuple {
  checkpoint_ref ref; // with its checkpoint_id
  troupe::checkpoint checkpoint;
  value metadata;
  std::string parent_id;
  std::vector<pending_write> pending_writes;
};

/// Which checkpoints list() gives.
/// Shape:  nullopt means any; `filter`: metadata members that must be equal; `before`: only ids
///         smaller than this one; `limit` counts behind the filter, 0 gives none.
struct list_query {
  std::optional<std::string> thread_id = std::nullopt;
  std::optional<std::string> checkpoint_ns = std::nullopt;
  std::optional<std::string> checkpoint_id = std::nullopt;
  value filter = {};
  std::optional<std::string> before = std::nullopt;
  std::optional<std::size_t> limit = std::nullopt;
};

/// The writes of one task, in the order it made them.
struct task_writes {
  std::string task_id;
  std::string task_path;
  std::vector<std::pair<std::string, value>> writes; // (channel, value)
};

/// A checkpoint to store.
/// Shape:  `new_versions`: the channels whose version moved since the parent was stored, sorted;
///         for them `checkpoint.channel_values` holds the value, or nothing (stored as empty). The
///         values of all other channels are those stored before under the same version.
struct checkpoint_put {
  std::string parent_id; // empty: none
  troupe::checkpoint checkpoint;
  value metadata;
  std::vector<std::string> new_versions;
};

/// Who may write to a thread, in all of its namespaces: one run at a time. A run reads who owns the
/// thread before it reads the thread, and its first request makes it the owner; when another one
/// was faster, or took over since, or the thread was deleted, the request is refused. Where the
/// owner may still be on, a run that depends on all that was stored takes the thread over with a
/// request that holds nothing else, and reads then: what the other one stores later is refused.
/// Shape:  `before`: the owner that was read (0: nobody); once the run's first request was stored,
///         the same as `owner`. `owner`: the run; any number but 0 that no other run has. With the
///         bit thread_at_rest it says in addition that the run has ended, and that the thread waits
///         for somebody: an answer, a hand at a breakpoint, a mended node.
///         `from_newest`: the run goes on from the newest checkpoint. Then the request that makes
///         it the owner is refused unless that still is the newest one of the request's namespace:
///         who `before` names may have gone on after it was read.
/// Source: troupe.
struct thread_claim {
  std::uint64_t before = 0;
  std::uint64_t owner = 0;
  bool from_newest = false;
};

inline constexpr std::uint64_t thread_at_rest = std::uint64_t{1} << 31;

/// A thread, and who wrote to it last: see saver::thread_owner().
struct owned_thread {
  std::string thread_id;
  std::uint64_t owner = 0;
};

/// One ordered unit of saving: the writes of tasks (of the checkpoint `ref.checkpoint_id`), then
/// the checkpoint that supersedes them. Both parts may be absent: then the claim takes the thread
/// over, if somebody owns it, and nothing else is stored. Without a claim nobody is asked.
struct save_request {
  checkpoint_ref ref;
  std::vector<task_writes> writes;
  std::optional<checkpoint_put> put;
  std::optional<thread_claim> claim = std::nullopt;
};

/// What a channel is made of whose checkpoint holds no value for it: a delta channel.
/// Shape:  `seed`: the value of the nearest checkpoint above that holds one, a delta_snapshot or,
///         from a time when the channel was of another kind, a plain value; nullopt: none does.
///         `writes`: all writes to the channel since, those of that checkpoint's own step included.
/// Order:  `writes` oldest checkpoint first, then as checkpoint_tuple::pending_writes.
/// Source: langgraph/checkpoint/base, DeltaChannelHistory.
struct delta_history {
  std::vector<pending_write> writes;
  std::optional<value> seed;
};

/// How the task path of a write begins that only a branch of its own consumes, one whose first
/// checkpoint holds the values of its delta channels: no history contains it.
/// Source: troupe; the reference lets the other branches read it.
inline constexpr std::string_view branch_path_prefix = "~!";

/// When submit() answers.
enum class save_ack : std::uint8_t {
  accepted, ///< the request left the queue: it is part of the open group commit, in order
  durable,  ///< it, and everything submitted before it, survives a power cut
};

/// What a thread was before a run began on it, as far as the run can have changed it.
/// Shape:  `after_id`: what was made since has a greater checkpoint id. `heads`: checkpoints that
///         the run, and those within it, went on from, each with the writes it had; each once.
///         `claim`: the run's.
struct rewind_point {
  struct head {
    checkpoint_ref ref;
    std::vector<pending_write> writes;
  };
  std::string after_id;
  std::vector<head> heads = {};
  std::optional<thread_claim> claim = std::nullopt;
};

/// What prune() leaves of a thread. In each of its namespaces a checkpoint stays when one of the
/// rules names it, or when one that stays can't be read without it (delta channels). Of a namespace
/// within the thread, only checkpoints whose parents above stay are looked at: the others go, too.
/// Shape:  `created_before`: as checkpoint::ts; what is not older stays; nullopt: no such rule.
/// Units:  `keep_every` counts steps, as in the metadata; 0: no such rule.
/// Source: langgraph/checkpoint/base, prune: strategy "keep_latest" is the default here, strategy
///         "delete" is delete_thread(). The other rules are troupe's.
struct retention {
  std::size_t keep_latest = 1;  // the newest of each namespace
  std::uint64_t keep_every = 0; // those whose step is a multiple of it
  bool keep_forks = false;      // those with two children or more, and the newest of each branch
  std::optional<std::string> created_before = std::nullopt;
  bool dry_run = false; // counts the checkpoints that would go, and removes nothing
};

/// What was removed. Of a dry run `values` is 0: only removing checkpoints shows which are unused.
struct prune_report {
  std::size_t checkpoints = 0;
  std::size_t values = 0; // of channels, in no checkpoint any more
  friend bool operator==(const prune_report&, const prune_report&) = default;
  prune_report& operator+=(const prune_report& more) {
    checkpoints += more.checkpoints;
    values += more.values;
    return *this;
  }
};

struct thread_info {
  std::string thread_id;
  std::string checkpoint_id = {}; // the newest of the root namespace, else of any
  std::string ts = {};
  std::size_t checkpoints = 0; // in all namespaces
  std::uint64_t bytes = 0;     // of its records, without what pages waste; 0: not known
  std::string damage = {};     // why it can't be read: `ts` is empty, the counts are incomplete
};

/// Stores threads. All members may be called from any thread at once and block, but for submit.
/// What a call stored is seen by every call that begins after it returned (or was acknowledged).
/// Source: langgraph/checkpoint/base, BaseCheckpointSaver.
class saver {
public:
  virtual ~saver() = default;

  /// The checkpoint at `ref`, or nothing when there is none.
  /// Blocks: on a read (memory: a lock; LMDB: a read transaction, some µs).
  /// Errors: checkpoint_corrupt, format_too_new, key_missing, storage_failed.
  virtual result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref) = 0;

  /// The checkpoints the query names, newest first within a namespace.
  /// Order:  by thread, namespace, then id descending.
  /// Errors: as get_tuple.
  virtual result<std::vector<checkpoint_tuple>> list(const list_query& query) = 0;

  /// Stores a checkpoint; one of the same id is replaced. Durable when it returns.
  /// Shape:  `ref.checkpoint_id` is ignored.
  /// Errors: storage_full, storage_failed, invalid_value (too deep or large); nothing is changed.
  virtual result<void> put(const checkpoint_ref& ref, const checkpoint_put& put) = 0;

  /// Stores writes of one task of the checkpoint `ref`. A position (task, index) that is there is
  /// kept, but for the special channels __error__, __scheduled__, __interrupt__ and __resume__,
  /// which have one slot a task each and are replaced. Durable when it returns.
  /// Errors: as put.
  virtual result<void> put_writes(const checkpoint_ref& ref, const task_writes& writes) = 0;

  /// What the channels are made of in the checkpoint at `ref`, whose own writes do not count: they
  /// are of the next step. Follows the parents, and so the branch; of what one of them stores, the
  /// writes behind branch_path_prefix are left out. The walk ends for a channel at the first
  /// checkpoint that holds a value for it, and for all at one that is missing or was met before.
  /// Shape:  one entry for each of `channels`, sorted, each once; empty histories when there is no
  ///         such checkpoint. This implementation calls get_tuple for each checkpoint.
  /// Blocks: as get_tuple, once a checkpoint.
  /// Errors: as get_tuple.
  /// Source: langgraph/checkpoint/base, get_delta_channel_history.
  virtual result<named<delta_history>>
  get_delta_channel_history(const checkpoint_ref& ref, const std::vector<std::string>& channels);

  /// Who wrote to the thread last, 0 for nobody. A saver that does not know says 0 and must ignore
  /// claims: then nothing keeps two runs from the same thread. One that hands requests on to
  /// another saver hands this on too.
  /// Blocks: as get_tuple.
  /// Errors: as get_tuple.
  /// Source: troupe.
  virtual result<std::uint64_t> thread_owner(const std::string& thread_id);

  /// thread_owner() of all threads. This implementation asks for each of threads().
  /// Order:  by thread id.
  /// Errors: as get_tuple.
  /// Source: troupe.
  virtual result<std::vector<owned_thread>> owners();

  /// As get_tuple, for who wants the values of these channels only: those of others may be there or
  /// not. This implementation reads them all.
  /// Shape:  `channels` sorted.
  /// Errors: as get_tuple.
  /// Source: troupe.
  virtual result<std::optional<checkpoint_tuple>>
  get_tuple_of(const checkpoint_ref& ref, const std::vector<std::string>& channels);

  /// Lets everybody who shares the store know that a runtime is there, by the mark of its runs: the
  /// upper half of their numbers.
  /// Shape:  null where a saver can't tell the living from the dead, as here.
  /// Owns:   it is there until what is given goes, or its process does, however that ends.
  /// Errors: storage_failed.
  /// Source: troupe.
  virtual result<std::shared_ptr<void>> announce(std::uint32_t mark);
  /// Whether the runtime of a mark is there; nullopt: not known.
  /// Errors: storage_failed.
  /// Source: troupe.
  virtual result<std::optional<bool>> is_there(std::uint32_t mark);

  /// Removes everything of a thread; no error when there is nothing. What a run that was on has
  /// still to store is refused.
  virtual result<void> delete_thread(const std::string& thread_id) = 0;

  /// Removes the checkpoints of these threads that `keep` does not name, their writes, and the
  /// values that no checkpoint has any more. A thread that is not there counts as pruned. A run
  /// that goes on from a removed checkpoint gets `conflict` when it stores; the newest checkpoint
  /// of a namespace is never removed with keep_latest > 0, so what is on goes on.
  /// Blocks: others for some ms at most: what is much is removed in pieces.
  /// Errors: as put, unsupported by this saver: invalid_config. What was removed before an error
  ///         stays removed; every checkpoint that is there can be read.
  /// Source: langgraph/checkpoint/base, prune.
  virtual result<prune_report> prune(const std::vector<std::string>& thread_ids,
                                     const retention& keep = {});

  /// Copies all checkpoints and writes of a thread, in all namespaces, under another id. No error
  /// when there is nothing to copy.
  /// Errors: as put; invalid_config when `target` has checkpoints or is `source`, or when this
  ///         saver can't. All of it is there, or nothing.
  /// Source: langgraph/checkpoint/base, copy_thread.
  virtual result<void> copy_thread(const std::string& source, const std::string& target);

  /// Removes the checkpoints, of all threads and namespaces, whose metadata member `run_id` is one
  /// of these, as prune() does.
  /// Errors: as prune.
  /// Source: langgraph/checkpoint/base, delete_for_runs.
  virtual result<prune_report> delete_for_runs(const std::vector<std::string>& run_ids);

  /// Undoes a run that ended: removes all checkpoints of the thread with a greater id than
  /// `to.after_id`, with their writes, in all namespaces, and gives each of the heads the writes it
  /// had; a head that is gone stays so. A thread that is left without checkpoints and writes is
  /// deleted.
  /// Errors: as put; conflict when another one than the claim's run wrote to the thread last;
  ///         unsupported by this saver: invalid_config. All of it is done, or nothing (values that
  ///         no checkpoint has any more may stay until prune()).
  /// Source: troupe.
  virtual result<void> rewind(const std::string& thread_id, const rewind_point& to);

  /// All threads, by id; of a damaged one why it is.
  virtual result<std::vector<thread_info>> threads() = 0;

  /// Stores a request in the order of the calls and answers through `done`, once, from any thread
  /// or from within the call. Never blocks on the disk.
  /// Order:  requests are stored in the order of submission; a request's writes before its put.
  ///         `done` may submit; it must not wait for this saver nor drop its last reference.
  /// Errors: as put, and conflict for a claim that does not hold: nothing of it was stored. A
  ///         failure after `accepted` was answered is given to the thread's next
  ///         request, which is not stored.
  virtual void submit(save_request request, save_ack when, std::function<void(result<void>)> done);
};

/// A saver in memory, for tests and for runs that need no durability.
std::shared_ptr<saver> make_memory_saver();

struct lmdb_saver_options {
  std::size_t map_size_bytes_max = limits::store_map_bytes_default;
  std::chrono::milliseconds commit_window = limits::commit_window;
  /// With a ring, what is stored from now on is encrypted (AES-256-GCM): values, writes,
  /// checkpoints and the names of channels and nodes. Ids of threads, checkpoints and tasks,
  /// namespaces, sizes and times of writing are not. What was stored in plain before stays
  /// readable, and plain.
  std::shared_ptr<const troupe::keyring> keyring = nullptr;
  /// Payloads of at least so many bytes are compressed (zstd); SIZE_MAX: none is.
  std::size_t compress_bytes_min = limits::compress_bytes_min;
  /// Opens a directory that exists, and changes nothing in it: for snapshots, backups and users who
  /// may not write there. Each call that stores something fails with storage_failed. Other
  /// processes may write meanwhile only if this user may write to the lock file `troupe.mdb-lock`.
  bool read_only = false;
};

/// The saver in the data directory `dir`, made when missing (mode 0700). One writer thread with
/// group commit. One saver a directory and process; several processes may share a directory.
/// Errors: storage_failed (missing parent, not a directory, not writable; with `read_only`: a
///         missing file, a file of an older format), storage_locked, checkpoint_corrupt (no LMDB
///         file), format_too_new; invalid_config when this process has it open without these keys,
///         or for reading alone. A thread whose key is not in the ring is found out when it
///         is read or written: key_missing.
/// Source: troupe; persistence/FORMAT.md.
result<std::shared_ptr<saver>> open_lmdb_saver(const std::filesystem::path& dir,
                                               lmdb_saver_options options = {});

} // namespace troupe
