// postgres_rewind: removing newer checkpoints and restoring writes.
#include "persistence/postgres/postgres_rewind.hpp"

#include "persistence/postgres/postgres_reader.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace troupe {

namespace {

// The writes stored after a checkpoint, and its chain; 0 without any.
struct head_writes {
  std::int64_t chain = 0;
  std::vector<slotted_write> writes;
};

result<head_writes> read_writes(postgres_connection& on, const postgres_statements& sql,
                                std::int64_t thread, const checkpoint_ref& ref,
                                thread_data_key& data_key) {
  postgres_params params;
  params.number(thread).bytes(ref.checkpoint_ns).bytes(ref.checkpoint_id);
  auto rows = on.ask(sql.writes_behind, params);
  if (!rows)
    return rows.error();
  head_writes found;
  auto opener = data_key.opener();
  for (std::size_t row = 0; row < rows->size(); ++row) {
    found.chain = rows->number(row, 0);
    data_key.add_to(opener, found.chain);
    auto write = read_write({.chain = found.chain,
                             .checkpoint_id = ref.checkpoint_id,
                             .task_id = rows->bytes(row, 1),
                             .slot = rows->number(row, 2),
                             .channel = rows->bytes(row, 3),
                             .task_path = rows->bytes(row, 4),
                             .value = rows->bytes(row, 5)},
                            opener);
    if (!write)
      return error{write.error().code(), "undo a run: checkpoint `" + ref.checkpoint_id
                                           + "`: " + write.error().message()};
    found.writes.push_back(std::move(*write));
  }
  return found;
}

result<void> restore(postgres_connection& on, const postgres_statements& sql, std::int64_t chain,
                     const std::string& checkpoint_id, const std::vector<slotted_write>& writes,
                     thread_data_key& data_key) {
  auto cipher = data_key.cipher();
  if (!cipher)
    return cipher.error();
  std::vector<std::string_view> tasks;
  std::vector<std::int64_t> slots;
  std::vector<std::string_view> channels;
  std::vector<std::string_view> paths;
  std::vector<std::string> values;
  for (const auto& [slot, write] : writes) {
    auto encoded = to_msgpack(write.value);
    if (!encoded)
      return encoded.error();
    tasks.push_back(write.task_id);
    slots.push_back(slot);
    channels.push_back(write.channel);
    paths.push_back(*cipher ? std::string_view{} : write.task_path);
    if (*cipher) {
      auto place = write_place(chain, checkpoint_id, write.task_id, slot, write.channel);
      encoded = data_key.sealer().seal(encode(path_and_value{write.task_path, *encoded}), place,
                                       record_kind::writes, **cipher);
      if (!encoded)
        return encoded.error();
    }
    values.push_back(std::move(*encoded));
  }
  postgres_params place;
  place.number(chain).bytes(checkpoint_id);
  if (auto ok = on.send(sql.erase_writes_of, place); !ok)
    return ok;
  place.bytes_array(tasks).number_array(slots).bytes_array(channels);
  place.bytes_array(paths).bytes_array(values);
  return on.send(sql.restore_writes, place);
}

result<void> rewind_head(postgres_connection& on, const postgres_statements& sql,
                         std::int64_t thread, const rewind_point::head& head,
                         thread_data_key& data_key) {
  auto stored = read_writes(on, sql, thread, head.ref, data_key);
  if (!stored)
    return stored.error();
  auto left = rewound_writes(stored->writes, head.writes);
  auto was_there = [&stored](const slotted_write& one) {
    return std::ranges::any_of(stored->writes, [&one](const slotted_write& there) {
      return there.slot == one.slot && there.write == one.write;
    });
  };
  if (left.size() == stored->writes.size() && std::ranges::all_of(left, was_there))
    return {};
  return restore(on, sql, stored->chain, head.ref.checkpoint_id, left, data_key);
}

result<void> rewind_locked(postgres_connection& on, const postgres_statements& sql,
                           std::int64_t thread, const rewind_point& to, thread_data_key& data_key) {
  for (const auto& head : to.heads)
    if (auto ok = rewind_head(on, sql, thread, head, data_key); !ok)
      return ok;
  postgres_params newer;
  newer.number(thread).bytes(to.after_id);
  for (const auto* statement : {&sql.erase_newer_writes, &sql.erase_newer_checkpoints})
    if (auto ok = on.send(*statement, newer); !ok)
      return ok;
  postgres_params whole;
  whole.number(thread);
  for (const auto* statement :
       {&sql.erase_unused_values, &sql.erase_empty_chains, &sql.erase_empty_thread})
    if (auto ok = on.send(*statement, whole); !ok)
      return ok;
  return {};
}

} // namespace

result<void> rewind_thread(postgres_connection& on, const postgres_statements& sql,
                           const postgres_sealing& sealing, const std::string& thread_id,
                           const rewind_point& to) {
  if (auto ok = on.send(sql.begin); !ok)
    return ok;
  postgres_params params;
  params.bytes_array(std::vector{thread_id});
  auto found = on.ask(sql.lock_threads, params);
  if (!found)
    return found.error();
  if (found->size() != 0) {
    auto owner = std::bit_cast<std::uint64_t>(found->number(0, 2));
    if (auto ok = check_rewind(thread_id, to, owner); !ok)
      return ok;
    auto stored = read_data_key(*found, 0, 3);
    if (!stored)
      return stored.error();
    thread_data_key data_key{sealing, found->number(0, 1), std::move(*stored)};
    if (auto ok = rewind_locked(on, sql, found->number(0, 1), to, data_key); !ok)
      return ok;
  }
  auto done = on.ask(sql.commit);
  return done ? result<void>{} : done.error();
}

} // namespace troupe
