// encoded_request: the values of a request as msgpack, before anything of it is stored.
#pragma once

#include "persistence/record/large_texts.hpp"
#include "persistence/record/value_base.hpp"

#include <troupe/saver.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Reused for all requests, to keep its memory.
/// Order:  take() returns the values in a saver's order: of each task its writes, of each channel
///         in new_versions its value, if any, then the metadata.
class encoded_request {
public:
  /// Encodes all values. A channel's value becomes a patch where `bases` (null: none) has a value
  /// to start from. The bases must not change until the values were taken.
  /// Errors: invalid_value, which names the channel: too deep, or larger than
  ///         limits::value_size_bytes_max.
  result<void> encode(const save_request& request, const value_bases* bases);

  struct piece {
    std::string_view bytes;
    const value_base* base = nullptr; // the value that it is a patch of; null: a whole value
  };
  /// The next value. Owns: nothing; valid until the next encode().
  piece take();

  /// The large texts that the writes brought, if the request has values of channels, too.
  /// Owns:   nothing; valid while the request is.
  large_texts& texts() noexcept { return texts_; }

  /// Units:  bytes of all values.
  std::size_t size() const noexcept { return bytes_.size(); }

private:
  struct end {
    std::size_t at = 0;
    const value_base* base = nullptr;
  };
  result<void> append(const value& v, std::string_view what, std::string_view name);
  bool append_as_patch(const value& v, const value_base& base);

  std::string bytes_;
  large_texts texts_;
  std::vector<end> ends_;
  std::size_t next_ = 0;
};

} // namespace troupe
