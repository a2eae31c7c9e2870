// compression: compressing and decompressing with zstd.
#include "persistence/record/compression.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <memory>
#include <new>

namespace troupe {

namespace {

// The fastest of the ordinary levels: 3 saves some percent more and takes twice as long.
constexpr int level = 1;

struct closer {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

} // namespace

bool compress(std::string_view text, std::size_t bytes_max, std::string& out) {
  thread_local std::unique_ptr<ZSTD_CCtx, closer> context;
  if (!context)
    context.reset(ZSTD_createCCtx());
  auto begin = out.size();
  out.resize(begin + bytes_max);
  auto size = context ? ZSTD_compressCCtx(context.get(), out.data() + begin, bytes_max, text.data(),
                                          text.size(), level)
                      : 0;
  auto good = context && ZSTD_isError(size) == 0;
  out.resize(begin + (good ? size : 0));
  return good;
}

// The special sizes "unknown" and "error" are above every limit. A frame that zstd would skip has
// the size 0.
bool decompress(std::string_view frame, std::size_t text_bytes_max, std::string& out) {
  thread_local std::unique_ptr<ZSTD_DCtx, closer> context;
  out.clear();
  auto size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == 0 || size > text_bytes_max
      || ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size())
    return false;
  if (!context)
    context.reset(ZSTD_createDCtx());
  if (!context)
    throw std::bad_alloc{}; // the frame is not to blame
  out.resize(size);
  auto got = ZSTD_decompressDCtx(context.get(), out.data(), out.size(), frame.data(), frame.size());
  if (got == size) // errors are sizes above every limit, too
    return true;
  if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
    throw std::bad_alloc{};
  out.clear();
  return false;
}

} // namespace troupe
