// Every store with an index: which texts are embedded, and how a search ranks.
#include "persistence/store/store_text.hpp"
#include "persistence/store/vector_index.hpp"

#include "tests/persistence/store/store_kinds.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <sstream>

namespace troupe {

namespace {

using boost::unit_test::data::make;
using boost::unit_test::data::xrange;
using test::require_error;
using test::store_kinds;
using texts = std::vector<std::string>;
using vectors = std::vector<std::vector<float>>;

// The vector of "1 0 2" is (1, 0, 2).
std::vector<float> numbers_of(const std::string& text) {
  std::istringstream in{text};
  std::vector<float> numbers;
  for (float x = 0; in >> x;)
    numbers.push_back(x);
  return numbers;
}

std::string text_of(const std::vector<float>& numbers) {
  std::ostringstream out;
  for (auto x : numbers)
    out << x << ' ';
  return out.str();
}

result<vectors> embed_numbers(const texts& all) {
  vectors out;
  for (const auto& text : all)
    out.push_back(numbers_of(text));
  return out;
}

store_options with_index(store_index index) {
  return {.index = std::move(index)};
}

struct store_meaning_fixture : test::store_fixture {
  void use_index(const test::store_kind& kind, store_index index) {
    if (!index.embed)
      index.embed = embed_numbers;
    use(kind, with_index(std::move(index)));
  }
  void put_text(const std::string& key, const std::string& text,
                const store_namespace& space = {"a"}) {
    put(space, key, value{{"text", text}, {"key", key}});
  }
  std::vector<std::optional<double>> scores(const store_query& query) {
    std::vector<std::optional<double>> out;
    for (const auto& item : items->search(query).value())
      out.push_back(item.score);
    return out;
  }
};

store_index plane(vector_distance distance = vector_distance::cosine) {
  return {.dims = 2, .embed = {}, .fields = {"text"}, .distance = distance};
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_store_meaning, store_meaning_fixture)

// ---- ranking ------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(the_closest_come_first_with_their_cosines, make(store_kinds), kind) {
  use_index(kind, plane());
  put_text("far", "-1 0");
  put_text("near", "4 3");
  put_text("same", "9 0");
  put_text("zero", "0 0");
  BOOST_TEST((keys({.query = "2 0"}) == texts{"same", "near", "zero", "far"}));
  auto found = scores({.query = "2 0"});
  const std::array expected{1.0, 0.8, 0.0, -1.0};
  for (std::size_t i = 0; i < expected.size(); ++i)
    BOOST_TEST(std::abs(found[i].value() - expected[i]) < 1e-6);
}

BOOST_DATA_TEST_CASE(an_inner_product_counts_lengths_too, make(store_kinds), kind) {
  use_index(kind, plane(vector_distance::inner_product));
  put_text("long", "3 3");
  put_text("short", "2 0");
  BOOST_TEST((keys({.query = "2 0"}) == texts{"long", "short"}));
  BOOST_TEST((scores({.query = "2 0"}) == std::vector<std::optional<double>>{6, 4}));
}

BOOST_DATA_TEST_CASE(a_distance_is_a_negative_score, make(store_kinds), kind) {
  use_index(kind, plane(vector_distance::l2));
  put_text("five", "5 4");
  put_text("none", "2 0");
  BOOST_TEST((keys({.query = "2 0"}) == texts{"none", "five"}));
  BOOST_TEST((scores({.query = "2 0"}) == std::vector<std::optional<double>>{0, -5}));
}

BOOST_DATA_TEST_CASE(equally_close_items_come_in_order, make(store_kinds), kind) {
  use_index(kind, plane());
  for (const auto* key : {"c", "a", "b"})
    put_text(key, "1 1", {"s", key});
  BOOST_TEST((keys({.limit = 2, .query = "1 0"}) == texts{"a", "b"}));
  BOOST_TEST((keys({.limit = 2, .offset = 1, .query = "1 0"}) == texts{"b", "c"}));
}

BOOST_DATA_TEST_CASE(of_an_items_vectors_the_closest_counts, make(store_kinds), kind) {
  use_index(kind, {.dims = 2, .embed = {}, .fields = {"parts[*].text", "title"}});
  put({"a"}, "two",
      value{{"title", "-1 0"},
            {"parts", value::list({value{{"text", "0 1"}}, value{{"text", "1 0"}}})}});
  put({"a"}, "one", value{{"title", "1 1"}});
  BOOST_TEST((keys({.query = "1 0"}) == texts{"two", "one"}));
  BOOST_TEST((keys({.query = "0 1"}) == texts{"two", "one"}));
  BOOST_TEST((keys({.query = "3 2"}) == texts{"one", "two"}));
}

BOOST_DATA_TEST_CASE(items_without_vectors_fill_up_behind_the_others, make(store_kinds), kind) {
  use_index(kind, plane());
  put({"a"}, "0", value{{"other", 1}});
  put_text("1", "-1 0");
  put_text("2", "1 0");
  items->put({.space = {"a"}, .key = "3", .value = value{{"text", "1 0"}}, .index = texts{}})
    .value();
  BOOST_TEST((keys({.query = "1 0"}) == texts{"2", "1", "0", "3"}));
  BOOST_TEST((keys({.limit = 2, .offset = 1, .query = "1 0"}) == texts{"1", "0"}));
  BOOST_TEST((keys({.limit = 2, .offset = 3, .query = "1 0"}) == texts{"3"}));
  BOOST_TEST(!scores({.query = "1 0"})[2].has_value());
}

BOOST_DATA_TEST_CASE(a_filter_and_a_prefix_hold_for_ranked_items_too, make(store_kinds), kind) {
  use_index(kind, plane());
  for (int i = 0; i < 20; ++i)
    put({i % 2 == 0 ? "even" : "odd", "s"}, std::to_string(10 + i),
        value{{"text", std::to_string(i + 1) + " 1"}, {"third", i % 3 == 0}});
  BOOST_TEST(
    (keys({.prefix = {"even"}, .filter = value{{"third", true}}, .limit = 3, .query = "1 0"})
     == texts{"28", "22", "16"}));
  BOOST_TEST(
    (keys({.prefix = {"odd", "s"}, .limit = 2, .offset = 1, .query = "1 0"}) == texts{"27", "25"}));
  BOOST_TEST(keys({.prefix = {"none"}, .query = "1 0"}).empty());
}

BOOST_DATA_TEST_CASE(a_query_in_a_store_without_an_index_says_nothing, make(store_kinds), kind) {
  use(kind);
  items->put({.space = {"a"}, .key = "k", .value = value::map(), .index = texts{"text"}}).value();
  BOOST_TEST((keys({.query = "1 0"}) == texts{"k"}));
  BOOST_TEST(!scores({.query = "1 0"})[0].has_value());
}

// ---- what is embedded ---------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_put_replaces_the_vectors_too, make(store_kinds), kind) {
  use_index(kind, plane());
  put_text("k", "1 0");
  put_text("other", "1 2");
  BOOST_TEST((keys({.query = "1 0"}) == texts{"k", "other"}));
  put_text("k", "0 1");
  BOOST_TEST((keys({.query = "1 0"}) == texts{"other", "k"}));
  put({"a"}, "k", value{{"no", "text"}});
  BOOST_TEST(!scores({.query = "0 1"})[1].has_value());
  items->remove({"a"}, "k").value();
  BOOST_TEST((keys({.query = "1 0"}) == texts{"other"}));
}

BOOST_DATA_TEST_CASE(a_put_may_name_paths_of_its_own, make(store_kinds), kind) {
  use_index(kind, plane());
  items
    ->put({.space = {"a"},
           .key = "k",
           .value = value{{"text", "1 0"}, {"m", value{{"n", "0 1"}}}},
           .index = texts{"m.n"}})
    .value();
  BOOST_TEST(scores({.query = "0 1"})[0].value() == 1.0);
  BOOST_TEST(scores({.query = "1 0"})[0].value() == 0.0);
  for (const auto& index : {texts{"m["}, texts{"m[x]"}, texts{"{}"}, texts(65, "m")})
    require_error(items->put({.space = {"a"}, .key = "k", .value = value::map(), .index = index}),
                  errc::invalid_value);
}

BOOST_DATA_TEST_CASE(a_text_of_a_batch_is_embedded_once, make(store_kinds), kind) {
  std::vector<texts> calls;
  auto index = plane();
  index.embed = [&calls](const texts& all) {
    calls.push_back(all);
    return embed_numbers(all);
  };
  use_index(kind, index);
  items
    ->batch({store_put{{"a"}, "1", value{{"text", "1 0"}}}, store_query{.query = "1 0"},
             store_put{{"a"}, "2", value{{"text", "1 0"}}},
             store_put{{"a"}, "3", value{{"text", "2 0"}}},
             store_put{{"a"}, "3", value{{"text", "0 2"}}}, store_get{{"a"}, "1"}})
    .value();
  BOOST_REQUIRE(calls.size() == 1u);
  std::ranges::sort(calls[0]);
  BOOST_TEST((calls[0] == texts{"0 2", "1 0"}));
  put({"a"}, "4", value{{"text", ""}});
  put({"a"}, "5", value{{"text", nullptr}});
  items->get({"a"}, "1").value();
  items->search({}).value();
  BOOST_TEST(calls.size() == 1u); // nothing to embed
}

BOOST_DATA_TEST_CASE(many_texts_are_embedded_in_several_calls, make(store_kinds), kind) {
  std::vector<std::size_t> sizes;
  auto index = plane();
  index.embed = [&sizes](const texts& all) {
    sizes.push_back(all.size());
    return embed_numbers(all);
  };
  use_index(kind, index);
  std::vector<store_op> puts;
  for (std::size_t i = 0; i < limits::embedding_batch_max + 1; ++i)
    puts.emplace_back(
      store_put{{"a"}, std::to_string(i), value{{"text", std::to_string(i) + " 1"}}});
  items->batch(puts).value();
  BOOST_TEST((sizes == std::vector<std::size_t>{limits::embedding_batch_max, 1}));
  BOOST_TEST((keys({.limit = 1, .query = "0 1"}) == texts{"0"}));
}

BOOST_DATA_TEST_CASE(an_item_has_a_bounded_number_of_texts, make(store_kinds), kind) {
  use_index(kind, {.dims = 1, .embed = {}, .fields = {"t[*]"}});
  std::vector<value> many;
  for (std::size_t i = 0; i < limits::store_item_texts_max; ++i)
    many.emplace_back(std::to_string(i));
  put({"a"}, "k", value{{"t", value::list(many)}});
  many.emplace_back("more");
  require_error(items->put({"a"}, "k", value{{"t", value::list(many)}}), errc::invalid_value);
}

BOOST_DATA_TEST_CASE(vectors_that_are_not_as_they_must_be_change_nothing, make(store_kinds), kind) {
  const std::vector<std::pair<embed_function, errc>> all{
    {[](const texts&) { return vectors{}; }, errc::node_failed},
    {[](const texts&) {
       return vectors{{1, 0}, {1, 0}};
     },
     errc::node_failed},
    {[](const texts&) {
       return vectors{{1, 0, 0}};
     },
     errc::node_failed},
    {[](const texts&) {
       return vectors{{NAN, 0}};
     },
     errc::node_failed},
    {[](const texts&) {
       return vectors{{INFINITY, 0}};
     },
     errc::node_failed},
    {[](const texts&) {
       return vectors{{1e30f, 0}};
     },
     errc::node_failed},
    {[](const texts&) -> result<vectors> { throw std::runtime_error{"down"}; }, errc::node_failed},
    {[](const texts&) -> result<vectors> { throw 1; }, errc::node_failed},
    {[](const texts&) -> result<vectors> {
       return error{errc::overloaded, "later"};
     },
     errc::overloaded}};
  for (const auto& [embed, code] : all) {
    auto index = plane();
    index.embed = embed;
    use_index(kind, index);
    require_error(items->put({"a"}, "k", value{{"text", "1 0"}}), code);
    require_error(items->search({.query = "1 0"}), code);
    BOOST_TEST(!items->get({"a"}, "k").value().has_value());
  }
}

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

BOOST_DATA_TEST_CASE(what_a_filter_leaves_is_found_where_the_graph_would_not_look,
                     make(store_kinds), kind) {
  auto index = plane(vector_distance::l2);
  index.exact_max = 10;
  use_index(kind, index);
  std::vector<store_op> puts;
  for (int i = 0; i < 300; ++i)
    puts.emplace_back(
      store_put{{"a"}, std::to_string(i), value{{"text", std::to_string(i) + " 1"}, {"n", i}}});
  items->batch(puts).value();
  for (int i = 0; i < 8; ++i)
    items->search({.query = "0 0"}).value(); // the graph follows
  auto found = items->search({.filter = value{{"n", 0}}, .limit = 1, .query = "299 1"}).value();
  BOOST_REQUIRE(found.size() == 1u);
  BOOST_TEST(found[0].score.value_or(0) == -299.0);
}

// Any puts and removals: a search by meaning gives what a plain comparison with all gives. With a
// graph it may miss some, but what it gives is right, and one that asks for all gets all.
BOOST_DATA_TEST_CASE(any_searches_by_meaning_have_the_answers_of_a_plain_comparison,
                     make(store_kinds) * make({std::size_t{10'000}, std::size_t{20}}), kind,
                     exact_max) {
  constexpr std::size_t dims = 3;
  use_index(kind, {.dims = dims,
                   .embed = {},
                   .fields = {"t[*]"},
                   .distance = vector_distance::l2,
                   .exact_max = exact_max});
  std::mt19937_64 random{exact_max};
  auto whole_vector = [&random] { // numbers of which every sum is exact
    std::vector<float> out;
    for (std::size_t i = 0; i < dims; ++i)
      out.push_back(static_cast<float>(random() % 41) - 20);
    return out;
  };
  const std::vector<store_namespace> spaces{{"a"}, {"a", "b"}, {"c"}};
  using place = std::pair<store_namespace, std::string>;
  std::map<place, std::pair<int, vectors>> known;
  for (int step = 0; step < 60; ++step) {
    std::vector<store_op> ops;
    for (int i = 0; i < 8; ++i) {
      place at{spaces[random() % spaces.size()], std::to_string(random() % 60)};
      if (random() % 4 == 0) {
        known.erase(at);
        ops.emplace_back(store_put{at.first, at.second, {}});
        continue;
      }
      vectors own;
      std::vector<value> own_texts;
      for (auto count = random() % 3; count > 0; --count) {
        own.push_back(whole_vector());
        own_texts.emplace_back(text_of(own.back()));
      }
      auto n = static_cast<int>(random() % 3);
      known[at] = {n, own};
      ops.emplace_back(
        store_put{at.first, at.second, value{{"t", value::list(own_texts)}, {"n", n}}});
    }
    items->batch(ops).value();

    auto query = whole_vector();
    auto n = static_cast<int>(random() % 3);
    store_namespace prefix;
    if (random() % 2 == 0)
      prefix = spaces[random() % spaces.size()];
    std::vector<std::pair<double, place>> ranked; // the score's negative
    std::vector<place> behind;
    for (const auto& [at, item] : known) {
      auto is_under = prefix.size() <= at.first.size()
                      && std::equal(prefix.begin(), prefix.end(), at.first.begin());
      if (!is_under || item.first != n)
        continue;
      auto best = INFINITY;
      for (const auto& vector : item.second) {
        float squares = 0;
        for (std::size_t i = 0; i < dims; ++i)
          squares += (vector[i] - query[i]) * (vector[i] - query[i]);
        best = std::min(best, std::sqrt(squares));
      }
      if (item.second.empty())
        behind.push_back(at);
      else
        ranked.emplace_back(best, at);
    }
    std::ranges::sort(ranked);
    std::vector<place> expected;
    for (const auto& [score, at] : ranked)
      expected.push_back(at);
    expected.insert(expected.end(), behind.begin(), behind.end());

    for (auto limit : {std::size_t{3}, std::size_t{1000}}) {
      std::vector<place> found;
      auto answer =
        items
          ->search(
            {.prefix = prefix, .filter = value{{"n", n}}, .limit = limit, .query = text_of(query)})
          .value();
      for (const auto& item : answer)
        found.emplace_back(item.space, item.key);
      auto wanted = expected;
      wanted.resize(std::min(limit, wanted.size()));
      if (exact_max > 1000 || limit == 1000)
        BOOST_REQUIRE((found == wanted));
      else {
        BOOST_REQUIRE(found.size() == wanted.size());
        for (const auto& at : found)
          BOOST_REQUIRE((std::ranges::find(expected, at) != expected.end()));
      }
      for (std::size_t i = 0; i < answer.size(); ++i)
        if (answer[i].score)
          BOOST_REQUIRE(
            (std::ranges::find(ranked, std::pair{-*answer[i].score, found[i]}) != ranked.end()));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
