// Checks of put: every part of a checkpoint, places that stay apart, and values by version.
#include "testing/saver_subject.hpp"

namespace troupe::testing {

namespace {

const named<value> every_kind{{"dict", value{{"a", 1}, {"b", value{1, 2}}}},
                              {"int", 42},
                              {"list", value{1, "two", 3.5}},
                              {"null", nullptr},
                              {"str", "hello"}};

checkpoint_tuple put_and_get(saver_subject& t, const checkpoint_put& p) {
  t.put(at("t"), p);
  return t.get(at("t"));
}

// ---- the reference's ----------------------------------------------------------------------------

void put_returns_config(saver_subject& t) {
  t.put(at("t", "child:abc"), make_put("c1", "", {}));
  expect_equal("the place of the checkpoint", t.get(at("t", "child:abc")).ref,
               at("t", "child:abc", "c1"));
}

void put_roundtrip(saver_subject& t) {
  checkpoint_put p = make_put("c1", "", {});
  auto& cp = p.checkpoint;
  cp.v = 1;
  cp.channel_values = every_kind;
  cp.channel_versions = {
    {"dict", {1, 0}}, {"gone", {9, 3}},          {"int", {2, 0xffffffffffffffff}},
    {"list", {3, 7}}, {"null", {1ull << 62, 1}}, {"str", {300, 7}}};
  cp.versions_seen = {{"__input__", {}}, {"node", {{"dict", {1, 0}}, {"int", {2, 9}}}}};
  cp.updated_channels = texts{"dict", "int"};
  p.new_versions = {"dict", "gone", "int", "list", "null", "str"};
  p.metadata = value{{"source", "loop"}, {"step", 3}, {"parents", value::map()}, {"run_id", "r"}};
  for (const auto* ns : {"", "child"}) {
    t.put(at("t", ns), p);
    auto tuple = t.get(at("t", ns));
    expect_same(tuple.checkpoint, cp);
    expect_equal("the metadata", tuple.metadata, p.metadata);
    expect_equal("the place", tuple.ref, at("t", ns, "c1"));
    expect_equal("the parent", tuple.parent_id, "");
    expect_equal("the pending writes", tuple.pending_writes, std::vector<pending_write>{});
  }
}

void put_preserves_channel_values(saver_subject& t) {
  auto tuple = put_and_get(t, make_put("c1", "", every_kind));
  expect_equal("the channel values", tuple.checkpoint.channel_values, every_kind);
}

void put_preserves_channel_versions(saver_subject& t) {
  auto p = make_put("c1", "", {{"a", 1}, {"b", 2}});
  p.checkpoint.channel_versions = {{"a", {3, 7}}, {"b", {1ull << 62, 0xffffffffffffffff}}};
  auto tuple = put_and_get(t, p);
  expect_equal("the channel versions", tuple.checkpoint.channel_versions,
               p.checkpoint.channel_versions);
}

checkpoint_put put_with_versions_seen() {
  auto p = make_put("c1", "", {{"a", 1}});
  p.checkpoint.versions_seen = {{"__input__", {}},
                                {"node1", {{"a", {1, 7}}}},
                                {"node2", {{"a", {1, 7}}, {"b", {1ull << 62, 9}}}}};
  return p;
}

void put_preserves_versions_seen(saver_subject& t) {
  texts nodes;
  for (const auto& [node, seen] : put_and_get(t, put_with_versions_seen()).checkpoint.versions_seen)
    nodes.push_back(node);
  expect_equal("the nodes of versions_seen", nodes, texts{"__input__", "node1", "node2"});
}

void put_preserves_versions_seen_values(saver_subject& t) {
  auto p = put_with_versions_seen();
  expect_equal("versions_seen", put_and_get(t, p).checkpoint.versions_seen,
               p.checkpoint.versions_seen);
}

void put_preserves_metadata(saver_subject& t) {
  auto p = make_put("c1", "", {},
                    value{{"source", "loop"}, {"step", 3}, {"custom", value{1, "x"}}});
  expect_equal("the metadata", put_and_get(t, p).metadata, p.metadata);
}

void put_root_namespace(saver_subject& t) {
  t.put(at("t", ""), make_put("c1", "", {}));
  expect_equal("the namespace", t.get(at("t", "", "c1")).ref.checkpoint_ns, "");
}

void put_child_namespace(saver_subject& t) {
  t.put(at("t", "child:abc"), make_put("c1", "", {}));
  expect_equal("the namespace", t.get(at("t", "child:abc", "c1")).ref.checkpoint_ns, "child:abc");
  expect("the root has no checkpoint", !t.has(at("t")));
}

void put_default_namespace(saver_subject& t) {
  checkpoint_ref ref;
  ref.thread_id = "t";
  t.put(ref, make_put("c1", "", {}));
  expect_equal("the place", t.get(at("t", "", "c1")).ref, at("t", "", "c1"));
}

void put_multiple_checkpoints_same_thread(saver_subject& t) {
  fill(t);
  for (const auto* id : {"c1", "c2", "c3"})
    expect_equal("the id", t.get(at("t", "", id)).checkpoint.id, id);
}

void put_multiple_threads_isolated(saver_subject& t) {
  for (const auto* thread : {"t", "u"})
    t.put(at(thread), make_put("c1", "", {{"a", thread}}));
  for (const auto* thread : {"t", "u"})
    expect_equal("a of thread " + std::string{thread}, t.stored(at(thread), "a"), value(thread));
}

void put_parent_config(saver_subject& t) {
  fill(t);
  for (int i = 1; i <= 3; ++i)
    expect_equal("the parent of c" + std::to_string(i),
                 t.get(at("t", "", "c" + std::to_string(i))).parent_id,
                 i == 1 ? "" : "c" + std::to_string(i - 1));
}

void put_incremental_channel_update(saver_subject& t) {
  t.put(at("t"), make_put("c1", "", {{"a", 1}, {"b", 10}}));
  auto p = make_put("c2", "c1", {{"a", 2}, {"b", "not looked at"}});
  p.checkpoint.channel_versions[0].second.number = 2;
  p.new_versions = {"a"};
  t.put(at("t"), p);
  for (const auto* id : {"c2", ""}) {
    expect_equal("a of c2", t.stored(at("t", "", id), "a"), value(2));
    expect_equal("b of c2, stored with c1", t.stored(at("t", "", id), "b"), value(10));
  }
  expect_equal("a of c1", t.stored(at("t", "", "c1"), "a"), value(1));
}

void put_new_channel_added(saver_subject& t) {
  t.put(at("t"), make_put("c1", "", {{"a", 1}}));
  auto p = make_put("c2", "c1", {{"a", 1}, {"b", 2}});
  p.new_versions = {"b"};
  t.put(at("t"), p);
  expect_equal("the values of c2", t.get(at("t")).checkpoint.channel_values,
               named<value>{{"a", 1}, {"b", 2}});
}

void put_channel_removed(saver_subject& t) {
  t.put(at("t"), make_put("c1", "", {{"a", 1}, {"b", 2}}));
  auto p = make_put("c2", "c1", {{"a", 1}});
  p.new_versions = {};
  t.put(at("t"), p);
  expect_equal("the values of c2", t.get(at("t")).checkpoint.channel_values,
               named<value>{{"a", 1}});
}

void put_preserves_run_id(saver_subject& t) {
  auto tuple = put_and_get(t, make_put("c1", "", {}, value{{"run_id", "run-abc"}}));
  expect_equal("run_id of the metadata", tuple.metadata["run_id"], value("run-abc"));
}

// ---- troupe's -----------------------------------------------------------------------------------

void put_rejects_missing_thread_id(saver_subject& t) {
  expect_error("put without a thread", t->put(at(""), make_put("c1", "", {})),
               errc::invalid_config);
}

void put_tells_no_updated_channels_from_unknown(saver_subject& t) {
  auto p = make_put("c1", "", {});
  p.checkpoint.updated_channels = texts{};
  expect_equal("updated_channels", put_and_get(t, p).checkpoint.updated_channels,
               std::optional{texts{}});
  p.checkpoint.updated_channels.reset();
  expect_equal("updated_channels", put_and_get(t, p).checkpoint.updated_channels,
               std::optional<texts>{});
}

void put_preserves_any_time(saver_subject& t) {
  for (const auto* ts : {"", "yesterday", "2026-02-30T00:00:00.000000+00:00",
                         "2026-11-21T20:21:07.123456+01:00", "0000-01-01T00:00:00.000000+00:00"}) {
    auto p = make_put("c1", "", {});
    p.checkpoint.ts = ts;
    expect_equal("ts", put_and_get(t, p).checkpoint.ts, ts);
  }
}

void put_namespaces_isolated_by_any_bytes(saver_subject& t) {
  const texts all{"",
                  "child:abc",
                  "child:abd",
                  std::string(400, 'y'),
                  std::string(401, 'y'),
                  std::string(limits::checkpoint_ns_bytes_max, 'x'),
                  std::string("a\0b", 3),
                  "a"};
  for (std::size_t i = 0; i < all.size(); ++i)
    t.put(at("t", all[i]), make_put("c", "", {{"n", i}}));
  for (std::size_t i = 0; i < all.size(); ++i) {
    expect_equal("n of namespace " + shown(all[i]), t.stored(at("t", all[i]), "n"), value(i));
    expect_equal("the namespace", t.get(at("t", all[i])).ref.checkpoint_ns, all[i]);
  }
}

void put_threads_isolated_by_any_bytes(saver_subject& t) {
  const texts all{"a",
                  "ab",
                  std::string("a\0", 2),
                  std::string(1, '\0'),
                  "\xff\xff",
                  "a/b",
                  "a|b",
                  std::string(limits::thread_id_bytes_max, 'z')};
  for (std::size_t i = 0; i < all.size(); ++i)
    t.put(at(all[i]), make_put("c", "", {{"n", i}}));
  for (std::size_t i = 0; i < all.size(); ++i)
    expect_equal("n of thread " + shown(all[i]), t.stored(at(all[i]), "n"), value(i));
}

void put_branches_isolated_by_tag(saver_subject& t) {
  for (unsigned branch : {1u, 2u}) {
    auto p = make_put("c" + std::to_string(branch), "", {{"a", branch}});
    p.checkpoint.channel_versions[0].second = {5, branch};
    t.put(at("t"), p);
  }
  expect_equal("a of the first branch", t.stored(at("t", "", "c1"), "a"), value(1));
  expect_equal("a of the second branch", t.stored(at("t", "", "c2"), "a"), value(2));
}

void put_leaves_out_channels_without_value_or_version(saver_subject& t) {
  t.put(at("t"), make_put("c1", "", {{"a", 1}, {"b", 10}}));
  auto p = make_put("c2", "c1", {});
  p.checkpoint.channel_versions = {{"a", {2, 7}}};
  p.new_versions = {"a", "unversioned"};
  t.put(at("t"), p);
  expect_equal("the values of c2", t.get(at("t")).checkpoint.channel_values, named<value>{});
}

void put_same_id_replaces(saver_subject& t) {
  t.put(at("t"), make_put("c1", "", {{"a", 1}, {"b", 1}}, value{{"step", 1}}));
  auto p = make_put("c1", "c0", {{"a", 2}}, value{{"step", 2}});
  p.checkpoint.channel_versions.emplace_back("b", version{1, 7});
  p.new_versions = {"a", "b"}; // b is empty now
  auto tuple = put_and_get(t, p);
  expect_equal("the parent", tuple.parent_id, "c0");
  expect_equal("step of the metadata", tuple.metadata["step"], value(2));
  expect_equal("the values", tuple.checkpoint.channel_values, named<value>{{"a", 2}});
  expect_equal("the checkpoints", t.ids({}), texts{"c1"});
}

void put_ignores_id_of_reference(saver_subject& t) {
  t.put(at("t", "", "c0"), make_put("c1", "", {}));
  expect_equal("the parent", t.get(at("t")).parent_id, "");
}

void put_rejects_ids_out_of_bounds(saver_subject& t) {
  const std::string long_id(limits::thread_id_bytes_max + 1, 't');
  const std::string long_ns(limits::checkpoint_ns_bytes_max + 1, 'n');
  const std::string long_checkpoint(limits::checkpoint_id_bytes_max + 1, 'c');
  const auto good = make_put("c1", "", {});
  for (const auto& ref : {at(""), at(long_id), at("t", long_ns)}) {
    auto what = " of " + shown(ref);
    expect_error("get_tuple" + what, t->get_tuple(ref), errc::invalid_config);
    expect_error("put" + what, t->put(ref, good), errc::invalid_config);
    expect_error("submit" + what, t.submit({ref, {}, good}), errc::invalid_config);
  }
  expect_error("put without an id", t->put(at("t"), make_put("", "", {})), errc::invalid_config);
  expect_error("put of a long id", t->put(at("t"), make_put(long_checkpoint, "", {})),
               errc::invalid_config);
  expect_error("put of a long parent", t->put(at("t"), make_put("c1", long_checkpoint, {})),
               errc::invalid_config);
  expect_equal("the number of threads", t->threads().value().size(), 0);
}

} // namespace

std::vector<saver_check> put_checks() {
  return {{"put", "put_returns_config", put_returns_config},
          {"put", "put_roundtrip", put_roundtrip},
          {"put", "put_preserves_channel_values", put_preserves_channel_values},
          {"put", "put_preserves_channel_versions", put_preserves_channel_versions},
          {"put", "put_preserves_versions_seen", put_preserves_versions_seen},
          {"put", "put_preserves_versions_seen_values", put_preserves_versions_seen_values},
          {"put", "put_preserves_metadata", put_preserves_metadata},
          {"put", "put_root_namespace", put_root_namespace},
          {"put", "put_child_namespace", put_child_namespace},
          {"put", "put_default_namespace", put_default_namespace},
          {"put", "put_multiple_checkpoints_same_thread", put_multiple_checkpoints_same_thread},
          {"put", "put_multiple_threads_isolated", put_multiple_threads_isolated},
          {"put", "put_parent_config", put_parent_config},
          {"put", "put_incremental_channel_update", put_incremental_channel_update},
          {"put", "put_new_channel_added", put_new_channel_added},
          {"put", "put_channel_removed", put_channel_removed},
          {"put", "put_preserves_run_id", put_preserves_run_id},
          {"put", "put_rejects_missing_thread_id", put_rejects_missing_thread_id},
          {"put", "put_tells_no_updated_channels_from_unknown",
           put_tells_no_updated_channels_from_unknown},
          {"put", "put_preserves_any_time", put_preserves_any_time},
          {"put", "put_namespaces_isolated_by_any_bytes", put_namespaces_isolated_by_any_bytes},
          {"put", "put_threads_isolated_by_any_bytes", put_threads_isolated_by_any_bytes},
          {"put", "put_branches_isolated_by_tag", put_branches_isolated_by_tag},
          {"put", "put_leaves_out_channels_without_value_or_version",
           put_leaves_out_channels_without_value_or_version},
          {"put", "put_same_id_replaces", put_same_id_replaces},
          {"put", "put_ignores_id_of_reference", put_ignores_id_of_reference},
          {"put", "put_rejects_ids_out_of_bounds", put_rejects_ids_out_of_bounds}};
}

} // namespace troupe::testing
