// Values stored as what changed: the patches themselves, and chains of them in a store.
#include "persistence/record/value_patch.hpp"

#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/record/keys.hpp"
#include "persistence/record/record.hpp"
#include "persistence/record/value_base.hpp"
#include "tests/fixtures/savers.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <filesystem>
#include <random>

namespace troupe {

namespace {

using test::checkpoint_id;
using test::make_put;
using test::require_error;
using test::temporary_directory;

using dice = std::mt19937;

std::size_t below(dice& d, std::size_t n) {
  return std::uniform_int_distribution<std::size_t>{0, n - 1}(d);
}

value random_value(dice& d, int depth) {
  switch (below(d, depth > 0 ? 7 : 5)) {
    case 0: return value(static_cast<int>(below(d, 3)));
    case 1: return value(std::string(below(d, 40), 'a'));
    case 2: return {};
    case 3: return value(0.5);
    case 4: return value::extension(value_kind::message, {{"content", "hello"}, {"role", "user"}});
    case 5: {
      std::vector<value> items;
      for (auto n = below(d, 5); n > 0; --n)
        items.push_back(random_value(d, depth - 1));
      return value::list(std::move(items));
    }
    default: {
      std::vector<value::map_init> entries;
      for (auto n = below(d, 5); n > 0; --n)
        entries.emplace_back(std::string(1, static_cast<char>('a' + below(d, 6))),
                             random_value(d, depth - 1));
      return value::map(std::move(entries));
    }
  }
}

// As channels change: grows, loses its oldest, gets and loses entries, somewhere inside.
value changed(dice& d, const value& v) {
  if (v.is_list()) {
    if (auto what = below(d, 4); what < 2 || v.empty())
      return v.append(random_value(d, 2));
    else if (what == 2)
      return value::list({v.items().begin() + 1, v.items().end()}).append(random_value(d, 1));
    auto items = std::vector<value>(v.items().begin(), v.items().end());
    auto& one = items[below(d, items.size())];
    one = changed(d, one);
    return value::list(std::move(items));
  }
  if (v.is_map()) {
    std::string key(1, static_cast<char>('a' + below(d, 6)));
    switch (below(d, 3)) {
      case 0: return v.with(key, random_value(d, 2));
      case 1: return v.without(key);
      default: return v.contains(key) ? v.with(key, changed(d, v[key])) : v;
    }
  }
  return random_value(d, 3);
}

value numbers(int n) {
  std::vector<value> out;
  for (int i = 0; i < n; ++i)
    out.emplace_back(i);
  return value::list(std::move(out));
}

std::string patch_of(const value& before, const value& after) {
  std::string out;
  BOOST_REQUIRE(append_patch(before, after, out));
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_value_patch)

BOOST_DATA_TEST_CASE(a_patch_makes_the_new_value_of_the_old_one,
                     boost::unit_test::data::xrange(200u), seed) {
  dice d{seed};
  auto before = random_value(d, 4);
  int patched = 0;
  for (int i = 0; i < 50; ++i) {
    auto after = changed(d, before);
    std::string patch{"kept"};
    if (append_patch(before, after, patch)) {
      ++patched;
      auto made = apply_patch(before, std::string_view{patch}.substr(4));
      BOOST_REQUIRE(made.has_value());
      BOOST_REQUIRE(*made == after);
    }
    BOOST_TEST(patch.starts_with("kept"));
    BOOST_TEST((patch.size() > 4 || !append_patch(before, after, patch)));
    before = after;
  }
  if (before.is_list() || before.is_map())
    BOOST_TEST(patched > 0);
}

BOOST_AUTO_TEST_CASE(the_patch_of_a_list_that_grew_is_as_long_as_what_it_got) {
  auto longer = [](int n) { return patch_of(numbers(n), numbers(n).append("more")).size(); };
  BOOST_TEST(longer(1'000) <= longer(10) + 2); // a length takes a byte or two more
  auto nested = [](const value& log) { return value{{"log", log}, {"x", std::string(999, 'x')}}; };
  BOOST_TEST(patch_of(nested(numbers(1'000)), nested(numbers(1'000).append(1))).size() < 20u);
}

BOOST_AUTO_TEST_CASE(a_list_that_drops_its_oldest_is_patched_too) {
  auto before = numbers(100);
  auto after = value::list({before.items().begin() + 3, before.items().end()}).append("new");
  auto patch = patch_of(before, after);
  BOOST_TEST(patch.size() < 16u);
  BOOST_TEST((apply_patch(before, patch).value() == after));
}

BOOST_AUTO_TEST_CASE(values_that_share_nothing_have_no_patch) {
  std::string out;
  BOOST_TEST(!append_patch(numbers(3), value::list({"other"}), out));
  BOOST_TEST(!append_patch(value(1), value(2), out));
  BOOST_TEST(!append_patch(numbers(3), value::map(), out));
  BOOST_TEST(out.empty());
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_patch_are_refused) {
  auto before = value{{"a", numbers(3)}, {"b", 1}};
  auto patch = patch_of(before, value{{"a", numbers(4)}, {"c", 2}});
  for (std::size_t n = 0; n < patch.size(); ++n)
    BOOST_TEST(!apply_patch(before, std::string_view{patch}.substr(0, n)).has_value());
  require_error(apply_patch(before, patch + "x"), errc::checkpoint_corrupt);
  require_error(apply_patch(value(7), patch), errc::checkpoint_corrupt);
  dice d{1};
  for (int i = 0; i < 20'000; ++i) { // an error or some value, and nothing else
    auto bytes = patch;
    for (auto n = 1 + below(d, 3); n > 0; --n)
      bytes[below(d, bytes.size())] = static_cast<char>(below(d, 256));
    (void)apply_patch(before, bytes);
  }
}

BOOST_AUTO_TEST_CASE(a_whole_value_comes_the_later_the_larger_it_is) {
  auto due_at = [](std::size_t bytes) {
    value_base base{{}, {}, bytes};
    while (!whole_is_due(base))
      ++base.depth;
    return base.depth;
  };
  BOOST_TEST(due_at(200) == 16u);
  BOOST_TEST(due_at(64'000) == 1'000u);
}

// ---- in a store -----------------------------------------------------------------------------

namespace {

checkpoint_put log_put(unsigned n, const value& log, std::uint64_t tag = 7) {
  return make_put(checkpoint_id(n), n == 0 ? "" : checkpoint_id(n - 1), {{"log", log}},
                  value::map({}), {n + 1, tag});
}

value log_of(saver& from, unsigned n) {
  return from.get_tuple({"t", "", checkpoint_id(n)})
    .value()
    ->checkpoint.channel_values.at(0)
    .second;
}

value item(unsigned n) {
  return value("item " + std::to_string(n) + std::string(80, '.'));
}

} // namespace

BOOST_AUTO_TEST_CASE(every_version_of_a_growing_list_reads_back_and_each_element_is_stored_once) {
  temporary_directory dir;
  constexpr unsigned versions = 300;
  std::vector<value> expected;
  for (unsigned round = 0; round < 2; ++round) { // the second one opens what the first one left
    auto store = open_lmdb_saver(dir.path(), {}).value();
    auto log = expected.empty() ? value::list() : expected.back();
    for (unsigned i = 0; i < versions / 2; ++i) {
      log = log.append(item(static_cast<unsigned>(expected.size())));
      store->put({"t", "", ""}, log_put(static_cast<unsigned>(expected.size()), log)).value();
      expected.push_back(log);
    }
  }
  auto store = open_lmdb_saver(dir.path(), {}).value();
  for (unsigned n = 0; n < versions; ++n)
    BOOST_REQUIRE((log_of(*store, n) == expected[n]));
  auto all = store->list({.thread_id = "t"}).value();
  BOOST_REQUIRE(all.size() == versions);
  for (unsigned n = 0; n < versions; ++n)
    BOOST_REQUIRE((all[n].checkpoint.channel_values[0].second == expected[versions - 1 - n]));
  // Whole, they would be 150 * 90 * 300 bytes: 4 MB.
  BOOST_TEST(std::filesystem::file_size(dir.path() / "troupe.mdb") < 400'000u);
}

BOOST_AUTO_TEST_CASE(branches_with_equal_version_numbers_do_not_meet) {
  temporary_directory dir;
  auto store = open_lmdb_saver(dir.path(), {}).value();
  auto log = value::list();
  for (unsigned n = 0; n < 10; ++n)
    store->put({"t", "", ""}, log_put(n, log = log.append(item(n)))).value();
  auto fork = log_of(*store, 4);
  for (unsigned n = 5; n < 8; ++n) { // other checkpoints, lower versions, another tag
    auto put = log_put(n, fork = fork.append(item(100 + n)), 8);
    put.checkpoint.id = checkpoint_id(100 + n);
    store->put({"t", "", ""}, put).value();
  }
  BOOST_TEST((log_of(*store, 9) == log));
  BOOST_TEST((log_of(*store, 107) == fork));
}

BOOST_AUTO_TEST_CASE(a_patch_whose_base_is_another_value_is_damage) {
  temporary_directory dir;
  auto fill = [&dir] {
    auto store = open_lmdb_saver(dir.path(), {}).value();
    auto log = value::list({item(0), item(1), item(2), item(3)});
    store->put({"t", "", ""}, log_put(0, log)).value();
    store->put({"t", "", ""}, log_put(1, log.append(item(4)))).value();
  };
  fill();
  auto env = open_saver_file(dir.path() / "troupe.mdb", 1u << 30).value();
  auto txn = env->begin_write().value();
  auto key = value_key(1, {1, 7}, 0);
  BOOST_REQUIRE((kind_of(*txn.get(key).value()) == record_kind::value));
  BOOST_REQUIRE((kind_of(*txn.get(value_key(1, {2, 7}, 0)).value()) == record_kind::patch));
  std::string record;
  begin_record(record);
  encode_msgpack(value::list({"of", "another", "time"}), record).value();
  seal_record(record, key, record_kind::value);
  txn.put(key, record).value();
  txn.commit().value();
  env.reset();
  auto store = open_lmdb_saver(dir.path(), {}).value();
  require_error(store->get_tuple({"t", "", checkpoint_id(1)}), errc::checkpoint_corrupt);
  BOOST_TEST(log_of(*store, 0).size() == 3u); // the rest stays readable
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
