// Checks of put, get and remove in a store, of namespaces, and of calls from several threads.
#include "testing/run_check.hpp"
#include "testing/store_subject.hpp"

#include <thread>

namespace troupe::testing {

namespace {

using namespace std::chrono_literals;

const value empty = value::map();

// ---- put, get, remove ---------------------------------------------------------------------------

void put_and_get_by_namespace_and_key(store_subject& t) {
  t.use();
  t.put({"a", "b"}, "k", value{{"n", 1}});
  t.put({"a"}, "k", value{{"n", 2}});
  t.put({"a", "b"}, "", value{{"n", 3}});
  t.put({"a", "b"}, std::string("k\0", 2), value{{"n", 4}});
  t.put({"ab"}, "k", value{{"n", 5}});
  expect_equal("k of a/b", t.stored({"a", "b"}, "k"), value{{"n", 1}});
  expect_equal("k of a", t.stored({"a"}, "k"), value{{"n", 2}});
  expect_equal("the empty key of a/b", t.stored({"a", "b"}, ""), value{{"n", 3}});
  expect_equal("a key with a zero", t.stored({"a", "b"}, std::string("k\0", 2)), value{{"n", 4}});
  expect_equal("k of ab", t.stored({"ab"}, "k"), value{{"n", 5}});
  auto item = t.get({"ab"}, "k").value();
  expect_equal("the item's namespace", item.space, store_namespace{"ab"});
  expect_equal("the item's key", item.key, "k");
}

void get_nonexistent_returns_nothing(store_subject& t) {
  t.use();
  t.put({"a"}, "k", empty);
  for (const store_namespace& space :
       {store_namespace{}, {"b"}, {"a", "b"}, {""}, {"a.b"}, {"langgraph"}})
    expect("nothing is in " + shown(space), !t.get(space, "k").has_value());
  expect("nothing is under K", !t.get({"a"}, "K").has_value());
  expect_equal("the namespaces", t.listed(), namespaces{{"a"}}); // get() makes no namespace
}

void put_replaces_and_keeps_created_at(store_subject& t) {
  t.use();
  t.put({"a"}, "k", value{{"old", 1}});
  t.move_time(1500ms);
  t.put({"a"}, "k", value{{"new", 2}});
  auto item = t.get({"a"}, "k").value();
  expect_equal("the value", item.value, value{{"new", 2}});
  expect_equal("created_at", item.created_at, "1970-01-01T00:00:00.000000+00:00");
  expect_equal("updated_at", item.updated_at, "1970-01-01T00:00:01.500000+00:00");
  expect_equal("the results of a search", t.search({}), std::vector<store_item>{item});
}

void put_after_remove_creates_anew(store_subject& t) {
  t.use();
  t.put({"a"}, "k", empty);
  t->remove({"a"}, "k").value();
  t.move_time(1s);
  t.put({"a"}, "k", empty);
  expect_equal("created_at", t.get({"a"}, "k").value().created_at,
               "1970-01-01T00:00:01.000000+00:00");
}

void put_times_keep_their_form(store_subject& t) {
  t.use();
  for (auto time : {store_subject::time_point::min(), store_subject::time_point::max()}) {
    t.set_time(time);
    t.put({"a"}, "k", empty);
    expect_equal("the length of updated_at", t.get({"a"}, "k").value().updated_at.size(), 32);
  }
}

void remove_takes_one_key(store_subject& t) {
  t.use();
  t.put({"a"}, "k1", empty);
  t.put({"a"}, "k2", empty);
  t.put({"a", "b"}, "k1", empty);
  t->remove({"a"}, "k1").value();
  expect_equal("the keys", t.keys({}), texts{"k2", "k1"});
  expect_equal("the namespaces", t.listed(), namespaces{{"a"}, {"a", "b"}});
  t->remove({"a"}, "k2").value();
  expect_equal("the namespaces after the last key", t.listed(), namespaces{{"a", "b"}});
}

void remove_nonexistent_noop(store_subject& t) {
  t.use();
  for (const store_namespace& space : {store_namespace{}, {"a"}, {""}, {"a.b"}, {"langgraph"}})
    t->remove(space, "k").value();
  expect_equal("the namespaces", t.listed(), namespaces{});
}

void put_rejects_invalid_namespaces(store_subject& t) {
  t.use();
  for (const store_namespace& space : {store_namespace{},
                                       {""},
                                       {"a", ""},
                                       {"a.b"},
                                       {"a", "."},
                                       {"a", "b", "c."},
                                       {"langgraph"},
                                       {"langgraph", "a"}})
    expect_class("put in " + shown(space), t->put(space, "k", empty), "InvalidNamespaceError");
  expect_equal("the namespaces", t.listed(), namespaces{});
  auto refused = t->put({"a", "x.y"}, "k", empty);
  expect("the message names the part",
         refused.error().message().find("`x.y`") != std::string::npos);
}

void put_takes_any_other_namespace(store_subject& t) {
  t.use();
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
    t.put(space, "k", value{{"n", space.front().size()}});
  expect_equal("the number of namespaces", t.listed().size(), all.size());
  for (const auto& space : all)
    expect_equal("the value in " + shown(space), t.stored(space, "k")["n"],
                 value(space.front().size()));
}

void put_rejects_more_than_its_bounds(store_subject& t) {
  t.use();
  const std::string longest(limits::store_key_bytes_max, 'k');
  t.put({"a"}, longest, empty);
  t.put({"a"}, longest.substr(1), empty);
  expect_equal("the keys", t.keys({}), texts{longest.substr(1), longest});
  expect_error("put of a long key", t->put({"a"}, longest + "k", empty), errc::invalid_value);
  expect_class("put in a long namespace",
               t->put({std::string(limits::store_namespace_bytes_max, 'x')}, "k", empty),
               "InvalidNamespaceError");
  expect_class("put in a namespace of many parts",
               t->put(texts(limits::store_namespace_parts_max + 1, "p"), "k", empty),
               "InvalidNamespaceError");
  expect("nothing is under a long key", !t.get({"a"}, longest + "k").has_value());
}

void put_rejects_values_other_than_maps(store_subject& t) {
  t.use();
  t.put({"a"}, "k", value{{"n", 1}});
  for (const value& v :
       {value{}, value(true), value(1), value("text"), value::list(),
        value::extension(value_kind::message, value{{"role", "user"}, {"content", "hi"}})})
    expect_error("put of " + shown(v), t->put({"a"}, "k", v), errc::invalid_value);
  expect_equal("the value", t.stored({"a"}, "k"), value{{"n", 1}});
}

void put_rejects_values_too_deep(store_subject& t) {
  t.use();
  auto deepest = value{{"deep", nested_lists(limits::value_depth_max - 1)}};
  t.put({"a"}, "k", deepest);
  for (auto levels : {limits::value_depth_max, std::size_t{100'000}})
    expect_error("put of a deep value", t->put({"a"}, "k", value{{"deep", nested_lists(levels)}}),
                 errc::invalid_value);
  expect_equal("the value", t.stored({"a"}, "k"), deepest);
}

// ---- namespaces ---------------------------------------------------------------------------------

void put_in_each(store_subject& t, const namespaces& all) {
  for (const auto& space : all)
    t.put(space, "k", empty);
}

void expect_listed(store_subject& t, std::string_view what, const namespace_query& query,
                   const namespaces& expected) {
  expect_equal(what, t.listed(query), expected);
}

void namespaces_fit_prefix_suffix_and_wildcards(store_subject& t) {
  t.use();
  put_in_each(t, {{"a"}, {"a", "b"}, {"a", "b", "c"}, {"a", "x", "c"}, {"b", "c"}});
  const namespaces with_three{{"a", "b", "c"}, {"a", "x", "c"}};
  expect_listed(t, "a … c", {.prefix = {"a"}, .suffix = {"c"}}, with_three);
  expect_listed(t, "* * *", {.prefix = {"*", "*", "*"}}, with_three);
  expect_listed(t, "… b *", {.suffix = {"b", "*"}}, {{"a", "b", "c"}, {"b", "c"}});
  expect_listed(t, "prefix and suffix that overlap", {.prefix = {"a", "b"}, .suffix = {"b", "c"}},
                {{"a", "b", "c"}});
  expect_listed(t, "prefix and suffix of all", {.prefix = {"b", "c"}, .suffix = {"b", "c"}},
                {{"b", "c"}});
  expect_listed(t, "four parts", {.suffix = {"*", "*", "*", "*"}}, {});
  expect_listed(t, "an empty part", {.prefix = {""}}, {});
}

void namespaces_cut_to_depth_are_given_once(store_subject& t) {
  t.use();
  put_in_each(t, {{"a", "b", "c"},
                  {"a", "b", "d", "e"},
                  {"a", "b", "d", "i"},
                  {"a", "b", "f"},
                  {"a", "c", "f"},
                  {"b"}});
  expect_listed(t, "three parts", {.prefix = {"a", "b"}, .max_depth = 3},
                {{"a", "b", "c"}, {"a", "b", "d"}, {"a", "b", "f"}});
  expect_listed(t, "one part", {.suffix = {"f"}, .max_depth = 1}, {{"a"}});
  expect_listed(t, "limit and offset", {.max_depth = 2, .limit = 2, .offset = 1},
                {{"a", "c"}, {"b"}});
  expect_listed(t, "no part", {.max_depth = 0}, {{}});
  expect_listed(t, "no part after one", {.max_depth = 0, .offset = 1}, {});
  expect_equal("the number without a cut", t.listed({.max_depth = SIZE_MAX}).size(), 6);
}

void namespaces_limit_is_a_hundred(store_subject& t) {
  t.use();
  for (int i = 0; i < 101; ++i)
    t.put({"n", std::to_string(1000 + i)}, "k", empty);
  expect_equal("the default", t.listed().size(), 100);
  expect_equal("limit 101", t.listed({.limit = 101}).size(), 101);
  expect_equal("offset 100", t.listed({.limit = SIZE_MAX, .offset = 100}).size(), 1);
  expect_equal("offset 101", t.listed({.limit = SIZE_MAX, .offset = 101}).size(), 0);
  expect_equal("limit 0", t.listed({.limit = 0}).size(), 0);
}

// ---- threads ------------------------------------------------------------------------------------

// One thread's puts, reads, searches and removals, in a namespace of its own.
void use_as_one_of_several(store& shared, int own) {
  const store_namespace space{"all", std::to_string(own)};
  for (int i = 0; i < 50; ++i) {
    auto key = std::to_string(i % 10);
    shared.put(space, key, value{{"t", own}, {"i", i}}).value();
    expect_equal("i of the item", shared.get(space, key).value().value().value["i"], value(i));
    for (const auto& item : shared.search({.prefix = {"all"}, .limit = 100}).value())
      expect_equal("the item's namespace", item.space.back(),
                   std::to_string(item.value["t"].as_int()));
    shared.list_namespaces({}).value();
    if (i % 3 == 0)
      shared.remove(space, key).value();
  }
}

void store_calls_from_several_threads(store_subject& t) {
  t.use();
  std::vector<check_result> ended(4);
  {
    std::vector<std::jthread> workers;
    for (std::size_t own = 0; own < ended.size(); ++own)
      workers.emplace_back([shared = t.shared(), &ended, own] {
        ended[own] = run_check("threads", "store_calls_from_several_threads", [&shared, own] {
          use_as_one_of_several(*shared, static_cast<int>(own));
        });
      });
  }
  for (const auto& each : ended)
    if (each.outcome != check_outcome::passed)
      throw check_failed{each.message};
  expect_equal("the number of namespaces", t.listed().size(), ended.size());
}

} // namespace

std::vector<store_check> item_checks() {
  return {{"put", "put_and_get_by_namespace_and_key", put_and_get_by_namespace_and_key},
          {"put", "put_replaces_and_keeps_created_at", put_replaces_and_keeps_created_at},
          {"put", "put_after_remove_creates_anew", put_after_remove_creates_anew},
          {"put", "put_times_keep_their_form", put_times_keep_their_form},
          {"put", "put_rejects_invalid_namespaces", put_rejects_invalid_namespaces},
          {"put", "put_takes_any_other_namespace", put_takes_any_other_namespace},
          {"put", "put_rejects_more_than_its_bounds", put_rejects_more_than_its_bounds},
          {"put", "put_rejects_values_other_than_maps", put_rejects_values_other_than_maps},
          {"put", "put_rejects_values_too_deep", put_rejects_values_too_deep},
          {"get", "get_nonexistent_returns_nothing", get_nonexistent_returns_nothing},
          {"remove", "remove_takes_one_key", remove_takes_one_key},
          {"remove", "remove_nonexistent_noop", remove_nonexistent_noop},
          {"threads", "store_calls_from_several_threads", store_calls_from_several_threads}};
}

std::vector<store_check> namespace_checks() {
  const auto* group = "list_namespaces";
  return {{group, "namespaces_fit_prefix_suffix_and_wildcards",
           namespaces_fit_prefix_suffix_and_wildcards},
          {group, "namespaces_cut_to_depth_are_given_once", namespaces_cut_to_depth_are_given_once},
          {group, "namespaces_limit_is_a_hundred", namespaces_limit_is_a_hundred}};
}

} // namespace troupe::testing
