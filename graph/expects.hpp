// expects: a broken invariant of the program ends the process, in release builds too.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace troupe {

/// Ends the process with `what` on stderr unless `holds`. Never for user input, and never for I/O.
/// Errors: none.
/// Source: troupe.
inline void expects(bool holds, const char* what) noexcept {
  if (holds) [[likely]]
    return;
  std::fprintf(stderr, "troupe: broken invariant: %s\n", what);
  std::abort();
}

} // namespace troupe
