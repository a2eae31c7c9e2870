// freed_memory: how much freed memory the process keeps.
#pragma once

#include <cstddef>

namespace troupe {

/// See keep_freed_memory(). Units: bytes of each heap.
constexpr std::size_t kept_freed_bytes = std::size_t{8} << 20;

/// glibc returns the free end of a heap to the system when it is larger than 128 KiB, and takes it
/// again page by page. So a result of a megabyte costs hundreds of page faults each time it is made
/// and dropped. From here on each heap keeps kept_freed_bytes, as if the program had once freed a
/// block of half that size. A program that sets glibc's thresholds itself keeps its own.
/// Thread: any. Only the first call does something.
/// Errors: none; with another allocator nothing changes.
/// Source: glibc, mallopt(3): the dynamic threshold of mmap.
void keep_freed_memory() noexcept;

} // namespace troupe
