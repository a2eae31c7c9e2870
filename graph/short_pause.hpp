// short_pause: for a thread that looks for work again and again before it sleeps.
#pragma once

namespace troupe {

/// Tells the processor that the thread waits: some ten nanoseconds, in which the other thread of
/// the core is faster.
inline void short_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

} // namespace troupe
