// compression: compressing and decompressing with zstd.
#include "persistence/record/compression.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <atomic>
#include <new>

namespace troupe {

namespace {

// The fastest of the ordinary levels: 3 saves some percent more and takes twice as long.
constexpr int level = 1;

// A context of zstd. One is left for the next that needs it; thread_local ones could not be, since
// glibc ends the process when it has no memory to note their destructors.
template <class Context, Context* (*make)(), std::size_t (*drop)(Context*)> class borrowed {
public:
  borrowed() : context_{left_.exchange(nullptr)} {
    if (!context_)
      context_ = make();
  }
  borrowed(const borrowed&) = delete;
  borrowed& operator=(const borrowed&) = delete;
  ~borrowed() { drop(left_.exchange(context_)); }

  Context* get() const noexcept { return context_; }

private:
  static inline std::atomic<Context*> left_{nullptr};
  Context* context_;
};

using compressing = borrowed<ZSTD_CCtx, ZSTD_createCCtx, ZSTD_freeCCtx>;
using decompressing = borrowed<ZSTD_DCtx, ZSTD_createDCtx, ZSTD_freeDCtx>;

// The size that the frames name; 0 when they are not whole frames with a size, or above the limit.
// The special sizes "unknown" and "error" are above every limit. A frame that zstd would skip has
// the size 0.
std::size_t text_size(std::string_view frames, frame_count count, std::size_t text_bytes_max) {
  std::size_t sum = 0;
  do {
    auto size = ZSTD_getFrameContentSize(frames.data(), frames.size());
    auto frame_bytes = ZSTD_findFrameCompressedSize(frames.data(), frames.size());
    if (size == 0 || size > text_bytes_max - sum || ZSTD_isError(frame_bytes) != 0)
      return 0;
    sum += size;
    frames.remove_prefix(frame_bytes);
  } while (!frames.empty() && count == frame_count::several);
  return frames.empty() ? sum : 0;
}

} // namespace

bool compress(std::string_view text, std::size_t bytes_max, std::string& out) {
  compressing with;
  auto* context = with.get();
  auto begin = out.size();
  bytes_max = std::min(bytes_max, compressed_bytes_max(text.size()));
  out.resize(begin + bytes_max);
  auto size = context ? ZSTD_compressCCtx(context, out.data() + begin, bytes_max, text.data(),
                                          text.size(), level)
                      : 0;
  auto good = context && ZSTD_isError(size) == 0;
  out.resize(begin + (good ? size : 0));
  return good;
}

// Source: RFC 8878, section 3.1.1. The header: the magic number, "a single segment with a size of
// one byte", the size. Then the head of the last block, a raw one: three bytes, lowest first.
void append_uncompressed(std::string_view text, std::string& out) {
  auto size = static_cast<unsigned>(text.size());
  auto block = 1u | size << 3u;
  out.append("\x28\xb5\x2f\xfd\x20");
  for (auto byte : {size, block & 0xffu, block >> 8u, 0u})
    out.push_back(static_cast<char>(byte));
  out.append(text);
}

std::size_t compressed_bytes_max(std::size_t text_bytes) noexcept {
  return ZSTD_compressBound(text_bytes);
}

bool decompress(std::string_view frames, frame_count count, std::size_t text_bytes_max,
                std::string& out) {
  out.clear();
  auto size = text_size(frames, count, text_bytes_max);
  if (size == 0)
    return false;
  decompressing with;
  auto* context = with.get();
  if (!context)
    throw std::bad_alloc{}; // the frame is not to blame
  out.resize(size);
  auto got = ZSTD_decompressDCtx(context, out.data(), out.size(), frames.data(), frames.size());
  if (got == size) // errors are sizes above every limit, too
    return true;
  if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
    throw std::bad_alloc{};
  out.clear();
  return false;
}

} // namespace troupe
