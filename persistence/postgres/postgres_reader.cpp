// postgres_reader: assembling checkpoints from rows.
#include "persistence/postgres/postgres_reader.hpp"

#include "persistence/delta_history.hpp"
#include "persistence/record/metadata_record.hpp"
#include "persistence/record/saver_rules.hpp"
#include "persistence/record/versions_seen.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace troupe {

namespace {

error corrupt(std::string_view what) {
  return {errc::checkpoint_corrupt, "read a checkpoint: malformed: " + std::string{what}};
}

version version_of(std::int64_t number, std::int64_t tag) {
  return {std::bit_cast<std::uint64_t>(number), std::bit_cast<std::uint64_t>(tag)};
}

// Assembles the rows of checkpoints, values and writes, in whatever order they come.
class tuple_assembly {
public:
  tuple_assembly(postgres_rows& rows, row_opener& opener) : rows_{rows}, opener_{opener} {}

  result<std::vector<placed_tuple>> read() {
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (rows_.number(row, kind_column) == key_kind)
        if (auto ok = take_key(row); !ok)
          return ok.error();
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (auto ok = take(row); !ok)
        return ok.error();
    if (!rows_.well_formed())
      return corrupt("a row");
    std::ranges::sort(found_, {}, &placed_tuple::place);
    for (auto& found : found_)
      complete(found);
    return std::move(found_);
  }

private:
  static constexpr std::int64_t key_kind = 3;
  using value_key = std::tuple<std::int64_t, version, std::string>; // chain, version, channel
  using write_key = std::pair<std::int64_t, std::string>;           // chain, checkpoint

  result<void> take(std::size_t row) {
    switch (rows_.number(row, kind_column)) {
      case 0: return take_checkpoint(row);
      case 1: return take_value(row);
      case 2: return take_write(row);
      case key_kind: return {};
      default: return corrupt("a row's kind");
    }
  }

  result<void> take_key(std::size_t row) {
    wrapped_key found{rows_.string(row, a_column), rows_.string(row, data_column)};
    if (!is_well_formed(found))
      return damaged(record_kind::key);
    opener_.add_key(rows_.number(row, chain_column), rows_.number(row, number_column),
                    std::move(found));
    return {};
  }

  result<void> take_checkpoint(std::size_t row) {
    auto opened = opener_.scope();
    placed_tuple found{rows_.number(row, tag_column), rows_.number(row, chain_column), {}};
    auto& [ref, cp, metadata, parent_id, writes] = found.tuple;
    ref.checkpoint_id = cp.id = rows_.string(row, a_column);
    parent_id = rows_.string(row, b_column);
    cp.v = rows_.number(row, number_column);
    cp.ts = rows_.string(row, c_column);
    auto channels = rows_.bytes_array(row, channels_column);
    auto numbers = rows_.number_array(row, numbers_column);
    auto tags = rows_.number_array(row, tags_column);
    if (numbers.size() != channels.size() || tags.size() != channels.size())
      return corrupt("its versions");
    checkpoint_place place{{found.chain, cp.id, parent_id, cp.v, cp.ts}};
    for (std::size_t i = 0; i < channels.size(); ++i)
      place.add(channels[i], numbers[i], tags[i]);
    auto bytes = opener_.open(rows_.bytes(row, data_column), found.chain,
                              metadata_place(found.chain, cp.id), record_kind::checkpoint);
    if (!bytes)
      return bytes.error();
    auto rest = seen_of(row, found.chain, place);
    if (!rest)
      return rest.error();
    auto decoded = read_metadata(*bytes);
    auto seen = decode_versions_seen(rest->seen);
    if (!decoded || !seen)
      return corrupt("its metadata");
    metadata = std::move(*decoded);
    cp.versions_seen = std::move(*seen);
    for (std::size_t i = 0; i < channels.size(); ++i)
      cp.channel_versions.emplace_back(std::move(channels[i]), version_of(numbers[i], tags[i]));
    cp.updated_channels = std::move(rest->updated);
    found_.push_back(std::move(found));
    return {};
  }

  // The metadata show whether the checkpoint is sealed; the bytes of `seen` do not.
  result<seen_and_updated> seen_of(std::size_t row, std::int64_t chain,
                                   const checkpoint_place& place) {
    auto column = rows_.bytes(row, d_column);
    if (is_sealed(rows_.bytes(row, data_column))) {
      auto payload = opener_.open_sealed(column, chain, place.text(), record_kind::checkpoint);
      return payload ? decode_seen_and_updated(*payload) : payload.error();
    }
    seen_and_updated plain{column, std::nullopt};
    if (!rows_.is_null(row, updated_column))
      plain.updated = rows_.bytes_array(row, updated_column);
    return plain;
  }

  result<void> take_value(std::size_t row) {
    auto chain = rows_.number(row, chain_column);
    auto channel = rows_.bytes(row, a_column);
    auto number = rows_.number(row, number_column);
    auto tag = rows_.number(row, tag_column);
    auto opened = opener_.scope();
    auto bytes = opener_.open(rows_.bytes(row, data_column), chain,
                              value_place(chain, channel, number, tag), record_kind::value);
    if (!bytes)
      return bytes.error();
    auto val = from_msgpack(*bytes);
    if (!val)
      return corrupt("a value");
    values_.insert_or_assign(value_key{chain, version_of(number, tag), std::string{channel}},
                             std::move(*val));
    return {};
  }

  result<void> take_write(std::size_t row) {
    const stored_write stored{.chain = rows_.number(row, chain_column),
                              .checkpoint_id = rows_.bytes(row, a_column),
                              .task_id = rows_.bytes(row, c_column),
                              .slot = rows_.number(row, number_column),
                              .channel = rows_.bytes(row, b_column),
                              .task_path = rows_.bytes(row, d_column),
                              .value = rows_.bytes(row, data_column)};
    auto write = read_write(stored, opener_);
    if (!write)
      return write.error();
    writes_[{stored.chain, std::string{stored.checkpoint_id}}].push_back(std::move(*write));
    return {};
  }

  void complete(placed_tuple& found) {
    auto& tuple = found.tuple;
    for (const auto& [channel, at] : tuple.checkpoint.channel_versions)
      if (auto val = values_.find({found.chain, at, channel}); val != values_.end())
        tuple.checkpoint.channel_values.emplace_back(channel, val->second);
    if (auto writes = writes_.find({found.chain, tuple.ref.checkpoint_id}); writes != writes_.end())
      tuple.pending_writes = in_task_order(writes->second);
  }

  postgres_rows& rows_;
  row_opener& opener_;
  std::vector<placed_tuple> found_;
  std::map<value_key, value> values_;
  std::map<write_key, std::vector<slotted_write>> writes_;
};

postgres_params& optional_bytes(postgres_params& params, const std::optional<std::string>& data) {
  return data ? params.bytes(*data) : params.null();
}

} // namespace

result<std::vector<placed_tuple>> read_tuples(postgres_rows& rows, row_opener& opener) {
  return tuple_assembly{rows, opener}.read();
}

result<path_and_value> open_write(const stored_write& stored, row_opener& opener) {
  if (!is_sealed(stored.value))
    return path_and_value{stored.task_path, stored.value};
  auto place = write_place(stored.chain, stored.checkpoint_id, stored.task_id, stored.slot,
                           stored.channel);
  auto payload = opener.open_sealed(stored.value, stored.chain, place, record_kind::writes);
  return payload ? decode_path_and_value(*payload) : payload.error();
}

result<slotted_write> read_write(const stored_write& stored, row_opener& opener) {
  auto opened = opener.scope();
  auto parts = open_write(stored, opener);
  if (!parts)
    return parts.error();
  auto val = from_msgpack(parts->value);
  if (!val)
    return corrupt("a write");
  return slotted_write{stored.slot,
                       {std::string{stored.task_id}, std::string{stored.channel}, std::move(*val),
                        std::string{parts->task_path}}};
}

result<std::uint64_t> postgres_reader::thread_owner(const std::string& thread_id) {
  postgres_params params;
  params.bytes(thread_id);
  auto rows = from_.ask(sql_.owner, params);
  if (!rows)
    return rows.error();
  return rows->size() == 0 ? 0 : std::bit_cast<std::uint64_t>(rows->number(0, 0));
}

result<std::vector<owned_thread>> postgres_reader::owners() {
  auto rows = from_.ask(sql_.owners);
  if (!rows)
    return rows.error();
  std::vector<owned_thread> out;
  for (std::size_t row = 0; row < rows->size(); ++row)
    out.push_back({rows->string(row, 0), std::bit_cast<std::uint64_t>(rows->number(row, 1))});
  return out;
}

result<std::optional<checkpoint_tuple>> postgres_reader::get_tuple(const checkpoint_ref& ref) {
  postgres_params params;
  params.bytes(ref.thread_id).bytes(ref.checkpoint_ns);
  if (!ref.checkpoint_id.empty())
    params.bytes(ref.checkpoint_id);
  auto rows = from_.ask(ref.checkpoint_id.empty() ? sql_.newest_tuple : sql_.tuple, params);
  if (!rows)
    return rows.error();
  auto found = read_tuples(*rows, opener_);
  if (!found)
    return found.error();
  if (found->empty())
    return std::optional<checkpoint_tuple>{};
  auto& tuple = found->front().tuple;
  tuple.ref.thread_id = ref.thread_id;
  tuple.ref.checkpoint_ns = ref.checkpoint_ns;
  return std::optional{std::move(tuple)};
}

result<void> postgres_reader::end_reading() {
  auto ended = from_.ask(sql_.commit);
  return ended ? result<void>{} : ended.error();
}

// ---- list ---------------------------------------------------------------------------------------

result<std::vector<checkpoint_tuple>> postgres_reader::list(const list_query& query) {
  std::vector<checkpoint_tuple> found;
  auto limit = query.limit.value_or(SIZE_MAX);
  if (limit == 0)
    return found;
  postgres_params params;
  for (const auto* part :
       {&query.thread_id, &query.checkpoint_ns, &query.checkpoint_id, &query.before})
    optional_bytes(params, *part);
  if (auto ok = from_.send(sql_.begin_reading); !ok)
    return ok.error();
  if (auto ok = from_.send(sql_.list, params); !ok)
    return ok.error();
  for (auto more = true; more && found.size() < limit;) {
    auto rows = from_.ask(sql_.fetch);
    if (!rows)
      return rows.error();
    more = rows->size() == limits::postgres_rows_fetched;
    if (auto ok = take_listed(query, *rows, found); !ok)
      return ok.error();
  }
  if (auto ok = end_reading(); !ok)
    return ok.error();
  return found;
}

// Takes those rows of the cursor that fit the filter.
result<void> postgres_reader::take_listed(const list_query& query, postgres_rows& rows,
                                          std::vector<checkpoint_tuple>& found) {
  std::vector<std::size_t> fitting;
  std::vector<std::int64_t> chains;
  std::vector<std::string_view> ids;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    auto metadata = read_listed_metadata(rows, row);
    if (!metadata)
      return metadata.error();
    if (!matches_filter(query.filter, *metadata))
      continue;
    if (query.limit && found.size() + fitting.size() == *query.limit)
      break;
    fitting.push_back(row);
    chains.push_back(rows.number(row, 2));
    ids.push_back(rows.bytes(row, 3));
  }
  if (fitting.empty())
    return {};
  postgres_params params;
  params.number_array(chains).bytes_array(ids);
  auto parts = from_.ask(sql_.tuples, params);
  if (!parts)
    return parts.error();
  auto tuples = read_tuples(*parts, opener_);
  if (!tuples)
    return tuples.error();
  for (auto& [place, chain, tuple] : *tuples) {
    if (place < 1 || static_cast<std::size_t>(place) > fitting.size())
      return corrupt("a row's place");
    auto row = fitting[static_cast<std::size_t>(place) - 1];
    tuple.ref.thread_id = rows.string(row, 0);
    tuple.ref.checkpoint_ns = rows.string(row, 1);
    found.push_back(std::move(tuple));
  }
  return {};
}

result<value> postgres_reader::read_listed_metadata(postgres_rows& rows, std::size_t row) {
  auto chain = rows.number(row, 2);
  auto data_key = read_data_key(rows, row, 6);
  if (!data_key)
    return data_key.error();
  if (*data_key)
    opener_.add_key(chain, rows.number(row, 5), std::move(**data_key));
  auto opened = opener_.scope();
  auto bytes = opener_.open(rows.bytes(row, 4), chain, metadata_place(chain, rows.bytes(row, 3)),
                            record_kind::checkpoint);
  if (!bytes)
    return bytes.error();
  auto metadata = read_metadata(*bytes);
  return metadata ? metadata : corrupt("its metadata");
}

result<std::vector<thread_info>> postgres_reader::threads() {
  auto rows = from_.ask(sql_.threads);
  if (!rows)
    return rows.error();
  std::vector<thread_info> infos;
  for (std::size_t row = 0; row < rows->size(); ++row)
    infos.push_back({rows->string(row, 0), rows->string(row, 1), rows->string(row, 2),
                     static_cast<std::size_t>(rows->number(row, 3))});
  return infos;
}

// ---- histories ----------------------------------------------------------------------------------

result<named<delta_history>> postgres_reader::delta_histories(
  const checkpoint_ref& ref, const std::vector<std::string>& channels) {
  if (channels.empty())
    return named<delta_history>{};
  postgres_params params;
  params.bytes(ref.thread_id).bytes(ref.checkpoint_ns);
  if (!ref.checkpoint_id.empty())
    params.bytes(ref.checkpoint_id);
  if (auto ok = from_.send(sql_.begin_reading); !ok)
    return ok.error();
  auto target = from_.ask(ref.checkpoint_id.empty() ? sql_.newest_parent : sql_.parent, params);
  if (!target)
    return target.error();
  auto chain = target->size() == 0 ? 0 : target->number(0, 0);
  std::map<std::string, checkpoint_tuple> met;
  auto read = [&](const std::string& id,
                  const std::vector<std::string>& open) -> result<const checkpoint_tuple*> {
    if (auto known = met.find(id); known != met.end())
      return &known->second;
    postgres_params from;
    from.number(chain).bytes(id).bytes_array(open).number(limits::postgres_ancestors_fetched);
    auto rows = from_.ask(sql_.ancestors, from);
    if (!rows)
      return rows.error();
    auto ancestors = read_tuples(*rows, opener_);
    if (!ancestors)
      return ancestors.error();
    for (auto& ancestor : *ancestors)
      met.try_emplace(ancestor.tuple.ref.checkpoint_id, std::move(ancestor.tuple));
    auto found = met.find(id);
    return found == met.end() ? nullptr : &found->second;
  };
  auto histories = walk_history(channels,
                                target->size() == 0 ? std::string{} : target->string(0, 1), read);
  if (!histories)
    return histories;
  if (auto ok = end_reading(); !ok)
    return ok.error();
  return histories;
}

} // namespace troupe
