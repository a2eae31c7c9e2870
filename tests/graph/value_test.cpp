// The value: handles, sharing, equality, and what it refuses.
#include "graph/list_ids.hpp"
#include "tests/fixtures/counted_memory.hpp"
#include "tests/graph/samples.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

namespace troupe {

static_assert(sizeof(value) == 16);
static_assert(std::is_nothrow_move_constructible_v<value>);
static_assert(std::is_nothrow_copy_assignable_v<value>);
static_assert(!std::is_constructible_v<value, int*>);
static_assert(!std::is_constructible_v<value, char>);

namespace {

auto fails_with(errc code) {
  return [code](const error& e) { return e.code() == code; };
}

bool all_equal(const value& list, std::size_t from, const value& item) {
  auto items = list.items().subspan(from);
  return std::all_of(items.begin(), items.end(), [&](const value& v) { return v == item; });
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_value)

// ---- kinds ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(value_tells_its_kind_and_content) {
  BOOST_TEST(value().is_null());
  BOOST_TEST(value(nullptr).is_null());
  BOOST_TEST(value(true).as_bool());
  BOOST_TEST(value(-5).as_int() == -5);
  BOOST_TEST(value(2.5).as_double() == 2.5);
  BOOST_TEST(value(2).as_double() == 2.0);
  value text("text");
  BOOST_TEST(text.as_string() == "text");
  auto bytes = samples::some_bytes("abc");
  BOOST_TEST(bytes.as_bytes().size() == 3u);
  BOOST_TEST(bytes.is(value_kind::bytes));
  auto stamp = value::extension(value_kind::timestamp, 5);
  BOOST_TEST(stamp.is(value_kind::timestamp));
  BOOST_TEST(stamp.payload() == 5);
  BOOST_TEST(stamp.size() == 0u);
}

BOOST_AUTO_TEST_CASE(every_kind_survives_copies_moves_and_assignments) {
  for (const auto& [name, v] : samples::every_kind()) {
    BOOST_TEST_CONTEXT(name) {
      value copy(v);
      BOOST_TEST((copy == v));
      value moved(std::move(copy));
      BOOST_TEST((moved == v));
      BOOST_TEST(copy.is_null());
      copy = moved;
      BOOST_TEST((copy == v));
      auto& self = copy;
      copy = self;
      BOOST_TEST((copy == v));
      copy = std::move(self);
      BOOST_TEST((copy == v));
      copy = value("something else altogether");
      BOOST_TEST((moved == v));
    }
  }
}

BOOST_AUTO_TEST_CASE(value_may_be_assigned_from_a_part_of_itself) {
  auto v = value::list({value::list({"the innermost string, a long one"})});
  v = v[0];
  v = v[0];
  BOOST_TEST(v == "the innermost string, a long one");
  value m{{"a", {{"b", "the innermost string, a long one"}}}};
  m = m["a"]["b"];
  BOOST_TEST(m == "the innermost string, a long one");
}

BOOST_DATA_TEST_CASE(strings_keep_every_byte_at_any_length, boost::unit_test::data::xrange(0, 40),
                     size) {
  std::string text;
  for (int i = 0; i < size; ++i)
    text += static_cast<char>(i * 37);
  value v(text);
  value copy = v;
  BOOST_TEST(copy.as_string() == text);
  BOOST_TEST(copy.size() == text.size());
  BOOST_TEST(copy == value(text));
  BOOST_TEST(copy.hash() == value(text).hash());
  BOOST_TEST(copy != value(text + "x"));
}

BOOST_AUTO_TEST_CASE(short_strings_live_in_the_handle_up_to_14_bytes) {
  auto inside = [](const value& v) {
    auto* at = v.as_string().data();
    auto* self = reinterpret_cast<const char*>(&v);
    return std::less_equal<>{}(self, at) && std::less<>{}(at, self + sizeof v);
  };
  BOOST_TEST(inside(value("12345678901234")));
  BOOST_TEST(!inside(value("123456789012345")));
}

BOOST_AUTO_TEST_CASE(wrong_kinds_are_refused_by_name) {
  value text("text");
  BOOST_CHECK_EXCEPTION((void)text.as_int(), error, [](const error& e) {
    return e.code() == errc::invalid_value && e.message().find("integer") != std::string::npos
           && e.message().find("string") != std::string::npos;
  });
  BOOST_CHECK_EXCEPTION((void)value(1.5).as_int(), error, fails_with(errc::invalid_value));
  BOOST_CHECK_EXCEPTION((void)text.as_double(), error, fails_with(errc::invalid_value));
  BOOST_CHECK_EXCEPTION((void)value(1).as_bool(), error, fails_with(errc::invalid_value));
  BOOST_CHECK_EXCEPTION((void)text.as_bytes(), error, fails_with(errc::invalid_value));
  BOOST_CHECK_EXCEPTION((void)text.payload(), error, fails_with(errc::invalid_value));
  BOOST_CHECK_EXCEPTION((void)text.append(1), error, fails_with(errc::invalid_value));
  BOOST_CHECK_EXCEPTION((void)text.with("a", 1), error, fails_with(errc::invalid_value));
  BOOST_CHECK_EXCEPTION((void)text.without("a"), error, fails_with(errc::invalid_value));
  BOOST_CHECK_EXCEPTION((void)text.at(0), error, fails_with(errc::invalid_value));
  BOOST_CHECK_EXCEPTION((void)value::list({1}).at(1), error, fails_with(errc::invalid_value));
  BOOST_CHECK_EXCEPTION((void)value::map().at("a"), error, fails_with(errc::missing_key));
  BOOST_CHECK_EXCEPTION((void)text.at("a"), error, fails_with(errc::missing_key));
}

BOOST_AUTO_TEST_CASE(extensions_refuse_payloads_that_do_not_fit) {
  auto refused = fails_with(errc::invalid_value);
  BOOST_CHECK_EXCEPTION(value::extension(value_kind::list, 1), error, refused);
  BOOST_CHECK_EXCEPTION(value::extension(value_kind{24}, 1), error, refused);
  BOOST_CHECK_EXCEPTION(value::extension(value_kind::message, "text"), error, refused);
  BOOST_CHECK_EXCEPTION(value::extension(value_kind::send, {1, 2}), error, refused);
  BOOST_CHECK_EXCEPTION(value::extension(value_kind::send, value::list({"a"})), error, refused);
  BOOST_CHECK_EXCEPTION(value::extension(value_kind::timestamp, 1.0), error, refused);
  BOOST_CHECK_EXCEPTION(value::extension(value_kind::remove_message, 1), error, refused);
}

BOOST_AUTO_TEST_CASE(look_ups_of_what_is_not_there_give_null) {
  value v{{"a", {1, 2}}};
  BOOST_TEST(v["a"][1] == 2);
  BOOST_TEST(v["a"][std::size_t{2}].is_null());
  BOOST_TEST(v["a"][-1].is_null());
  BOOST_TEST(v["a"][2u].is_null());
  BOOST_TEST(v["b"]["c"][0].is_null());
  BOOST_TEST(v.contains("a"));
  BOOST_TEST(!v.contains("b"));
  BOOST_TEST(!value("a").contains("a"));
  BOOST_TEST(value(5).items().empty());
  BOOST_TEST(value(5).entries().empty());
}

// ---- braces ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(braces_of_pairs_make_a_map_and_others_a_list) {
  BOOST_TEST((value{{"a", 1}, {"b", {1, 2}}}.is_map()));
  BOOST_TEST((value{{"a", 1}}.is_map()));
  BOOST_TEST((value{1, 2}.is_list()));
  BOOST_TEST((value{{1, "a"}, {"b", 2}}.is_list()));
  BOOST_TEST((value{"a", 1}.is_list()));
  BOOST_TEST(value{}.is_null());
  value inner = 1;
  BOOST_TEST((value(inner) == 1));
  BOOST_TEST((value::list({{"a", 1}}).is_list()));
  BOOST_TEST((value{{"a", 1}, {"a", 2}} == value::map({{"a", 2}})));
}

// ---- lists ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(append_leaves_every_older_version_as_it_was) {
  std::vector<value> versions{value::list()};
  for (int i = 0; i < 100; ++i)
    versions.push_back(versions.back().append(i));
  for (int i = 0; i <= 100; ++i) {
    BOOST_REQUIRE(versions[static_cast<std::size_t>(i)].size() == static_cast<std::size_t>(i));
    for (int k = 0; k < i; ++k)
      BOOST_REQUIRE(versions[static_cast<std::size_t>(i)][k] == k);
  }
}

BOOST_AUTO_TEST_CASE(append_shares_the_prefix_while_there_is_room) {
  auto first = value::list({1}).append(2); // a buffer of four
  auto second = first.append(3);
  BOOST_TEST(first.items().data() == second.items().data());
  BOOST_TEST((first == value{1, 2}));
  BOOST_TEST((second == value{1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(append_of_the_same_handles_twice_shares_what_was_made) {
  std::vector<value> many;
  for (int i = 0; i < 100; ++i)
    many.emplace_back(i);
  auto list = value::list(std::move(many)).append(value("room"));
  auto item = value("a text that is too long for the handle itself");
  auto ahead = list.append(item);
  auto real = list.append(item);
  BOOST_TEST((real.items().data() == ahead.items().data()));
  auto other = list.append(value("a text that is too long for the handle itself"));
  BOOST_TEST((other.items().data() != ahead.items().data())); // equal, but not the same
  BOOST_TEST((other == real));
}

BOOST_AUTO_TEST_CASE(append_to_an_older_version_makes_a_branch) {
  auto base = value::list({1}).append(2);
  auto left = base.append("left");
  auto right = base.append("right");
  BOOST_TEST((left == value{1, 2, "left"}));
  BOOST_TEST((right == value{1, 2, "right"}));
  BOOST_TEST((left.append(4) == value{1, 2, "left", 4}));
  BOOST_TEST((base == value{1, 2}));
}

BOOST_AUTO_TEST_CASE(append_all_takes_its_own_elements) {
  auto list = value::list({1, 2});
  for (int i = 0; i < 5; ++i)
    list = list.append_all(list.items());
  BOOST_TEST(list.size() == 64u);
  BOOST_TEST(list[62] == 1);
  BOOST_TEST(list[63] == 2);
  BOOST_TEST((list.append_all({}) == list));
}

BOOST_AUTO_TEST_CASE(append_of_a_list_to_itself_makes_no_cycle) {
  auto list = value::list({1}).append(2); // with room for more
  auto wrapped = list.append(value{{"history", list}});
  BOOST_TEST((wrapped[2]["history"] == value{1, 2}));
  auto twice = list.append(list); // a leak checker sees it when this is a cycle
  BOOST_TEST((twice[2] == value{1, 2}));
  auto deep = value::list().append(1);
  for (int i = 0; i < 20; ++i)
    deep = deep.append(deep).append(i);
  BOOST_TEST(deep.size() == 41u);
}

BOOST_AUTO_TEST_CASE(append_from_four_threads_to_one_version_gives_each_its_own) {
  for (int round = 0; round < 50; ++round) {
    auto base = value::list({0}).append("a string that is too long for a handle");
    std::vector<value> results(4);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < results.size(); ++t)
      threads.emplace_back([&base, &results, t] {
        auto mine = base;
        for (int i = 0; i < 40; ++i)
          mine = mine.append("item of thread " + std::to_string(t));
        results[t] = mine;
      });
    for (auto& thread : threads)
      thread.join();
    BOOST_REQUIRE(base.size() == 2u);
    for (std::size_t t = 0; t < results.size(); ++t) {
      BOOST_REQUIRE(results[t].size() == 42u);
      BOOST_REQUIRE(all_equal(results[t], 2, value("item of thread " + std::to_string(t))));
    }
  }
}

BOOST_AUTO_TEST_CASE(values_are_dropped_by_the_last_of_several_threads_and_once) {
  for (int round = 0; round < 50; ++round) {
    auto before = counted_memory::live_blocks.load();
    {
      auto shared = samples::nested(10, "a string that is too long for a handle", round % 2 == 0);
      BOOST_REQUIRE(counted_memory::live_blocks >= before + 11); // a node each level, and the text
      std::vector<std::thread> threads;
      for (int t = 0; t < 4; ++t)
        threads.emplace_back([copy = shared]() mutable {
          auto again = copy;
          copy = nullptr;
        });
      shared = nullptr;
      for (auto& thread : threads)
        thread.join();
    }
    BOOST_REQUIRE(counted_memory::live_blocks == before);
  }
}

BOOST_AUTO_TEST_CASE(a_million_levels_are_compared_hashed_and_dropped) {
  auto build = [] { return samples::nested(1'000'000, 1); };
  auto a = build();
  auto b = build();
  BOOST_TEST((a == b));
  BOOST_TEST(a.hash() == b.hash());
  a = nullptr;
  auto before = counted_memory::live_blocks.load();
  auto maps = samples::nested(1'000'000, 1, true);
  BOOST_TEST(counted_memory::live_blocks >= before + 1'000'000);
  maps = nullptr;
  BOOST_TEST(counted_memory::live_blocks == before);
  value wrapped = 1;
  for (int i = 0; i < 1'000'000; ++i)
    wrapped = value::extension(value_kind::overwrite, wrapped);
  BOOST_TEST(counted_memory::live_blocks >= before + 1'000'000);
  wrapped = nullptr;
  BOOST_TEST(counted_memory::live_blocks == before);
}

// ---- maps -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(map_keeps_entries_in_key_order_and_the_last_of_equal_keys) {
  auto m = value::map({{"b", 1}, {"a", 2}, {"b", 3}, {"", 4}, {"ab", 5}, {"b", 6}, {"a", 7}});
  std::string keys;
  for (const auto& entry : m.entries())
    keys += std::string{entry.key()} + "=" + std::to_string(entry.val.as_int()) + " ";
  BOOST_TEST(keys == "=4 a=7 ab=5 b=6 ");
  BOOST_TEST(m.size() == 4u);
}

BOOST_AUTO_TEST_CASE(with_and_without_leave_the_map_as_it_was) {
  value m{{"a", 1}, {"c", 3}};
  auto added = m.with("b", 2);
  auto replaced = added.with("a", "one");
  BOOST_TEST((m == value{{"a", 1}, {"c", 3}}));
  BOOST_TEST((added == value{{"a", 1}, {"b", 2}, {"c", 3}}));
  BOOST_TEST((replaced == value{{"a", "one"}, {"b", 2}, {"c", 3}}));
  BOOST_TEST((replaced.without("b") == value{{"a", "one"}, {"c", 3}}));
  BOOST_TEST((m.without("x") == m));
  BOOST_TEST((m.without("a").without("c") == value::map()));
  BOOST_TEST((value::map().with("", value::map()) == value{{"", value::map()}}));
}

// ---- equality -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(values_of_different_kind_or_content_differ) {
  auto all = samples::every_kind();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = 0; k < all.size(); ++k) {
      bool equal = all[i].second == all[k].second;
      bool same_hash = all[i].second.hash() == all[k].second.hash();
      if (i == k)
        BOOST_TEST((equal && same_hash), all[i].first);
      else if (all[i].first.find("bytes") == std::string::npos // some stand there twice
               && all[i].first.find_first_not_of("-0123456789") != std::string::npos)
        BOOST_TEST((!equal && !same_hash), all[i].first << " and " << all[k].first);
    }
}

BOOST_AUTO_TEST_CASE(nan_is_equal_to_every_other_nan) {
  auto nan = std::bit_cast<double>(0xfff8'dead'beef'0001);
  BOOST_TEST((value(nan) == value(std::numeric_limits<double>::quiet_NaN())));
  BOOST_TEST(value(nan).hash() == value(std::nan("")).hash());
}

BOOST_DATA_TEST_CASE(equal_values_built_in_different_ways_have_equal_hashes,
                     boost::unit_test::data::xrange(50), seed) {
  samples::random_values random{static_cast<std::uint32_t>(seed)};
  auto entries = random.entries(4);
  auto at_once = value::map(entries);
  auto one_by_one = value::map();
  for (const auto& [key, v] : entries)
    one_by_one = one_by_one.with(key, 0).with(key, v);
  BOOST_TEST((at_once == one_by_one));
  BOOST_TEST(at_once.hash() == one_by_one.hash());
  std::vector<value> items;
  auto appended = value::list();
  for (const auto& entry : at_once.entries()) {
    items.push_back(entry.val);
    appended = appended.append(entry.val);
  }
  BOOST_TEST((value::list(items) == appended));
  BOOST_TEST(value::list(items).hash() == appended.hash());
}

BOOST_AUTO_TEST_CASE(hash_is_the_same_in_every_process) {
  value v{{"a", {1, 2.5, "a string that is too long for a handle", nullptr}}, {"b", true}};
  BOOST_TEST(v.hash() == 7256565248507745133u);
}

// ---- conversions ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(types_convert_both_ways) {
  std::map<std::string, std::vector<int>> numbers{{"a", {1, 2}}, {"b", {}}};
  auto v = value::of(numbers);
  BOOST_TEST((v == value{{"a", value::list({1, 2})}, {"b", value::list()}}));
  BOOST_TEST((v.as<std::map<std::string, std::vector<int>>>() == numbers));
  BOOST_TEST((value::of(std::optional<double>{}).is_null()));
  BOOST_TEST((value(3).as<std::optional<double>>() == 3.0));
  BOOST_TEST((value::of(7u) == 7));
  BOOST_TEST(value("x").as<std::string>() == "x");
  BOOST_CHECK_EXCEPTION((void)value(300).as<std::uint8_t>(), error,
                        fails_with(errc::invalid_value));
  BOOST_CHECK_EXCEPTION((void)value::of(~std::uint64_t{0}), error, fails_with(errc::invalid_value));
  BOOST_CHECK_EXCEPTION((void)v.as<std::vector<int>>(), error, fails_with(errc::invalid_value));
}

// ---- error codes ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(errors_have_the_names_of_the_reference) {
  auto name = [](errc code) { return reference_name(error{code, "m"}); };
  BOOST_TEST(name(errc::invalid_graph) == "ValueError");
  BOOST_TEST(name(errc::invalid_update) == "InvalidUpdateError");
  BOOST_TEST(name(errc::empty_input) == "EmptyInputError");
  BOOST_TEST(name(errc::graph_recursion) == "GraphRecursionError");
  BOOST_TEST(name(errc::missing_key) == "KeyError");
  BOOST_TEST(reference_name(error{errc::node_failed, "m", "std::out_of_range"})
             == "std::out_of_range");
  BOOST_TEST(reference_name(error{errc::invalid_update, "m", "ValueError"}) == "ValueError");
  BOOST_TEST(name(errc::cancelled) == "CancelledError");
  BOOST_TEST(name(errc::storage_full) == "storage_full");
  BOOST_TEST(name(errc{200}) == "unknown");
}

BOOST_AUTO_TEST_CASE(a_list_that_grows_remembers_how_many_elements_passed) {
  auto before = value::list({1, 2});
  detail::list_mark::raise(before, 2);
  detail::list_mark::raise(before, 1);
  BOOST_TEST(detail::list_mark::of(before) == 2u);
  auto grown = before;
  for (int i = 0; i < 100; ++i) // into new buffers
    grown = grown.append(i);
  BOOST_TEST(detail::list_mark::of(grown) == 2u);
  detail::list_mark::raise(grown, 60);
  BOOST_TEST(detail::list_mark::of(grown.append(0)) == 60u);
}

BOOST_AUTO_TEST_CASE(an_older_version_of_a_list_has_no_mark_beyond_its_end) {
  auto older = value::list({1, 2}).append(3);
  auto newer = older.append(4); // in the same buffer
  detail::list_mark::raise(newer, 4);
  BOOST_TEST(detail::list_mark::of(newer) == 4u);
  BOOST_TEST(detail::list_mark::of(older) == 0u);
  BOOST_TEST(detail::list_mark::of(value::list()) == 0u);
  BOOST_TEST(detail::list_mark::of(value{}) == 0u);
}

value removal_of(std::size_t i) {
  return value::extension(value_kind::remove_message, "message " + std::to_string(i));
}

BOOST_AUTO_TEST_CASE(a_long_list_of_messages_finds_its_ids_in_a_table) {
  auto grown = value::list({removal_of(0)});
  for (std::size_t i = 1; i < 1000; ++i) {
    grown = grown.append(removal_of(i));
    detail::list_ids ids{grown};
    if (i > 2 * detail::list_ids::list_size_min)
      BOOST_REQUIRE(ids);
    if (ids)
      for (auto k : {std::size_t{0}, i / 2, i})
        BOOST_REQUIRE(ids.place(value_access::id_fingerprint(removal_of(k))) == k);
  }
  auto newer = grown.append(removal_of(5000));
  BOOST_REQUIRE(newer.items().data() == grown.items().data());
  auto print = value_access::id_fingerprint(removal_of(5000));
  BOOST_TEST(detail::list_ids{newer}.place(print) == 1000u);
  BOOST_TEST(detail::list_ids{grown}.place(print) == detail::list_ids::nowhere);
  BOOST_TEST(detail::list_ids{grown}.place(0) == detail::list_ids::nowhere);
}

BOOST_AUTO_TEST_CASE(a_list_has_no_table_of_ids_when_one_stands_twice_or_it_holds_other_values) {
  auto twice = value::list({removal_of(0)}), numbers = value::list({0});
  for (std::size_t i = 1; i < 300; ++i) {
    twice = twice.append(removal_of(i == 200 ? 3 : i));
    numbers = numbers.append(i);
  }
  BOOST_TEST(!detail::list_ids{twice});
  BOOST_TEST(!detail::list_ids{numbers});
  BOOST_TEST(!detail::list_ids{value::list()});
  BOOST_TEST(!detail::list_ids{value{}});
}

BOOST_AUTO_TEST_CASE(threads_find_ids_while_another_appends) {
  auto grown = value::list({removal_of(0)});
  for (std::size_t i = 1; i < 600; ++i)
    grown = grown.append(removal_of(i));
  BOOST_REQUIRE(grown.append(removal_of(600)).items().data() == grown.items().data());
  std::vector<std::thread> readers;
  std::atomic<std::size_t> wrong{0};
  for (int t = 0; t < 3; ++t)
    readers.emplace_back([older = grown, &wrong] {
      detail::list_ids ids{older};
      for (std::size_t i = 0; i < 1200; ++i) {
        auto found = ids.place(value_access::id_fingerprint(removal_of(i)));
        wrong += found != (i < older.size() ? i : detail::list_ids::nowhere);
      }
    });
  auto newer = grown;
  for (std::size_t i = 600; i < 1000; ++i)
    newer = newer.append(removal_of(i));
  for (auto& reader : readers)
    reader.join();
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE(members_are_found_by_keys_of_any_length_in_small_and_large_maps) {
  for (std::size_t count : {1u, 16u, 17u, 100u}) {
    std::vector<value::map_init> entries;
    for (std::size_t i = 0; i < count; ++i)
      entries.emplace_back(std::string(i, 'k'), static_cast<std::int64_t>(i));
    auto map = value::map(entries);
    for (std::size_t i = 0; i < count; ++i)
      BOOST_REQUIRE((map[std::string(i, 'k')] == value(static_cast<std::int64_t>(i))));
    BOOST_TEST(!map.contains(std::string(count, 'k')));
    BOOST_TEST(!map.contains(std::string("k\0", 2)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
