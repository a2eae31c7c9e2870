// An LMDB file before LMDB opens it: made whole, or cleared of what an accident left.
#pragma once

#include <troupe/error.hpp>

#include <cstddef>
#include <filesystem>

namespace troupe {

/// Makes the file when it is missing, so that a power cut leaves all of it or nothing.
/// Shape:  0 or an errno or MDB_ code; 0, too, where LMDB has to make it in place.
int make_lmdb_file(const std::filesystem::path& file, std::size_t map_size_bytes);

/// Waits until nobody keeps the file for itself, gives its lock file room on the disk, and empties
/// a file that was left when it was half made. Called before this process has the file open, since
/// closing any descriptor of a file gives up all locks of the process on it.
/// Shape:  0 or an errno: EAGAIN when another process keeps the file for itself.
/// Blocks: up to limits::store_lock_wait.
int make_lmdb_file_ready(const std::filesystem::path& file);

/// Brings the names in a directory to the disk. Where that can't be asked for, does nothing.
/// Blocks: on the disk. Errors: storage_failed.
result<void> sync_directory(const std::filesystem::path& dir);

} // namespace troupe
