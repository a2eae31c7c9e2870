// Values that share a record: what changes one leaves the others, wherever each of them is.
#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/lmdb_index.hpp"
#include "persistence/record/bytes.hpp"
#include "persistence/record/record.hpp"
#include "persistence/record/small_values.hpp"

#include "tests/persistence/saver_kinds.hpp"

#include <troupe/data_dir.hpp>

#include <filesystem>
#include <map>

namespace troupe {

namespace {

using test::backends;
using test::checkpoint_id;
using test::make_put;
using test::require_error;

constexpr version first{1, 7};
const value large{std::string(small_value_bytes_max, 'x')}; // and two bytes of its own

// A small value. Three of them do not fit into the record of a checkpoint.
value a_small_text(char letter) {
  return std::string(50, letter);
}
static_assert(3 * 52 > own_small_values_bytes_max);

std::string payload_of(const std::vector<small_value>& values) {
  std::string payload;
  append_small_values(values, payload);
  return payload;
}

result<std::vector<small_value>> read_back(std::string_view payload) {
  std::vector<small_value> values;
  auto read = read_small_values(payload, values);
  return read ? result{values} : read.error();
}

std::string text_of(const std::vector<small_value>& values) {
  std::string text;
  for (const auto& small : values)
    text.append(std::to_string(small.channel)).append("=").append(small.bytes).append(" ");
  return text;
}

named<value> values_of(saver& from, const std::string& id) {
  return from.get_tuple({"t", "", id}).value()->checkpoint.channel_values;
}

// How many records of a kind the values tree of a store has.
std::map<record_kind, std::size_t> kinds_of(const std::filesystem::path& dir) {
  auto env = open_saver_file(dir / "troupe.mdb", 1u << 30).value();
  auto txn = env->begin_read().value();
  std::map<record_kind, std::size_t> kinds;
  scan(txn, chain_prefix(1, chain_part::values), [&kinds](auto, auto data) -> result<void> {
    ++kinds[kind_of(data)];
    return {};
  }).value();
  return kinds;
}

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_small_values)

BOOST_AUTO_TEST_CASE(a_change_replaces_adds_and_removes) {
  std::vector<small_value> there{{1, "a"}, {3, "c"}, {300, "e"}};
  change_small_values(there, std::vector<small_value>{{300, "E"}, {2, "b"}, {1, {}}, {4, {}}});
  BOOST_TEST(text_of(there) == "2=b 3=c 300=E ");
  BOOST_TEST(text_of(read_back(payload_of(there)).value()) == "2=b 3=c 300=E ");
  BOOST_TEST(read_back("").value().empty());
}

BOOST_AUTO_TEST_CASE(a_payload_that_does_not_fit_is_damage) {
  auto payload = payload_of({{1, "a"}, {300, "bc"}});
  for (std::size_t size = 1; size < payload.size(); ++size)
    if (size != payload_of({{1, "a"}}).size())
      require_error(read_back(payload.substr(0, size)), errc::checkpoint_corrupt);
  require_error(read_back(payload_of({{2, "a"}, {1, "b"}})), errc::checkpoint_corrupt);
  require_error(read_back(payload_of({{1, "a"}, {1, "b"}})), errc::checkpoint_corrupt);
  require_error(read_back(payload_of({{1, ""}})), errc::checkpoint_corrupt);
  std::string beyond;
  append_varint(beyond, 1ull << 32);
  append_sized(beyond, "a");
  require_error(read_back(beyond), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(small_values_of_a_version_are_one_record_and_others_one_each) {
  test::temporary_directory dir;
  const named<value> values{{"a", a_small_text('a')},
                            {"b", large},
                            {"c", std::string(small_value_bytes_max - 2, 'y')},
                            {"d", value{}},
                            {"e", a_small_text('e')}};
  open_lmdb_saver(dir.path()).value()->put({"t", "", ""}, make_put("c1", "", values)).value();
  auto kinds = kinds_of(dir.path());
  BOOST_TEST((kinds
              == std::map<record_kind, std::size_t>{{record_kind::value, 1},
                                                    {record_kind::small_values, 1}}));
  BOOST_TEST((values_of(*open_lmdb_saver(dir.path()).value(), "c1") == values));
}

// Each channel has its own versions: those of one number need not be stored at one time.
BOOST_AUTO_TEST_CASE_TEMPLATE(requests_that_store_values_of_one_version_keep_each_others, backend,
                              backends) {
  backend on;
  auto& s = *on.saver;
  auto put = [&s](const std::string& id, named<value> values) {
    s.put({"t", "", ""}, make_put(id, "", std::move(values))).value();
  };
  const named<value> more{
    {"d", a_small_text('d')}, {"e", a_small_text('e')}, {"f", a_small_text('f')}};
  auto with_more = [&more](named<value> values) {
    values.insert(values.end(), more.begin(), more.end());
    return values;
  };
  put("c1", with_more({{"a", 1}, {"b", 2}}));
  put("c2", with_more({{"c", 3}}));
  BOOST_TEST((values_of(s, "c1") == with_more({{"a", 1}, {"b", 2}})));
  BOOST_TEST((values_of(s, "c2") == with_more({{"c", 3}})));
  for (const auto& next : {large, value{4}, large}) { // alone, with the others, alone
    put("c3", with_more({{"a", next}}));
    BOOST_TEST((values_of(s, "c1") == with_more({{"a", next}, {"b", 2}})));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_channel_that_became_empty_has_no_value_wherever_it_was, backend,
                              backends) {
  backend on;
  auto& s = *on.saver;
  s.put({"t", "", ""}, make_put("c1", "", {{"a", large}, {"b", 1}, {"c", 2}})).value();
  s.put({"t", "", ""}, make_put("c1", "", {{"a", 3}, {"b", 1}, {"c", 2}})).value();
  auto emptied = make_put("c1", "", {{"a", 1}, {"b", 1}, {"c", 2}});
  emptied.checkpoint.channel_values = {{"c", 2}};
  s.put({"t", "", ""}, emptied).value();
  BOOST_TEST((values_of(s, "c1") == named<value>{{"c", 2}}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(pruning_takes_the_unused_ones_out_of_a_record, backend, backends) {
  backend on;
  auto& s = *on.saver;
  auto put = make_put(
    checkpoint_id(1), "",
    {{"a", a_small_text('a')}, {"b", a_small_text('b')}, {"c", large}, {"d", a_small_text('d')}});
  s.put({"t", "", ""}, put).value();
  auto next = make_put(checkpoint_id(2), checkpoint_id(1), {{"a", 10}, {"c", 30}}, {}, {2, 7});
  next.checkpoint.channel_versions = {{"a", {2, 7}}, {"b", first}, {"c", {2, 7}}};
  s.put({"t", "", ""}, next).value();
  BOOST_TEST((s.prune({"t"}).value() == prune_report{1, 3})); // a, c and d
  const named<value> left{{"a", 10}, {"b", a_small_text('b')}, {"c", 30}};
  BOOST_TEST((values_of(s, checkpoint_id(2)) == left));
  // A checkpoint that names them again finds them missing.
  auto again = make_put(checkpoint_id(3), checkpoint_id(2), {});
  again.checkpoint.channel_versions = {{"a", first}, {"b", first}, {"c", first}, {"d", first}};
  s.put({"t", "", ""}, again).value();
  BOOST_TEST((values_of(s, checkpoint_id(3)) == named<value>{{"b", a_small_text('b')}}));
}

BOOST_AUTO_TEST_CASE(a_small_value_stands_where_a_store_had_it_alone) {
  test::temporary_directory dir;
  auto store = [&dir] { return open_lmdb_saver(dir.path()).value(); };
  store()
    ->put({"t", "", ""},
          make_put("c1", "",
                   {{"a", a_small_text('a')}, {"b", a_small_text('b')}, {"c", a_small_text('c')}}))
    .value();
  {
    auto env = open_saver_file(dir.path() / "troupe.mdb", 1u << 30).value();
    auto txn = env->begin_write().value();
    std::string record;
    for (unsigned channel : {0, 1, 2}) {
      begin_record(record);
      record.push_back(static_cast<char>(channel + 1));
      seal_record(record, value_key(1, first, channel), record_kind::value);
      txn.put(value_key(1, first, channel), record).value();
    }
    txn.erase(small_values_key(1, first)).value();
    txn.commit().value();
  }
  BOOST_TEST((values_of(*store(), "c1") == named<value>{{"a", 1}, {"b", 2}, {"c", 3}}));
  const named<value> next{
    {"b", a_small_text('B')}, {"d", a_small_text('d')}, {"e", a_small_text('e')}};
  store()->put({"t", "", ""}, make_put("c2", "", next)).value();
  BOOST_TEST(
    (values_of(*store(), "c1") == named<value>{{"a", 1}, {"b", a_small_text('B')}, {"c", 3}}));
  BOOST_TEST(check_data(dir.path()).value().damaged == 0u);
  BOOST_TEST(store()->prune({"t"}, {.keep_latest = 0}).value().checkpoints == 2u);
  BOOST_TEST(kinds_of(dir.path()).empty());
}

// Where a key comes before the last one LMDB splits a page in the middle, and both halves stay so.
BOOST_AUTO_TEST_CASE(the_pages_of_a_thread_that_grows_are_full) {
  test::temporary_directory dir;
  {
    auto store = open_lmdb_saver(dir.path()).value();
    // So the numbers of the names are not in their order.
    store->put({"t", "", ""}, make_put(checkpoint_id(0), "", {{"z", 0}})).value();
    for (unsigned n = 1; n <= 300; ++n)
      store
        ->put({"t", "", ""},
              make_put(checkpoint_id(n), checkpoint_id(n - 1),
                       {{"a", std::string(100, 'a')}, {"z", std::string(100, 'z')}}, {}, {n, 7}))
        .value();
  }
  auto stats = stat_data(dir.path()).value();
  std::uint64_t records = 0;
  for (const auto& kind : stats.records)
    records += kind.bytes;
  BOOST_TEST(stats.used_bytes < records * 3 / 2);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
