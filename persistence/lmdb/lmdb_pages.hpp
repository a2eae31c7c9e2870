// A store's file page by page, without LMDB: what LMDB takes on trust is checked here. A damaged
// page can end a process that reads it through LMDB, or hide records that are there.
#pragma once

#include <troupe/error.hpp>

#include <cstdint>
#include <filesystem>

namespace troupe {

/// What a file that is whole holds.
struct store_extent {
  std::uint64_t records = 0;
  std::uint64_t pages = 0; // of the trees; the others are free
};

/// Reads all of a file: every page of the newest trees, the checksum of every record (if asked) and
/// the list of free pages. After an answer without an error LMDB can read the file, and finds all
/// that was stored. Shape:  an LMDB 0.9 file of this machine's byte order. Blocks: on reading the
/// file once. Errors: checkpoint_corrupt, which names the page; storage_failed; storage_locked:
/// somebody wrote
///         to the file meanwhile.
result<store_extent> check_store_file(const std::filesystem::path& file, bool records_too = true);

} // namespace troupe
