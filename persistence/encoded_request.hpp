// The values of a request as msgpack, before anything of it is stored.
#pragma once

#include <troupe/saver.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Used again and again, to keep its memory.
/// Order:  take() gives the values as a saver stores them: of each write of each task, of each
///         channel in new_versions that has one, then the metadata.
class encoded_request {
public:
  /// Errors: invalid_value, which names the channel: too deep, or larger than
  ///         limits::value_size_bytes_max.
  result<void> encode(const save_request& request);

  /// The next value. Owns: nothing; valid until the next encode().
  std::string_view take();

  /// Units:  bytes of all values.
  std::size_t size() const noexcept { return bytes_.size(); }

private:
  result<void> append(const value& v, std::string_view what, std::string_view name);

  std::string bytes_;
  std::vector<std::size_t> ends_;
  std::size_t next_ = 0;
};

} // namespace troupe
