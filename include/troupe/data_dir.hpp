// The data directory: statistics, a check of everything stored, and copies.
#pragma once

#include <troupe/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

class key_provider;

/// The number of records of one kind.
/// Units:  `bytes` of records and keys, without unused space in pages.
/// Errors: none.
/// Source: troupe.
struct record_count {
  std::string kind; ///< as in FORMAT.md: "thread", "checkpoint", "value", "patch" …
  std::size_t records = 0;
  std::uint64_t bytes = 0;
};

/// The contents of a data directory.
/// Units:  bytes. `used` counts the pages of the file that are in use; the other pages are reused
///         first.
/// Order:  `records` by kind, as in FORMAT.md; kinds without records are left out.
/// Errors: none.
/// Source: troupe.
struct data_stats {
  std::uint64_t file_bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t file_bytes_max = 0;
  std::size_t threads = 0;
  std::size_t readers = 0; ///< transactions open now, of all processes
  std::vector<record_count> records;
};

/// Counts the contents of a data directory, which others may use meanwhile.
/// Blocks: on reading all keys.
/// Errors: storage codes, checkpoint_corrupt when it is not such a store.
/// Source: troupe.
result<data_stats> stat_data(const std::filesystem::path& dir);

/// A fault that a check found.
/// Errors: none.
/// Source: troupe.
struct data_damage {
  std::string where; ///< the thread and namespace; else the key in hex
  std::string what;
};

/// The result of a check.
/// Shape:  `damages`: at most limits::damages_listed_max; `damaged` counts all. The following
///         are not damages:
///         - writes without their checkpoint (of a run that ended between the two)
///         - values that no checkpoint uses (prune() removes them)
///         - checkpoints whose parent was removed
/// Errors: none.
/// Source: troupe.
struct data_report {
  std::size_t records = 0;
  std::size_t checkpoints = 0;
  std::size_t damaged = 0;
  std::vector<data_damage> damages;
  std::size_t lone_writes = 0;
  std::size_t unused_values = 0;
  std::size_t removed_parents = 0;
  std::size_t locked_threads = 0; ///< encrypted, key missing: only checksums were checked
};

/// The progress of a check: `done` records of `all`.
/// Errors: none.
/// Source: troupe.
using check_progress = std::function<void(std::size_t done, std::size_t all)>;

/// Checks
///  - every record: its checksum and form, and that it belongs to a thread
///  - that names and chains have no holes, and that a value stored as a difference has its base
///  - that every checkpoint can be read
///  - pages and checksums of the long-term store, and of the documents of a server
/// Shape:  `keys`: the ring for encrypted threads; without it only their checksums are checked.
/// Blocks: on reading everything. Others may use the directory meanwhile; the check ignores what
///         they store.
/// Errors: as stat_data; damage is not an error.
/// Source: troupe.
result<data_report> check_data(const std::filesystem::path& dir,
                               const check_progress& progress = {},
                               std::shared_ptr<const key_provider> keys = nullptr);

/// Copies a data directory to a new one: the documents of a server (assistants, threads, runs,
/// crons) as of one moment, its threads as of a later one, and then its long-term store. Other
/// processes may use the first directory meanwhile. `compact` leaves out unused pages: slower, and
/// smaller. A failed copy is removed.
/// Units:  returns the number of bytes written.
/// Blocks: on the disk, until the copy is synced.
/// Errors: as stat_data; storage_failed when `to` holds threads or can't be made.
/// Source: troupe; mdb_env_copy.
result<std::uint64_t> copy_data(const std::filesystem::path& dir, const std::filesystem::path& to,
                                bool compact = false);

} // namespace troupe
