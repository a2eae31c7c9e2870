// Checks of a store's batches, times to live and sweeps.
#include "testing/store_subject.hpp"

namespace troupe::testing {

namespace {

using namespace std::chrono_literals;

store_options with_ttl(store_ttl_config ttl) {
  return {.ttl = ttl};
}

// ---- batch --------------------------------------------------------------------------------------

void batch_answers_in_order_and_reads_before_puts(store_subject& t) {
  t.use();
  t.put({"a"}, "old", value{{"n", 1}});
  auto answers =
    t->batch({store_put{{"a"}, "new", value{{"n", 2}}}, store_get{{"a"}, "new"},
              store_get{{"a"}, "old"}, store_put{{"a"}, "old", {}}, store_query{.prefix = {"a"}},
              store_put{{"b"}, "k", value::map()}, namespace_query{}})
      .value();
  expect_equal("the number of answers", answers.size(), 7);
  expect("a put has no answer", std::holds_alternative<std::monostate>(answers[0]));
  expect("the new item is not read", !std::get<std::optional<store_item>>(answers[1]).has_value());
  expect_equal("the old item", std::get<std::optional<store_item>>(answers[2]).value().value,
               value{{"n", 1}});
  expect_equal("the number of found items", std::get<std::vector<store_item>>(answers[4]).size(),
               1);
  expect_equal("the namespaces", std::get<namespaces>(answers[6]), namespaces{{"a"}});
  expect_equal("the keys afterwards", t.keys({}), texts{"new", "k"});
}

void batch_last_put_of_a_key_counts(store_subject& t) {
  t.use();
  t->batch({store_put{{"a"}, "k", value{{"n", 1}}}, store_put{{"a"}, "gone", value::map()},
            store_put{{"a"}, "k", value{{"n", 2}}}, store_put{{"a"}, "gone", {}},
            store_put{{"a"}, "back", {}}, store_put{{"a"}, "back", value::map()}})
    .value();
  expect_equal("the value", t.stored({"a"}, "k"), value{{"n", 2}});
  expect_equal("the keys", t.keys({}), texts{"back", "k"});
}

void batch_with_an_invalid_operation_changes_nothing(store_subject& t) {
  t.use();
  for (const store_op& bad :
       {store_op{store_put{{"a.b"}, "k", value::map()}}, store_op{store_put{{"a"}, "k", value{1}}},
        store_op{put_for("k", 0ms)},
        store_op{store_query{.filter = value{{"m", value{{"$in", 1}}}}}}})
    expect_error("a batch with an invalid operation",
                 t->batch({store_put{{"a"}, "good", value::map()}, bad}), errc::invalid_value);
  expect_equal("the keys", t.keys({}), texts{});
}

void batch_has_a_bounded_number_of_operations(store_subject& t) {
  t.use();
  expect_error("a batch of too many operations",
               t->batch(std::vector<store_op>(limits::store_batch_ops_max + 1, store_get{})),
               errc::invalid_value);
  expect_equal("the answers of no operations", t->batch({}).value().size(), 0);
}

// ---- times to live ------------------------------------------------------------------------------

void ttl_ends_an_item(store_subject& t) {
  t.use();
  t.put(put_for("k", 10s));
  t.put({"a", "b"}, "stays", value::map());
  t.move_time(10s - 1us);
  expect("the item is there before its end", t.has("k"));
  expect_equal("the keys before", t.keys({.refresh_ttl = false}), texts{"k", "stays"});
  t.move_time(1us);
  expect("the item is gone at its end", !t.has("k"));
  expect_equal("the keys after", t.keys({.refresh_ttl = false}), texts{"stays"});
  expect_equal("the namespaces", t.listed(), namespaces{{"a", "b"}});
}

void ttl_begins_again_with_a_read(store_subject& t) {
  t.use();
  for (const auto* space : {"got", "found", "not_got", "not_found"})
    t.put({.space = {space}, .key = "k", .value = value::map(), .ttl = 10s});
  t.move_time(6s);
  t.get({"got"}, "k");
  t.search({.prefix = {"found"}});
  t.get({"not_got"}, "k", false);
  t.search({.prefix = {"not_found"}, .refresh_ttl = false});
  t.move_time(6s);
  expect_equal("the namespaces", t.listed(), namespaces{{"found"}, {"got"}});
}

void ttl_without_refresh_on_read(store_subject& t) {
  t.use(with_ttl({.refresh_on_read = false}));
  for (const auto* key : {"asked", "plain"})
    t.put(put_for(key, 10s));
  t.move_time(6s);
  expect("an item that is refreshed is there", t.has("asked", true));
  expect("another item is there", t.has("plain", std::nullopt));
  t.move_time(6s);
  expect_equal("the keys", t.keys({}), texts{"asked"});
}

void ttl_begins_again_for_returned_items_only(store_subject& t) {
  t.use();
  for (const auto* key : {"1", "2", "3"})
    t.put(put_for(key, 10s));
  t.move_time(6s);
  expect_equal("the keys found", t.keys({.limit = 1, .offset = 1}), texts{"2"});
  t.move_time(6s);
  expect_equal("the keys left", t.keys({}), texts{"2"});
}

void ttl_default_of_the_store(store_subject& t) {
  t.use(with_ttl({.default_ttl = 5s}));
  t.put({"a"}, "default", value::map());
  t.put(put_for("longer", 9s));
  t.put(put_for("ever", store_forever));
  t.move_time(5s);
  expect_equal("the keys", t.keys({.refresh_ttl = false}), texts{"ever", "longer"});
  t.move_time(24h * 365 * 20);
  expect_equal("the keys after 20 years", t.keys({}), texts{"ever"});
}

void ttl_is_replaced_by_a_put(store_subject& t) {
  t.use();
  t.put(put_for("k", 5s));
  t.put({"a"}, "k", value::map());
  t.move_time(5s);
  expect_equal("the number of swept items", t->sweep().value(), 0);
  expect("the item is there", t.has("k"));
}

void ttl_expired_item_is_created_anew(store_subject& t) {
  t.use();
  t.put(put_for("k", 1s));
  t.move_time(1s);
  t.put({"a"}, "k", value::map());
  expect_equal("created_at", t.get({"a"}, "k").value().created_at,
               "1970-01-01T00:00:01.000000+00:00");
}

void ttl_is_above_zero_and_bounded(store_subject& t) {
  t.use();
  t.set_time(store_subject::time_point::max());
  t.put(put_for("k", store_forever - 1ms));
  expect("an item of the longest time to live is there", t.has("k", true));
  for (auto ttl : {0ms, -1ms, store_ttl::min()})
    expect_error("a time to live of " + std::to_string(ttl.count()) + " ms",
                 t->put(put_for("k", ttl)), errc::invalid_value);
}

// ---- sweep --------------------------------------------------------------------------------------

void sweep_returns_the_number_of_removed_items(store_subject& t) {
  t.use(with_ttl({.sweep_interval = store_forever}));
  std::vector<store_op> puts;
  for (int i = 0; i < 1200; ++i) // more than limits::store_sweep_items_max
    puts.emplace_back(put_for(std::to_string(i), i < 1100 ? 1s : 3s));
  t->batch(puts).value();
  t.move_time(2s);
  t.put({"a"}, "k", value::map());
  expect_equal("the first sweep", t->sweep().value(), 1100);
  expect_equal("the second sweep", t->sweep().value(), 0);
  expect_equal("the number of items left", t.keys({.limit = 2000}).size(), 101);
}

void sweep_removes_the_longest_expired_first(store_subject& t) {
  t.use(with_ttl({.sweep_interval = store_forever}));
  std::vector<store_op> puts;
  for (int i = 0; i < 12; ++i)
    puts.emplace_back(put_for(std::to_string(i), std::chrono::seconds{12 - i}));
  puts.emplace_back(store_put{.space = {"a"}, .key = "stays", .value = value::map()});
  t->batch(puts).value();
  t.move_time(100s);
  expect_equal("a sweep of five", t->sweep(5).value(), 5);
  t.move_time(-100s); // items that were not swept are there still
  expect_equal("the keys", t.keys({.limit = 100}),
               texts{"0", "1", "2", "3", "4", "5", "6", "stays"});
  t.move_time(100s);
  expect_equal("a sweep of none", t->sweep(0).value(), 0);
  expect_equal("a sweep of seven", t->sweep(7).value(), 7);
  expect_equal("a sweep of all", t->sweep().value(), 0);
  expect("the item without an end is there", t.has("stays"));
}

void sweep_by_a_put_at_each_interval(store_subject& t) {
  t.use(with_ttl({.sweep_interval = 10s}));
  t.put(put_for("k", 1s));
  t.move_time(9s);
  t.put({"b"}, "k", value::map());
  t.move_time(1s);
  t.put({"b"}, "k", value::map()); // sweeps
  expect_equal("the items left to sweep", t->sweep().value(), 0);
  t.put(put_for("k", 1s));
  t.move_time(9s);
  t.put({"b"}, "k", value::map());
  expect_equal("the items left before the interval ends", t->sweep().value(), 1);
}

} // namespace

std::vector<store_check> batch_checks() {
  return {{"batch", "batch_answers_in_order_and_reads_before_puts",
           batch_answers_in_order_and_reads_before_puts},
          {"batch", "batch_last_put_of_a_key_counts", batch_last_put_of_a_key_counts},
          {"batch", "batch_with_an_invalid_operation_changes_nothing",
           batch_with_an_invalid_operation_changes_nothing},
          {"batch", "batch_has_a_bounded_number_of_operations",
           batch_has_a_bounded_number_of_operations}};
}

std::vector<store_check> ttl_checks() {
  return {
    {"ttl", "ttl_ends_an_item", ttl_ends_an_item},
    {"ttl", "ttl_begins_again_with_a_read", ttl_begins_again_with_a_read},
    {"ttl", "ttl_without_refresh_on_read", ttl_without_refresh_on_read},
    {"ttl", "ttl_begins_again_for_returned_items_only", ttl_begins_again_for_returned_items_only},
    {"ttl", "ttl_default_of_the_store", ttl_default_of_the_store},
    {"ttl", "ttl_is_replaced_by_a_put", ttl_is_replaced_by_a_put},
    {"ttl", "ttl_expired_item_is_created_anew", ttl_expired_item_is_created_anew},
    {"ttl", "ttl_is_above_zero_and_bounded", ttl_is_above_zero_and_bounded},
    {"sweep", "sweep_returns_the_number_of_removed_items",
     sweep_returns_the_number_of_removed_items},
    {"sweep", "sweep_removes_the_longest_expired_first", sweep_removes_the_longest_expired_first},
    {"sweep", "sweep_by_a_put_at_each_interval", sweep_by_a_put_at_each_interval}};
}

} // namespace troupe::testing
