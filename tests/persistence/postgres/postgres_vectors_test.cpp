// Searches by meaning in the database: their answers beside those of a search in memory, older
// vectors, indexes, rights. Without the extension `vector` on the server they are skipped, and that
// is printed. store_meaning_test.cpp has the duties of every store.
#include "persistence/postgres/postgres_schema.hpp"
#include "persistence/postgres/postgres_vectors.hpp"

#include "tests/fixtures/savers.hpp"
#include "tests/persistence/postgres/vector_database.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <sstream>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using boost::unit_test::data::make;
using test::require_error;
using places = std::vector<std::pair<store_namespace, std::string>>;

// The vector of "1 0 2" is (1, 0, 2).
result<std::vector<std::vector<float>>> embed_written(const std::vector<std::string>& texts) {
  std::vector<std::vector<float>> out;
  for (const auto& text : texts) {
    out.emplace_back();
    std::istringstream in{text};
    for (std::string number; in >> number;)
      out.back().push_back(std::strtof(number.c_str(), nullptr));
  }
  return out;
}

std::string text_of_numbers(const std::vector<float>& numbers) {
  std::string out;
  for (auto x : numbers) {
    std::array<char, 64> digits{};
    std::snprintf(digits.data(), digits.size(), "%.9g ", static_cast<double>(x));
    out += digits.data();
  }
  return out;
}

struct vectors_fixture {
  std::chrono::system_clock::time_point now{};
  test::postgres_server& server = test::postgres_server::of_this_program();
  postgres_options database = test::options_with_vectors();
  std::mt19937_64 random{11};

  store_options options(std::size_t dims, vector_distance distance = vector_distance::l2,
                        std::size_t exact_max = limits::store_exact_vectors_default) {
    return {.index = store_index{.dims = dims,
                                 .embed = embed_written,
                                 .fields = {"t[*]"},
                                 .distance = distance,
                                 .exact_max = exact_max},
            .now = [this] { return now; }};
  }
  std::shared_ptr<store> open(vector_search search, const store_options& with) {
    auto here = database;
    here.search = search;
    return open_postgres_store(here, with).value();
  }
  std::vector<float> random_vector(std::size_t dims) {
    std::normal_distribution<float> normal;
    std::vector<float> out;
    for (std::size_t i = 0; i < dims; ++i)
      out.push_back(normal(random));
    return out;
  }
  value item_with(const std::vector<std::vector<float>>& vectors, int n = 0) {
    std::vector<value> texts;
    for (const auto& vector : vectors)
      texts.emplace_back(text_of_numbers(vector));
    return value{{"t", value::list(texts)}, {"n", n}};
  }
  std::string run(std::string_view sql) {
    return test::run_in_vectors(in_schema(sql, database.schema));
  }
};

std::vector<std::string> keys_of(store& in, const store_query& query) {
  std::vector<std::string> out;
  for (const auto& item : in.search(query).value())
    out.push_back(item.key);
  return out;
}

// Whether two answers are the same but for the order of scores that rounding can't tell apart.
// `all` is the whole answer of one of them.
bool are_alike(const std::vector<store_item>& a, const std::vector<store_item>& b,
               const std::vector<store_item>& all) {
  std::map<std::pair<store_namespace, std::string>, std::optional<double>> scores;
  for (const auto& item : all)
    scores[{item.space, item.key}] = item.score;
  auto near = [](std::optional<double> x, std::optional<double> y) {
    return x.has_value() == y.has_value()
           && (!x || std::abs(*x - *y) <= 1e-5 * std::max(1.0, std::abs(*x)));
  };
  if (a.size() != b.size())
    return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto known = scores.find({b[i].space, b[i].key});
    if (!near(a[i].score, b[i].score) || known == scores.end() || !near(known->second, b[i].score))
      return false;
    auto is_same = a[i].space == b[i].space && a[i].key == b[i].key;
    if (!is_same && !a[i].score) // those without a score are in order
      return false;
    if (is_same && a[i].value != b[i].value)
      return false;
  }
  return true;
}

constexpr std::array distances{"cosine", "inner_product", "l2"};

vector_distance distance_named(std::string_view name) {
  return name == "cosine"          ? vector_distance::cosine
         : name == "inner_product" ? vector_distance::inner_product
                                   : vector_distance::l2;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_postgres_vectors, vectors_fixture)

// ---- without the extension ----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_search_in_a_database_without_the_extension_is_refused) {
  auto bare = server.fresh_options();
  bare.search = vector_search::database;
  auto refused = open_postgres_store(bare, options(2));
  require_error(refused, errc::invalid_config);
  BOOST_TEST(refused.error().message().find("`vector`") != std::string::npos);
  open_postgres_store(bare).value(); // nothing to search
  bare.search = vector_search::automatic;
  auto items = open_postgres_store(bare, options(2)).value();
  items->put({"a"}, "k", item_with({{1, 2}})).value();
  BOOST_TEST((items->search({.query = "1 2"}).value()[0].score == 0.0));
}

BOOST_AUTO_TEST_CASE(the_versions_of_the_extension_have_their_indexes) {
  BOOST_TEST(!read_vector_extension("public", "0.3.2"));
  BOOST_TEST(!read_vector_extension("public", ""));
  BOOST_TEST(!read_vector_extension("public", "unknown"));
  BOOST_TEST(!read_vector_extension("at@home", "0.8.0"));
  BOOST_TEST(!read_vector_extension("public", "0.4.4")->has_hnsw);
  BOOST_TEST(read_vector_extension("public", "0.5.0")->has_hnsw);
  BOOST_TEST(read_vector_extension("public", "0.10")->has_hnsw);
  BOOST_TEST(read_vector_extension("public", "1.0-dev")->has_hnsw);
}

BOOST_AUTO_TEST_CASE(a_vector_has_a_text_without_a_loss) {
  BOOST_TEST(vector_text(std::vector<float>{}) == "[]");
  const std::vector<float> numbers{0.1f, -1e15f, 1e-45f, 3};
  BOOST_TEST(vector_text(numbers) == "[0.1,-1e+15,1e-45,3]");
}

// ---- the same answers ---------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(any_searches_have_the_answers_of_a_search_in_memory,
                     make(distances) * make({std::size_t{1}, std::size_t{3}, std::size_t{40}}),
                     name, dims) {
  if (!test::has_vectors())
    return;
  const auto with = options(dims, distance_named(name));
  auto here = open(vector_search::memory, with);
  auto there = open(vector_search::database, with);
  const std::vector<store_namespace> spaces{{"a"}, {"a", "b"}, {"ab"}, {"c", "a"}};
  for (int step = 0; step < 40; ++step) {
    std::vector<store_op> puts;
    for (int i = 0; i < 10; ++i) {
      store_put put{.space = spaces[random() % spaces.size()],
                    .key = std::to_string(random() % 50),
                    .value = {}};
      if (random() % 5 != 0) {
        std::vector<std::vector<float>> vectors;
        for (auto count = random() % 4; count > 0; --count)
          vectors.push_back(random_vector(dims));
        put.value = item_with(vectors, static_cast<int>(random() % 4));
        if (random() % 4 == 0)
          put.ttl = std::chrono::seconds{1 + random() % 20};
      }
      puts.emplace_back(std::move(put));
    }
    (random() % 2 == 0 ? here : there)->batch(puts).value();
    now += std::chrono::seconds{random() % 3};

    store_query query{.limit = 1 + random() % 12, .query = text_of_numbers(random_vector(dims))};
    if (random() % 2 == 0)
      query.prefix = spaces[random() % spaces.size()];
    if (random() % 2 == 0)
      query.filter = value{{"n", static_cast<int>(random() % 4)}};
    if (random() % 2 == 0)
      query.offset = random() % 10;
    query.refresh_ttl = false;
    auto whole = query;
    whole.limit = limits::store_results_max;
    whole.offset = 0;
    auto all = here->search(whole).value();
    BOOST_REQUIRE(are_alike(here->search(query).value(), there->search(query).value(), all));
    BOOST_REQUIRE(are_alike(all, there->search(whole).value(), all));
  }
}

BOOST_DATA_TEST_CASE(vectors_of_zeros_and_of_extreme_numbers_rank_as_in_memory, make(distances),
                     name) {
  if (!test::has_vectors())
    return;
  const auto with = options(3, distance_named(name));
  auto here = open(vector_search::memory, with);
  auto there = open(vector_search::database, with);
  const std::vector<std::vector<float>> all{{0, 0, 0},
                                            {-0.0f, 0, 0},
                                            {1e15f, -1e15f, 1e15f},
                                            {1e-45f, 0, 0},
                                            {1, 2, 3},
                                            {-1, -2, -3},
                                            {1.17549435e-38f, 1e-38f, 1},
                                            {0.1f, 0.2f, 0.3f},
                                            {16777218, 16777216, 1}};
  for (std::size_t i = 0; i < all.size(); ++i)
    if (with.index->distance != vector_distance::cosine
        || i != 3) // the database takes it for zeros
      here->put({"a"}, std::to_string(i), item_with({all[i]})).value();
  for (const auto& query : {std::vector<float>{1, 2, 3}, {0, 0, 0}, {1e15f, 0, 0}}) {
    const store_query asked{.query = text_of_numbers(query)};
    auto answer = here->search(asked).value();
    BOOST_TEST(are_alike(answer, there->search(asked).value(), answer));
  }
}

BOOST_AUTO_TEST_CASE(the_database_has_each_number_of_a_vector) {
  if (!test::has_vectors())
    return;
  std::vector<float> numbers{0, 1, -1, 1e15f, -1e15f, 1e-45f, 1.17549435e-38f, 1.17549421e-38f};
  while (numbers.size() < 500) {
    auto bits = static_cast<std::uint32_t>(random());
    auto x = std::bit_cast<float>(bits);
    if (std::isfinite(x) && std::abs(x) <= limits::store_vector_number_max)
      numbers.push_back(x);
  }
  auto items = open(vector_search::database, options(numbers.size()));
  items->put({"a"}, "k", item_with({numbers})).value();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    auto x = run("SELECT (embedding::real[])[" + std::to_string(i + 1) + "] FROM @.store_vectors");
    BOOST_TEST(std::strtof(x.c_str(), nullptr) == numbers[i]);
  }
}

BOOST_AUTO_TEST_CASE(several_searches_of_a_batch_have_an_answer_each) {
  if (!test::has_vectors())
    return;
  auto items = open(vector_search::database, options(1));
  std::vector<store_op> puts;
  for (int i = 0; i < 2000; ++i)
    puts.emplace_back(store_put{{"a"}, std::to_string(i), item_with({{static_cast<float>(i)}}, i)});
  items->batch(puts).value();
  auto answers =
    items
      ->batch({store_query{.limit = 1, .query = "7"}, store_query{.limit = 2, .query = "900"},
               store_query{.filter = value{{"n", value{{"$lt", 2}}}}, .query = "1999"},
               store_query{.limit = 1, .offset = 1500, .query = "0"}})
      .value();
  auto keys = [&answers](std::size_t i) {
    std::vector<std::string> out;
    for (const auto& item : std::get<2>(answers[i]))
      out.push_back(item.key);
    return out;
  };
  using texts = std::vector<std::string>;
  BOOST_TEST((keys(0) == texts{"7"}));
  BOOST_TEST((keys(1) == texts{"900", "899"}));
  BOOST_TEST((keys(2) == texts{"1", "0"})); // all others were looked at
  BOOST_TEST((keys(3) == texts{"1500"}));
}

// ---- vectors of others --------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(vectors_that_are_older_than_the_search_are_found) {
  if (!test::has_vectors())
    return;
  constexpr auto count = static_cast<int>(limits::postgres_vectors_filled_max) + 10;
  auto before = open(vector_search::memory, options(2));
  std::vector<store_op> puts;
  for (int i = 0; i < count; ++i)
    puts.emplace_back(store_put{{"a"}, std::to_string(i), item_with({{static_cast<float>(i), 1}})});
  before->batch(puts).value();
  auto items = open(vector_search::database, options(2));
  BOOST_TEST(run("SELECT count(*) FROM @.store_vectors WHERE embedding IS NULL") == "0");
  const auto last = std::to_string(count - 1);
  BOOST_TEST((keys_of(*items, {.limit = 1, .query = last + " 1"}).front() == last));
  before->put({"b"}, "new", item_with({{-5, 1}})).value();
  BOOST_TEST((keys_of(*items, {.limit = 1, .query = "-5 1"}).front() == "new"));
  before->remove({"b"}, "new").value();
  BOOST_TEST((keys_of(*items, {.limit = 1, .query = "-5 1"}).front() == "0"));
}

BOOST_AUTO_TEST_CASE(the_database_searches_by_itself_where_it_has_the_extension) {
  if (!test::has_vectors())
    return;
  auto items = open(vector_search::automatic, options(1));
  items->put({"a"}, "1", item_with({{1}})).value();
  items->put({"a"}, "2", item_with({{2}})).value();
  run("UPDATE @.store_vectors SET embedding = '[9]'::\"of extensions\".vector "
      "WHERE number = (SELECT number FROM @.store_items WHERE key = '1')");
  BOOST_TEST((keys_of(*items, {.limit = 1, .query = "9"}).front() == "1"));
  auto here = open(vector_search::memory, options(1));
  BOOST_TEST((keys_of(*here, {.limit = 1, .query = "9"}).front() == "2"));
}

BOOST_AUTO_TEST_CASE(vectors_of_other_dims_and_damaged_ones_count_as_missing) {
  if (!test::has_vectors())
    return;
  auto items = open(vector_search::database, options(2));
  auto others = open(vector_search::database, options(3));
  items->put({"a"}, "1", item_with({{1, 1}})).value();
  items->put({"a"}, "2", item_with({{2, 1}})).value();
  others->put({"a"}, "3", item_with({{3, 1, 1}})).value();
  for (const auto* bytes : {"\\x0000807f0000807f", "\\x0000c07f00000000", "\\x000000", ""}) {
    run("UPDATE @.store_vectors v SET vector = '" + std::string{bytes}
        + "' FROM @.store_items i WHERE i.number = v.number AND i.key = '1'");
    auto found = items->search({.query = "1 1"}).value();
    BOOST_REQUIRE(found.size() == 3u);
    BOOST_TEST((found[0].key == "2" && found[0].score.has_value()));
    BOOST_TEST((!found[1].score && !found[2].score));
    BOOST_TEST((keys_of(*others, {.limit = 1, .query = "1 1 1"}).front() == "3"));
  }
}

BOOST_AUTO_TEST_CASE(stores_that_start_at_once_prepare_one_schema) {
  if (!test::has_vectors())
    return;
  auto before = open(vector_search::memory, options(2));
  for (int i = 0; i < 50; ++i)
    before->put({"a"}, std::to_string(i), item_with({{static_cast<float>(i), 1}})).value();
  std::vector<std::future<std::string>> opened;
  for (int i = 0; i < 4; ++i)
    opened.push_back(std::async(std::launch::async, [this] {
      auto mine = open(vector_search::database, options(2, vector_distance::l2, 10));
      return keys_of(*mine, {.limit = 1, .query = "49 1"}).front();
    }));
  for (auto& one : opened)
    BOOST_TEST(one.get() == "49");
}

// ---- indexes ------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(an_index_of_the_database_finds_nearly_all_of_the_closest, make(distances),
                     name) {
  if (!test::has_vectors())
    return;
  constexpr std::size_t dims = 8;
  constexpr int count = 2000;
  const auto distance = distance_named(name);
  auto exact = open(vector_search::database, options(dims, distance));
  std::vector<store_op> puts;
  for (int i = 0; i < count; ++i)
    puts.emplace_back(store_put{
      {i % 10 == 0 ? "tenth" : "other"}, std::to_string(i), item_with({random_vector(dims)}, i)});
  exact->batch(puts).value();
  auto items = open(vector_search::database, options(dims, distance, 500));
  BOOST_TEST(run("SELECT count(*) FROM pg_index WHERE indisvalid AND indexrelid::regclass::text "
                 "LIKE '%store_vectors_by_"
                 + std::string{name} + "_8%'")
             == "1");
  std::size_t right = 0;
  constexpr std::size_t queries = 20;
  for (std::size_t i = 0; i < queries; ++i) {
    const auto query = text_of_numbers(random_vector(dims));
    auto closest = keys_of(*exact, {.query = query});
    for (const auto& key : keys_of(*items, {.query = query}))
      right += static_cast<std::size_t>(std::ranges::count(closest, key));
    // Fewer vectors than the bound are compared one by one.
    BOOST_TEST((keys_of(*items, {.prefix = {"tenth"}, .query = query})
                == keys_of(*exact, {.prefix = {"tenth"}, .query = query})));
  }
  BOOST_TEST(right >= queries * 10 * 9 / 10);
  // The filter leaves few, which the index would not find.
  const store_query rare{.filter = value{{"n", 7}}, .query = text_of_numbers(random_vector(dims))};
  BOOST_TEST((keys_of(*items, rare) == std::vector<std::string>{"7"}));
  const store_query whole{.limit = count, .query = text_of_numbers(random_vector(dims))};
  BOOST_TEST((keys_of(*items, whole) == keys_of(*exact, whole)));
  items->put({"new"}, "new", item_with({std::vector<float>(dims, 50)})).value();
  BOOST_TEST(
    (keys_of(*items, {.limit = 1, .query = text_of_numbers(std::vector<float>(dims, 50))}).front()
     == "new"));
}

BOOST_AUTO_TEST_CASE(an_index_that_was_left_unfinished_is_built_again) {
  if (!test::has_vectors())
    return;
  auto items = open(vector_search::database, options(2));
  std::vector<store_op> puts;
  for (int i = 0; i < 20; ++i)
    puts.emplace_back(store_put{{"a"}, std::to_string(i), item_with({{static_cast<float>(i), 1}})});
  items->batch(puts).value();
  const auto few = options(2, vector_distance::l2, 10);
  open(vector_search::database, few);
  const std::string index = "'@.store_vectors_by_l2_2'::regclass";
  run("UPDATE pg_index SET indisvalid = false WHERE indexrelid = " + index);
  auto again = open(vector_search::database, few);
  BOOST_TEST(run("SELECT indisvalid FROM pg_index WHERE indexrelid = " + index) == "t");
  BOOST_TEST((keys_of(*again, {.limit = 1, .query = "7 1"}).front() == "7"));
}

BOOST_AUTO_TEST_CASE(vectors_of_many_dims_are_searched_without_an_index) {
  if (!test::has_vectors())
    return;
  constexpr auto dims = limits::postgres_indexed_dims_max + 1;
  const auto few = options(dims, vector_distance::cosine, 1);
  auto items = open(vector_search::database, few);
  for (int i = 0; i < 3; ++i) {
    std::vector<float> vector(dims, 0);
    vector[static_cast<std::size_t>(i)] = 1;
    items->put({"a"}, std::to_string(i), item_with({vector})).value();
  }
  std::vector<float> query(dims, 0);
  query[1] = 1;
  BOOST_TEST(
    (keys_of(*open(vector_search::database, few), {.limit = 1, .query = text_of_numbers(query)})
       .front()
     == "1"));
  BOOST_TEST(run("SELECT count(*) FROM pg_class WHERE relname LIKE 'store_vectors_by%"
                 + std::to_string(dims) + "'")
             == "0");
}

BOOST_AUTO_TEST_CASE(vectors_of_too_many_dims_are_searched_in_memory) {
  if (!test::has_vectors())
    return;
  const auto many = options(limits::postgres_vector_dims_max + 1);
  auto database_only = database;
  require_error(open_postgres_store(database_only, many), errc::invalid_config);
  auto items = open(vector_search::automatic, many);
  std::vector<float> vector(limits::postgres_vector_dims_max + 1, 0);
  open(vector_search::database, options(1)); // from now on the database converts vectors
  items->put({"a"}, "k", item_with({vector})).value();
  BOOST_TEST((items->search({.query = text_of_numbers(vector)}).value()[0].score == 0.0));
}

// ---- encryption ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_encrypted_store_is_searched_in_memory) {
  if (!test::has_vectors())
    return;
  auto plain = open(vector_search::database, options(1));
  plain->put({"a"}, "1", item_with({{1}})).value();
  auto sealed = database;
  sealed.keyring = keyring::from_text("key " + std::string(64, '7')).value();
  require_error(open_postgres_store(sealed, options(1)), errc::invalid_config);
  sealed.search = vector_search::automatic;
  auto items = open_postgres_store(sealed, options(1)).value();
  items->put({"a"}, "2", item_with({{2}})).value();
  BOOST_TEST((keys_of(*items, {.query = "2"}) == std::vector<std::string>{"2", "1"}));
  BOOST_TEST(run("SELECT count(embedding) FROM @.store_vectors") == "1");
  require_error(plain->search({.query = "1"}), errc::key_missing);
  require_error(open_postgres_store(database, options(1)), errc::invalid_config);
}

// ---- failures -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_search_whose_connection_ends_is_done_again) {
  if (!test::has_vectors())
    return;
  auto items = open(vector_search::database, options(1));
  items->put({"a"}, "1", item_with({{1}})).value();
  server.terminate_all();
  BOOST_TEST((keys_of(*items, {.query = "1"}).front() == "1"));
}

BOOST_AUTO_TEST_CASE(a_user_who_may_not_use_the_extension_searches_in_memory) {
  if (!test::has_vectors())
    return;
  auto mine = database;
  mine.search = vector_search::automatic;
  test::run_in_vectors("REVOKE USAGE ON SCHEMA \"of extensions\" FROM troupe");
  auto items = open_postgres_store(mine, options(1)).value();
  mine.search = vector_search::database;
  auto refused = open_postgres_store(mine, options(1));
  items->put({"a"}, "1", item_with({{1}})).value();
  auto found = items->search({.query = "1"}).value();
  test::run_in_vectors("GRANT USAGE ON SCHEMA \"of extensions\" TO troupe");
  require_error(refused, errc::storage_failed);
  BOOST_TEST((found[0].score == 0.0));
  BOOST_TEST(
    (keys_of(*open_postgres_store(mine, options(1)).value(), {.query = "1"}).front() == "1"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
