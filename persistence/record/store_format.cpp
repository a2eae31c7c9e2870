// store_format: the meta record of the store.
#include "persistence/record/store_format.hpp"

#include "persistence/record/bytes.hpp"

namespace troupe {

void append_meta(const store_meta& meta, std::string& out) {
  append_varint(out, meta.format);
  append_varint(out, meta.next_number);
}

result<store_meta> read_meta(std::string_view payload) {
  byte_reader in{payload};
  store_meta meta{.format = in.varint(), .next_number = 0};
  if (meta.format > store_format)
    return troupe::error{errc::format_too_new,
                         "open the store: it has format " + std::to_string(meta.format)
                           + ", this troupe knows " + std::to_string(store_format)
                           + ": use a newer troupe or another data directory"};
  meta.next_number = in.varint();
  if (!in.finished() || meta.format == 0)
    return troupe::error{errc::checkpoint_corrupt, "read a meta record: its content is malformed"};
  return meta;
}

} // namespace troupe
