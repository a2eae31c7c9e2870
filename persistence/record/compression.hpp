// zstd, bounded: what is compressed again says how large it was, and is not believed beyond a
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
  /// Appends the text as one zstd frame that names its size. False, and `out` as it was, when that
  /// takes more than `bytes_max`, or there is no memory.
  bool compress(std::string_view text, std::size_t bytes_max, std::string& out);

private:
  struct closer {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_CCtx_s, closer> context_;
};

class decompressor {
public:
  /// The text of a frame, which replaces what is in `out`. False when it is no frame of compress(),
  /// or says that it is larger than `text_bytes_max`: nothing is allocated for it then.
  bool decompress(std::string_view frame, std::size_t text_bytes_max, std::string& out);

private:
  struct closer {
    void operator()(ZSTD_DCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_DCtx_s, closer> context_;
};

} // namespace troupe
