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
  explicit tuple_assembly(postgres_rows& rows) : rows_{rows} {}

  result<std::vector<placed_tuple>> read() {
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
  using value_place = std::tuple<std::int64_t, version, std::string>; // chain, version, channel
  using write_place = std::pair<std::int64_t, std::string>;           // chain, checkpoint

  result<void> take(std::size_t row) {
    switch (rows_.number(row, kind_column)) {
      case 0: return take_checkpoint(row);
      case 1: return take_value(row);
      case 2: return take_write(row);
      default: return corrupt("a row's kind");
    }
  }

  result<void> take_checkpoint(std::size_t row) {
    placed_tuple found{rows_.number(row, tag_column), rows_.number(row, chain_column), {}};
    auto& [ref, cp, metadata, parent_id, writes] = found.tuple;
    ref.checkpoint_id = cp.id = rows_.string(row, a_column);
    parent_id = rows_.string(row, b_column);
    cp.v = rows_.number(row, number_column);
    cp.ts = rows_.string(row, c_column);
    auto decoded = read_metadata(rows_.bytes(row, data_column));
    auto seen = decode_versions_seen(rows_.bytes(row, d_column));
    if (!decoded || !seen)
      return corrupt("its metadata");
    metadata = std::move(*decoded);
    cp.versions_seen = std::move(*seen);
    auto channels = rows_.bytes_array(row, channels_column);
    auto numbers = rows_.number_array(row, numbers_column);
    auto tags = rows_.number_array(row, tags_column);
    if (numbers.size() != channels.size() || tags.size() != channels.size())
      return corrupt("its versions");
    for (std::size_t i = 0; i < channels.size(); ++i)
      cp.channel_versions.emplace_back(std::move(channels[i]), version_of(numbers[i], tags[i]));
    if (!rows_.is_null(row, updated_column))
      cp.updated_channels = rows_.bytes_array(row, updated_column);
    found_.push_back(std::move(found));
    return {};
  }

  result<void> take_value(std::size_t row) {
    auto val = from_msgpack(rows_.bytes(row, data_column));
    if (!val)
      return corrupt("a value");
    auto at = version_of(rows_.number(row, number_column), rows_.number(row, tag_column));
    values_.insert_or_assign(value_place{rows_.number(row, chain_column), at,
                                         rows_.string(row, a_column)},
                             std::move(*val));
    return {};
  }

  result<void> take_write(std::size_t row) {
    auto val = from_msgpack(rows_.bytes(row, data_column));
    if (!val)
      return corrupt("a write");
    writes_[{rows_.number(row, chain_column), rows_.string(row, a_column)}].push_back(
      {rows_.number(row, number_column),
       {rows_.string(row, c_column), rows_.string(row, b_column), std::move(*val),
        rows_.string(row, d_column)}});
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
  std::vector<placed_tuple> found_;
  std::map<value_place, value> values_;
  std::map<write_place, std::vector<slotted_write>> writes_;
};

postgres_params& optional_bytes(postgres_params& params, const std::optional<std::string>& data) {
  return data ? params.bytes(*data) : params.null();
}

} // namespace

result<std::vector<placed_tuple>> read_tuples(postgres_rows& rows) {
  return tuple_assembly{rows}.read();
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
  auto found = read_tuples(*rows);
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
    auto metadata = read_metadata(rows.bytes(row, 4));
    if (!metadata)
      return corrupt("its metadata");
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
  auto tuples = read_tuples(*parts);
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
    auto ancestors = read_tuples(*rows);
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
