// The values that a store keeps decoded: found for their own records only, and bounded.
#include "persistence/lmdb/value_cache.hpp"

#include "tests/persistence/lmdb/lmdb_saver_fixture.hpp"

namespace troupe {
namespace {

using test::checkpoint_id;
using test::make_put;

value list_of(std::size_t count, const std::string& text) {
  std::vector<value> items;
  for (std::size_t i = 0; i < count; ++i)
    items.emplace_back(text + std::to_string(i));
  return value::list(std::move(items));
}

value_cache::entry entry_of(std::uint64_t number, std::size_t bytes) {
  return {.at = {number, 7}, .checksum = number, .val = value(number), .bytes = bytes};
}

struct value_cache_fixture : test::lmdb_saver_fixture {
  static value items_of(saver& from) {
    return from.get_tuple({"t", "", ""}).value()->checkpoint.channel_values.at(0).second;
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_value_cache, value_cache_fixture)

BOOST_AUTO_TEST_CASE(a_list_that_grows_reads_as_it_was_stored_at_each_length) {
  auto store = open(dir);
  for (unsigned n = 0; n < 50; ++n) {
    auto items = list_of(20 + n, "item ");
    store
      ->put({"t", "", ""}, make_put(checkpoint_id(n), n == 0 ? "" : checkpoint_id(n - 1),
                                    {{"items", items}}, value{{"step", n}}, {n + 1, 7}))
      .value();
    BOOST_TEST(items_of(*store) == items);
    BOOST_TEST(items_of(*store) == items); // now it is known
  }
  auto older = store->get_tuple({"t", "", checkpoint_id(3)}).value();
  BOOST_TEST(older->checkpoint.channel_values.at(0).second == list_of(23, "item "));
  BOOST_TEST(items_of(*store) == list_of(69, "item "));
}

BOOST_AUTO_TEST_CASE(a_value_that_replaces_another_one_of_its_version_is_read) {
  auto store = open(dir);
  for (const char* text : {"first ", "later ", "third "}) { // of one size, under one key
    store
      ->put({"t", "", ""},
            make_put(checkpoint_id(0), "", {{"items", list_of(40, text)}}, value::map({}), {1, 7}))
      .value();
    BOOST_TEST(items_of(*store) == list_of(40, text));
  }
}

BOOST_AUTO_TEST_CASE(a_thread_that_was_deleted_and_made_again_has_its_new_values) {
  auto store = open(dir);
  for (const char* text : {"first ", "later "}) {
    store
      ->put({"t", "", ""},
            make_put(checkpoint_id(0), "", {{"items", list_of(40, text)}}, value::map({}), {1, 7}))
      .value();
    BOOST_TEST(items_of(*store) == list_of(40, text));
    store->delete_thread("t").value();
    BOOST_TEST(!store->get_tuple({"t", "", ""}).value().has_value());
  }
}

BOOST_AUTO_TEST_CASE(what_is_kept_is_bounded_and_the_newest_value_stays) {
  value_cache cache{100};
  cache.keep({1, 1}, entry_of(1, 60));
  cache.keep({1, 2}, entry_of(2, 40)); // exactly at the bound
  BOOST_TEST(cache.find({1, 1}).has_value());
  BOOST_TEST(cache.find({1, 2}).has_value());
  cache.keep({1, 2}, entry_of(3, 41));
  BOOST_TEST(!cache.find({1, 1}).has_value());
  BOOST_REQUIRE(cache.find({1, 2}).has_value());
  BOOST_TEST(cache.find({1, 2})->val == value(3));
  cache.keep({1, 3}, entry_of(4, 101)); // larger than the bound
  BOOST_TEST(!cache.find({1, 3}).has_value());
  BOOST_TEST(cache.find({1, 2}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
