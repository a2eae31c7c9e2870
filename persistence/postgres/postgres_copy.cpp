// postgres_copy: copying rows by statements, and sealing those of a copy anew.
#include "persistence/postgres/postgres_copy.hpp"

#include "persistence/postgres/postgres_pruner.hpp"
#include "persistence/postgres/postgres_reader.hpp"
#include "persistence/record/saver_rules.hpp"

#include <optional>
#include <utility>

namespace troupe {

namespace {

// Seals the rows of a copy under a data key of its own, within the copy's transaction. Each row
// opens at its old place.
class resealing {
public:
  resealing(postgres_connection& on, const postgres_statements& sql,
            const postgres_sealing& sealing, std::int64_t from, std::optional<wrapped_key> stored,
            std::int64_t to)
    : on_{on},
      sql_{sql},
      sealing_{sealing},
      from_{from},
      to_{to},
      source_{sealing, from, std::move(stored)},
      opener_{source_.opener()},
      sealer_{sealing.compress_bytes_min} {}

  /// The data key of the copy.
  result<wrapped_key> run() {
    if (auto known = source_.cipher(); !known)
      return known.error();
    auto key = make_key();
    if (!key)
      return key;
    if (auto ok = each(sql_.copied_checkpoints, &resealing::reseal_checkpoint); !ok)
      return ok.error();
    if (auto ok = each(sql_.copied_values, &resealing::reseal_value); !ok)
      return ok.error();
    if (auto ok = each(sql_.copied_writes, &resealing::reseal_write); !ok)
      return ok.error();
    return key;
  }

private:
  using reseal_row = result<void> (resealing::*)(postgres_rows&, std::size_t row);

  result<wrapped_key> make_key() {
    auto made = make_data_key(*sealing_.keys, thread_key_place(to_));
    if (!made)
      return made.error();
    postgres_params params;
    params.number(to_).bytes(made->wrapped.id).bytes(made->wrapped.bytes);
    if (auto ok = on_.send(sql_.set_data_key, params); !ok)
      return ok.error();
    cipher_.emplace(std::move(made->cipher));
    return std::move(made->wrapped);
  }

  result<void> each(const postgres_statement& cursor, reseal_row reseal) {
    postgres_params params;
    params.number(from_).number(to_);
    if (auto ok = on_.send(cursor, params); !ok)
      return ok;
    for (auto more = true; more;) {
      auto rows = on_.ask(sql_.fetch);
      if (!rows)
        return rows.error();
      more = rows->size() == limits::postgres_rows_fetched;
      for (std::size_t row = 0; row < rows->size(); ++row) {
        source_.add_to(opener_, rows->number(row, 0));
        auto opened = opener_.scope();
        if (auto ok = (this->*reseal)(*rows, row); !ok)
          return ok;
      }
    }
    return on_.send(sql_.close);
  }

  result<void> reseal_checkpoint(postgres_rows& rows, std::size_t row) {
    auto from = rows.number(row, 0);
    auto to = rows.number(row, 1);
    auto id = rows.bytes(row, 2);
    checkpoint_columns columns{from, id, rows.bytes(row, 3), rows.number(row, 4),
                               rows.bytes(row, 5)};
    checkpoint_place old_place{columns};
    columns.chain = to;
    checkpoint_place new_place{columns};
    auto channels = rows.bytes_array(row, 8);
    auto numbers = rows.number_array(row, 9);
    auto tags = rows.number_array(row, 10);
    if (!rows.well_formed() || numbers.size() != channels.size() || tags.size() != channels.size())
      return error{errc::checkpoint_corrupt, "copy a thread: the versions of checkpoint `"
                                               + std::string{id} + "` are malformed"};
    for (std::size_t i = 0; i < channels.size(); ++i)
      for (auto* place : {&old_place, &new_place})
        place->add(channels[i], numbers[i], tags[i]);
    auto metadata = opener_.open(rows.bytes(row, 6), from, metadata_place(from, id),
                                 record_kind::checkpoint);
    if (!metadata)
      return metadata.error();
    auto rest = rest_of(rows, row, old_place);
    if (!rest)
      return rest.error();
    auto sealed_metadata = sealer_.seal(*metadata, metadata_place(to, id), record_kind::checkpoint,
                                        *cipher_);
    auto sealed_rest = sealer_.seal(*rest, new_place.text(), record_kind::checkpoint, *cipher_);
    if (!sealed_metadata || !sealed_rest)
      return sealed_metadata ? sealed_rest.error() : sealed_metadata.error();
    postgres_params params;
    params.number(to).bytes(id).bytes(*sealed_metadata).bytes(*sealed_rest);
    return on_.send(sql_.reseal_checkpoint, params);
  }

  result<std::string> rest_of(postgres_rows& rows, std::size_t row, const checkpoint_place& place) {
    if (is_sealed(rows.bytes(row, 6))) {
      auto payload = opener_.open_sealed(rows.bytes(row, 7), rows.number(row, 0), place.text(),
                                         record_kind::checkpoint);
      return payload ? result<std::string>{std::string{*payload}} : payload.error();
    }
    seen_and_updated plain{rows.bytes(row, 7), std::nullopt};
    if (!rows.is_null(row, 11))
      plain.updated = rows.bytes_array(row, 11);
    return encode(plain);
  }

  result<void> reseal_value(postgres_rows& rows, std::size_t row) {
    auto from = rows.number(row, 0);
    auto to = rows.number(row, 1);
    auto channel = rows.bytes(row, 2);
    auto number = rows.number(row, 3);
    auto tag = rows.number(row, 4);
    auto bytes = opener_.open(rows.bytes(row, 5), from, value_place(from, channel, number, tag),
                              record_kind::value);
    if (!bytes)
      return bytes.error();
    auto sealed = sealer_.seal(*bytes, value_place(to, channel, number, tag), record_kind::value,
                               *cipher_);
    if (!sealed)
      return sealed.error();
    postgres_params params;
    params.number(to).bytes(channel).number(number).number(tag).bytes(*sealed);
    return on_.send(sql_.reseal_value, params);
  }

  result<void> reseal_write(postgres_rows& rows, std::size_t row) {
    const stored_write stored{.chain = rows.number(row, 0),
                              .checkpoint_id = rows.bytes(row, 2),
                              .task_id = rows.bytes(row, 3),
                              .slot = rows.number(row, 4),
                              .channel = rows.bytes(row, 5),
                              .task_path = rows.bytes(row, 6),
                              .value = rows.bytes(row, 7)};
    auto parts = open_write(stored, opener_);
    if (!parts)
      return parts.error();
    auto to = rows.number(row, 1);
    auto place = write_place(to, stored.checkpoint_id, stored.task_id, stored.slot, stored.channel);
    auto sealed = sealer_.seal(encode(*parts), place, record_kind::writes, *cipher_);
    if (!sealed)
      return sealed.error();
    postgres_params params;
    params.number(to).bytes(stored.checkpoint_id).bytes(stored.task_id).number(stored.slot);
    params.bytes(*sealed);
    return on_.send(sql_.reseal_write, params);
  }

  postgres_connection& on_;
  const postgres_statements& sql_;
  const postgres_sealing& sealing_;
  std::int64_t from_;
  std::int64_t to_;
  thread_data_key source_;
  row_opener opener_; // of the source
  row_sealer sealer_;
  std::optional<aes_gcm> cipher_; // of the copy
};

} // namespace

result<void> copy_thread(postgres_connection& on, const postgres_statements& sql,
                         const postgres_sealing& sealing, const std::string& sequence,
                         const thread_copied& what, bool& may_be_done) {
  const auto& [source, target, up_to] = what;
  if (may_be_done)
    return error{
      errc::storage_failed,
      "copy a thread: the connection was lost while the copy was committed: check whether `"
        + target + "` exists"};
  if (auto ok = on.send(sql.begin); !ok)
    return ok;
  postgres_params both;
  both.bytes_array(std::vector{source, target});
  auto there = on.ask(sql.lock_threads, both);
  if (!there)
    return there.error();
  std::optional<std::int64_t> from;
  std::optional<wrapped_key> stored;
  for (std::size_t row = 0; row < there->size(); ++row) {
    if (there->bytes(row, 0) != source)
      continue;
    auto data_key = read_data_key(*there, row, 3);
    if (!data_key)
      return data_key.error();
    from = there->number(row, 1);
    stored = std::move(*data_key);
  }
  if (from && there->size() > 1)
    return target_is_there(target);
  if (!from)
    return up_to.empty() ? result<void>{} : nothing_to_copy(source, up_to);
  postgres_params numbers;
  numbers.bytes(sequence);
  auto number = on.ask(sql.next_numbers, numbers);
  if (!number)
    return number.error();
  auto to = number->number(0, 0);
  postgres_params row;
  row.bytes_array(std::vector{target}).number_array(std::vector{to});
  auto made = on.ask(sql.make_threads, row);
  if (!made)
    return made.error();
  if (made->size() == 0)
    return target_is_there(target);
  postgres_params numbered;
  numbered.number(*from).number(to).bytes(sequence);
  if (auto ok = on.send(sql.copy_chains, numbered); !ok)
    return ok;
  postgres_params plain;
  plain.number(*from).number(to);
  for (const auto* statement : {&sql.copy_checkpoints, &sql.copy_values, &sql.copy_writes})
    if (auto ok = on.send(*statement, plain); !ok)
      return ok;
  std::optional<wrapped_key> key_of_copy;
  if (stored || sealing.keys) {
    auto resealed = resealing{on, sql, sealing, *from, std::move(stored), to}.run();
    if (!resealed)
      return resealed.error();
    key_of_copy = std::move(*resealed);
  }
  if (!up_to.empty()) {
    auto is_there = cut_copy(on, sql, sealing, {target, to, key_of_copy}, up_to);
    if (!is_there)
      return is_there.error();
    if (!*is_there)
      return nothing_to_copy(source, up_to);
  }
  may_be_done = true;
  auto done = on.ask(sql.commit);
  may_be_done = !done && on.failure() == postgres_failure::lost;
  return done ? result<void>{} : done.error();
}

} // namespace troupe
