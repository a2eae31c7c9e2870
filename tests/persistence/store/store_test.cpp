// Every store: what can be put where, what a search finds, which namespaces there are.
#include "persistence/store/store_filter.hpp"
#include "persistence/store/store_namespace.hpp"

#include "tests/persistence/store/store_kinds.hpp"

#include <troupe/store.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <fstream>
#include <iterator>
#include <thread>

namespace troupe {

namespace {

using test::require_error;
using test::store_kinds;
using namespaces = std::vector<store_namespace>;
using texts = std::vector<std::string>;
using boost::unit_test::data::make;

value json(std::string_view text) {
  return from_json(text).value();
}

// Whether one value fits one condition on its member "m".
bool fits(std::string_view member, std::string_view condition) {
  auto filter = value{{"m", json(condition)}};
  check_filter(filter).value();
  return fits_filter(value{{"m", json(member)}}, filter);
}

value nested_lists(std::size_t levels) {
  value v = 1;
  for (std::size_t i = 0; i < levels; ++i)
    v = value::list({v});
  return v;
}

void require_error_class(const result<void>& r, const std::string& type) {
  require_error(r, errc::invalid_value);
  BOOST_TEST(reference_name(r.error()) == type, r.error().message());
}

// ---- recorded cases -----------------------------------------------------------------------------

value recorded_case(const std::string& name) {
  std::ifstream in{TROUPE_SOURCE_DIR "/tests/conformance/cases/store/" + name + ".json"};
  BOOST_REQUIRE(in.good());
  return json(std::string{std::istreambuf_iterator<char>{in}, {}});
}

std::size_t number_or(const value& v, std::size_t otherwise) {
  return v.is_null() ? otherwise : v.as<std::size_t>();
}

void run_puts(store& to, const value& the_case) {
  for (const auto& statement : the_case["graphs"]["main"]["nodes"]["a"]["run"].items()) {
    const auto& put = statement.at("put");
    to.put(put[0].as<texts>(), put[1].as<std::string>(), put[2]).value();
  }
}

value answer_store(store& from, const value& call) {
  std::vector<value> items;
  for (const auto& item : from
                            .search({.prefix = call["namespace"].as<texts>(),
                        .filter = call["filter"],
                        .limit = number_or(call["limit"], 10),
                        .offset = number_or(call["offset"], 0)})
                            .value())
    items.push_back(value::list({value::of(item.space), item.key, item.value}));
  return value{{"items", value::list(items)}};
}

value answer_namespaces(store& from, const value& call) {
  auto parts = [&call](const char* name) {
    return call[name].is_null() ? texts{} : call[name].as<texts>();
  };
  auto found =
    from.list_namespaces({.prefix = parts("prefix"),
                          .suffix = parts("suffix"),
                          .max_depth = call["max_depth"].as<std::optional<std::size_t>>(),
                          .limit = number_or(call["limit"], 100),
                          .offset = number_or(call["offset"], 0)});
  return value{{"namespaces", value::of(found.value())}};
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_store, test::store_fixture)

BOOST_DATA_TEST_CASE(the_recorded_answers_are_given,
                     make(store_kinds)
                       * make({"filter", "filter-compare", "limit", "namespaces",
                               "prefix-is-by-part"}),
                     kind, name) {
  use(kind);
  auto the_case = recorded_case(name);
  run_puts(*items, the_case);
  const auto calls = the_case["calls"].items();
  for (std::size_t i = 1; i < calls.size(); ++i) {
    auto answer = calls[i]["do"] == value("store") ? answer_store(*items, calls[i])
                                                   : answer_namespaces(*items, calls[i]);
    BOOST_TEST(answer == the_case["expect"][i]);
  }
}

// ---- put, get, remove ---------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(get_gives_what_was_put_under_the_same_namespace_and_key, make(store_kinds),
                     kind) {
  use(kind);
  put({"a", "b"}, "k", value{{"n", 1}});
  put({"a"}, "k", value{{"n", 2}});
  put({"a", "b"}, "", value{{"n", 3}});
  put({"a", "b"}, std::string("k\0", 2), value{{"n", 4}});
  put({"ab"}, "k", value{{"n", 5}});
  BOOST_TEST(items->get({"a", "b"}, "k").value()->value == value({{"n", 1}}));
  BOOST_TEST(items->get({"a"}, "k").value()->value == value({{"n", 2}}));
  BOOST_TEST(items->get({"a", "b"}, "").value()->value == value({{"n", 3}}));
  BOOST_TEST(items->get({"a", "b"}, std::string("k\0", 2)).value()->value == value({{"n", 4}}));
  auto item = items->get({"ab"}, "k").value();
  BOOST_TEST((item->space == store_namespace{"ab"} && item->key == "k"));
  BOOST_TEST(item->value == value({{"n", 5}}));
}

BOOST_DATA_TEST_CASE(get_gives_nothing_for_what_is_not_there, make(store_kinds), kind) {
  use(kind);
  put({"a"}, "k", value::map());
  for (const store_namespace& space :
       {store_namespace{}, {"b"}, {"a", "b"}, {""}, {"a.b"}, {"langgraph"}})
    BOOST_TEST(!items->get(space, "k").value().has_value());
  BOOST_TEST(!items->get({"a"}, "K").value().has_value());
  BOOST_TEST((listed() == namespaces{{"a"}})); // looking makes no namespace
}

BOOST_DATA_TEST_CASE(put_replaces_the_value_and_keeps_when_it_was_created, make(store_kinds),
                     kind) {
  use(kind);
  put({"a"}, "k", value{{"old", 1}});
  now += std::chrono::milliseconds{1500};
  put({"a"}, "k", value{{"new", 2}});
  auto item = items->get({"a"}, "k").value().value();
  BOOST_TEST(item.value == value({{"new", 2}}));
  BOOST_TEST(item.created_at == "1970-01-01T00:00:00.000000+00:00");
  BOOST_TEST(item.updated_at == "1970-01-01T00:00:01.500000+00:00");
  BOOST_TEST((items->search({}).value().at(0) == item));
}

BOOST_DATA_TEST_CASE(an_item_that_was_removed_is_created_anew, make(store_kinds), kind) {
  use(kind);
  put({"a"}, "k", value::map());
  items->remove({"a"}, "k").value();
  now += std::chrono::seconds{1};
  put({"a"}, "k", value::map());
  BOOST_TEST(items->get({"a"}, "k").value()->created_at == "1970-01-01T00:00:01.000000+00:00");
}

BOOST_DATA_TEST_CASE(times_stay_in_form_whatever_the_clock_says, make(store_kinds), kind) {
  use(kind);
  for (auto at : {std::chrono::system_clock::time_point::min(),
                  std::chrono::system_clock::time_point::max()}) {
    now = at;
    put({"a"}, "k", value::map());
    BOOST_TEST(items->get({"a"}, "k").value()->updated_at.size() == 32u);
  }
}

BOOST_DATA_TEST_CASE(remove_takes_one_key_and_the_namespace_with_its_last, make(store_kinds),
                     kind) {
  use(kind);
  put({"a"}, "k1", value::map());
  put({"a"}, "k2", value::map());
  put({"a", "b"}, "k1", value::map());
  items->remove({"a"}, "k1").value();
  BOOST_TEST((keys({}) == texts{"k2", "k1"}));
  BOOST_TEST((listed() == namespaces{{"a"}, {"a", "b"}}));
  items->remove({"a"}, "k2").value();
  BOOST_TEST((listed() == namespaces{{"a", "b"}}));
}

BOOST_DATA_TEST_CASE(remove_of_what_is_not_there_is_no_error, make(store_kinds), kind) {
  use(kind);
  for (const store_namespace& space : {store_namespace{}, {"a"}, {""}, {"a.b"}, {"langgraph"}})
    items->remove(space, "k").value();
  BOOST_TEST(listed().empty());
}

BOOST_DATA_TEST_CASE(put_refuses_a_namespace_that_cannot_be, make(store_kinds), kind) {
  use(kind);
  for (const store_namespace& space : {store_namespace{},
                                       {""},
                                       {"a", ""},
                                       {"a.b"},
                                       {"a", "."},
                                       {"a", "b", "c."},
                                       {"langgraph"},
                                       {"langgraph", "a"}})
    require_error_class(items->put(space, "k", value::map()), "InvalidNamespaceError");
  BOOST_TEST(listed().empty());
  auto refused = items->put({"a", "x.y"}, "k", value::map());
  BOOST_TEST(refused.error().message().find("`x.y`") != std::string::npos);
}

BOOST_DATA_TEST_CASE(put_takes_any_other_namespace, make(store_kinds), kind) {
  use(kind);
  const namespaces all{{std::string(1, '\0')},
                       {"*"},
                       {"a", "langgraph"},
                       {"langgraph2"},
                       {std::string(limits::store_namespace_bytes_max - 1, 'x')},
                       {std::string(limits::store_namespace_bytes_max - 2, 'x')},
                       {" "},
                       {"\xff"},
                       texts(limits::store_namespace_parts_max, "p")};
  for (const auto& space : all)
    put(space, "k", value{{"n", space.front().size()}});
  BOOST_TEST(listed().size() == all.size());
  for (const auto& space : all)
    BOOST_TEST(items->get(space, "k").value().value().value["n"] == value(space.front().size()));
}

BOOST_AUTO_TEST_CASE(namespaces_survive_their_bytes_and_no_others_are_taken) {
  const namespaces sorted{{std::string("\0", 1)},
                          {"a"},
                          {"a", std::string("\0\1", 2), "b"},
                          {"a", "b"},
                          {std::string("a\0", 2)},
                          {"a!"},
                          {"\xff\xff"}};
  std::string before;
  for (const auto& space : sorted) {
    auto bytes = namespace_bytes(space);
    BOOST_TEST((before < bytes));
    BOOST_TEST((namespace_of_bytes(bytes) == space));
    BOOST_TEST(!namespace_of_bytes(bytes.substr(0, bytes.size() - 1)).has_value());
    BOOST_TEST(!namespace_of_bytes(bytes + 'x').has_value());
    before = bytes;
  }
  BOOST_TEST(!namespace_of_bytes("").has_value());
  BOOST_TEST(!namespace_of_bytes(std::string_view{"a\0\2", 3}).has_value());
}

BOOST_DATA_TEST_CASE(put_refuses_what_is_longer_than_its_bound, make(store_kinds), kind) {
  use(kind);
  const std::string longest(limits::store_key_bytes_max, 'k');
  put({"a"}, longest, value::map());
  put({"a"}, longest.substr(1), value::map());
  BOOST_TEST((keys({}) == texts{longest.substr(1), longest}));
  require_error(items->put({"a"}, longest + "k", value::map()), errc::invalid_value);
  require_error_class(items->put({std::string(limits::store_namespace_bytes_max, 'x')}, "k",
                                 value::map()),
                      "InvalidNamespaceError");
  require_error_class(items->put(texts(limits::store_namespace_parts_max + 1, "p"), "k",
                                 value::map()),
                      "InvalidNamespaceError");
  BOOST_TEST(!items->get({"a"}, longest + "k").value().has_value());
}

BOOST_DATA_TEST_CASE(put_refuses_a_value_that_is_no_map, make(store_kinds), kind) {
  use(kind);
  put({"a"}, "k", value{{"n", 1}});
  for (const value& v :
       {value{}, value(true), value(1), value("text"), value::list(),
        value::extension(value_kind::message, value{{"role", "user"}, {"content", "hi"}})})
    require_error(items->put({"a"}, "k", v), errc::invalid_value);
  BOOST_TEST(items->get({"a"}, "k").value()->value == value({{"n", 1}}));
}

BOOST_DATA_TEST_CASE(put_refuses_a_value_that_is_too_deep, make(store_kinds), kind) {
  use(kind);
  auto deepest = value{{"deep", nested_lists(limits::value_depth_max - 1)}};
  put({"a"}, "k", deepest);
  for (auto levels : {limits::value_depth_max, std::size_t{100'000}})
    require_error(items->put({"a"}, "k", value{{"deep", nested_lists(levels)}}),
                  errc::invalid_value);
  BOOST_TEST((items->get({"a"}, "k").value()->value == deepest));
}

// ---- search -------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(search_gives_items_by_namespace_and_key_in_the_order_of_bytes,
                     make(store_kinds), kind) {
  use(kind);
  for (const auto* key : {"b", "\xc3\xa4", "B", "a", "aa", ""})
    put({"s"}, key, value::map());
  put({"s", "a"}, "0", value::map());
  put({"r"}, "1", value::map());
  BOOST_TEST((keys({}) == texts{"1", "", "B", "a", "aa", "b", "\xc3\xa4", "0"}));
  BOOST_TEST((keys({.prefix = {"s", "a"}}) == texts{"0"}));
}

BOOST_DATA_TEST_CASE(search_under_a_prefix_that_cannot_be_finds_nothing, make(store_kinds), kind) {
  use(kind);
  put({"a"}, "k", value::map());
  for (const store_namespace& prefix : {store_namespace{""}, {"a", ""}, {"*"}, {"a."}})
    BOOST_TEST(keys({.prefix = prefix}).empty());
}

BOOST_DATA_TEST_CASE(search_gives_ten_items_unless_told, make(store_kinds), kind) {
  use(kind);
  for (int i = 0; i < 12; ++i)
    put({"a"}, std::string(1, static_cast<char>('a' + i)), value{{"even", i % 2 == 0}});
  BOOST_TEST(keys({}).size() == 10u);
  BOOST_TEST(keys({.limit = 12}).size() == 12u);
  BOOST_TEST(keys({.limit = SIZE_MAX}).size() == 12u);
  BOOST_TEST(keys({.limit = 0}).empty());
}

BOOST_DATA_TEST_CASE(limit_and_offset_count_behind_the_filter, make(store_kinds), kind) {
  use(kind);
  for (int i = 0; i < 12; ++i)
    put({"a"}, std::string(1, static_cast<char>('a' + i)), value{{"even", i % 2 == 0}});
  auto even = value{{"even", true}};
  BOOST_TEST((keys({.filter = even, .limit = 2, .offset = 1}) == texts{"c", "e"}));
  BOOST_TEST((keys({.filter = even, .limit = 9, .offset = 5}) == texts{"k"}));
  BOOST_TEST(keys({.filter = even, .offset = 6}).empty());
  BOOST_TEST(keys({.filter = even, .limit = SIZE_MAX, .offset = SIZE_MAX}).empty());
}

BOOST_DATA_TEST_CASE(a_filter_of_nothing_fits_all, make(store_kinds), kind) {
  use(kind);
  put({"a"}, "k", value{{"n", 1}});
  BOOST_TEST(keys({.filter = {}}).size() == 1u);
  BOOST_TEST(keys({.filter = value::map()}).size() == 1u);
}

BOOST_DATA_TEST_CASE(a_missing_member_is_null, make(store_kinds), kind) {
  use(kind);
  put({"a"}, "k", value{{"there", nullptr}});
  BOOST_TEST(keys({.filter = value{{"there", nullptr}}}).size() == 1u);
  BOOST_TEST(keys({.filter = value{{"missing", nullptr}}}).size() == 1u);
  BOOST_TEST(keys({.filter = value{{"missing", value{{"$ne", 1}}}}}).size() == 1u);
  BOOST_TEST(keys({.filter = value{{"missing", value{{"$ne", nullptr}}}}}).empty());
  BOOST_TEST(keys({.filter = value{{"missing", value{{"$lt", 1}}}}}).empty());
}

// ---- filters ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(equality_is_that_of_json_values) {
  BOOST_TEST(fits("1", "1.0"));
  BOOST_TEST(fits("1.0", "1"));
  BOOST_TEST(fits("[1, {\"a\": 2.0}]", "{\"$eq\": [1.0, {\"a\": 2}]}"));
  BOOST_TEST(fits("0.0", "-0.0"));
  BOOST_TEST(!fits("true", "1"));
  BOOST_TEST(!fits("1", "\"1\""));
  BOOST_TEST(!fits("\"a\"", "\"A\""));
  BOOST_TEST(!fits("[]", "null"));
  BOOST_TEST(!fits("{\"a\": 1, \"b\": 2}", "{\"$eq\": {\"a\": 1}}"));
  BOOST_TEST(fits("{\"a\": 1, \"b\": 2}", "{\"$ne\": {\"a\": 1}}"));
  BOOST_TEST(!fits("{\"a\": 1}", "{\"$ne\": {\"a\": 1.0}}"));
}

BOOST_AUTO_TEST_CASE(large_integers_are_equal_only_when_they_are) {
  BOOST_TEST(!fits("9007199254740993", "9007199254740992.0"));
  BOOST_TEST(fits("9007199254740992", "9007199254740992.0"));
  BOOST_TEST(!fits("9223372036854775807", "9223372036854775808.0"));
  BOOST_TEST(fits("-9223372036854775808", "-9223372036854775808.0"));
}

BOOST_AUTO_TEST_CASE(a_map_asks_for_the_members_it_names) {
  BOOST_TEST(fits("{\"a\": 1, \"b\": 2}", "{\"a\": 1}"));
  BOOST_TEST(fits("{\"a\": {\"b\": 5, \"c\": 0}}", "{\"a\": {\"b\": {\"$gt\": 4}}}"));
  BOOST_TEST(!fits("{\"a\": {\"b\": 4}}", "{\"a\": {\"b\": {\"$gt\": 4}}}"));
  BOOST_TEST(fits("{}", "{\"a\": null}"));
  BOOST_TEST(!fits("1", "{\"a\": null}"));
  BOOST_TEST(!fits("null", "{}"));
}

BOOST_AUTO_TEST_CASE(a_list_asks_for_each_of_its_elements) {
  BOOST_TEST(fits("[1, {\"a\": 1, \"b\": 2}]", "[{\"$gt\": 0}, {\"a\": 1}]"));
  BOOST_TEST(!fits("[1, 2]", "[1]"));
  BOOST_TEST(!fits("[1]", "[1, 2]"));
  BOOST_TEST(!fits("1", "[1]"));
  BOOST_TEST(fits("[]", "[]"));
}

BOOST_AUTO_TEST_CASE(orders_compare_what_float_takes) {
  BOOST_TEST(fits("2", "{\"$gt\": 1.5, \"$lt\": 3, \"$gte\": 2, \"$lte\": 2.0, \"$ne\": 1}"));
  BOOST_TEST(!fits("2", "{\"$gt\": 2}"));
  BOOST_TEST(!fits("2", "{\"$lt\": 2}"));
  BOOST_TEST(fits("true", "{\"$gt\": 0}"));
  BOOST_TEST(fits("\" +2.5e1\\n\"", "{\"$gte\": \"25\"}"));
  BOOST_TEST(fits("\"-inf\"", "{\"$lt\": -1e308}"));
  BOOST_TEST(!fits("\"nan\"", "{\"$lte\": 1}"));
}

BOOST_AUTO_TEST_CASE(what_is_no_number_has_no_order) {
  for (const auto* member : {"null", "\"\"", "\" \"", "\"two\"", "\"1 2\"", "\"0x10\"", "\"+-1\"",
                             "\"--1\"", "\"nan(1)\"", "\"1e999\"", "[2]", "{\"n\": 2}"})
    for (const auto* condition : {"{\"$gt\": 1}", "{\"$gte\": 1}", "{\"$lt\": 9}", "{\"$lte\": 9}"})
      BOOST_TEST(!fits(member, condition), member);
}

BOOST_DATA_TEST_CASE(values_that_are_no_json_are_equal_to_themselves, make(store_kinds), kind) {
  use(kind);
  auto message = [](const char* content) {
    return value::extension(value_kind::message, value{{"role", "user"}, {"content", content}});
  };
  put({"a"}, "k", value{{"m", message("hi")}});
  BOOST_TEST(keys({.filter = value{{"m", message("hi")}}}).size() == 1u);
  BOOST_TEST(keys({.filter = value{{"m", message("ho")}}}).empty());
}

BOOST_DATA_TEST_CASE(search_refuses_filters_that_make_no_sense_also_when_there_is_nothing,
                     make(store_kinds), kind) {
  use(kind);
  auto refused = [this](std::string_view filter, const std::string& type) {
    auto found = items->search({.filter = json(filter)});
    require_error_class(found ? result<void>{} : found.error(), type);
  };
  refused("{\"m\": {\"$in\": [1]}}", "ValueError");
  refused("{\"m\": {\"$\": 1}}", "ValueError");
  refused("{\"m\": {\"$GT\": 1}}", "ValueError");
  refused("{\"m\": {\"$gt\": 1, \"plain\": 2}}", "ValueError");
  refused("{\"m\": [{\"deep\": {\"$not\": 1}}]}", "ValueError");
  refused("{\"m\": {\"$gt\": \"two\"}}", "ValueError");
  refused("{\"m\": {\"$lte\": null}}", "TypeError");
  refused("{\"m\": {\"$lt\": [1]}}", "TypeError");
  refused("[]", "TypeError");
  refused("\"m\"", "TypeError");
}

BOOST_DATA_TEST_CASE(an_operator_is_none_at_the_top_nor_within_an_operand, make(store_kinds),
                     kind) {
  use(kind);
  put({"a"}, "k", value{{"$gt", 1}, {"m", value{{"$in", 2}}}});
  BOOST_TEST(keys({.filter = value{{"$gt", 1}}}).size() == 1u);
  BOOST_TEST(keys({.filter = value{{"$gt", 2}}}).empty());
  BOOST_TEST(keys({.filter = value{{"m", value{{"$eq", value{{"$in", 2}}}}}}}).size() == 1u);
}

BOOST_DATA_TEST_CASE(a_filter_may_be_as_deep_as_a_value_and_no_deeper, make(store_kinds), kind) {
  use(kind);
  auto most = value{{"m", nested_lists(limits::value_depth_max - 1)}};
  put({"a"}, "k", most);
  BOOST_TEST(keys({.filter = most}).size() == 1u);
  for (auto levels : {limits::value_depth_max, std::size_t{100'000}})
    for (const auto& condition :
         {nested_lists(levels), value{{"$eq", nested_lists(levels - 1)}},
          value::extension(value_kind::overwrite, nested_lists(levels - 1))})
      require_error(items->search({.filter = value{{"m", condition}}}), errc::invalid_value);
}

// ---- namespaces ---------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(namespaces_fit_by_prefix_and_suffix_and_wildcards, make(store_kinds), kind) {
  use(kind);
  for (const store_namespace& space :
       {store_namespace{"a"}, {"a", "b"}, {"a", "b", "c"}, {"a", "x", "c"}, {"b", "c"}})
    put(space, "k", value::map());
  BOOST_TEST(
    (listed({.prefix = {"a"}, .suffix = {"c"}}) == namespaces{{"a", "b", "c"}, {"a", "x", "c"}}));
  BOOST_TEST((listed({.prefix = {"*", "*", "*"}}) == namespaces{{"a", "b", "c"}, {"a", "x", "c"}}));
  BOOST_TEST((listed({.suffix = {"b", "*"}}) == namespaces{{"a", "b", "c"}, {"b", "c"}}));
  BOOST_TEST((listed({.prefix = {"a", "b"}, .suffix = {"b", "c"}})
              == namespaces{{"a", "b", "c"}})); // they may overlap
  BOOST_TEST((listed({.prefix = {"b", "c"}, .suffix = {"b", "c"}}) == namespaces{{"b", "c"}}));
  BOOST_TEST(listed({.suffix = {"*", "*", "*", "*"}}).empty());
  BOOST_TEST(listed({.prefix = {""}}).empty());
}

BOOST_DATA_TEST_CASE(namespaces_are_cut_once_they_fit_and_given_once, make(store_kinds), kind) {
  use(kind);
  for (const store_namespace& space : {store_namespace{"a", "b", "c"},
                                       {"a", "b", "d", "e"},
                                       {"a", "b", "d", "i"},
                                       {"a", "b", "f"},
                                       {"a", "c", "f"},
                                       {"b"}})
    put(space, "k", value::map());
  BOOST_TEST((listed({.prefix = {"a", "b"}, .max_depth = 3})
              == namespaces{{"a", "b", "c"}, {"a", "b", "d"}, {"a", "b", "f"}}));
  BOOST_TEST((listed({.suffix = {"f"}, .max_depth = 1}) == namespaces{{"a"}}));
  BOOST_TEST((listed({.max_depth = 2, .limit = 2, .offset = 1}) == namespaces{{"a", "c"}, {"b"}}));
  BOOST_TEST((listed({.max_depth = 0}) == namespaces{{}}));
  BOOST_TEST(listed({.max_depth = 0, .offset = 1}).empty());
  BOOST_TEST(listed({.max_depth = SIZE_MAX}).size() == 6u);
}

BOOST_DATA_TEST_CASE(a_hundred_namespaces_are_listed_unless_told, make(store_kinds), kind) {
  use(kind);
  for (int i = 0; i < 101; ++i)
    put({"n", std::to_string(1000 + i)}, "k", value::map());
  BOOST_TEST(listed().size() == 100u);
  BOOST_TEST(listed({.limit = 101}).size() == 101u);
  BOOST_TEST(listed({.limit = SIZE_MAX, .offset = 100}).size() == 1u);
  BOOST_TEST(listed({.limit = SIZE_MAX, .offset = 101}).empty());
  BOOST_TEST(listed({.limit = 0}).empty());
}

// ---- threads ------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(several_threads_put_look_search_and_remove_at_once, make(store_kinds), kind) {
  use(kind);
  constexpr int threads = 4;
  constexpr int rounds = 50;
  auto shared = items;
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t)
      workers.emplace_back([&shared, t] {
        const store_namespace own{"all", std::to_string(t)};
        for (int i = 0; i < rounds; ++i) {
          auto key = std::to_string(i % 10);
          shared->put(own, key, value{{"t", t}, {"i", i}}).value();
          if (shared->get(own, key).value()->value["i"] != value(i))
            std::abort();
          for (const auto& item : shared->search({.prefix = {"all"}, .limit = 100}).value())
            if (item.space.back() != std::to_string(item.value["t"].as_int()))
              std::abort();
          shared->list_namespaces({}).value();
          if (i % 3 == 0)
            shared->remove(own, key).value();
        }
      });
  }
  BOOST_TEST(shared->list_namespaces({}).value().size() == std::size_t{threads});
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
