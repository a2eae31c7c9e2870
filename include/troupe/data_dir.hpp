// Looking after a data directory: what is in it, whether it is whole, and copies of it.
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

class keyring;

/// How many records of one kind there are.
/// Units:  `bytes` of records and keys, without what pages waste.
struct record_count {
  std::string kind; ///< as FORMAT.md names it: "thread", "checkpoint", "value", "patch" …
  std::size_t records = 0;
  std::uint64_t bytes = 0;
};

/// What a data directory holds.
/// Units:  bytes; `used` are the file's pages that hold something, the rest is reused first.
/// Order:  `records` by kind, as in FORMAT.md; kinds without any are left out.
struct data_stats {
  std::uint64_t file_bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t file_bytes_max = 0;
  std::size_t threads = 0;
  std::size_t readers = 0; ///< transactions that are open now, of all processes
  std::vector<record_count> records;
};

/// Counts what is in a data directory. Others may go on using it.
/// Blocks: on reading all keys.
/// Errors: storage codes, checkpoint_corrupt for no such store.
/// Source: troupe.
result<data_stats> stat_data(const std::filesystem::path& dir);

/// Something that does not fit.
struct data_damage {
  std::string where; ///< the thread and namespace, or the key in hex when it is nobody's
  std::string what;
};

/// What a check found.
/// Shape:  `damages`: at most limits::damages_listed_max; `damaged` counts all. What follows is no
///         damage: writes that no checkpoint has (of a run that ended between the two), values that
///         no checkpoint has (prune() removes them), and checkpoints whose parent was removed.
struct data_report {
  std::size_t records = 0;
  std::size_t checkpoints = 0;
  std::size_t damaged = 0;
  std::vector<data_damage> damages;
  std::size_t lone_writes = 0;
  std::size_t unused_values = 0;
  std::size_t removed_parents = 0;
  std::size_t locked_threads = 0; ///< encrypted, and their key is not at hand: only checksums
};

/// How far a check has come: records looked at, of so many.
using check_progress = std::function<void(std::size_t done, std::size_t all)>;

/// Checks every record, its checksum and form, that each belongs to a thread, that names and chains
/// have no holes, that each value that is stored as a difference has what it builds on, and that
/// every checkpoint can be read; of the long-term store, pages and checksums.
/// Shape:  `keys`: those that encrypted threads are read with; null: only their checksums count.
/// Blocks: on reading everything. Others may go on using the directory; what they store meanwhile
///         is not looked at.
/// Errors: as stat_data; damage is no error.
/// Source: troupe.
result<data_report> check_data(const std::filesystem::path& dir,
                               const check_progress& progress = {},
                               std::shared_ptr<const keyring> keys = nullptr);

/// Copies the threads of a data directory to a new one, as they are at one moment, and then its
/// long-term store, as that is at another. Others may go on using the first. With `compact` without
/// unused pages: slower, and smaller.
/// Units:  gives the bytes written; they are on the disk.
/// Errors: as stat_data; storage_failed when `to` holds threads or can't be made. What was written
///         of a copy that failed is removed.
/// Source: troupe; mdb_env_copy.
result<std::uint64_t> copy_data(const std::filesystem::path& dir, const std::filesystem::path& to,
                                bool compact = false);

} // namespace troupe
