// postgres_sealing: places, payloads, and the sealing and opening of rows.
#include "persistence/postgres/postgres_sealing.hpp"

#include "persistence/record/bytes.hpp"

#include <bit>
#include <utility>

namespace troupe {

namespace {

error malformed_payload(std::string_view what) {
  return {errc::checkpoint_corrupt, "read a checkpoint: malformed: " + std::string{what}};
}

void append_number(std::string& out, std::int64_t n) {
  append_fixed64(out, std::bit_cast<std::uint64_t>(n));
}

std::string place_of(char table, std::int64_t first) {
  std::string place{table};
  append_number(place, first);
  return place;
}

} // namespace

// ---- places -------------------------------------------------------------------------------------

std::string thread_key_place(std::int64_t thread) {
  return place_of('k', thread);
}

std::string store_key_place() {
  return "store";
}

std::string metadata_place(std::int64_t chain, std::string_view checkpoint_id) {
  return place_of('m', chain).append(checkpoint_id);
}

std::string value_place(std::int64_t chain, std::string_view channel, std::int64_t number,
                        std::int64_t tag) {
  auto place = place_of('v', chain);
  append_number(place, number);
  append_number(place, tag);
  return place.append(channel);
}

std::string write_place(std::int64_t chain, std::string_view checkpoint_id,
                        std::string_view task_id, std::int64_t slot, std::string_view channel) {
  auto place = place_of('w', chain);
  append_sized(place, checkpoint_id);
  append_sized(place, task_id);
  append_number(place, slot);
  return place.append(channel);
}

std::string item_place(std::string_view path, std::string_view key) {
  std::string place{'i'};
  append_sized(place, path);
  return place.append(key);
}

std::string vector_place(std::int64_t number, std::int64_t place) {
  auto out = place_of('x', number);
  append_number(out, place);
  return out;
}

checkpoint_place::checkpoint_place(const checkpoint_columns& row)
  : text_{place_of('c', row.chain)} {
  append_sized(text_, row.checkpoint_id);
  append_sized(text_, row.parent_id);
  append_number(text_, row.v);
  append_sized(text_, row.ts);
}

void checkpoint_place::add(std::string_view channel, std::int64_t number, std::int64_t tag) {
  append_sized(text_, channel);
  append_number(text_, number);
  append_number(text_, tag);
}

// ---- payloads -----------------------------------------------------------------------------------

std::string encode(const seen_and_updated& of) {
  std::string out;
  append_sized(out, of.seen);
  append_varint(out, of.updated ? of.updated->size() + 1 : 0);
  if (of.updated)
    for (const auto& channel : *of.updated)
      append_sized(out, channel);
  return out;
}

result<seen_and_updated> decode_seen_and_updated(std::string_view payload) {
  byte_reader in{payload};
  seen_and_updated out{in.sized(), std::nullopt};
  if (auto count = in.varint(); count != 0) {
    out.updated.emplace();
    for (; count > 1 && in.ok(); --count)
      out.updated->emplace_back(in.sized());
  }
  return in.finished() ? result<seen_and_updated>{std::move(out)} : malformed_payload("a row");
}

std::string encode(const path_and_value& of) {
  std::string out;
  append_sized(out, of.task_path);
  return out.append(of.value);
}

result<path_and_value> decode_path_and_value(std::string_view payload) {
  byte_reader in{payload};
  auto path = in.sized();
  return in.ok() ? result<path_and_value>{path_and_value{path, in.rest()}}
                 : malformed_payload("a write");
}

// ---- keys ---------------------------------------------------------------------------------------

result<std::optional<wrapped_key>> read_data_key(const postgres_rows& rows, std::size_t row,
                                                 int id_column) {
  if (rows.is_null(row, id_column))
    return std::optional<wrapped_key>{};
  wrapped_key found{rows.string(row, id_column), rows.string(row, id_column + 1)};
  if (!is_well_formed(found))
    return damaged(record_kind::key);
  return std::optional{std::move(found)};
}

// ---- sealing and opening ------------------------------------------------------------------------

// As msgpack, a first byte of `T` is a number and the whole value.
bool is_sealed(std::string_view column) noexcept {
  return column.size() >= record_header_bytes && column.front() == 'T';
}

result<std::string> row_sealer::seal(std::string_view payload, std::string_view place,
                                     record_kind kind, aes_gcm& cipher) {
  std::string record;
  begin_record(record);
  record.append(payload);
  if (auto ok = sealer_.seal(record, place, kind, &cipher); !ok)
    return ok.error();
  return record;
}

void row_opener::add_key(std::int64_t chain, std::int64_t thread, wrapped_key wrapped) {
  threads_[chain] = thread;
  if (auto known = data_keys_.find(thread); known == data_keys_.end())
    data_keys_.emplace(thread, thread_key{std::move(wrapped), std::nullopt});
}

result<std::string_view> row_opener::open(std::string_view column, std::int64_t chain,
                                          std::string_view place, record_kind kind) {
  return is_sealed(column) ? open_sealed(column, chain, place, kind) : column;
}

result<std::string_view> row_opener::open_sealed(std::string_view column, std::int64_t chain,
                                                 std::string_view place, record_kind kind) {
  auto cipher = cipher_of(chain);
  if (!cipher)
    return cipher.error();
  return opener_.open(column, place, kind, *cipher);
}

result<aes_gcm*> row_opener::cipher_of(std::int64_t chain) {
  auto thread = threads_.find(chain);
  if (thread == threads_.end())
    return nullptr;
  auto& [wrapped, cipher] = data_keys_.at(thread->second);
  if (!cipher) {
    auto unwrapped = unwrapped_cipher(keys_, wrapped, thread_key_place(thread->second),
                                      sealed_thread_name);
    if (!unwrapped)
      return unwrapped.error();
    cipher.emplace(std::move(*unwrapped));
  }
  return &*cipher;
}

// ---- one thread ---------------------------------------------------------------------------------

result<aes_gcm*> thread_data_key::cipher() {
  if (!cipher_ && stored_) {
    auto unwrapped = unwrapped_cipher(sealing_->keys.get(), *stored_, thread_key_place(thread_),
                                      sealed_thread_name);
    if (!unwrapped)
      return unwrapped.error();
    cipher_.emplace(std::move(*unwrapped));
  }
  return cipher_ ? &*cipher_ : nullptr;
}

void thread_data_key::add_to(row_opener& opener, std::int64_t chain) const {
  if (stored_)
    opener.add_key(chain, thread_, *stored_);
}

} // namespace troupe
