// Every store: batches, times to live, and any sequence of operations held against a plain model.
#include "tests/persistence/store/store_kinds.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <map>
#include <random>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using boost::unit_test::data::make;
using boost::unit_test::data::xrange;
using test::require_error;
using test::store_kinds;
using texts = std::vector<std::string>;

store_options with_ttl(store_ttl_config ttl) {
  return {.ttl = ttl};
}

bool has(store& in, const std::string& key, std::optional<bool> refresh = false) {
  return in.get({"a"}, key, refresh).value().has_value();
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_store_ttl, test::store_fixture)

// ---- batches ------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_batch_answers_in_order_and_looks_before_it_puts, make(store_kinds), kind) {
  use(kind);
  put({"a"}, "old", value{{"n", 1}});
  auto answers =
    items
      ->batch({store_put{{"a"}, "new", value{{"n", 2}}}, store_get{{"a"}, "new"},
               store_get{{"a"}, "old"}, store_put{{"a"}, "old", {}}, store_query{.prefix = {"a"}},
               store_put{{"b"}, "k", value::map()}, namespace_query{}})
      .value();
  BOOST_REQUIRE(answers.size() == 7u);
  BOOST_TEST(std::holds_alternative<std::monostate>(answers[0]));
  BOOST_TEST(!std::get<std::optional<store_item>>(answers[1]).has_value());
  BOOST_TEST(std::get<std::optional<store_item>>(answers[2])->value == value({{"n", 1}}));
  BOOST_TEST(std::get<std::vector<store_item>>(answers[4]).size() == 1u);
  BOOST_TEST(
    (std::get<std::vector<store_namespace>>(answers[6]) == std::vector<store_namespace>{{"a"}}));
  BOOST_TEST((keys({}) == texts{"new", "k"}));
}

BOOST_DATA_TEST_CASE(of_several_puts_to_one_key_the_last_counts, make(store_kinds), kind) {
  use(kind);
  items
    ->batch({store_put{{"a"}, "k", value{{"n", 1}}}, store_put{{"a"}, "gone", value::map()},
             store_put{{"a"}, "k", value{{"n", 2}}}, store_put{{"a"}, "gone", {}},
             store_put{{"a"}, "back", {}}, store_put{{"a"}, "back", value::map()}})
    .value();
  BOOST_TEST(items->get({"a"}, "k").value()->value == value({{"n", 2}}));
  BOOST_TEST((keys({}) == texts{"back", "k"}));
}

BOOST_DATA_TEST_CASE(a_batch_with_one_bad_operation_changes_nothing, make(store_kinds), kind) {
  use(kind);
  for (const store_op& bad :
       {store_op{store_put{{"a.b"}, "k", value::map()}}, store_op{store_put{{"a"}, "k", value{1}}},
        store_op{store_put{{"a"}, "k", value::map(), {}, 0ms}},
        store_op{store_query{.filter = value{{"m", value{{"$in", 1}}}}}}})
    require_error(items->batch({store_put{{"a"}, "good", value::map()}, bad}), errc::invalid_value);
  require_error(items->batch(std::vector<store_op>(limits::store_batch_ops_max + 1, store_get{})),
                errc::invalid_value);
  BOOST_TEST(keys({}).empty());
  BOOST_TEST(items->batch({}).value().empty());
}

// ---- times to live ------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(an_item_is_gone_once_its_time_is_over, make(store_kinds), kind) {
  use(kind);
  items->put({.space = {"a"}, .key = "k", .value = value::map(), .ttl = 10s}).value();
  put({"a", "b"}, "stays", value::map());
  now += 10s - 1us;
  BOOST_TEST(has(*items, "k"));
  BOOST_TEST((keys({.refresh_ttl = false}) == texts{"k", "stays"}));
  now += 1us;
  BOOST_TEST(!has(*items, "k"));
  BOOST_TEST((keys({.refresh_ttl = false}) == texts{"stays"}));
  BOOST_TEST((listed() == std::vector<store_namespace>{{"a", "b"}}));
}

BOOST_DATA_TEST_CASE(a_read_lets_the_time_begin_anew_unless_told, make(store_kinds), kind) {
  use(kind);
  for (const auto* key : {"got", "found", "not_got", "not_found"})
    items->put({.space = {key}, .key = "k", .value = value::map(), .ttl = 10s}).value();
  now += 6s;
  items->get({"got"}, "k").value();
  items->search({.prefix = {"found"}}).value();
  items->get({"not_got"}, "k", false).value();
  items->search({.prefix = {"not_found"}, .refresh_ttl = false}).value();
  now += 6s;
  BOOST_TEST((listed() == std::vector<store_namespace>{{"found"}, {"got"}}));
}

BOOST_DATA_TEST_CASE(a_store_told_not_to_refresh_does_so_only_when_asked, make(store_kinds), kind) {
  use(kind, with_ttl({.refresh_on_read = false}));
  for (const auto* key : {"asked", "plain"})
    items->put({.space = {"a"}, .key = key, .value = value::map(), .ttl = 10s}).value();
  now += 6s;
  BOOST_TEST(has(*items, "asked", true));
  BOOST_TEST(has(*items, "plain", std::nullopt));
  now += 6s;
  BOOST_TEST((keys({}) == texts{"asked"}));
}

BOOST_DATA_TEST_CASE(only_the_items_that_a_search_gives_are_refreshed, make(store_kinds), kind) {
  use(kind);
  for (const auto* key : {"1", "2", "3"})
    items->put({.space = {"a"}, .key = key, .value = value::map(), .ttl = 10s}).value();
  now += 6s;
  BOOST_TEST((keys({.limit = 1, .offset = 1}) == texts{"2"}));
  now += 6s;
  BOOST_TEST((keys({}) == texts{"2"}));
}

BOOST_DATA_TEST_CASE(the_store_has_a_time_to_live_for_puts_that_name_none, make(store_kinds),
                     kind) {
  use(kind, with_ttl({.default_ttl = 5s}));
  put({"a"}, "default", value::map());
  items->put({.space = {"a"}, .key = "longer", .value = value::map(), .ttl = 9s}).value();
  items->put({.space = {"a"}, .key = "ever", .value = value::map(), .ttl = store_forever}).value();
  now += 5s;
  BOOST_TEST((keys({.refresh_ttl = false}) == texts{"ever", "longer"}));
  now += 24h * 365 * 20;
  BOOST_TEST((keys({}) == texts{"ever"}));
}

BOOST_DATA_TEST_CASE(a_put_replaces_the_time_to_live_too, make(store_kinds), kind) {
  use(kind);
  items->put({.space = {"a"}, .key = "k", .value = value::map(), .ttl = 5s}).value();
  put({"a"}, "k", value::map());
  now += 5s;
  BOOST_TEST(items->sweep().value() == 0u);
  BOOST_TEST(has(*items, "k"));
}

BOOST_DATA_TEST_CASE(what_is_over_is_created_anew, make(store_kinds), kind) {
  use(kind);
  items->put({.space = {"a"}, .key = "k", .value = value::map(), .ttl = 1s}).value();
  now += 1s;
  put({"a"}, "k", value::map());
  BOOST_TEST(items->get({"a"}, "k").value()->created_at == "1970-01-01T00:00:01.000000+00:00");
}

BOOST_DATA_TEST_CASE(the_longest_time_to_live_is_a_hundred_years, make(store_kinds), kind) {
  use(kind);
  now = std::chrono::system_clock::time_point::max();
  items->put({.space = {"a"}, .key = "k", .value = value::map(), .ttl = store_forever - 1ms})
    .value();
  BOOST_TEST(has(*items, "k", true));
  for (auto ttl : {0ms, -1ms, store_ttl::min()})
    require_error(items->put({.space = {"a"}, .key = "k", .value = value::map(), .ttl = ttl}),
                  errc::invalid_value);
}

BOOST_DATA_TEST_CASE(sweep_says_how_many_items_it_removed, make(store_kinds), kind) {
  use(kind, with_ttl({.sweep_interval = store_forever}));
  std::vector<store_op> puts;
  for (int i = 0; i < 1200; ++i) // more than one change sweeps
    puts.emplace_back(store_put{{"a"}, std::to_string(i), value::map(), {}, i < 1100 ? 1s : 3s});
  items->batch(puts).value();
  now += 2s;
  put({"a"}, "k", value::map());
  BOOST_TEST(items->sweep().value() == 1100u);
  BOOST_TEST(items->sweep().value() == 0u);
  BOOST_TEST(keys({.limit = 2000}).size() == 101u);
}

BOOST_DATA_TEST_CASE(a_sweep_of_so_many_items_takes_those_whose_time_was_over_first,
                     make(store_kinds), kind) {
  use(kind, with_ttl({.sweep_interval = store_forever}));
  std::vector<store_op> puts;
  for (int i = 0; i < 12; ++i)
    puts.emplace_back(store_put{.space = {"a"},
                                .key = std::to_string(i),
                                .value = value::map(),
                                .ttl = std::chrono::seconds{12 - i}});
  puts.emplace_back(store_put{.space = {"a"}, .key = "stays", .value = value::map()});
  items->batch(puts).value();
  now += 100s;
  BOOST_TEST(items->sweep(5).value() == 5u);
  now -= 100s; // what was not swept is there still
  BOOST_TEST((keys({.limit = 100}) == texts{"0", "1", "2", "3", "4", "5", "6", "stays"}));
  now += 100s;
  BOOST_TEST(items->sweep(0).value() == 0u);
  BOOST_TEST(items->sweep(7).value() == 7u);
  BOOST_TEST(items->sweep().value() == 0u);
  BOOST_TEST(has(*items, "stays"));
}

BOOST_DATA_TEST_CASE(a_put_sweeps_when_the_time_has_come, make(store_kinds), kind) {
  use(kind, with_ttl({.sweep_interval = 10s}));
  items->put({.space = {"a"}, .key = "k", .value = value::map(), .ttl = 1s}).value();
  now += 9s;
  put({"b"}, "k", value::map());
  now += 1s;
  put({"b"}, "k", value::map()); // sweeps
  BOOST_TEST(items->sweep().value() == 0u);
  items->put({.space = {"a"}, .key = "k", .value = value::map(), .ttl = 1s}).value();
  now += 9s;
  put({"b"}, "k", value::map());
  BOOST_TEST(items->sweep().value() == 1u);
}

BOOST_AUTO_TEST_CASE(a_store_refuses_options_that_make_no_sense) {
  embed_function embed = [](const texts& t) { return std::vector<std::vector<float>>(t.size()); };
  const std::vector<store_options> all{
    {.now = nullptr},
    {.ttl = {.default_ttl = 0ms}},
    {.ttl = {.sweep_interval = -1ms}},
    {.index = store_index{.dims = 0, .embed = embed}},
    {.index = store_index{.dims = limits::store_vector_dims_max + 1, .embed = embed}},
    {.index = store_index{.dims = 3, .embed = nullptr}},
    {.index = store_index{.dims = 3, .embed = embed, .fields = {"a["}}},
    {.index = store_index{.dims = 3, .embed = embed, .fields = texts(65, "a")}}};
  for (const auto& options : all) {
    BOOST_CHECK_EXCEPTION(make_memory_store(options), error,
                          [](const error& err) { return err.code() == errc::invalid_config; });
    require_error(open_lmdb_store(directory.path(), {.store = options}), errc::invalid_config);
  }
}

// ---- against a model ----------------------------------------------------------------------------

namespace {

using place = std::pair<store_namespace, std::string>;
using clock_time = std::chrono::system_clock::time_point;

struct model_item {
  std::int64_t n = 0;
  store_ttl ttl = store_forever;
  clock_time end = clock_time::max();
};

// A store as one map, and the same operation done on it and on a store.
struct model {
  std::mt19937_64 random;
  std::map<place, model_item> items = {};

  std::size_t below(std::size_t n) { return random() % n; }
  store_namespace space() {
    static const std::vector<store_namespace> all{{"a"},
                                                  {"a", "b"},
                                                  {"a", "b", "c"},
                                                  {"ab"},
                                                  {"b"},
                                                  {std::string(900, 'x'), "y"},
                                                  {std::string(900, 'x'), "z"},
                                                  {std::string("a\0", 2)}};
    return all[below(all.size())];
  }
  store_namespace prefix() {
    auto found = space();
    found.resize(below(found.size() + 1));
    return found;
  }
  std::string key() { return below(20) == 0 ? std::string(700, 'k') : std::to_string(below(6)); }
  std::optional<bool> maybe() {
    auto drawn = below(3);
    return drawn == 0 ? std::nullopt : std::optional{drawn == 1};
  }

  void forget_over(clock_time now) {
    std::erase_if(items, [now](const auto& at) { return at.second.end <= now; });
  }
  void refresh(model_item& item, std::optional<bool> asked, clock_time now) {
    if (asked.value_or(true) && item.ttl != store_forever)
      item.end = now + item.ttl;
  }

  store_op put() {
    store_put op{.space = space(), .key = key(), .value = {}};
    if (below(4) != 0)
      op.value = value{{"n", static_cast<std::int64_t>(below(5))}};
    if (below(2) == 0)
      op.ttl = std::chrono::seconds{1 + below(20)};
    return op;
  }
  void apply(const store_put& op, clock_time now) {
    if (op.value.is_null())
      items.erase({op.space, op.key});
    else
      items[{op.space, op.key}] = {op.value["n"].as_int(), op.ttl.value_or(store_forever),
                                   op.ttl ? now + *op.ttl : clock_time::max()};
  }
  // The results of a search, and its effect on times to live.
  std::vector<place> search(const store_query& query, clock_time now) {
    std::vector<place> found;
    std::size_t skipped = 0;
    for (auto& [at, item] : items) {
      auto is_under = query.prefix.size() <= at.first.size()
                      && std::equal(query.prefix.begin(), query.prefix.end(), at.first.begin());
      if (!is_under || item.n < query.filter["n"]["$gte"].as_int() || found.size() == query.limit)
        continue;
      if (skipped++ < query.offset)
        continue;
      found.push_back(at);
      refresh(item, query.refresh_ttl, now);
    }
    return found;
  }
};

} // namespace

BOOST_DATA_TEST_CASE(any_operations_have_the_answers_of_a_plain_map, make(store_kinds) * xrange(3u),
                     kind, seed) {
  use(kind, with_ttl({.sweep_interval = 30s}));
  model expected{std::mt19937_64{seed}};
  for (int step = 0; step < 250; ++step) {
    now += std::chrono::milliseconds{expected.below(2000)};
    expected.forget_over(now);
    switch (expected.below(8)) {
      case 0:
      case 1:
      case 2: { // puts, several at once
        std::vector<store_op> ops;
        for (auto count = 1 + expected.below(4); count > 0; --count)
          ops.push_back(expected.put());
        items->batch(ops).value();
        for (const auto& op : ops)
          expected.apply(std::get<store_put>(op), now);
        break;
      }
      case 3:
      case 4: {
        place at{expected.space(), expected.key()};
        auto asked = expected.maybe();
        auto found = items->get(at.first, at.second, asked).value();
        auto known = expected.items.find(at);
        BOOST_REQUIRE(found.has_value() == (known != expected.items.end()));
        if (found) {
          BOOST_REQUIRE(found->value["n"] == value(known->second.n));
          expected.refresh(known->second, asked, now);
        }
        break;
      }
      case 5: {
        std::vector<store_namespace> spaces;
        for (const auto& [at, item] : expected.items)
          spaces.push_back(at.first);
        spaces.erase(std::unique(spaces.begin(), spaces.end()), spaces.end());
        BOOST_REQUIRE((listed() == spaces));
        break;
      }
      case 6:
        if (step % 5 == 0)
          items->sweep().value();
        break;
      default: {
        auto least = static_cast<std::int64_t>(expected.below(4));
        store_query query{.prefix = expected.prefix(),
                          .filter = value{{"n", value{{"$gte", least}}}},
                          .limit = expected.below(8),
                          .offset = expected.below(4),
                          .refresh_ttl = expected.maybe()};
        std::vector<place> found;
        for (const auto& item : items->search(query).value())
          found.emplace_back(item.space, item.key);
        BOOST_REQUIRE((found == expected.search(query, now)));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
