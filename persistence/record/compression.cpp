// compression: compressing and decompressing with zstd.
#include "persistence/record/compression.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <new>

namespace troupe {

namespace {

// The fastest of the ordinary levels: 3 saves some percent more and takes twice as long.
constexpr int level = 1;

} // namespace

void compressor::closer::operator()(ZSTD_CCtx_s* context) const noexcept {
  ZSTD_freeCCtx(context);
}

bool compressor::compress(std::string_view text, std::size_t bytes_max, std::string& out) {
  if (!context_)
    context_.reset(ZSTD_createCCtx());
  auto begin = out.size();
  out.resize(begin + bytes_max);
  auto size = context_ ? ZSTD_compressCCtx(context_.get(), out.data() + begin, bytes_max,
                                           text.data(), text.size(), level)
                       : 0;
  auto good = context_ && ZSTD_isError(size) == 0;
  out.resize(begin + (good ? size : 0));
  return good;
}

void decompressor::closer::operator()(ZSTD_DCtx_s* context) const noexcept {
  ZSTD_freeDCtx(context);
}

// The special sizes "unknown" and "error" are above every limit. A frame that zstd would skip has
// the size 0.
bool decompressor::decompress(std::string_view frame, std::size_t text_bytes_max,
                              std::string& out) {
  out.clear();
  auto size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == 0 || size > text_bytes_max
      || ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size())
    return false;
  if (!context_)
    context_.reset(ZSTD_createDCtx());
  if (!context_)
    throw std::bad_alloc{}; // the frame is not to blame
  out.resize(size);
  auto got = ZSTD_decompressDCtx(context_.get(), out.data(), out.size(), frame.data(),
                                 frame.size());
  if (got == size) // errors are sizes above every limit, too
    return true;
  if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
    throw std::bad_alloc{};
  out.clear();
  return false;
}

} // namespace troupe
