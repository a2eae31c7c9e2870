// The memory of a test program: replaces the global operators and counts what they give and take.
//
// One file of a program includes it; the operators are those of the whole program and of the
// library that is tested.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace troupe::counted_memory {

/// Bytes that this thread allocated so far.
inline thread_local std::size_t allocated_bytes = 0;
/// Blocks of all threads that were not given back.
inline std::atomic<std::ptrdiff_t> live_blocks = 0;

} // namespace troupe::counted_memory

// Not inlined: the compiler must not match malloc with delete.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  auto* memory = std::malloc(size == 0 ? 1 : size);
  if (memory) {
    troupe::counted_memory::allocated_bytes += size;
    ++troupe::counted_memory::live_blocks;
  }
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (auto* memory = operator new(size, std::nothrow))
    return memory;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  troupe::counted_memory::live_blocks -= memory ? 1 : 0;
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}
