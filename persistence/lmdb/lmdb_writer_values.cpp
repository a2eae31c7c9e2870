// lmdb_writer: the part that stores values of channels.
#include "persistence/lmdb/lmdb_writer.hpp"
#include "persistence/record/saver_rules.hpp"
#include "persistence/record/value_patch.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

// The moved values, in the order of their keys. LMDB fills pages to the end only when each key
// comes after the last one.
std::vector<lmdb_writer::moved_value> lmdb_writer::moved_values(known_thread& thread,
                                                                const checkpoint_put& put) {
  const auto& cp = put.checkpoint;
  std::vector<moved_value> moved;
  for (const auto& channel : put.new_versions) {
    auto* val = find_named(cp.channel_values, channel);
    auto piece = val ? encoded_.take() : encoded_request::piece{};
    if (auto* at = find_named(cp.channel_versions, channel))
      moved.push_back({*at, thread.names.number(channel), &channel, val, piece});
  }
  std::ranges::sort(moved, {}, [](const auto& m) { return std::pair{m.at, m.channel}; });
  return moved;
}

result<void> lmdb_writer::store_values(known_thread& thread, known_chain& chain,
                                       const checkpoint_put& put) {
  auto moved = moved_values(thread, put);
  if (auto ok = take_over_own_values(thread, chain, put, moved); !ok)
    return ok;
  auto are_own = add_own_values(thread, chain, moved);
  if (!are_own)
    return are_own.error();
  for (auto from = moved.begin(); from != moved.end();) {
    auto to = std::find_if(from, moved.end(), [from](const auto& m) { return m.at != from->at; });
    if (auto ok = store_version(thread, chain, {from, to}, *are_own); !ok)
      return ok;
    from = to;
  }
  return {};
}

// `are_own`: small values are in the checkpoint's record. Those that are under the version, too,
// stay there, since a later checkpoint may have put them there.
result<void> lmdb_writer::store_version(known_thread& thread, known_chain& chain,
                                        std::span<const moved_value> moved, bool are_own) {
  auto& at = moved.front().at;
  std::vector<small_value> small;
  for (const auto& m : moved)
    if (!are_own || !m.is_small())
      small.push_back({m.channel, m.is_small() ? m.piece.bytes : std::string_view{}});
  if (!small.empty())
    if (auto ok = store_small_values(chain.number, at, small, cipher_of(thread)); !ok)
      return ok;
  for (const auto& m : moved) {
    if (m.is_small())
      continue;
    auto key = value_key(chain.number, at, m.channel);
    // An empty channel has no record.
    auto stored = m.val ? store_value(thread, key, m.piece, at) : txn_->erase(key);
    if (!stored)
      return stored;
    auto* base = m.piece.base;
    auto size = m.piece.bytes.size();
    if (m.val && (base || may_be_base(*m.val, size)))
      remember(chain, *m.name,
               {at, *m.val, size + (base ? base->bytes : 0), base ? base->depth + 1 : 0,
                short_checksum(record_)});
  }
  return {};
}

// Stores small values. Values of other channels, stored by another request under the version, stay.
result<void> lmdb_writer::store_small_values(std::uint64_t chain, const version& at,
                                             std::span<const small_value> changes,
                                             aes_gcm* cipher) {
  auto key = small_values_key(chain, at);
  std::vector<small_value> values;
  change_small_values(values, changes);
  auto seal = [&] {
    begin_record(record_);
    append_small_values(values, record_);
    return sealer_.seal(record_, key, record_kind::small_values, cipher);
  };
  if (!values.empty())
    if (auto sealed = seal(); !sealed)
      return sealed;
  auto stored = values.empty() ? txn_->get(key) : txn_->put_new(key, record_);
  if (!stored || !*stored)
    return stored ? result<void>{} : stored.error();
  record_opener::scope scope{opener_};
  auto before = opener_.open(**stored, key, record_kind::small_values, cipher);
  if (!before)
    return before.error();
  values.clear();
  if (auto ok = read_small_values(*before, values); !ok)
    return ok;
  auto as_before = values;
  change_small_values(values, changes);
  if (values.empty())
    return txn_->erase(key);
  if (values == as_before)
    return {};
  auto sealed = seal();
  return sealed ? txn_->put(key, record_) : sealed;
}

result<void> lmdb_writer::erase_value(const value_key_parts& of, aes_gcm* cipher) {
  if (!of.channel)
    return {};
  if (auto ok = txn_->erase(value_key(of.chain, of.at, *of.channel)); !ok)
    return ok;
  const small_value gone{static_cast<std::uint32_t>(*of.channel), {}};
  return store_small_values(of.chain, of.at, {&gone, 1}, cipher);
}

result<void> lmdb_writer::store_value(known_thread& thread, const store_key& key,
                                      const encoded_request::piece& piece, const version& at) {
  begin_record(record_);
  if (piece.base)
    append_patch_head({piece.base->at, piece.base->checksum}, at, record_);
  record_.append(piece.bytes);
  return put(thread, key, piece.base ? record_kind::patch : record_kind::value);
}

void lmdb_writer::remember(known_chain& chain, const std::string& channel, value_base stored) {
  auto& base = chain.bases[channel];
  bases_bytes_ += stored.bytes - base.bytes;
  base = std::move(stored);
  if (bases_bytes_ <= patch_bases_bytes_max)
    return;
  for (auto& [id, thread] : threads_)
    for (auto& [ns, known] : thread.chains)
      known.bases.clear();
  bases_bytes_ = 0;
}

} // namespace troupe
