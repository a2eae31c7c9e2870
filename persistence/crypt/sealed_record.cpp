// sealed_record: sealing and opening. FORMAT.md, "Compression" and "Encryption".
#include "persistence/crypt/sealed_record.hpp"

#include "persistence/record/compression.hpp"

#include <troupe/limits.hpp>

#include <utility>

namespace troupe {

namespace {

constexpr std::size_t kept_bytes_max = 1 << 20; // of memory that is kept between records

error refused(errc code, record_kind kind, std::string_view what) {
  std::string text{"read a "};
  text.append(to_string(kind)).append(" record: ").append(what);
  return {code, std::move(text)};
}

std::string_view payload_of(const std::string& record) {
  return std::string_view{record}.substr(record_header_bytes);
}

void begin_again(std::string& record) {
  if (record.capacity() > kept_bytes_max)
    record = {};
  begin_record(record);
}

} // namespace

// ---- sealing ------------------------------------------------------------------------------------

// Compresses the payload if that makes it smaller. Gives the record's flags.
std::uint8_t record_sealer::compress(std::string& record, large_texts* texts) {
  auto size = record.size() - record_header_bytes;
  // Above the limit, readers would refuse the size.
  if (size < compress_bytes_min_ || size > limits::decompressed_bytes_max)
    return 0;
  begin_again(scratch_);
  auto payload = payload_of(record);
  std::size_t frames = texts ? texts->compress(payload, size - 1, scratch_)
                             : troupe::compress(payload, size - 1, scratch_);
  if (frames == 0)
    return 0;
  std::swap(record, scratch_);
  return frames == 1 ? record_flag::compressed
                     : record_flag::compressed | record_flag::several_frames;
}

result<void> record_sealer::seal(std::string& record, std::string_view key, record_kind kind,
                                 aes_gcm* cipher, large_texts* texts) {
  auto flags = compress(record, texts);
  if (cipher) {
    flags |= record_flag::encrypted;
    auto text = payload_of(record);
    auto head = record_head(kind, flags, text.size() + gcm_overhead_bytes);
    begin_again(scratch_);
    if (auto ok = cipher->encrypt(text, {{head.data(), head.size()}, key}, scratch_); !ok)
      return ok;
    std::swap(record, scratch_);
  }
  seal_record(record, key, kind, flags);
  return {};
}

// ---- opening ------------------------------------------------------------------------------------

std::string& record_opener::next_text() {
  if (used_ == texts_.size())
    texts_.push_back(std::make_unique<std::string>());
  auto& text = *texts_[used_++];
  if (text.capacity() > kept_bytes_max)
    text = {};
  return text;
}

result<std::string_view> record_opener::open(std::string_view stored, std::string_view key,
                                             record_kind kind, aes_gcm* cipher) {
  auto payload = open_flagged_record(stored, key, kind);
  if (!payload || flags_of(stored) == 0)
    return payload;
  auto is_compressed = (flags_of(stored) & record_flag::compressed) != 0;
  auto count = (flags_of(stored) & record_flag::several_frames) != 0 ? frame_count::several
                                                                     : frame_count::one;
  if (!is_compressed && count == frame_count::several)
    return refused(errc::checkpoint_corrupt, kind, "frames without compression");
  if (is_encrypted(stored)) {
    auto& text = is_compressed ? scratch_ : next_text();
    payload = decrypt(stored, *payload, key, cipher, text);
  }
  if (!payload || !is_compressed)
    return payload;
  auto& text = next_text();
  if (!decompress(*payload, count, limits::decompressed_bytes_max, text))
    return refused(errc::checkpoint_corrupt, kind, "the content does not decompress");
  return std::string_view{text};
}

result<std::string_view> record_opener::decrypt(std::string_view stored, std::string_view payload,
                                                std::string_view key, aes_gcm* cipher,
                                                std::string& text) {
  if (!cipher)
    return refused(errc::key_missing, kind_of(stored),
                   "the record is encrypted, and its data key is missing");
  if (!cipher->decrypt(payload, {stored.substr(0, record_head_bytes), key}, text))
    return refused(errc::checkpoint_corrupt, kind_of(stored),
                   "the record was changed without its key");
  return std::string_view{text};
}

} // namespace troupe
