// Checks of a store with an index: how a search by meaning ranks.
#include "testing/embedded_numbers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

namespace troupe::testing {

namespace {

using score_list = std::vector<std::optional<double>>;

// ---- ranking ------------------------------------------------------------------------------------

void index_ranks_by_cosine(store_subject& t) {
  use_index(t, plane());
  put_text(t, "far", "-1 0");
  put_text(t, "near", "4 3");
  put_text(t, "same", "9 0");
  put_text(t, "zero", "0 0");
  expect_equal("the keys", t.keys({.query = "2 0"}), texts{"same", "near", "zero", "far"});
  auto found = t.scores({.query = "2 0"});
  const std::array expected{1.0, 0.8, 0.0, -1.0};
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (std::abs(found[i].value() - expected[i]) >= 1e-6)
      fail("the score", shown(expected[i]), shown(found[i]));
}

void index_ranks_by_inner_product(store_subject& t) {
  use_index(t, plane(vector_distance::inner_product));
  put_text(t, "long", "3 3");
  put_text(t, "short", "2 0");
  expect_equal("the keys", t.keys({.query = "2 0"}), texts{"long", "short"});
  expect_equal("the scores", t.scores({.query = "2 0"}), score_list{6, 4});
}

void index_ranks_by_distance(store_subject& t) {
  use_index(t, plane(vector_distance::l2));
  put_text(t, "five", "5 4");
  put_text(t, "none", "2 0");
  expect_equal("the keys", t.keys({.query = "2 0"}), texts{"none", "five"});
  expect_equal("the scores", t.scores({.query = "2 0"}), score_list{0, -5});
}

void index_orders_ties_by_place(store_subject& t) {
  use_index(t, plane());
  for (const auto* key : {"c", "a", "b"})
    put_text(t, key, "1 1", {"s", key});
  expect_equal("the first two", t.keys({.limit = 2, .query = "1 0"}), texts{"a", "b"});
  expect_equal("two after one", t.keys({.limit = 2, .offset = 1, .query = "1 0"}), texts{"b", "c"});
}

void index_closest_vector_of_an_item_counts(store_subject& t) {
  use_index(t, {.dims = 2, .embed = {}, .fields = {"parts[*].text", "title"}});
  t.put({"a"}, "two",
        value{{"title", "-1 0"},
              {"parts", value::list({value{{"text", "0 1"}}, value{{"text", "1 0"}}})}});
  t.put({"a"}, "one", value{{"title", "1 1"}});
  expect_equal("the keys near 1 0", t.keys({.query = "1 0"}), texts{"two", "one"});
  expect_equal("the keys near 0 1", t.keys({.query = "0 1"}), texts{"two", "one"});
  expect_equal("the keys near 3 2", t.keys({.query = "3 2"}), texts{"one", "two"});
}

void index_gives_items_without_vectors_last(store_subject& t) {
  use_index(t, plane());
  t.put({"a"}, "0", value{{"other", 1}});
  put_text(t, "1", "-1 0");
  put_text(t, "2", "1 0");
  t.put({.space = {"a"}, .key = "3", .value = value{{"text", "1 0"}}, .index = texts{}});
  expect_equal("all", t.keys({.query = "1 0"}), texts{"2", "1", "0", "3"});
  expect_equal("two after one", t.keys({.limit = 2, .offset = 1, .query = "1 0"}), texts{"1", "0"});
  expect_equal("two after three", t.keys({.limit = 2, .offset = 3, .query = "1 0"}), texts{"3"});
  expect("an item without vectors has no score", !t.scores({.query = "1 0"})[2].has_value());
}

void index_respects_filter_and_prefix(store_subject& t) {
  use_index(t, plane());
  for (int i = 0; i < 20; ++i)
    t.put({i % 2 == 0 ? "even" : "odd", "s"}, std::to_string(10 + i),
          value{{"text", std::to_string(i + 1) + " 1"}, {"third", i % 3 == 0}});
  expect_equal(
    "each third of the even ones",
    t.keys({.prefix = {"even"}, .filter = value{{"third", true}}, .limit = 3, .query = "1 0"}),
    texts{"28", "22", "16"});
  expect_equal("two odd ones after one",
               t.keys({.prefix = {"odd", "s"}, .limit = 2, .offset = 1, .query = "1 0"}),
               texts{"27", "25"});
  expect_equal("under another prefix", t.keys({.prefix = {"none"}, .query = "1 0"}), texts{});
}

void index_is_missing_and_a_query_has_no_effect(store_subject& t) {
  t.use();
  t.put({.space = {"a"}, .key = "k", .value = value::map(), .index = texts{"text"}});
  expect_equal("the keys", t.keys({.query = "1 0"}), texts{"k"});
  expect("there is no score", !t.scores({.query = "1 0"})[0].has_value());
}

void index_finds_filtered_items_among_many(store_subject& t) {
  auto index = plane(vector_distance::l2);
  index.exact_max = 10;
  use_index(t, index);
  std::vector<store_op> puts;
  for (int i = 0; i < 300; ++i)
    puts.emplace_back(
      store_put{{"a"}, std::to_string(i), value{{"text", std::to_string(i) + " 1"}, {"n", i}}});
  t->batch(puts).value();
  for (int i = 0; i < 8; ++i)
    t.search({.query = "0 0"}); // an index that follows at each search has all vectors now
  auto found = t.search({.filter = value{{"n", 0}}, .limit = 1, .query = "299 1"});
  expect_equal("the number of items", found.size(), 1);
  expect_equal("the score", found[0].score.value_or(0), -299.0);
}

// ---- against a plain comparison -----------------------------------------------------------------

constexpr std::size_t dims = 3;
using item_place = std::pair<store_namespace, std::string>;

// Items with vectors of whole numbers, of which every sum is exact.
struct compared_items {
  std::mt19937_64 random;
  std::map<item_place, std::pair<int, vectors>> known = {};

  store_namespace space() {
    static const std::vector<store_namespace> all{{"a"}, {"a", "b"}, {"c"}};
    return all[random() % all.size()];
  }
  std::vector<float> whole_vector() {
    std::vector<float> out;
    for (std::size_t i = 0; i < dims; ++i)
      out.push_back(static_cast<float>(random() % 41) - 20);
    return out;
  }
  store_op next_put() {
    item_place at{space(), std::to_string(random() % 60)};
    if (random() % 4 == 0) {
      known.erase(at);
      return store_put{at.first, at.second, {}};
    }
    vectors own;
    std::vector<value> own_texts;
    for (auto count = random() % 3; count > 0; --count) {
      own.push_back(whole_vector());
      own_texts.emplace_back(text_of(own.back()));
    }
    auto n = static_cast<int>(random() % 3);
    known[at] = {n, own};
    return store_put{at.first, at.second, value{{"t", value::list(own_texts)}, {"n", n}}};
  }
};

// The places that fit: those with vectors by distance, and after them the others.
struct compared_answer {
  std::vector<std::pair<double, item_place>> ranked; // by the score's negative
  std::vector<item_place> places;
};

float distance_of(const vectors& own, const std::vector<float>& query) {
  auto best = INFINITY;
  for (const auto& vector : own) {
    float squares = 0;
    for (std::size_t i = 0; i < dims; ++i)
      squares += (vector[i] - query[i]) * (vector[i] - query[i]);
    best = std::min(best, std::sqrt(squares));
  }
  return best;
}

compared_answer compare_all(const compared_items& items, const store_namespace& prefix, int n,
                            const std::vector<float>& query) {
  compared_answer out;
  std::vector<item_place> without;
  for (const auto& [at, item] : items.known) {
    auto is_under = prefix.size() <= at.first.size()
                    && std::equal(prefix.begin(), prefix.end(), at.first.begin());
    if (!is_under || item.first != n)
      continue;
    if (item.second.empty())
      without.push_back(at);
    else
      out.ranked.emplace_back(distance_of(item.second, query), at);
  }
  std::ranges::sort(out.ranked);
  for (const auto& [score, at] : out.ranked)
    out.places.push_back(at);
  out.places.insert(out.places.end(), without.begin(), without.end());
  return out;
}

// An index may miss some of the closest, but all that it gives is right. A search for all gets all.
void search_and_compare(store_subject& t, const store_query& query, const compared_answer& expected,
                        bool is_exact) {
  auto answer = t.search(query);
  std::vector<item_place> found;
  for (const auto& item : answer)
    found.emplace_back(item.space, item.key);
  auto wanted = expected.places;
  wanted.resize(std::min(query.limit, wanted.size()));
  if (is_exact)
    expect_equal("the places", found, wanted);
  expect_equal("the number of places", found.size(), wanted.size());
  for (std::size_t i = 0; i < answer.size(); ++i) {
    expect("the place " + shown(found[i]) + " fits",
           std::ranges::find(expected.places, found[i]) != expected.places.end());
    if (answer[i].score)
      expect("the score " + shown(answer[i].score) + " of " + shown(found[i]) + " is right",
             std::ranges::find(expected.ranked, std::pair{-*answer[i].score, found[i]})
               != expected.ranked.end());
  }
}

void compare_any_searches(store_subject& t, std::size_t exact_max) {
  use_index(t, {.dims = dims,
                .embed = {},
                .fields = {"t[*]"},
                .distance = vector_distance::l2,
                .exact_max = exact_max});
  compared_items items{std::mt19937_64{exact_max}};
  for (int step = 0; step < 60; ++step) {
    std::vector<store_op> ops;
    for (int i = 0; i < 8; ++i)
      ops.push_back(items.next_put());
    t->batch(ops).value();

    auto query = items.whole_vector();
    auto n = static_cast<int>(items.random() % 3);
    store_namespace prefix;
    if (items.random() % 2 == 0)
      prefix = items.space();
    auto expected = compare_all(items, prefix, n, query);
    for (auto limit : {std::size_t{3}, std::size_t{1000}})
      search_and_compare(
        t, {.prefix = prefix, .filter = value{{"n", n}}, .limit = limit, .query = text_of(query)},
        expected, exact_max > 1000 || limit == 1000);
  }
}

void any_searches_answer_as_a_comparison(store_subject& t) {
  compare_any_searches(t, 10'000);
}

void any_searches_of_many_answer_as_a_comparison(store_subject& t) {
  compare_any_searches(t, 20);
}

} // namespace

std::vector<store_check> index_checks() {
  return {
    {"index", "index_ranks_by_cosine", index_ranks_by_cosine},
    {"index", "index_ranks_by_inner_product", index_ranks_by_inner_product},
    {"index", "index_ranks_by_distance", index_ranks_by_distance},
    {"index", "index_orders_ties_by_place", index_orders_ties_by_place},
    {"index", "index_closest_vector_of_an_item_counts", index_closest_vector_of_an_item_counts},
    {"index", "index_gives_items_without_vectors_last", index_gives_items_without_vectors_last},
    {"index", "index_respects_filter_and_prefix", index_respects_filter_and_prefix},
    {"index", "index_is_missing_and_a_query_has_no_effect",
     index_is_missing_and_a_query_has_no_effect},
    {"index", "index_finds_filtered_items_among_many", index_finds_filtered_items_among_many},
    {"index", "any_searches_answer_as_a_comparison", any_searches_answer_as_a_comparison},
    {"index", "any_searches_of_many_answer_as_a_comparison",
     any_searches_of_many_answer_as_a_comparison}};
}

} // namespace troupe::testing
