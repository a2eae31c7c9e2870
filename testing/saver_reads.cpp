// Checks of get_tuple and list.
#include "testing/saver_subject.hpp"

#include <algorithm>

namespace troupe::testing {

namespace {

// ---- get_tuple ----------------------------------------------------------------------------------

void get_tuple_nonexistent_returns_none(saver_subject& t) {
  expect("a thread that is missing has no checkpoint", !t.has(at("t")));
  fill(t);
  expect("another thread has no checkpoint", !t.has(at("nobody")));
  expect("a namespace of another thread is empty", !t.has(at("u", "child:1")));
}

void get_tuple_latest_when_no_checkpoint_id(saver_subject& t) {
  version at_version{1, 7};
  for (const auto* id : {"c2", "c10", "c3", "1ef4f797-8335-6428-8001-8a1503f9b875"}) {
    t.put(at("t"), make_put(id, "", {{"n", id}}, value::map({}), at_version));
    ++at_version.number;
  }
  expect_equal("the id of the newest", t.get(at("t")).ref.checkpoint_id, "c3");
  expect_equal("n of c10", t.stored(at("t", "", "c10"), "n"), value("c10"));
}

void get_tuple_specific_checkpoint_id(saver_subject& t) {
  fill(t);
  auto tuple = t.get(at("t", "", "c2"));
  expect_equal("the id", tuple.checkpoint.id, "c2");
  expect_equal("the values", tuple.checkpoint.channel_values, named<value>{{"n", 2}});
}

void get_tuple_config_structure(saver_subject& t) {
  fill(t);
  expect_equal("the place of the newest", t.get(at("t")).ref, at("t", "", "c3"));
  expect_equal("the place of c1", t.get(at("t", "child:1", "c1")).ref, at("t", "child:1", "c1"));
}

void get_tuple_checkpoint_fields(saver_subject& t) {
  auto p = make_put("c1", "", {{"a", 1}});
  p.checkpoint.v = 1;
  p.checkpoint.versions_seen = {{"node", {{"a", {1, 7}}}}};
  t.put(at("t"), p);
  expect_same(t.get(at("t")).checkpoint, p.checkpoint);
}

void get_tuple_metadata(saver_subject& t) {
  fill(t);
  expect_equal("the metadata of c3", t.get(at("t")).metadata,
               value{{"source", "loop"}, {"step", 1}, {"score", 42}});
}

void get_tuple_parent_config(saver_subject& t) {
  fill(t);
  expect_equal("the parent of the first", t.get(at("t", "", "c1")).parent_id, "");
  expect_equal("the parent of the second", t.get(at("t", "", "c2")).parent_id, "c1");
}

void get_tuple_pending_writes(saver_subject& t) {
  fill(t);
  t.put_writes(at("t", "", "c2"), one_write("task", "val", "path"));
  expect_equal("the writes after c2", t.get(at("t", "", "c2")).pending_writes,
               std::vector<pending_write>{{"task", "channel", "val", "path"}});
  expect_equal("the writes after c3", t.get(at("t")).pending_writes, std::vector<pending_write>{});
}

void get_tuple_respects_namespace(saver_subject& t) {
  t.put(at("t"), make_put("c1", "", {}));
  t.put(at("t", "child:1"), make_put("c2", "", {}));
  expect_equal("the root's id", t.get(at("t")).checkpoint.id, "c1");
  expect_equal("the child's id", t.get(at("t", "child:1")).checkpoint.id, "c2");
  expect("c2 is not in the root", !t.has(at("t", "", "c2")));
  expect("another namespace is empty", !t.has(at("t", "child:2")));
}

void get_tuple_nonexistent_checkpoint_id(saver_subject& t) {
  fill(t);
  expect("c9 is missing", !t.has(at("t", "", "c9")));
  expect("the beginning of an id is not an id", !t.has(at("t", "", "c")));
}

void get_tuple_rejects_missing_thread_id(saver_subject& t) {
  expect_error("get_tuple without a thread", t->get_tuple(at("")), errc::invalid_config);
}

value value_of(const checkpoint_tuple& of, std::string_view channel) {
  for (const auto& [name, val] : of.checkpoint.channel_values)
    if (name == channel)
      return val;
  return {};
}

void get_tuple_of_some_channels(saver_subject& t) {
  t.put(at("t"), make_put("c1", "", {{"a", 1}, {"b", std::string(1000, 'x')}, {"c", 3}}));
  t.put_writes(at("t", "", "c1"), one_write("task", 1));
  auto whole = t.get(at("t"));
  auto some = t->get_tuple_of(at("t"), {"a", "c", "no such channel"}).value().value();
  expect_equal("a", value_of(some, "a"), value(1));
  expect_equal("c", value_of(some, "c"), value(3));
  expect_equal("the place", some.ref, whole.ref);
  expect_equal("the versions", some.checkpoint.channel_versions, whole.checkpoint.channel_versions);
  expect_equal("the writes", some.pending_writes, whole.pending_writes);
  expect("a thread that is missing has no checkpoint",
         !t->get_tuple_of(at("u"), {"a"}).value().has_value());
}

// ---- list ---------------------------------------------------------------------------------------

void expect_ids(saver_subject& t, std::string_view what, const list_query& query,
                const texts& expected) {
  expect_equal(what, t.ids(query), expected);
}

// A query of the root of thread t.
list_query in_root(value filter, std::optional<std::string> before = {},
                   std::optional<std::size_t> limit = {}) {
  return {.thread_id = "t",
          .checkpoint_ns = "",
          .filter = std::move(filter),
          .before = std::move(before),
          .limit = limit};
}

void list_all(saver_subject& t) {
  expect_equal("the number of checkpoints at first", t.list({}).size(), 0);
  fill(t);
  texts lines;
  for (const auto& tuple : t.list({}))
    lines.push_back(tuple.ref.thread_id + "/" + tuple.ref.checkpoint_ns + "/"
                    + tuple.ref.checkpoint_id + "=" + to_json(value_of(tuple, "n")));
  expect_equal("all by thread, namespace and age", lines,
               texts{"t//c3=3", "t//c2=2", "t//c1=1", "t/child:1/c3=3", "t/child:1/c2=2",
                     "t/child:1/c1=1", "u//c2=9"});
}

void list_by_thread(saver_subject& t) {
  fill(t);
  expect_ids(t, "thread u", {.thread_id = "u"}, {"c2"});
  expect_ids(t, "thread t", {.thread_id = "t"}, {"c3", "c2", "c1", "c3", "c2", "c1"});
  expect_ids(t, "a thread that is missing", {.thread_id = "nobody"}, {});
}

void list_by_namespace(saver_subject& t) {
  fill(t);
  expect_ids(t, "child:1", {.thread_id = "t", .checkpoint_ns = "child:1"}, {"c3", "c2", "c1"});
  expect_ids(t, "child:2", {.thread_id = "t", .checkpoint_ns = "child:2"}, {});
  expect_ids(t, "all roots", {.checkpoint_ns = ""}, {"c3", "c2", "c1", "c2"});
}

void list_by_checkpoint_id(saver_subject& t) {
  fill(t);
  expect_ids(t, "all c2", {.checkpoint_id = "c2"}, {"c2", "c2", "c2"});
  expect_ids(t, "one c1", {.thread_id = "t", .checkpoint_ns = "", .checkpoint_id = "c1"}, {"c1"});
}

void list_ordering(saver_subject& t) {
  for (const auto* id : {"c2", "c3", "c1"})
    t.put(at("t"), make_put(id, "", {}));
  expect_ids(t, "the newest first", {.thread_id = "t"}, {"c3", "c2", "c1"});
}

void list_metadata_filter_single_key(saver_subject& t) {
  fill(t);
  expect_ids(t, "source input", in_root(value{{"source", "input"}}), {"c1"});
  expect_ids(t, "no filter", in_root(value::map()), {"c3", "c2", "c1"});
}

void list_metadata_filter_step(saver_subject& t) {
  fill(t);
  expect_ids(t, "step 1", in_root(value{{"step", 1}}), {"c3"});
}

void list_metadata_filter_multiple_keys(saver_subject& t) {
  fill(t);
  expect_ids(t, "loop and 0", in_root(value{{"source", "loop"}, {"step", 0}}), {"c2"});
  expect_ids(t, "input and 0", in_root(value{{"source", "input"}, {"step", 0}}), {});
}

void list_metadata_filter_no_match(saver_subject& t) {
  fill(t);
  expect_ids(t, "source update", in_root(value{{"source", "update"}}), {});
}

void list_metadata_custom_keys(saver_subject& t) {
  fill(t);
  expect_ids(t, "score 42", in_root(value{{"score", 42}}), {"c3", "c2", "c1"});
  expect_ids(t, "score 43", in_root(value{{"score", 43}}), {});
}

void list_before(saver_subject& t) {
  fill(t);
  expect_ids(t, "before c3", in_root({}, "c3"), {"c2", "c1"});
  expect_ids(t, "before c1", in_root({}, "c1"), {});
  expect_ids(t, "before an id that is missing", in_root({}, "c25"), {"c2", "c1"});
  expect_ids(t, "before an id longer than any", in_root({}, std::string(1000, 'x')),
             {"c3", "c2", "c1"});
}

void list_limit(saver_subject& t) {
  fill(t);
  expect_ids(t, "limit 0", in_root({}, {}, 0), {});
  expect_ids(t, "limit 1", in_root({}, {}, 1), {"c3"});
  expect_ids(t, "limit 2", in_root({}, {}, 2), {"c3", "c2"});
  expect_ids(t, "limit 1 after the filter", in_root(value{{"source", "input"}}, {}, 1), {"c1"});
}

void list_limit_plus_before(saver_subject& t) {
  fill(t);
  expect_ids(t, "limit 1 before c3", in_root({}, "c3", 1), {"c2"});
}

void list_combined_thread_and_filter(saver_subject& t) {
  fill(t);
  expect_ids(t, "input of u", {.thread_id = "u", .filter = value{{"source", "input"}}}, {"c2"});
  expect_ids(t, "loop of u", {.thread_id = "u", .filter = value{{"source", "loop"}}}, {});
}

void list_empty_result(saver_subject& t) {
  expect_ids(t, "a thread of an empty saver", {.thread_id = "t"}, {});
}

void list_includes_pending_writes(saver_subject& t) {
  fill(t);
  t.put_writes(at("t", "", "c2"), one_write("task", 1));
  auto found = t.list(in_root({}));
  expect_equal("the number of checkpoints", found.size(), 3);
  expect_equal("the writes after c3", found[0].pending_writes, std::vector<pending_write>{});
  expect_equal("the writes after c2", found[1].pending_writes,
               std::vector<pending_write>{{"task", "channel", 1, ""}});
}

void list_multiple_namespaces(saver_subject& t) {
  t.put(at("t"), make_put("c1", "", {}));
  t.put(at("t", "child"), make_put("c2", "", {}));
  expect_ids(t, "the root", {.thread_id = "t", .checkpoint_ns = ""}, {"c1"});
  expect_ids(t, "all namespaces", {.thread_id = "t"}, {"c1", "c2"});
}

void list_rejects_missing_thread_id(saver_subject& t) {
  expect_error("list of the thread \"\"", t->list({.thread_id = ""}), errc::invalid_config);
}

// The part of `all`, which has a saver's order, that the query selects.
texts selected(const std::vector<checkpoint_tuple>& all, const list_query& query) {
  texts ids;
  for (const auto& tuple : all) {
    auto is_wanted = [&tuple](const auto& member) {
      return tuple.metadata[member.key()] == member.val;
    };
    if (query.limit && ids.size() >= *query.limit)
      break;
    if ((!query.thread_id || *query.thread_id == tuple.ref.thread_id)
        && (!query.checkpoint_ns || *query.checkpoint_ns == tuple.ref.checkpoint_ns)
        && (!query.before || tuple.ref.checkpoint_id < *query.before)
        && std::ranges::all_of(query.filter.entries(), is_wanted))
      ids.push_back(tuple.ref.checkpoint_id);
  }
  return ids;
}

std::string shown_query(const list_query& query) {
  return "list of thread " + shown(query.thread_id) + ", namespace " + shown(query.checkpoint_ns)
         + ", filter " + shown(query.filter) + ", before " + shown(query.before) + ", limit "
         + shown(query.limit);
}

void list_cross_product(saver_subject& t) {
  using text = std::optional<std::string>;
  fill(t);
  auto all = t.list({});
  for (const auto& thread_id : {text{}, text{"t"}, text{"u"}, text{"nobody"}})
    for (const auto& ns : {text{}, text{""}, text{"child:1"}})
      for (const auto& before : {text{}, text{"c2"}, text{"c3"}})
        for (const auto& limit : {std::optional<std::size_t>{}, std::optional{std::size_t{1}},
                                  std::optional{std::size_t{2}}})
          for (const auto& filter :
               {value{}, value::map(), value{{"source", "input"}}, value{{"source", "loop"}}}) {
            list_query query{.thread_id = thread_id,
                             .checkpoint_ns = ns,
                             .filter = filter,
                             .before = before,
                             .limit = limit};
            expect_ids(t, shown_query(query), query, selected(all, query));
          }
}

} // namespace

std::vector<saver_check> get_tuple_checks() {
  return {{"get_tuple", "get_tuple_nonexistent_returns_none", get_tuple_nonexistent_returns_none},
          {"get_tuple", "get_tuple_latest_when_no_checkpoint_id",
           get_tuple_latest_when_no_checkpoint_id},
          {"get_tuple", "get_tuple_specific_checkpoint_id", get_tuple_specific_checkpoint_id},
          {"get_tuple", "get_tuple_config_structure", get_tuple_config_structure},
          {"get_tuple", "get_tuple_checkpoint_fields", get_tuple_checkpoint_fields},
          {"get_tuple", "get_tuple_metadata", get_tuple_metadata},
          {"get_tuple", "get_tuple_parent_config", get_tuple_parent_config},
          {"get_tuple", "get_tuple_pending_writes", get_tuple_pending_writes},
          {"get_tuple", "get_tuple_respects_namespace", get_tuple_respects_namespace},
          {"get_tuple", "get_tuple_nonexistent_checkpoint_id", get_tuple_nonexistent_checkpoint_id},
          {"get_tuple", "get_tuple_rejects_missing_thread_id", get_tuple_rejects_missing_thread_id},
          {"get_tuple", "get_tuple_of_some_channels", get_tuple_of_some_channels}};
}

std::vector<saver_check> list_checks() {
  return {{"list", "list_all", list_all},
          {"list", "list_by_thread", list_by_thread},
          {"list", "list_by_namespace", list_by_namespace},
          {"list", "list_ordering", list_ordering},
          {"list", "list_metadata_filter_single_key", list_metadata_filter_single_key},
          {"list", "list_metadata_filter_step", list_metadata_filter_step},
          {"list", "list_metadata_filter_multiple_keys", list_metadata_filter_multiple_keys},
          {"list", "list_metadata_filter_no_match", list_metadata_filter_no_match},
          {"list", "list_metadata_custom_keys", list_metadata_custom_keys},
          {"list", "list_before", list_before},
          {"list", "list_limit", list_limit},
          {"list", "list_limit_plus_before", list_limit_plus_before},
          {"list", "list_combined_thread_and_filter", list_combined_thread_and_filter},
          {"list", "list_empty_result", list_empty_result},
          {"list", "list_includes_pending_writes", list_includes_pending_writes},
          {"list", "list_multiple_namespaces", list_multiple_namespaces},
          {"list", "list_by_checkpoint_id", list_by_checkpoint_id},
          {"list", "list_rejects_missing_thread_id", list_rejects_missing_thread_id},
          {"list", "list_cross_product", list_cross_product}};
}

} // namespace troupe::testing
