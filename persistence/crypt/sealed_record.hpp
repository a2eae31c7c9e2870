// sealed_record: making and reading records that are compressed, encrypted, or both.
#pragma once

#include "persistence/crypt/aes_gcm.hpp"
#include "persistence/record/large_texts.hpp"
#include "persistence/record/record.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Seals records.
/// Thread: one at a time.
class record_sealer {
public:
  /// Units:  payloads of at least this many bytes are compressed, if that makes them smaller.
  explicit record_sealer(std::size_t compress_bytes_min)
    : compress_bytes_min_{std::max(compress_bytes_min, std::size_t{1})} {}

  /// As seal_record(), after compressing a large payload and encrypting it when there is a cipher.
  /// The record's key and header are authenticated with it, so that it fits no other key. `texts`
  /// (null: none) are compressed once for all records that hold them.
  /// Errors: storage_failed; the record must not be used then.
  result<void> seal(std::string& record, std::string_view key, record_kind kind, aes_gcm* cipher,
                    large_texts* texts = nullptr);

private:
  std::uint8_t compress(std::string& record, large_texts* texts);

  std::size_t compress_bytes_min_;
  std::string scratch_;
};

/// Opens records. A plain payload is returned as it lies in the store, at no cost; for all others,
/// the opener keeps the text.
/// Thread: one at a time.
class record_opener {
public:
  /// The payload, as it was before it was sealed. `cipher` may be null for a record that is not
  /// encrypted.
  /// Owns:   nothing; the payload lies in `stored`, or in the opener until the end of the scope in
  ///         which it was opened.
  /// Errors: checkpoint_corrupt, format_too_new; key_missing without a cipher.
  result<std::string_view> open(std::string_view stored, std::string_view key, record_kind kind,
                                aes_gcm* cipher);

  /// Its destructor drops the texts that were opened since its constructor.
  class scope {
  public:
    explicit scope(record_opener& opener) noexcept : opener_{opener}, kept_{opener.used_} {}
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope() { opener_.used_ = kept_; }

  private:
    record_opener& opener_;
    std::size_t kept_;
  };

private:
  std::string& next_text();
  result<std::string_view> decrypt(std::string_view stored, std::string_view payload,
                                   std::string_view key, aes_gcm* cipher, std::string& text);

  std::vector<std::unique_ptr<std::string>> texts_; // the first used_ of them are in use
  std::size_t used_ = 0;
  std::string scratch_;
};

/// Whether a stored record is marked as encrypted; unchecked.
inline bool is_encrypted(std::string_view stored) noexcept {
  return stored.size() >= record_header_bytes && (flags_of(stored) & record_flag::encrypted) != 0;
}

} // namespace troupe
