// Checks of a store with an index: which texts are embedded, and vectors that are malformed.
#include "testing/embedded_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace troupe::testing {

namespace {

void embedding_is_replaced_by_a_put(store_subject& t) {
  use_index(t, plane());
  put_text(t, "k", "1 0");
  put_text(t, "other", "1 2");
  expect_equal("the keys", t.keys({.query = "1 0"}), texts{"k", "other"});
  put_text(t, "k", "0 1");
  expect_equal("the keys after another put", t.keys({.query = "1 0"}), texts{"other", "k"});
  t.put({"a"}, "k", value{{"no", "text"}});
  expect("an item without a text has no score", !t.scores({.query = "0 1"})[1].has_value());
  t->remove({"a"}, "k").value();
  expect_equal("the keys after a removal", t.keys({.query = "1 0"}), texts{"other"});
}

void embedding_of_paths_of_a_put(store_subject& t) {
  use_index(t, plane());
  t.put({.space = {"a"},
         .key = "k",
         .value = value{{"text", "1 0"}, {"m", value{{"n", "0 1"}}}},
         .index = texts{"m.n"}});
  expect_equal("the score of the put's path", t.scores({.query = "0 1"})[0].value(), 1.0);
  expect_equal("the score of the store's path", t.scores({.query = "1 0"})[0].value(), 0.0);
  for (const auto& index : {texts{"m["}, texts{"m[x]"}, texts{"{}"}, texts(65, "m")})
    expect_error("a put with the paths " + shown(index),
                 t->put({.space = {"a"}, .key = "k", .value = value::map(), .index = index}),
                 errc::invalid_value);
}

// The texts at each form of a path, embedded in any order.
void embedding_of_every_form_of_path(store_subject& t) {
  auto v = from_json(R"({"a": {"b": "ab", "c": [1, true, null]}, "s": "text",
                         "l": [{"t": "0", "u": {"v": "uv"}}, {"t": "1"}, "no map"]})")
             .value();
  const std::vector<std::pair<std::string, texts>> all{{"s", {"text"}},
                                                       {"a.b", {"ab"}},
                                                       {"a.c[*]", {"1", "true"}},
                                                       {"a.c", {"[1,true,null]"}},
                                                       {"l[*].t", {"0", "1"}},
                                                       {"l[0].t", {"0"}},
                                                       {"l[-2].t", {"1"}},
                                                       {"l.*.t", {"0", "1"}},
                                                       {"*.b", {"ab"}},
                                                       {"l[*].{t, u.v}", {"0", "1", "uv"}},
                                                       {"l[3].t", {}},
                                                       {"s[0]", {}},
                                                       {"missing.b", {}},
                                                       {"a.c[2]", {}},
                                                       {"$", {to_json(v)}}};
  texts embedded;
  auto index = plane();
  index.embed = [&embedded](const texts& some) {
    embedded.insert(embedded.end(), some.begin(), some.end());
    return result<vectors>{vectors(some.size(), std::vector<float>{1, 0})};
  };
  use_index(t, index);
  for (const auto& [path, expected] : all) {
    embedded.clear();
    t.put({.space = {"a"}, .key = "k", .value = v, .index = texts{path}});
    std::ranges::sort(embedded);
    expect_equal("the texts at " + path, embedded, expected);
  }
}

void embedding_of_a_text_happens_once_in_a_batch(store_subject& t) {
  std::vector<texts> calls;
  auto index = plane();
  index.embed = [&calls](const texts& all) {
    calls.push_back(all);
    return embed_numbers(all);
  };
  use_index(t, index);
  t->batch({store_put{{"a"}, "1", value{{"text", "1 0"}}}, store_query{.query = "1 0"},
            store_put{{"a"}, "2", value{{"text", "1 0"}}},
            store_put{{"a"}, "3", value{{"text", "2 0"}}},
            store_put{{"a"}, "3", value{{"text", "0 2"}}}, store_get{{"a"}, "1"}})
    .value();
  expect_equal("the number of calls", calls.size(), 1);
  std::ranges::sort(calls[0]);
  expect_equal("the texts of the call", calls[0], texts{"0 2", "1 0"});
  t.put({"a"}, "4", value{{"text", ""}});
  t.put({"a"}, "5", value{{"text", nullptr}});
  t.get({"a"}, "1");
  t.search({});
  expect_equal("the number of calls without a text to embed", calls.size(), 1);
}

void embedding_of_many_texts_takes_several_calls(store_subject& t) {
  std::vector<std::size_t> sizes;
  auto index = plane();
  index.embed = [&sizes](const texts& all) {
    sizes.push_back(all.size());
    return embed_numbers(all);
  };
  use_index(t, index);
  std::vector<store_op> puts;
  for (std::size_t i = 0; i < limits::embedding_batch_max + 1; ++i)
    puts.emplace_back(
      store_put{{"a"}, std::to_string(i), value{{"text", std::to_string(i) + " 1"}}});
  t->batch(puts).value();
  expect_equal("the texts of each call", sizes,
               std::vector<std::size_t>{limits::embedding_batch_max, 1});
  expect_equal("the closest key", t.keys({.limit = 1, .query = "0 1"}), texts{"0"});
}

void embedding_has_a_bounded_number_of_texts(store_subject& t) {
  use_index(t, {.dims = 1, .embed = {}, .fields = {"t[*]"}});
  std::vector<value> many;
  for (std::size_t i = 0; i < limits::store_item_texts_max; ++i)
    many.emplace_back(std::to_string(i));
  t.put({"a"}, "k", value{{"t", value::list(many)}});
  many.emplace_back("more");
  expect_error("an item of too many texts", t->put({"a"}, "k", value{{"t", value::list(many)}}),
               errc::invalid_value);
}

// ---- failures -----------------------------------------------------------------------------------

void expect_refused(store_subject& t, embed_function embed, errc code) {
  auto index = plane();
  index.embed = std::move(embed);
  use_index(t, index);
  expect_error("a put", t->put({"a"}, "k", value{{"text", "1 0"}}), code);
  expect_error("a search", t->search({.query = "1 0"}), code);
  expect("nothing is stored", !t.get({"a"}, "k").has_value());
}

void embedding_rejects_malformed_vectors(store_subject& t) {
  for (const auto& malformed : {vectors{}, vectors{{1, 0}, {1, 0}}, vectors{{1, 0, 0}},
                                vectors{{NAN, 0}}, vectors{{INFINITY, 0}}, vectors{{1e30f, 0}}})
    expect_refused(
      t, [malformed](const texts&) { return malformed; }, errc::node_failed);
}

void embedding_failure_changes_nothing(store_subject& t) {
  expect_refused(
    t, [](const texts&) -> result<vectors> { throw std::runtime_error{"down"}; },
    errc::node_failed);
  expect_refused(
    t, [](const texts&) -> result<vectors> { throw 1; }, errc::node_failed);
  expect_refused(
    t,
    [](const texts&) -> result<vectors> {
      return error{errc::overloaded, "later"};
    },
    errc::overloaded);
}

} // namespace

std::vector<store_check> embedding_checks() {
  return {{"index", "embedding_is_replaced_by_a_put", embedding_is_replaced_by_a_put},
          {"index", "embedding_of_paths_of_a_put", embedding_of_paths_of_a_put},
          {"index", "embedding_of_every_form_of_path", embedding_of_every_form_of_path},
          {"index", "embedding_of_a_text_happens_once_in_a_batch",
           embedding_of_a_text_happens_once_in_a_batch},
          {"index", "embedding_of_many_texts_takes_several_calls",
           embedding_of_many_texts_takes_several_calls},
          {"index", "embedding_has_a_bounded_number_of_texts",
           embedding_has_a_bounded_number_of_texts},
          {"index", "embedding_rejects_malformed_vectors", embedding_rejects_malformed_vectors},
          {"index", "embedding_failure_changes_nothing", embedding_failure_changes_nothing}};
}

} // namespace troupe::testing
