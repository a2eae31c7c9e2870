// compression: zstd with bounds. A frame names the size of its text, which is not believed above a
// limit.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace troupe {

/// Keeps its memory between texts.
/// Thread: one at a time.
class compressor {
public:
  /// Appends the text as one zstd frame that names its size. False, with `out` as it was, when the
  /// frame takes more than `bytes_max`, or memory runs out.
  bool compress(std::string_view text, std::size_t bytes_max, std::string& out);

private:
  struct closer {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_CCtx_s, closer> context_;
};

class decompressor {
public:
  /// Replaces `out` by the text of a frame. False when the frame is not one of compress(), or names
  /// a size above `text_bytes_max`; then nothing is allocated for it.
  bool decompress(std::string_view frame, std::size_t text_bytes_max, std::string& out);

private:
  struct closer {
    void operator()(ZSTD_DCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_DCtx_s, closer> context_;
};

} // namespace troupe
