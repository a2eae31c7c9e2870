// mapped_pages: the pages of mapped files in this process's memory.
#pragma once

namespace troupe {

/// Takes the pages of a file that this process has mapped as shared out of its resident memory.
/// They stay in the cache of the system, so the next access to one finds it there. Does nothing
/// when /proc can't be read. Shape:  `file`: a descriptor of it. Thread: any; others may use the
/// map meanwhile, but not unmap it.
void release_mapped_pages(int file) noexcept;

} // namespace troupe
