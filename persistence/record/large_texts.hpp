// large_texts: the large texts of a request. A step's message is stored as the write of its task,
// and again as a part of its channel; its text is compressed once.
#pragma once

#include <troupe/saver.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The large texts of one request, each compressed when a payload first holds it.
/// Thread: one at a time.
class large_texts {
public:
  static constexpr std::size_t bytes_min = 2 << 10; // a smaller text gets no frame of its own
  static constexpr std::size_t texts_max = 16;      // of a request; later ones do not count
  static constexpr std::size_t values_max = 10'000; // that are looked at
  // A payload of more bytes for each byte of the texts is not searched: little would be saved.
  static constexpr std::size_t payload_per_text_max = 8;

  /// Takes the texts of the writes, strings and bytes, in place of those before.
  /// Owns:   nothing; the writes must not change until the next call or clear().
  void find_in(const std::vector<task_writes>& writes);
  void clear() noexcept { count_ = bytes_ = 0; }

  /// Appends the payload as zstd frames: one for each large text in it, which is made only once,
  /// and one for each part between them.
  /// Shape:  the number of frames; 0, with `out` as it was, when they take more than `bytes_max`,
  ///         or memory runs out.
  std::size_t compress(std::string_view payload, std::size_t bytes_max, std::string& out);

private:
  struct large_text {
    std::string_view text;
    std::string frame; // empty until the text is first met in a payload
  };
  struct place {
    std::size_t at = 0;
    large_text* what = nullptr;
  };
  void look_into(const value& v, std::size_t& values_left);
  void add(std::string_view text);
  void find_places(std::string_view payload);
  bool append(large_text& text, std::size_t bytes_max, std::string& out);

  std::vector<large_text> texts_; // the first count_ of them; the others lend their memory
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;     // of them
  std::vector<place> places_; // in a payload, in order
};

} // namespace troupe
