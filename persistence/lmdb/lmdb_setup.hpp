// lmdb_setup: makes an LMDB file complete and unlocked, before LMDB opens it.
#pragma once

#include <troupe/error.hpp>

#include <cstddef>
#include <filesystem>

namespace troupe {

/// Makes the file when it is missing. The file gets its name after its pages are on the disk, so a
/// kill or a power cut leaves all or nothing. Several processes may call this at once.
/// Shape:  0 or an errno or MDB_ code.
int make_lmdb_file(const std::filesystem::path& file, std::size_t map_size_bytes);

/// A new name in the same directory, for a draft of the file; each call returns another one.
/// Removes a file that a killed process left under that name.
std::filesystem::path draft_of(const std::filesystem::path& file);

/// Renames a draft, which is on the disk, to its file. The draft's own name is removed, even after
/// a failure. sync_directory() brings the new name to the disk.
/// Shape:  0 or an errno: EEXIST when the name is in use; then the file of that name is unchanged.
int name_draft(const std::filesystem::path& draft, const std::filesystem::path& file);

/// Waits until no process holds the file alone, and allocates its lock file. Must come before this
/// process opens the file, since closing any descriptor of a file drops all locks of the process on
/// it.
/// Shape:  0 or an errno: EAGAIN when another process still holds the file alone.
/// Blocks: up to limits::store_lock_wait.
int make_lmdb_file_ready(const std::filesystem::path& file);

/// Brings the names in a directory to the disk. Does nothing where the system can't do that.
/// Blocks: on the disk. Errors: storage_failed.
result<void> sync_directory(const std::filesystem::path& dir);

} // namespace troupe
