// The LMDB cache when there is no room: what it forgets, and what it makes do with.
#include "tests/persistence/cache/cache_fixture.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <random>

namespace troupe::cache_test {

BOOST_FIXTURE_TEST_SUITE(persistence_full_cache, lmdb_fixture)

BOOST_AUTO_TEST_CASE(a_full_file_forgets_the_oldest_and_only_that) {
  auto cache = open({small_file});
  auto n = fill(*cache, std::string(10'000, 'x'));
  BOOST_TEST(n > 20);
  for (int i = 1; i <= n; ++i)
    BOOST_TEST(is_there(*cache, numbered(i)));
  set(*cache, numbered(1), std::string(10'000, 'y')); // is new again
  set(*cache, numbered(n + 1), std::string(10'000, 'x'));
  BOOST_TEST(is_there(*cache, numbered(1)));
  BOOST_TEST(!is_there(*cache, numbered(2)));
  BOOST_TEST(is_there(*cache, numbered(3)));
}

BOOST_AUTO_TEST_CASE(a_full_file_forgets_what_ran_out_before_the_oldest) {
  auto cache = open({small_file});
  const value v = std::string(10'000, 'x');
  set(*cache, {{"late"}, "1"}, v, start + 9s);
  set(*cache, {{"early"}, "1"}, v, start + 2s);
  set(*cache, {{"earlier"}, "1"}, v, start + 1s);
  int n = 0;
  do
    set(*cache, numbered(n++), v);
  while (is_there(*cache, {{"late"}, "1"}, start));
  BOOST_TEST((is_there(*cache, {{"early"}, "1"}) && is_there(*cache, {{"earlier"}, "1"})));
  BOOST_TEST(is_there(*cache, numbered(0), start + 2s)); // gives the time
  set(*cache, numbered(n++), v);
  BOOST_TEST(!is_there(*cache, {{"earlier"}, "1"}));
  BOOST_TEST(is_there(*cache, {{"early"}, "1"}));
  BOOST_TEST(is_there(*cache, numbered(0), start + 2s));
  set(*cache, numbered(n++), v);
  BOOST_TEST(!is_there(*cache, {{"early"}, "1"}));
  BOOST_TEST(is_there(*cache, numbered(0), start + 2s));
  set(*cache, numbered(n++), v);
  BOOST_TEST(!is_there(*cache, numbered(0)));
}

BOOST_DATA_TEST_CASE(a_file_stays_within_its_bound_whatever_the_sizes,
                     boost::unit_test::data::xrange(2), seed) {
  std::mt19937 random{static_cast<unsigned>(seed)};
  const std::size_t sizes[] = {10, 300, 2'000, 5'000, 30'000, 100'000};
  auto cache = open({small_file});
  for (int i = 0; i < 250; ++i) {
    cache_key key{{"n" + std::to_string(random() % 3)}, std::to_string(random() % 200)};
    value v = std::string(random() % sizes[random() % std::size(sizes)], 'x');
    auto until = random() % 3 ? std::nullopt : std::optional{start + std::chrono::seconds{i + 20}};
    set(*cache, key, v, until);
    BOOST_TEST((get(*cache, key, start + std::chrono::seconds{i}) == v));
    if (random() % 100 == 0)
      cache->clear({"n0"}).value();
  }
  BOOST_TEST(std::filesystem::file_size(file) <= small_file);
  cache->clear({}).value();
  cache.reset();
  BOOST_TEST(records() == 1u);
}

// Free space is in pieces then. The sizes are drawn so that it happens.
BOOST_AUTO_TEST_CASE(a_value_is_kept_also_when_half_of_a_full_file_makes_no_room_for_it) {
  std::mt19937 random{395};
  auto cache = open({small_file});
  for (int n = 0; n < 180; ++n) {
    const unsigned sizes[] = {2'500, 30'000, 115'000};
    const auto bound = sizes[random() % 3];
    value v = std::string(random() % bound, 'x');
    set(*cache, numbered(n), v);
    BOOST_TEST((get(*cache, numbered(n)) == v));
  }
}

BOOST_AUTO_TEST_CASE(clearing_takes_all_records_along) {
  auto cache = open();
  for (int n = 0; n < 20; ++n)
    set(*cache, numbered(n % 10), n, n % 2 ? std::nullopt : std::optional{start + 1h});
  cache->clear({"node"}).value();
  cache.reset();
  BOOST_TEST(records() == 1u);
  std::string payload;
  append_cache_meta({.next_number = 21, .charged_bytes = 0}, payload);
  auto key = cache_meta_key();
  BOOST_TEST((stored(key) == sealed(payload, key, record_kind::meta)));
}

BOOST_AUTO_TEST_CASE(a_bound_below_the_least_counts_as_the_least) {
  auto cache = open({1});
  set(*cache, numbered(1), std::string(100'000, 'x'));
  BOOST_TEST(is_there(*cache, numbered(1)));
}

BOOST_AUTO_TEST_CASE(a_file_that_was_larger_shrinks_what_it_holds_and_goes_on) {
  const value v = std::string(50'000, 'x');
  {
    auto cache = open();
    for (int n = 0; n < 60; ++n)
      set(*cache, numbered(n), v);
  }
  const auto size = std::filesystem::file_size(file);
  auto cache = open({small_file});
  for (int n = 60; n < 100; ++n) {
    set(*cache, numbered(n), v);
    BOOST_TEST(is_there(*cache, numbered(n)));
  }
  BOOST_TEST(!is_there(*cache, numbered(59)));
  BOOST_TEST(std::filesystem::file_size(file) <= size + limits::store_reserve_bytes);
}

// A bound on the file's size stands for a full disk: writing fails in the same place.
BOOST_AUTO_TEST_CASE(on_a_full_disk_the_cache_makes_do_with_the_file_it_has) {
  auto code = in_child([this] {
    signal(SIGXFSZ, SIG_IGN);
    auto cache = open();
    rlimit bound{200 << 10, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &bound);
    for (int n = 0; n < 100; ++n) {
      set(*cache, numbered(n), value{n, std::string(20'000, 'x')});
      if (get(*cache, numbered(n))[0] != value(n))
        return 1;
    }
    return 0;
  });
  BOOST_TEST(code == 0);
  BOOST_TEST(std::filesystem::file_size(file) <= std::uintmax_t{200 << 10});
}

BOOST_AUTO_TEST_CASE(a_disk_that_takes_nothing_is_reported_and_works_again_later) {
  auto code = in_child([this] {
    signal(SIGXFSZ, SIG_IGN);
    auto cache = open();
    set(*cache, numbered(1), 1);
    rlimit bound{0, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &bound);
    for (int i = 0; i < 3; ++i) {
      auto refused = cache->set(numbered(2), 2, {});
      if (refused || refused.error().code() != errc::storage_full)
        return 1;
      refused = cache->clear({});
      if (refused || refused.error().code() != errc::storage_full)
        return 2;
      if (get(*cache, numbered(1)) != value(1) || is_there(*cache, numbered(2)))
        return 3;
    }
    bound.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &bound);
    set(*cache, numbered(2), 2);
    return get(*cache, numbered(1)) == value(1) && get(*cache, numbered(2)) == value(2) ? 0 : 4;
  });
  BOOST_TEST(code == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cache_test
