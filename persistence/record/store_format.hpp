// store_format: the format of the store as a whole, and the one record that holds it. FORMAT.md.
#pragma once

#include <troupe/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// The format that this version of troupe writes. A store of an older format is converted when it
/// is opened for writing.
inline constexpr std::uint64_t store_format = 3;
/// The oldest format that can be read as it is.
inline constexpr std::uint64_t store_format_read_min = 2;

/// The payload of the meta record.
struct store_meta {
  std::uint64_t format = store_format;
  std::uint64_t next_number = 1; // of threads and namespaces; never given twice
};

void append_meta(const store_meta& meta, std::string& out);

/// Errors: format_too_new, checkpoint_corrupt.
result<store_meta> read_meta(std::string_view payload);

} // namespace troupe
