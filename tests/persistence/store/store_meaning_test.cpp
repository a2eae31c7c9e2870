// Search by meaning, below every store: the texts at a path, and the index of vectors. The duties
// of every store are in store_conformance_test.cpp.
#include "persistence/store/store_text.hpp"
#include "persistence/store/vector_index.hpp"

#include "tests/fixtures/savers.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <map>
#include <random>

namespace troupe {

namespace {

using boost::unit_test::data::make;
using test::require_error;
using texts = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_store_meaning)

BOOST_AUTO_TEST_CASE(paths_find_texts) {
  auto v = from_json(R"({"a": {"b": "ab", "c": [1, true, null, {"d": "x"}]}, "s": "text", "n": 1.5,
                         "l": [{"t": "0", "u": {"v": "uv"}}, {"t": "1"}, "no map"]})")
             .value();
  auto at = [&v](const char* path) { return texts_at(v, text_path(path).value()); };
  BOOST_TEST((at("s") == texts{"text"}));
  BOOST_TEST((at("n") == texts{"1.5"}));
  BOOST_TEST((at("a.b") == texts{"ab"}));
  BOOST_TEST((at("a.c") == texts{R"([1,true,null,{"d":"x"}])"}));
  BOOST_TEST((at("a.c[*]") == texts{"1", "true", R"({"d":"x"})"}));
  BOOST_TEST((at("a.c[3].d") == texts{"x"}));
  BOOST_TEST((at("l[*].t") == texts{"0", "1"}));
  BOOST_TEST((at("l[0].t") == texts{"0"}));
  BOOST_TEST((at("l[-2].t") == texts{"1"}));
  BOOST_TEST((at("l.*.t") == texts{"0", "1"}));
  BOOST_TEST((at("*.b") == texts{"ab"}));
  BOOST_TEST((at("l[*].{t, u.v}") == texts{"0", "uv", "1"}));
  BOOST_TEST(at("l[3].t").empty());
  BOOST_TEST(at("l[-4].t").empty());
  BOOST_TEST(at("s[0]").empty());
  BOOST_TEST(at("missing.b").empty());
  BOOST_TEST(at("a.c[2]").empty()); // null
  BOOST_TEST((at("$") == texts{to_json(v)}));
  BOOST_TEST((at("") == texts{to_json(v)}));
  for (const auto* bad : {"a[", "a[]", "a[1x]", "{a", "{}", "{ , }", "a[99999999999999999999]"})
    require_error(text_path(bad), errc::invalid_value);
  text_path(std::string(limits::store_index_path_bytes_max, 'p')).value();
  require_error(text_path(std::string(limits::store_index_path_bytes_max + 1, 'p')),
                errc::invalid_value);
}

// ---- the index ----------------------------------------------------------------------------------

namespace {

std::vector<float> random_vector(std::mt19937_64& random, std::size_t dims) {
  std::normal_distribution<float> normal;
  std::vector<float> out;
  for (std::size_t i = 0; i < dims; ++i)
    out.push_back(normal(random));
  return out;
}

std::vector<std::uint64_t> first_numbers(vector_ranking ranking, std::size_t count) {
  std::vector<std::uint64_t> out;
  for (auto hits = ranking.next(); !hits.empty() && out.size() < count; hits = ranking.next())
    for (auto hit : hits)
      out.push_back(hit.number);
  return out;
}

} // namespace

BOOST_DATA_TEST_CASE(the_graph_finds_nearly_all_of_the_closest, make({"cosine", "l2"}), name) {
  auto distance = std::string_view{name} == "l2" ? vector_distance::l2 : vector_distance::cosine;
  constexpr std::size_t dims = 16;
  constexpr std::size_t count = 3000;
  std::mt19937_64 random{7};
  vector_index index{dims, distance, 100};
  for (std::uint64_t n = 1; n <= count; ++n)
    index.add(n, n % 2, random_vector(random, dims));
  BOOST_TEST(index.rank(random_vector(random, dims), nullptr, 1).is_complete()); // no graph yet
  for (std::size_t i = 0; i < count / 64 + 1; ++i)
    index.settle();
  for (std::uint64_t n = 1; n <= count; n += 3)
    index.remove(n);
  std::size_t right = 0;
  constexpr std::size_t queries = 50;
  for (std::size_t i = 0; i < queries; ++i) {
    auto query = random_vector(random, dims);
    auto ranking = index.rank(query, nullptr, 10);
    BOOST_TEST(!ranking.is_complete());
    auto found = first_numbers(std::move(ranking), 10);
    auto closest = first_numbers(index.rank_exactly(query, nullptr), 10);
    for (auto number : found) {
      BOOST_TEST(number % 3 != 1u); // removed
      right += static_cast<std::size_t>(std::ranges::count(closest, number));
    }
  }
  BOOST_TEST(right >= queries * 10 * 95 / 100);
  vector_groups odd{1};
  for (auto number : first_numbers(index.rank(random_vector(random, dims), &odd, 10), 10))
    BOOST_TEST(number % 2 == 1u);
}

BOOST_AUTO_TEST_CASE(an_index_whose_vectors_go_and_come_stays_right) {
  std::mt19937_64 random{3};
  vector_index index{4, vector_distance::l2, 50};
  std::map<std::uint64_t, std::vector<float>> known;
  std::uint64_t next = 1;
  for (int round = 0; round < 3000; ++round) {
    if (known.size() < 400 || random() % 2 == 0) {
      auto vector = random_vector(random, 4);
      index.add(next, 0, vector);
      known[next++] = vector;
    } else {
      auto at = std::next(known.begin(), static_cast<std::ptrdiff_t>(random() % known.size()));
      index.remove(at->first);
      known.erase(at);
    }
    if (round % 50 == 0)
      index.settle();
  }
  BOOST_TEST(index.size() == known.size());
  for (int i = 0; i < 40; ++i)
    index.settle();
  for (const auto& [number, vector] : known)
    BOOST_TEST(first_numbers(index.rank(vector, nullptr, 1), 1).front() == number);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
