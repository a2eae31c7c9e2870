// An LMDB file before LMDB opens it: made whole under another name, and free to be opened.
#pragma once

#include <troupe/error.hpp>

#include <cstddef>
#include <filesystem>

namespace troupe {

/// Makes the file when it is missing. The file has its name only after its pages are on the disk,
/// so a kill or a power cut leaves all of it or nothing. Several processes may make it at once.
/// Shape:  0 or an errno or MDB_ code.
int make_lmdb_file(const std::filesystem::path& file, std::size_t map_size_bytes);

/// A name under which this process makes a file, in the same directory; each call gives another
/// one. A file that a killed process left under that name is removed.
std::filesystem::path draft_of(const std::filesystem::path& file);

/// Gives a draft, which is on the disk, the name of its file. The draft's own name is gone
/// afterwards, also after a failure. sync_directory() brings the new name to the disk.
/// Shape:  0 or an errno: EEXIST when the name is in use; then the file of that name stands.
int name_draft(const std::filesystem::path& draft, const std::filesystem::path& file);

/// Waits until no process keeps the file for itself, and gives its lock file room on the disk.
/// Called before this process has the file open, since closing any descriptor of a file gives up
/// all locks of the process on it.
/// Shape:  0 or an errno: EAGAIN when another process keeps the file for itself.
/// Blocks: up to limits::store_lock_wait.
int make_lmdb_file_ready(const std::filesystem::path& file);

/// Brings the names in a directory to the disk. Where that can't be asked for, does nothing.
/// Blocks: on the disk. Errors: storage_failed.
result<void> sync_directory(const std::filesystem::path& dir);

} // namespace troupe
