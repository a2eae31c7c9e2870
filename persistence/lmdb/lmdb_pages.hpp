// lmdb_pages: checks a store's file page by page, without LMDB, which trusts its pages. Through
// LMDB, a damaged page can end the process or hide records.
#pragma once

#include <troupe/error.hpp>

#include <cstdint>
#include <filesystem>

namespace troupe {

/// The content of a complete file.
struct store_extent {
  std::uint64_t records = 0;
  std::uint64_t pages = 0; // of the trees; the others are free
};

/// Reads all of a file: every page of the newest trees, the checksum of every record (if asked) and
/// the list of free pages. Without an error, LMDB can read the file and finds all stored records.
/// Shape:  an LMDB 0.9 file of this machine's byte order.
/// Blocks: on reading the file once.
/// Errors: checkpoint_corrupt, which names the page; storage_failed; storage_locked when a process
///         wrote to the file meanwhile.
result<store_extent> check_store_file(const std::filesystem::path& file, bool records_too = true);

} // namespace troupe
