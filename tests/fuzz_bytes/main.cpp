// libFuzzer's side of a target: seeds, the bound on memory, the call.
#include "tests/fuzz_bytes/target.hpp"

#include <sanitizer/allocator_interface.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

namespace {

// The live allocations of a target, on its own thread: libFuzzer has others. No value read may take
// more than a small multiple of its bytes; a value takes 16 bytes and in msgpack one, and buffers
// double.
constexpr std::size_t memory_floor_bytes = 256 << 10;
constexpr std::size_t memory_factor = 256;
thread_local std::size_t allowed_bytes = 0; // 0: not in a target
thread_local std::size_t used_bytes = 0;

void on_malloc(const volatile void* p, std::size_t size) {
  if (allowed_bytes == 0 || p == nullptr)
    return;
  used_bytes += size;
  if (used_bytes > allowed_bytes) {
    std::fprintf(stderr, "broken: more than %zu bytes are in use\n",
                 std::exchange(allowed_bytes, 0));
    std::abort();
  }
}

void on_free(const volatile void* p) {
  if (allowed_bytes != 0 && p != nullptr)
    used_bytes -= __sanitizer_get_allocated_size(p);
}

// The corpus is the one argument that is a folder.
void write_seeds(const std::filesystem::path& folder) {
  for (int n = 0; const auto& seed : troupe::fuzz_bytes::seeds())
    std::ofstream{folder / ("seed-" + std::to_string(n++)), std::ios::binary} << seed;
}

} // namespace

void troupe::fuzz_bytes::require(bool kept, const char* promise) {
  if (kept)
    return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

void troupe::fuzz_bytes::allow_memory(std::size_t bytes) {
  allowed_bytes += bytes;
}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i)
    if (std::filesystem::is_directory((*argv)[i])) {
      write_seeds((*argv)[i]);
      break;
    }
  __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  used_bytes = 0;
  allowed_bytes = memory_floor_bytes + memory_factor * size;
  troupe::fuzz_bytes::try_bytes({reinterpret_cast<const char*>(data), size});
  allowed_bytes = 0;
  return 0;
}
