// compression: compressing and decompressing with zstd.
#include "persistence/record/compression.hpp"

#include <zstd.h>
#include <zstd_errors.h>

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

} // namespace

bool compress(std::string_view text, std::size_t bytes_max, std::string& out) {
  compressing with;
  auto* context = with.get();
  auto begin = out.size();
  out.resize(begin + bytes_max);
  auto size = context ? ZSTD_compressCCtx(context, out.data() + begin, bytes_max, text.data(),
                                          text.size(), level)
                      : 0;
  auto good = context && ZSTD_isError(size) == 0;
  out.resize(begin + (good ? size : 0));
  return good;
}

// The special sizes "unknown" and "error" are above every limit. A frame that zstd would skip has
// the size 0.
bool decompress(std::string_view frame, std::size_t text_bytes_max, std::string& out) {
  out.clear();
  auto size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == 0 || size > text_bytes_max
      || ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size())
    return false;
  decompressing with;
  auto* context = with.get();
  if (!context)
    throw std::bad_alloc{}; // the frame is not to blame
  out.resize(size);
  auto got = ZSTD_decompressDCtx(context, out.data(), out.size(), frame.data(), frame.size());
  if (got == size) // errors are sizes above every limit, too
    return true;
  if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
    throw std::bad_alloc{};
  out.clear();
  return false;
}

} // namespace troupe
