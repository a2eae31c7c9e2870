// Checks of a store's search without an index: order, limits, and the conditions of filters.
#include "testing/store_subject.hpp"

namespace troupe::testing {

namespace {

value json(std::string_view text) {
  return from_json(text).value();
}

void expect_keys(store_subject& t, std::string_view what, const store_query& query,
                 const texts& expected) {
  expect_equal(what, t.keys(query), expected);
}

// ---- search -------------------------------------------------------------------------------------

void search_in_order_of_bytes(store_subject& t) {
  t.use();
  for (const auto* key : {"b", "\xc3\xa4", "B", "a", "aa", ""})
    t.put({"s"}, key, value::map());
  t.put({"s", "a"}, "0", value::map());
  t.put({"r"}, "1", value::map());
  expect_keys(t, "all", {}, {"1", "", "B", "a", "aa", "b", "\xc3\xa4", "0"});
  expect_keys(t, "under s/a", {.prefix = {"s", "a"}}, {"0"});
}

void search_under_an_impossible_prefix_finds_nothing(store_subject& t) {
  t.use();
  t.put({"a"}, "k", value::map());
  for (const store_namespace& prefix : {store_namespace{""}, {"a", ""}, {"*"}, {"a."}})
    expect_keys(t, "under " + shown(prefix), {.prefix = prefix}, {});
}

void search_limit_is_ten(store_subject& t) {
  t.use();
  for (int i = 0; i < 12; ++i)
    t.put({"a"}, std::string(1, static_cast<char>('a' + i)), value{{"even", i % 2 == 0}});
  expect_equal("the default", t.keys({}).size(), 10);
  expect_equal("limit 12", t.keys({.limit = 12}).size(), 12);
  expect_equal("no limit", t.keys({.limit = SIZE_MAX}).size(), 12);
  expect_equal("limit 0", t.keys({.limit = 0}).size(), 0);
}

void search_limit_and_offset_count_after_the_filter(store_subject& t) {
  t.use();
  for (int i = 0; i < 12; ++i)
    t.put({"a"}, std::string(1, static_cast<char>('a' + i)), value{{"even", i % 2 == 0}});
  auto even = value{{"even", true}};
  expect_keys(t, "two after one", {.filter = even, .limit = 2, .offset = 1}, {"c", "e"});
  expect_keys(t, "the last", {.filter = even, .limit = 9, .offset = 5}, {"k"});
  expect_keys(t, "an offset of all", {.filter = even, .offset = 6}, {});
  expect_keys(t, "an endless offset", {.filter = even, .limit = SIZE_MAX, .offset = SIZE_MAX}, {});
}

// ---- filters ------------------------------------------------------------------------------------

// A condition on a member, and whether the member fits.
struct filter_case {
  std::string_view member;
  std::string_view condition;
  bool fits;
};

// Puts an item for each case, and searches it with the case's filter.
void expect_fits(store_subject& t, const std::vector<filter_case>& cases) {
  t.use();
  for (const auto& [member, condition, fits] : cases) {
    t.put({"a"}, "k", value{{"m", json(member)}});
    expect_equal(std::string{member} + " fits " + std::string{condition},
                 !t.keys({.filter = value{{"m", json(condition)}}}).empty(), fits);
  }
}

void filter_of_nothing_fits_all(store_subject& t) {
  t.use();
  t.put({"a"}, "k", value{{"n", 1}});
  expect_keys(t, "null", {.filter = {}}, {"k"});
  expect_keys(t, "an empty map", {.filter = value::map()}, {"k"});
}

void filter_takes_a_missing_member_as_null(store_subject& t) {
  t.use();
  t.put({"a"}, "k", value{{"there", nullptr}});
  auto expect_filter = [&t](std::string_view filter, const texts& keys) {
    expect_keys(t, filter, {.filter = json(filter)}, keys);
  };
  expect_filter(R"({"there": null})", {"k"});
  expect_filter(R"({"missing": null})", {"k"});
  expect_filter(R"({"missing": {"$ne": 1}})", {"k"});
  expect_filter(R"({"missing": {"$ne": null}})", {});
  expect_filter(R"({"missing": {"$lt": 1}})", {});
}

void filter_equality_of_json_values(store_subject& t) {
  expect_fits(t, {{"1", "1.0", true},
                  {"1.0", "1", true},
                  {R"([1, {"a": 2.0}])", R"({"$eq": [1.0, {"a": 2}]})", true},
                  {"0.0", "-0.0", true},
                  {"true", "1", false},
                  {"1", R"("1")", false},
                  {R"("a")", R"("A")", false},
                  {"[]", "null", false},
                  {R"({"a": 1, "b": 2})", R"({"$eq": {"a": 1}})", false},
                  {R"({"a": 1, "b": 2})", R"({"$ne": {"a": 1}})", true},
                  {R"({"a": 1})", R"({"$ne": {"a": 1.0}})", false}});
}

void filter_equality_of_large_integers(store_subject& t) {
  expect_fits(t, {{"9007199254740993", "9007199254740992.0", false},
                  {"9007199254740992", "9007199254740992.0", true},
                  {"9223372036854775807", "9223372036854775808.0", false},
                  {"-9223372036854775808", "-9223372036854775808.0", true}});
}

void filter_map_asks_for_its_members(store_subject& t) {
  expect_fits(t, {{R"({"a": 1, "b": 2})", R"({"a": 1})", true},
                  {R"({"a": {"b": 5, "c": 0}})", R"({"a": {"b": {"$gt": 4}}})", true},
                  {R"({"a": {"b": 4}})", R"({"a": {"b": {"$gt": 4}}})", false},
                  {"{}", R"({"a": null})", true},
                  {"1", R"({"a": null})", false},
                  {"null", "{}", false}});
}

void filter_list_asks_for_each_element(store_subject& t) {
  expect_fits(t, {{R"([1, {"a": 1, "b": 2}])", R"([{"$gt": 0}, {"a": 1}])", true},
                  {"[1, 2]", "[1]", false},
                  {"[1]", "[1, 2]", false},
                  {"1", "[1]", false},
                  {"[]", "[]", true}});
}

void filter_orders_compare_numbers(store_subject& t) {
  expect_fits(t, {{"2", R"({"$gt": 1.5, "$lt": 3, "$gte": 2, "$lte": 2.0, "$ne": 1})", true},
                  {"2", R"({"$gt": 2})", false},
                  {"2", R"({"$lt": 2})", false},
                  {"true", R"({"$gt": 0})", true},
                  {R"(" +2.5e1\n")", R"({"$gte": "25"})", true},
                  {R"("-inf")", R"({"$lt": -1e308})", true},
                  {R"("nan")", R"({"$lte": 1})", false}});
}

void filter_orders_fit_numbers_only(store_subject& t) {
  std::vector<filter_case> cases;
  for (const auto* member : {"null", "\"\"", "\" \"", "\"two\"", "\"1 2\"", "\"0x10\"", "\"+-1\"",
                             "\"--1\"", "\"nan(1)\"", "\"1e999\"", "[2]", "{\"n\": 2}"})
    for (const auto* condition : {"{\"$gt\": 1}", "{\"$gte\": 1}", "{\"$lt\": 9}", "{\"$lte\": 9}"})
      cases.push_back({member, condition, false});
  expect_fits(t, cases);
}

void filter_equality_of_extension_values(store_subject& t) {
  t.use();
  auto message = [](const char* content) {
    return value::extension(value_kind::message, value{{"role", "user"}, {"content", content}});
  };
  t.put({"a"}, "k", value{{"m", message("hi")}});
  expect_keys(t, "an equal message", {.filter = value{{"m", message("hi")}}}, {"k"});
  expect_keys(t, "another message", {.filter = value{{"m", message("ho")}}}, {});
}

// An empty store refuses them, too.
void filter_rejects_senseless_conditions(store_subject& t) {
  t.use();
  auto refused = [&t](std::string_view filter, const std::string& type) {
    expect_class("the filter " + std::string{filter}, t->search({.filter = json(filter)}), type);
  };
  refused(R"({"m": {"$in": [1]}})", "ValueError");
  refused(R"({"m": {"$": 1}})", "ValueError");
  refused(R"({"m": {"$GT": 1}})", "ValueError");
  refused(R"({"m": {"$gt": 1, "plain": 2}})", "ValueError");
  refused(R"({"m": [{"deep": {"$not": 1}}]})", "ValueError");
  refused(R"({"m": {"$gt": "two"}})", "ValueError");
  refused(R"({"m": {"$lte": null}})", "TypeError");
  refused(R"({"m": {"$lt": [1]}})", "TypeError");
  refused("[]", "TypeError");
  refused(R"("m")", "TypeError");
}

void filter_operators_stand_below_a_member(store_subject& t) {
  t.use();
  t.put({"a"}, "k", value{{"$gt", 1}, {"m", value{{"$in", 2}}}});
  expect_keys(t, "a member $gt", {.filter = value{{"$gt", 1}}}, {"k"});
  expect_keys(t, "another value of it", {.filter = value{{"$gt", 2}}}, {});
  expect_keys(t, "an operand with $in", {.filter = json(R"({"m": {"$eq": {"$in": 2}}})")}, {"k"});
}

void filter_depth_is_that_of_values(store_subject& t) {
  t.use();
  auto most = value{{"m", nested_lists(limits::value_depth_max - 1)}};
  t.put({"a"}, "k", most);
  expect_keys(t, "the deepest filter", {.filter = most}, {"k"});
  for (auto levels : {limits::value_depth_max, std::size_t{100'000}})
    for (const auto& condition :
         {nested_lists(levels), value{{"$eq", nested_lists(levels - 1)}},
          value::extension(value_kind::overwrite, nested_lists(levels - 1))})
      expect_error("a filter that is too deep", t->search({.filter = value{{"m", condition}}}),
                   errc::invalid_value);
}

} // namespace

std::vector<store_check> search_checks() {
  return {{"search", "search_in_order_of_bytes", search_in_order_of_bytes},
          {"search", "search_under_an_impossible_prefix_finds_nothing",
           search_under_an_impossible_prefix_finds_nothing},
          {"search", "search_limit_is_ten", search_limit_is_ten},
          {"search", "search_limit_and_offset_count_after_the_filter",
           search_limit_and_offset_count_after_the_filter}};
}

std::vector<store_check> filter_checks() {
  return {
    {"filter", "filter_of_nothing_fits_all", filter_of_nothing_fits_all},
    {"filter", "filter_takes_a_missing_member_as_null", filter_takes_a_missing_member_as_null},
    {"filter", "filter_equality_of_json_values", filter_equality_of_json_values},
    {"filter", "filter_equality_of_large_integers", filter_equality_of_large_integers},
    {"filter", "filter_map_asks_for_its_members", filter_map_asks_for_its_members},
    {"filter", "filter_list_asks_for_each_element", filter_list_asks_for_each_element},
    {"filter", "filter_orders_compare_numbers", filter_orders_compare_numbers},
    {"filter", "filter_orders_fit_numbers_only", filter_orders_fit_numbers_only},
    {"filter", "filter_equality_of_extension_values", filter_equality_of_extension_values},
    {"filter", "filter_rejects_senseless_conditions", filter_rejects_senseless_conditions},
    {"filter", "filter_operators_stand_below_a_member", filter_operators_stand_below_a_member},
    {"filter", "filter_depth_is_that_of_values", filter_depth_is_that_of_values}};
}

} // namespace troupe::testing
