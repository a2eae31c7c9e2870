// counting: malloc and its relatives, which call glibc's and count.
#include "bench/curves/counting.hpp"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> requested{0};
std::atomic<std::int64_t> live{0};

std::int64_t size_of(void* p) {
  return p ? static_cast<std::int64_t>(malloc_usable_size(p)) : 0;
}

void* counted(void* p, std::size_t bytes) {
  if (p) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    requested.fetch_add(bytes, std::memory_order_relaxed);
    live.fetch_add(size_of(p), std::memory_order_relaxed);
  }
  return p;
}

} // namespace

extern "C" {

void* malloc(std::size_t bytes) noexcept {
  return counted(__libc_malloc(bytes), bytes);
}

void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return counted(__libc_calloc(count, bytes), count * bytes);
}

void* realloc(void* old, std::size_t bytes) noexcept {
  auto freed = size_of(old);
  auto* p = __libc_realloc(old, bytes);
  if (p || bytes == 0)
    live.fetch_sub(freed, std::memory_order_relaxed);
  return counted(p, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return counted(__libc_memalign(alignment, bytes), bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return memalign(alignment, bytes);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  auto* p = memalign(alignment, bytes);
  if (!p)
    return ENOMEM;
  *out = p;
  return 0;
}

void free(void* p) noexcept {
  live.fetch_sub(size_of(p), std::memory_order_relaxed);
  __libc_free(p);
}
}

namespace troupe::bench {

memory_counts memory_counts_now() {
  return {allocations.load(), requested.load(), live.load()};
}

} // namespace troupe::bench
