// The duties of every cache, then the bounds of the one in memory.
#include "tests/persistence/cache/cache_fixture.hpp"

#include <boost/mpl/list.hpp>

#include <map>
#include <random>
#include <thread>

namespace troupe::cache_test {

namespace {

struct memory_backend {
  std::shared_ptr<node_cache> cache = make_memory_cache();
};

struct lmdb_backend {
  temporary_directory dir;
  std::shared_ptr<node_cache> cache = open_lmdb_cache(dir.path() / "data").value();
};

// All that can be done to a record is done to every one.
struct encrypted_lmdb_backend {
  temporary_directory dir;
  std::shared_ptr<node_cache> cache =
    open_lmdb_cache(dir.path() / "data",
                    {.keyring = keyring::from_text("key " + std::string(64, '7')).value(),
                     .compress_bytes_min = 1})
      .value();
};

using backends =
  boost::mpl::list<memory_backend, lmdb_backend, encrypted_lmdb_backend, postgres_backend>;

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_cache)

// ---- every cache --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(get_gives_what_was_set_until_it_is_replaced, backend, backends) {
  backend on;
  BOOST_TEST(!is_there(*on.cache, numbered(1)));
  set(*on.cache, numbered(1), "one");
  set(*on.cache, numbered(2), "two");
  BOOST_TEST(get(*on.cache, numbered(1)) == value("one"));
  set(*on.cache, numbered(1), "other");
  BOOST_TEST(get(*on.cache, numbered(1)) == value("other"));
  BOOST_TEST(get(*on.cache, numbered(2)) == value("two"));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(values_of_every_kind_come_back, backend, backends) {
  backend on;
  const value all[] = {
    nullptr,
    false,
    INT64_MIN,
    1.0,
    std::string(1'000'000, 'x'),
    value::bytes(std::vector<std::byte>(3)),
    value::list(),
    value{{"writes", value{value{"log", value{1, 2}}, value{"__error__", nullptr}}}},
    value::extension(value_kind::send, value{"node", value{{"x", 1}}}),
    value::extension(value_kind::overwrite, value::list()),
  };
  for (const auto& v : all) {
    set(*on.cache, numbered(1), v);
    BOOST_TEST((on.cache->get(numbered(1), start).value() == v));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_value_runs_out_at_its_end_and_not_before, backend, backends) {
  backend on;
  set(*on.cache, numbered(1), 1, start + 10s);
  BOOST_TEST(is_there(*on.cache, numbered(1), start));
  BOOST_TEST(is_there(*on.cache, numbered(1), start + 10s - 1ns));
  BOOST_TEST(!is_there(*on.cache, numbered(1), start + 10s));
  BOOST_TEST(!is_there(*on.cache, numbered(1), time_point::max()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_value_without_an_end_does_not_run_out, backend, backends) {
  backend on;
  set(*on.cache, numbered(1), 1);
  BOOST_TEST(is_there(*on.cache, numbered(1), time_point::min()));
  BOOST_TEST(is_there(*on.cache, numbered(1), time_point::max()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(replacing_a_value_replaces_its_end, backend, backends) {
  backend on;
  set(*on.cache, numbered(1), 1, start + 1s);
  set(*on.cache, numbered(1), 2, start + 9s);
  BOOST_TEST(get(*on.cache, numbered(1), start + 5s) == value(2));
  set(*on.cache, numbered(1), 3);
  BOOST_TEST(get(*on.cache, numbered(1), start + 99s) == value(3));
  set(*on.cache, numbered(1), 4, start + 100s);
  BOOST_TEST(!is_there(*on.cache, numbered(1), start + 100s));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ends_may_lie_anywhere, backend, backends) {
  backend on;
  set(*on.cache, numbered(1), 1, time_point::min());
  BOOST_TEST(!is_there(*on.cache, numbered(1), time_point::min()));
  set(*on.cache, numbered(2), 2, time_point::max());
  BOOST_TEST(is_there(*on.cache, numbered(2), time_point::max() - 1ns));
  BOOST_TEST(!is_there(*on.cache, numbered(2), time_point::max()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ends_may_lie_before_1970, backend, backends) {
  backend on;
  set(*on.cache, numbered(1), 1, time_point{} - 5s);
  BOOST_TEST(is_there(*on.cache, numbered(1), time_point{} - 6s));
  BOOST_TEST(!is_there(*on.cache, numbered(1), time_point{}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(places_are_kept_apart_whatever_their_bytes, backend, backends) {
  backend on;
  const std::vector<cache_key> all{
    {{"a"}, "b"},    {{"a", "b"}, ""},    {{"a", "b"}, "c"},      {{"a"}, "bc"},
    {{"ab"}, "c"},   {{""}, ""},          {{"", ""}, ""},         {{""}, std::string(1, '\0')},
    {{"a"}, "\x01"}, {{"a", "\x01"}, ""}, {{"\xff"}, "\xff\xff"}, {{"a"}, std::string(1000, 'k')},
  };
  for (std::size_t i = 0; i < all.size(); ++i)
    set(*on.cache, all[i], i);
  for (std::size_t i = 0; i < all.size(); ++i)
    BOOST_TEST(get(*on.cache, all[i]) == value(i));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(clear_forgets_what_is_at_or_under_a_space, backend, backends) {
  backend on;
  const std::vector<cache_key> all{
    {{"a"}, "1"},       {{"a"}, "2"},  {{"a", "b"}, "1"}, {{"a", "b", "c"}, "1"},
    {{"a", "bc"}, "1"}, {{"ab"}, "1"}, {{"b", "a"}, "1"},
  };
  for (const auto& key : all)
    set(*on.cache, key, 1, start + 1h);
  auto left = [&] {
    std::string marks;
    for (const auto& key : all)
      marks.push_back(is_there(*on.cache, key) ? 'x' : '-');
    return marks;
  };
  on.cache->clear({"nobody"}).value();
  on.cache->clear({""}).value();
  on.cache->clear({"a", "b", "c", "d"}).value();
  BOOST_TEST(left() == "xxxxxxx");
  on.cache->clear({"a", "b"}).value();
  BOOST_TEST(left() == "xx--xxx");
  on.cache->clear({"a"}).value();
  BOOST_TEST(left() == "-----xx");
  on.cache->clear({}).value();
  BOOST_TEST(left() == "-------");
  set(*on.cache, all[0], 2);
  BOOST_TEST(left() == "x------");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(clearing_an_empty_cache_is_no_error, backend, backends) {
  backend on;
  on.cache->clear({}).value();
  on.cache->clear({"a"}).value();
  set(*on.cache, numbered(1), 1); // and it is of use afterwards
  BOOST_TEST(get(*on.cache, numbered(1)) == value(1));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_key_without_a_space_is_refused, backend, backends) {
  backend on;
  require_error(on.cache->set({{}, "k"}, 1, {}), errc::invalid_value);
  require_error(on.cache->get({{}, "k"}, start), errc::invalid_value);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_key_may_be_as_long_as_the_limit_and_no_longer, backend, backends) {
  backend on;
  auto longest = key_of_size(limits::cache_key_bytes_max);
  auto too_long = key_of_size(limits::cache_key_bytes_max + 1);
  set(*on.cache, longest, 1);
  BOOST_TEST(is_there(*on.cache, longest));
  require_error(on.cache->set(too_long, 1, {}), errc::invalid_value);
  require_error(on.cache->get(too_long, start), errc::invalid_value);
  cache_key parts{std::vector<std::string>(limits::cache_key_bytes_max), ""};
  set(*on.cache, parts, 2);
  BOOST_TEST(get(*on.cache, parts) == value(2));
  parts.space.emplace_back();
  require_error(on.cache->set(parts, 2, {}), errc::invalid_value);
  on.cache->clear(too_long.space).value();
  on.cache->clear(parts.space).value();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(several_threads_set_get_and_clear_at_once, backend, backends) {
  constexpr int threads = 4;
  constexpr int rounds = 36;
  backend on;
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t)
      workers.emplace_back([&on, t] {
        for (int i = 0; i < rounds; ++i) {
          cache_key own{{"own", std::to_string(t)}, std::to_string(i % 7)};
          cache_key shared{{"shared"}, std::to_string(i % 3)};
          set(*on.cache, own, value{t, i}, start + 1h);
          set(*on.cache, shared, value{{"t", t}, {"again", t}});
          if (get(*on.cache, own) != value{t, i})
            std::abort();
          auto v = get(*on.cache, shared);
          if (v.is_map() && v["t"] != v["again"])
            std::abort();
          if (i % 16 == 15)
            on.cache->clear(i % 32 == 31 ? own.space : shared.space).value();
        }
      });
  }
  cache_key last{{"own", "0"}, std::to_string((rounds - 1) % 7)};
  BOOST_TEST(get(*on.cache, last) == (value{0, rounds - 1}));
}

// The cache has the value that was set last, or nothing: compared with a map, in any order.
BOOST_AUTO_TEST_CASE_TEMPLATE(no_sequence_of_calls_gives_a_wrong_value, backend, backends) {
  for (unsigned seed = 0; seed < 3; ++seed) {
    backend on;
    std::mt19937 random{seed};
    auto now = start;
    struct expected {
      value v;
      std::optional<time_point> until;
    };
    std::map<cache_key, expected> model;
    for (int i = 0; i < 200; ++i) {
      cache_key key{{"n" + std::to_string(random() % 2), "m" + std::to_string(random() % 2)},
                    std::to_string(random() % 4)};
      now += std::chrono::seconds{random() % 3};
      switch (random() % 8) {
        case 0:
          on.cache->clear({key.space[0]}).value();
          std::erase_if(model, [&](const auto& e) { return e.first.space[0] == key.space[0]; });
          break;
        case 1:
        case 2:
        case 3: {
          auto until = random() % 2 ? std::optional{now + std::chrono::seconds{random() % 9}}
                                    : std::nullopt;
          value v{i, std::string(random() % 5000, 'x')};
          set(*on.cache, key, v, until);
          model[key] = {v, until};
          break;
        }
        default: {
          auto there = model.find(key);
          auto has = there != model.end() && (!there->second.until || now < *there->second.until);
          auto found = on.cache->get(key, now).value();
          BOOST_TEST(found.has_value() == has, "seed " << seed << ", call " << i);
          if (found && has)
            BOOST_TEST((*found == there->second.v), "seed " << seed << ", call " << i);
        }
      }
    }
  }
}

// ---- in memory ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_memory_cache_holds_as_many_values_as_the_limit_and_no_more) {
  constexpr auto most = static_cast<int>(limits::memory_cache_entries_max);
  auto cache = make_memory_cache();
  for (int n = 0; n < most; ++n)
    set(*cache, numbered(n), n);
  BOOST_TEST(get(*cache, numbered(0)) == value(0));
  set(*cache, numbered(most), most);
  BOOST_TEST(!is_there(*cache, numbered(0)));
  BOOST_TEST(get(*cache, numbered(1)) == value(1));
  BOOST_TEST(get(*cache, numbered(most)) == value(most));
}

BOOST_AUTO_TEST_CASE(a_full_memory_cache_forgets_what_ran_out_before_the_oldest) {
  auto cache = make_memory_cache(3);
  set(*cache, numbered(1), 1);
  set(*cache, numbered(2), 2, start + 1s);
  set(*cache, numbered(3), 3, start + 9s);
  BOOST_TEST(is_there(*cache, numbered(1), start + 1s)); // gives the time
  set(*cache, numbered(4), 4);
  BOOST_TEST(!is_there(*cache, numbered(2)));
  BOOST_TEST((is_there(*cache, numbered(1)) && is_there(*cache, numbered(3))));
  set(*cache, numbered(5), 5);
  BOOST_TEST(!is_there(*cache, numbered(1)));
  BOOST_TEST((is_there(*cache, numbered(3)) && is_there(*cache, numbered(4))));
}

BOOST_AUTO_TEST_CASE(a_value_that_is_set_again_counts_as_new) {
  auto cache = make_memory_cache(2);
  set(*cache, numbered(1), 1);
  set(*cache, numbered(2), 2);
  set(*cache, numbered(1), 3);
  set(*cache, numbered(3), 3);
  BOOST_TEST(is_there(*cache, numbered(1)));
  BOOST_TEST(!is_there(*cache, numbered(2)));
}

BOOST_AUTO_TEST_CASE(a_memory_cache_of_no_values_keeps_none) {
  auto cache = make_memory_cache(0);
  set(*cache, numbered(1), 1, start + 1s);
  BOOST_TEST(!is_there(*cache, numbered(1)));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cache_test
