// The duties of every saver, after the reference's checkpointer conformance suite
// (libs/checkpoint-conformance: put, put_writes, get_tuple, list, delete_thread).
#include "tests/persistence/saver_kinds.hpp"

#include <algorithm>

namespace troupe {

namespace {

using test::ids_of;
using test::make_put;
using test::require_error;

using test::backends;
using texts = std::vector<std::string>;

checkpoint_ref at(std::string thread_id, std::string ns = "", std::string id = "") {
  return {std::move(thread_id), std::move(ns), std::move(id)};
}

checkpoint_tuple get(saver& from, const checkpoint_ref& ref) {
  auto tuple = from.get_tuple(ref).value();
  BOOST_REQUIRE(tuple.has_value());
  return std::move(*tuple);
}

bool is_there(saver& in, const checkpoint_ref& ref) {
  return in.get_tuple(ref).value().has_value();
}

value stored_value(saver& from, const checkpoint_ref& ref, const std::string& channel) {
  for (const auto& [name, val] : get(from, ref).checkpoint.channel_values)
    if (name == channel)
      return val;
  return "absent";
}

// Writes as "path/task/channel=value", in order.
texts writes_of(saver& from, const checkpoint_ref& ref) {
  texts lines;
  for (const auto& w : get(from, ref).pending_writes)
    lines.push_back(w.task_path + "/" + w.task_id + "/" + w.channel + "=" + to_json(w.value));
  return lines;
}

void put(saver& to, const checkpoint_ref& ref, const checkpoint_put& p) {
  to.put(ref, p).value();
}

void put_writes(saver& to, const checkpoint_ref& ref, const task_writes& w) {
  to.put_writes(ref, w).value();
}

task_writes one_write(std::string task_id, value val, std::string path = "") {
  return {std::move(task_id), std::move(path), {{"channel", std::move(val)}}};
}

// Two threads, t with two namespaces of three checkpoints, u with one checkpoint.
void fill(saver& to) {
  for (const auto* ns : {"", "child:1"})
    for (int i = 1; i <= 3; ++i)
      put(to, at("t", ns),
          make_put("c" + std::to_string(i), i == 1 ? "" : "c" + std::to_string(i - 1), {{"n", i}},
                   value{{"source", i == 1 ? "input" : "loop"}, {"step", i - 2}, {"score", 42}},
                   {static_cast<unsigned>(i), 7}));
  put(to, at("u"), make_put("c2", "", {{"n", 9}}, value{{"source", "input"}, {"step", -1}}));
}

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_saver_conformance)

// ---- put ----------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(put_keeps_every_part_of_a_checkpoint, backend, backends) {
  backend on;
  checkpoint_put p = make_put("c1", "", {});
  auto& cp = p.checkpoint;
  cp.v = 1;
  cp.channel_values = {{"dict", value{{"a", 1}, {"b", value{1, 2}}}},
                       {"int", 42},
                       {"list", value{1, "two", 3.5}},
                       {"null", nullptr},
                       {"str", "hello"}};
  cp.channel_versions = {
    {"dict", {1, 0}}, {"gone", {9, 3}},          {"int", {2, 0xffffffffffffffff}},
    {"list", {3, 7}}, {"null", {1ull << 62, 1}}, {"str", {300, 7}}};
  cp.versions_seen = {{"__input__", {}}, {"node", {{"dict", {1, 0}}, {"int", {2, 9}}}}};
  cp.updated_channels = texts{"dict", "int"};
  p.new_versions = {"dict", "gone", "int", "list", "null", "str"};
  p.metadata = value{{"source", "loop"}, {"step", 3}, {"parents", value::map()}, {"run_id", "r"}};
  put(*on.saver, at("t"), p);

  auto tuple = get(*on.saver, at("t"));
  BOOST_TEST((tuple.checkpoint == cp));
  BOOST_TEST(tuple.metadata == p.metadata);
  BOOST_TEST((tuple.ref == at("t", "", "c1")));
  BOOST_TEST(tuple.parent_id == "");
  BOOST_TEST(tuple.pending_writes.empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_tells_no_updated_channels_from_none_known, backend, backends) {
  backend on;
  auto p = make_put("c1", "", {});
  p.checkpoint.updated_channels = texts{};
  put(*on.saver, at("t"), p);
  BOOST_TEST((get(*on.saver, at("t")).checkpoint.updated_channels == texts{}));
  p.checkpoint.updated_channels.reset();
  put(*on.saver, at("t"), p);
  BOOST_TEST(!get(*on.saver, at("t")).checkpoint.updated_channels.has_value());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_keeps_a_time_that_is_no_timestamp, backend, backends) {
  backend on;
  for (const auto* ts : {"", "yesterday", "2026-02-30T00:00:00.000000+00:00",
                         "2026-11-21T20:21:07.123456+01:00", "0000-01-01T00:00:00.000000+00:00"}) {
    auto p = make_put("c1", "", {});
    p.checkpoint.ts = ts;
    put(*on.saver, at("t"), p);
    BOOST_TEST(get(*on.saver, at("t")).checkpoint.ts == ts);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_keeps_namespaces_apart, backend, backends) {
  backend on;
  const std::string long_ns(limits::checkpoint_ns_bytes_max, 'x');
  const texts all{"",
                  "child:abc",
                  "child:abd",
                  std::string(400, 'y'),
                  std::string(401, 'y'),
                  long_ns,
                  std::string("a\0b", 3),
                  "a"};
  for (std::size_t i = 0; i < all.size(); ++i)
    put(*on.saver, at("t", all[i]), make_put("c", "", {{"n", i}}));
  for (std::size_t i = 0; i < all.size(); ++i) {
    BOOST_TEST(stored_value(*on.saver, at("t", all[i]), "n") == value(i));
    BOOST_TEST(get(*on.saver, at("t", all[i])).ref.checkpoint_ns == all[i]);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_keeps_threads_apart_whatever_their_bytes, backend, backends) {
  backend on;
  const texts all{"a",
                  "ab",
                  std::string("a\0", 2),
                  std::string(1, '\0'),
                  "\xff\xff",
                  "a/b",
                  "a|b",
                  std::string(limits::thread_id_bytes_max, 'z')};
  for (std::size_t i = 0; i < all.size(); ++i)
    put(*on.saver, at(all[i]), make_put("c", "", {{"n", i}}));
  for (std::size_t i = 0; i < all.size(); ++i)
    BOOST_TEST(stored_value(*on.saver, at(all[i]), "n") == value(i));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_stores_several_checkpoints_with_their_parents, backend,
                              backends) {
  backend on;
  fill(*on.saver);
  for (int i = 1; i <= 3; ++i) {
    auto id = "c" + std::to_string(i);
    auto tuple = get(*on.saver, at("t", "", id));
    BOOST_TEST(tuple.checkpoint.id == id);
    BOOST_TEST(tuple.parent_id == (i == 1 ? "" : "c" + std::to_string(i - 1)));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_stores_only_what_has_a_new_version, backend, backends) {
  backend on;
  put(*on.saver, at("t"), make_put("c1", "", {{"a", 1}, {"b", 10}}));
  auto p = make_put("c2", "c1", {{"a", 2}, {"b", "not looked at"}});
  p.checkpoint.channel_versions[0].second.number = 2;
  p.new_versions = {"a"};
  put(*on.saver, at("t"), p);
  BOOST_TEST(stored_value(*on.saver, at("t", "", "c2"), "a") == value(2));
  BOOST_TEST(stored_value(*on.saver, at("t", "", "c2"), "b") == value(10));
  BOOST_TEST(stored_value(*on.saver, at("t", "", "c1"), "a") == value(1));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_tells_branches_of_a_thread_apart_by_tag, backend, backends) {
  backend on;
  for (unsigned branch : {1u, 2u}) {
    auto p = make_put("c" + std::to_string(branch), "", {{"a", branch}});
    p.checkpoint.channel_versions[0].second = {5, branch};
    put(*on.saver, at("t"), p);
  }
  BOOST_TEST(stored_value(*on.saver, at("t", "", "c1"), "a") == value(1));
  BOOST_TEST(stored_value(*on.saver, at("t", "", "c2"), "a") == value(2));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_leaves_out_channels_without_value_or_version, backend, backends) {
  backend on;
  put(*on.saver, at("t"), make_put("c1", "", {{"a", 1}, {"b", 10}}));
  auto p = make_put("c2", "c1", {});
  p.checkpoint.channel_versions = {{"a", {2, 7}}};
  p.new_versions = {"a", "unversioned"};
  put(*on.saver, at("t"), p);
  BOOST_TEST(get(*on.saver, at("t")).checkpoint.channel_values.empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_of_the_same_id_replaces, backend, backends) {
  backend on;
  put(*on.saver, at("t"), make_put("c1", "", {{"a", 1}, {"b", 1}}, value{{"step", 1}}));
  auto p = make_put("c1", "c0", {{"a", 2}}, value{{"step", 2}});
  p.checkpoint.channel_versions.emplace_back("b", version{1, 7});
  p.new_versions = {"a", "b"}; // b is empty now
  put(*on.saver, at("t"), p);
  auto tuple = get(*on.saver, at("t"));
  BOOST_TEST(tuple.parent_id == "c0");
  BOOST_TEST(tuple.metadata["step"] == value(2));
  BOOST_TEST((tuple.checkpoint.channel_values == named<value>{{"a", 2}}));
  BOOST_TEST(on.saver->list({}).value().size() == 1u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_ignores_the_checkpoint_id_of_the_reference, backend, backends) {
  backend on;
  put(*on.saver, at("t", "", "c0"), make_put("c1", "", {}));
  BOOST_TEST(get(*on.saver, at("t")).parent_id == "");
}

// ---- put_writes ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(put_writes_keeps_all_writes_of_all_tasks, backend, backends) {
  backend on;
  put(*on.saver, at("t"), make_put("c1", "", {}));
  auto here = at("t", "", "c1");
  put_writes(*on.saver, here,
             {"task1", "a:b:c", {{"x", value{{"data", 123}}}, {"y", 2}, {"x", 3}}});
  put_writes(*on.saver, here, {"task2", "a:b:c", {{"x", nullptr}}});
  BOOST_TEST(writes_of(*on.saver, here)
               == (texts{"a:b:c/task1/x={\"data\":123}", "a:b:c/task1/y=2", "a:b:c/task1/x=3",
                         "a:b:c/task2/x=null"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_writes_orders_by_path_then_task_then_slot, backend, backends) {
  backend on;
  put(*on.saver, at("t"), make_put("c1", "", {}));
  auto here = at("t", "", "c1");
  put_writes(*on.saver, here, {"a", "~2", {{"x", 1}}});
  put_writes(*on.saver, here, {"c", "~1", {{"x", 2}, {"__error__", 3}, {"x", 4}}});
  put_writes(*on.saver, here, {"b", "~1", {{"__resume__", 5}, {"__interrupt__", 6}}});
  put_writes(*on.saver, here, {"z", "", {{"x", 7}}});
  put_writes(*on.saver, here, {"b", "~1", {{"__scheduled__", 8}}});
  BOOST_TEST(writes_of(*on.saver, here)
               == (texts{"/z/x=7", "~1/b/__resume__=5", "~1/b/__interrupt__=6",
                         "~1/b/__scheduled__=8", "~1/c/__error__=3", "~1/c/x=2", "~1/c/x=4",
                         "~2/a/x=1"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_writes_keeps_a_position_that_is_there, backend, backends) {
  backend on;
  put(*on.saver, at("t"), make_put("c1", "", {}));
  auto here = at("t", "", "c1");
  put_writes(*on.saver, here, {"task", "p", {{"x", 1}}});
  put_writes(*on.saver, here, {"task", "p", {{"x", 1}}});
  put_writes(*on.saver, here, {"task", "q", {{"x", 2}, {"y", 3}}});
  BOOST_TEST(writes_of(*on.saver, here) == (texts{"p/task/x=1", "q/task/y=3"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_writes_replaces_special_channels, backend, backends) {
  backend on;
  put(*on.saver, at("t"), make_put("c1", "", {}));
  auto here = at("t", "", "c1");
  for (int i : {1, 2})
    put_writes(*on.saver, here,
               {"task",
                "",
                {{"__error__", i},
                 {"__interrupt__", i},
                 {"__resume__", i},
                 {"__scheduled__", i},
                 {"__no_writes__", i}}});
  put_writes(*on.saver, here, {"task", "", {{"__error__", 3}, {"__error__", 4}}});
  BOOST_TEST(writes_of(*on.saver, here)
               == (texts{"/task/__resume__=2", "/task/__interrupt__=2", "/task/__scheduled__=2",
                         "/task/__error__=4", "/task/__no_writes__=1"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_writes_belong_to_one_namespace_and_checkpoint, backend,
                              backends) {
  backend on;
  for (const auto* ns : {"", "child"})
    for (const auto* id : {"c1", "c10", "c2"})
      put(*on.saver, at("t", ns), make_put(id, "", {}));
  put_writes(*on.saver, at("t", "", "c1"), one_write("root", 1));
  put_writes(*on.saver, at("t", "child", "c1"), one_write("child", 2));
  BOOST_TEST(writes_of(*on.saver, at("t", "", "c1")) == texts{"/root/channel=1"});
  BOOST_TEST(writes_of(*on.saver, at("t", "child", "c1")) == texts{"/child/channel=2"});
  BOOST_TEST(writes_of(*on.saver, at("t", "", "c10")).empty());
  BOOST_TEST(writes_of(*on.saver, at("t", "", "c2")).empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_writes_may_come_before_the_checkpoint, backend, backends) {
  backend on;
  put_writes(*on.saver, at("t", "", "c1"), one_write("task", 1));
  BOOST_TEST(!is_there(*on.saver, at("t", "", "c1")));
  put(*on.saver, at("t"), make_put("c1", "", {}));
  BOOST_TEST(writes_of(*on.saver, at("t", "", "c1")) == texts{"/task/channel=1"});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_writes_keeps_task_ids_of_every_form, backend, backends) {
  backend on;
  put(*on.saver, at("t"), make_put("c1", "", {}));
  texts ids{"",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "6BA7B810-9dad-11d1-80b4-00c04fd430c8",
            "6ba7b810-9dad-11d1-80b4_00c04fd430c8",
            std::string(limits::task_id_bytes_max, 't'),
            "\xff",
            "0123456789abcdef"};
  std::ranges::sort(ids);
  for (const auto& id : ids)
    put_writes(*on.saver, at("t", "", "c1"), one_write(id, 1));
  texts found;
  for (const auto& w : get(*on.saver, at("t")).pending_writes)
    found.push_back(w.task_id);
  BOOST_TEST(found == ids, boost::test_tools::per_element());
}

// ---- get_tuple ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(get_tuple_is_empty_for_what_is_not_there, backend, backends) {
  backend on;
  BOOST_TEST(!is_there(*on.saver, at("t")));
  fill(*on.saver);
  BOOST_TEST(!is_there(*on.saver, at("nobody")));
  BOOST_TEST(!is_there(*on.saver, at("t", "", "c9")));
  BOOST_TEST(!is_there(*on.saver, at("t", "", "c")));
  BOOST_TEST(!is_there(*on.saver, at("t", "child:2")));
  BOOST_TEST(!is_there(*on.saver, at("u", "child:1")));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(get_tuple_without_an_id_gives_the_greatest, backend, backends) {
  backend on;
  version at_version{1, 7};
  for (const auto* id : {"c2", "c10", "c3", "1ef4f797-8335-6428-8001-8a1503f9b875"}) {
    put(*on.saver, at("t"), make_put(id, "", {{"n", id}}, value::map({}), at_version));
    ++at_version.number;
  }
  BOOST_TEST(get(*on.saver, at("t")).ref.checkpoint_id == "c3");
  BOOST_TEST(stored_value(*on.saver, at("t", "", "c10"), "n") == value("c10"));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_new_checkpoint_has_no_pending_writes, backend, backends) {
  backend on;
  put(*on.saver, at("t"), make_put("c1", "", {}));
  put_writes(*on.saver, at("t", "", "c1"), one_write("task", 1));
  put(*on.saver, at("t"), make_put("c2", "c1", {}));
  BOOST_TEST(writes_of(*on.saver, at("t")).empty());
  BOOST_TEST(writes_of(*on.saver, at("t", "", "c1")).size() == 1u);
}

// ---- get_delta_channel_history ------------------------------------------------------------------

// Checkpoint c<n> below c<parent>, with these values; its own step wrote "w<n>" to channels a and
// b.
void put_step(saver& to, int n, int parent, named<value> values, const std::string& ns = "") {
  auto id = "c" + std::to_string(n);
  put(to, at("t", ns),
      make_put(id, parent == 0 ? "" : "c" + std::to_string(parent), std::move(values), value::map(),
               {static_cast<unsigned>(n), 7}));
  auto written = value("w" + std::to_string(n));
  put_writes(to, at("t", ns, id), {"task", "", {{"a", written}, {"b", written}}});
}

value snapshot_of(const char* text) {
  return value::extension(value_kind::delta_snapshot, text);
}

// A history as "seed: write write …".
std::string shown(const delta_history& history) {
  std::string out = history.seed ? to_json(*history.seed) + ":" : "no seed:";
  for (const auto& w : history.writes)
    out += " " + std::string{w.value.as_string()};
  return out;
}

std::string history_of(saver& from, const checkpoint_ref& ref, const std::string& channel) {
  auto found = from.get_delta_channel_history(ref, {channel}).value();
  BOOST_REQUIRE(found.size() == 1u);
  BOOST_TEST(found[0].first == channel);
  return shown(found[0].second);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(history_has_the_writes_since_the_nearest_value_oldest_first, backend,
                              backends) {
  backend on;
  put_step(*on.saver, 1, 0, {{"a", snapshot_of("old")}});
  put_step(*on.saver, 2, 1, {});
  put_step(*on.saver, 3, 2, {{"a", snapshot_of("near")}});
  put_step(*on.saver, 4, 3, {});
  put_step(*on.saver, 5, 4, {});
  // Those of the one with the value count, those of the target are of the next step.
  BOOST_TEST(history_of(*on.saver, at("t", "", "c5"), "a")
             == R"({"$delta_snapshot":"near"}: w3 w4)");
  BOOST_TEST(history_of(*on.saver, at("t"), "a") == R"({"$delta_snapshot":"near"}: w3 w4)");
  BOOST_TEST(history_of(*on.saver, at("t", "", "c3"), "a")
             == R"({"$delta_snapshot":"old"}: w1 w2)");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(history_takes_the_plain_value_of_a_former_reducer, backend,
                              backends) {
  backend on;
  put_step(*on.saver, 1, 0, {{"a", value{1, 2}}});
  put_step(*on.saver, 2, 1, {});
  put_step(*on.saver, 3, 2, {});
  BOOST_TEST(history_of(*on.saver, at("t"), "a") == "[1,2]: w1 w2");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(history_without_a_value_begins_at_the_first_checkpoint, backend,
                              backends) {
  backend on;
  for (int n = 1; n <= 3; ++n)
    put_step(*on.saver, n, n - 1, {});
  BOOST_TEST(history_of(*on.saver, at("t"), "a") == "no seed: w1 w2");
  BOOST_TEST(history_of(*on.saver, at("t", "", "c1"), "a") == "no seed:");
  BOOST_TEST(history_of(*on.saver, at("t"), "unknown") == "no seed:");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(history_ends_for_each_channel_on_its_own, backend, backends) {
  backend on;
  put_step(*on.saver, 1, 0, {});
  put_step(*on.saver, 2, 1, {{"a", snapshot_of("A")}});
  put_step(*on.saver, 3, 2, {});
  put_step(*on.saver, 4, 3, {{"b", snapshot_of("B")}});
  put_step(*on.saver, 5, 4, {});
  auto found = on.saver->get_delta_channel_history(at("t"), {"b", "c", "a", "b"}).value();
  BOOST_REQUIRE(found.size() == 3u);
  BOOST_TEST(found[0].first + " " + shown(found[0].second)
             == R"(a {"$delta_snapshot":"A"}: w2 w3 w4)");
  BOOST_TEST(found[1].first + " " + shown(found[1].second) == R"(b {"$delta_snapshot":"B"}: w4)");
  BOOST_TEST(found[2].first + " " + shown(found[2].second) == "c no seed:");
  BOOST_TEST(on.saver->get_delta_channel_history(at("t"), {}).value().empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(history_orders_a_step_by_path_task_and_position, backend, backends) {
  backend on;
  put(*on.saver, at("t"), make_put("c1", "", {}));
  put(*on.saver, at("t"), make_put("c2", "c1", {}));
  auto put_as = [&on](std::string task, std::string path, std::vector<const char*> texts) {
    task_writes w{std::move(task), std::move(path), {}};
    for (const auto* text : texts) {
      w.writes.emplace_back("a", text);
      w.writes.emplace_back("b", text);
    }
    put_writes(*on.saver, at("t", "", "c1"), w);
  };
  put_as("2", "~p, z", {"5"});
  put_as("4", "~p, a", {"4"});
  put_as("3", "~p, a", {"2", "3"});
  put_as("9", "", {"1"});
  put_as("1", "~~0000000001~p, a", {"6"});
  BOOST_TEST(history_of(*on.saver, at("t"), "a") == "no seed: 1 2 3 4 5 6");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(history_follows_the_branch_wherever_ids_sort, backend, backends) {
  backend on;
  put_step(*on.saver, 5, 0, {});
  put_step(*on.saver, 9, 5, {});
  put_step(*on.saver, 7, 5, {});
  put_step(*on.saver, 6, 7, {});
  BOOST_TEST(history_of(*on.saver, at("t", "", "c6"), "a") == "no seed: w5 w7");
  BOOST_TEST(history_of(*on.saver, at("t", "", "c9"), "a") == "no seed: w5");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(history_leaves_out_the_writes_of_a_branch_of_its_own, backend,
                              backends) {
  backend on;
  put_step(*on.saver, 1, 0, {});
  put_writes(*on.saver, at("t", "", "c1"),
             {"later", std::string{branch_path_prefix} + "~p, a", {{"a", "other"}}});
  put_step(*on.saver, 2, 1, {});
  BOOST_TEST(history_of(*on.saver, at("t"), "a") == "no seed: w1");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(history_ends_where_a_parent_is_missing_or_met_again, backend,
                              backends) {
  backend on;
  put_step(*on.saver, 3, 1, {}); // of a thread that was cut short
  put_step(*on.saver, 4, 3, {});
  BOOST_TEST(history_of(*on.saver, at("t"), "a") == "no seed: w3");
  put_step(*on.saver, 1, 4, {});
  BOOST_TEST(history_of(*on.saver, at("t", "", "c4"), "a") == "no seed: w4 w1 w3");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(history_of_nothing_is_empty_and_stays_in_its_namespace, backend,
                              backends) {
  backend on;
  BOOST_TEST(history_of(*on.saver, at("t"), "a") == "no seed:");
  put_step(*on.saver, 1, 0, {}, "child:1");
  put_step(*on.saver, 2, 1, {});
  BOOST_TEST(history_of(*on.saver, at("t"), "a") == "no seed:");
  BOOST_TEST(history_of(*on.saver, at("t", "", "c7"), "a") == "no seed:");
  require_error(on.saver->get_delta_channel_history(at(""), {"a"}), errc::invalid_config);
}

// ---- list ---------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(list_gives_all_by_thread_namespace_and_newest_first, backend,
                              backends) {
  backend on;
  BOOST_TEST(on.saver->list({}).value().empty());
  fill(*on.saver);
  texts lines;
  for (const auto& tuple : on.saver->list({}).value())
    lines.push_back(tuple.ref.thread_id + "/" + tuple.ref.checkpoint_ns + "/"
                    + tuple.ref.checkpoint_id + "="
                    + to_json(tuple.checkpoint.channel_values.at(0).second));
  BOOST_TEST(lines
               == (texts{"t//c3=3", "t//c2=2", "t//c1=1", "t/child:1/c3=3", "t/child:1/c2=2",
                         "t/child:1/c1=1", "u//c2=9"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(list_keeps_to_thread_namespace_and_id, backend, backends) {
  backend on;
  fill(*on.saver);
  auto list = [&on](const list_query& q) { return ids_of(on.saver->list(q).value()); };
  BOOST_TEST(list({.thread_id = "u"}) == texts{"c2"});
  BOOST_TEST(list({.thread_id = "nobody"}).empty());
  BOOST_TEST(list({.thread_id = "t"}).size() == 6u);
  BOOST_TEST(list({.thread_id = "t", .checkpoint_ns = ""}) == (texts{"c3", "c2", "c1"}));
  BOOST_TEST(list({.thread_id = "t", .checkpoint_ns = "child:1"}) == (texts{"c3", "c2", "c1"}));
  BOOST_TEST(list({.thread_id = "t", .checkpoint_ns = "child:2"}).empty());
  BOOST_TEST(list({.checkpoint_ns = ""}) == (texts{"c3", "c2", "c1", "c2"}));
  BOOST_TEST(list({.checkpoint_id = "c2"}) == (texts{"c2", "c2", "c2"}));
  BOOST_TEST(list({.thread_id = "t", .checkpoint_ns = "", .checkpoint_id = "c1"}) == texts{"c1"});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(list_filters_by_metadata, backend, backends) {
  backend on;
  fill(*on.saver);
  auto list = [&on](value filter) {
    return ids_of(
      on.saver->list({.thread_id = "t", .checkpoint_ns = "", .filter = std::move(filter)}).value());
  };
  BOOST_TEST(list(value{{"source", "input"}}) == texts{"c1"});
  BOOST_TEST(list(value{{"step", 1}}) == texts{"c3"});
  BOOST_TEST(list(value{{"source", "loop"}, {"step", 0}}) == texts{"c2"});
  BOOST_TEST(list(value{{"source", "input"}, {"step", 0}}).empty());
  BOOST_TEST(list(value{{"source", "update"}}).empty());
  BOOST_TEST(list(value{{"score", 42}}).size() == 3u);
  BOOST_TEST(list(value::map()).size() == 3u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(list_stops_at_before_and_limit, backend, backends) {
  backend on;
  fill(*on.saver);
  auto list = [&on](list_query q) {
    q.thread_id = "t";
    q.checkpoint_ns = "";
    return ids_of(on.saver->list(q).value());
  };
  BOOST_TEST(list({.before = "c3"}) == (texts{"c2", "c1"}));
  BOOST_TEST(list({.before = "c1"}).empty());
  BOOST_TEST(list({.before = "c25"}) == (texts{"c2", "c1"}));
  BOOST_TEST(list({.limit = 0}).empty());
  BOOST_TEST(list({.limit = 1}) == texts{"c3"});
  BOOST_TEST(list({.limit = 2}) == (texts{"c3", "c2"}));
  BOOST_TEST(list({.before = "c3", .limit = 1}) == texts{"c2"});
  BOOST_TEST(list({.filter = value{{"source", "input"}}, .limit = 1}) == texts{"c1"});
  const std::string longer_than_any_id(1000, 'x');
  BOOST_TEST(list({.before = longer_than_any_id}).size() == 3u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(list_gives_pending_writes, backend, backends) {
  backend on;
  fill(*on.saver);
  put_writes(*on.saver, at("t", "", "c2"), one_write("task", 1));
  auto found = on.saver->list({.thread_id = "t", .checkpoint_ns = ""}).value();
  BOOST_REQUIRE(found.size() == 3u);
  BOOST_TEST(found[0].pending_writes.empty());
  BOOST_REQUIRE(found[1].pending_writes.size() == 1u);
  BOOST_TEST(found[1].pending_writes[0].task_id == "task");
}

// ---- delete_thread, threads ---------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(delete_thread_removes_all_of_one_thread, backend, backends) {
  backend on;
  fill(*on.saver);
  put_writes(*on.saver, at("t", "", "c2"), one_write("task", 1));
  on.saver->delete_thread("t").value();
  BOOST_TEST(!is_there(*on.saver, at("t")));
  BOOST_TEST(!is_there(*on.saver, at("t", "child:1")));
  BOOST_TEST(on.saver->list({.thread_id = "t"}).value().empty());
  BOOST_TEST(stored_value(*on.saver, at("u"), "n") == value(9));

  put(*on.saver, at("t"), make_put("c2", "", {}));
  BOOST_TEST(writes_of(*on.saver, at("t")).empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(delete_thread_of_nothing_is_no_error, backend, backends) {
  backend on;
  on.saver->delete_thread("nobody").value();
  fill(*on.saver);
  on.saver->delete_thread("nobody").value();
  BOOST_TEST(on.saver->list({}).value().size() == 7u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(threads_tells_newest_and_count_of_each, backend, backends) {
  backend on;
  BOOST_TEST(on.saver->threads().value().empty());
  fill(*on.saver);
  put(*on.saver, at("only-child", "b"), make_put("c5", "", {}));
  put(*on.saver, at("only-child", "a"), make_put("c6", "", {}));
  put(*on.saver, at("t", "child:1"), make_put("c9", "", {}));
  auto threads = on.saver->threads().value();
  BOOST_REQUIRE(threads.size() == 3u);
  BOOST_TEST(threads[0].thread_id == "only-child");
  BOOST_TEST(threads[0].checkpoint_id == "c6");
  BOOST_TEST(threads[1].thread_id == "t");
  BOOST_TEST(threads[1].checkpoint_id == "c3");
  BOOST_TEST(threads[1].checkpoints == 7u);
  BOOST_TEST(threads[1].ts == "2026-11-21T20:21:07.123456+00:00");
  BOOST_TEST(threads[2].thread_id == "u");
}

// ---- submit, bounds -----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(submit_stores_writes_and_then_the_checkpoint, backend, backends) {
  backend on;
  put(*on.saver, at("t"), make_put("c1", "", {}));
  save_request request{at("t", "", "c1"), {one_write("task", 1)}, make_put("c2", "c1", {{"n", 2}})};
  for (auto when : {save_ack::accepted, save_ack::durable}) {
    test::submit(*on.saver, request, when).get().value();
    BOOST_TEST(writes_of(*on.saver, at("t", "", "c1")) == texts{"/task/channel=1"});
    BOOST_TEST(stored_value(*on.saver, at("t"), "n") == value(2));
  }
  for (auto when : {save_ack::accepted, save_ack::durable})
    test::submit(*on.saver, {at("t"), {}, {}}, when).get().value();
  BOOST_TEST(on.saver->list({}).value().size() == 2u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ids_beyond_their_bounds_are_refused, backend, backends) {
  backend on;
  auto& s = *on.saver;
  const std::string long_id(limits::thread_id_bytes_max + 1, 't');
  const std::string long_ns(limits::checkpoint_ns_bytes_max + 1, 'n');
  const std::string long_checkpoint(limits::checkpoint_id_bytes_max + 1, 'c');
  const std::string long_task(limits::task_id_bytes_max + 1, 'k');
  const auto good = make_put("c1", "", {});
  for (const auto& ref : {at(""), at(long_id), at("t", long_ns)}) {
    require_error(s.get_tuple(ref), errc::invalid_config);
    require_error(s.put(ref, good), errc::invalid_config);
    require_error(test::submit(s, {ref, {}, good}, save_ack::durable).get(), errc::invalid_config);
  }
  require_error(s.delete_thread(""), errc::invalid_config);
  require_error(s.delete_thread(long_id), errc::invalid_config);
  require_error(s.list({.thread_id = ""}), errc::invalid_config);
  require_error(s.put(at("t"), make_put("", "", {})), errc::invalid_config);
  require_error(s.put(at("t"), make_put(long_checkpoint, "", {})), errc::invalid_config);
  require_error(s.put(at("t"), make_put("c1", long_checkpoint, {})), errc::invalid_config);
  require_error(s.put_writes(at("t"), one_write("task", 1)), errc::invalid_config);
  require_error(s.put_writes(at("t", "", "c1"), one_write(long_task, 1)), errc::invalid_config);
  BOOST_TEST(s.threads().value().empty());
}

// ---- claims -------------------------------------------------------------------------------------

namespace {

// A checkpoint beside those of fill(), under a claim.
result<void> put_claimed(saver& to, const std::string& id, thread_claim claim) {
  save_request request{at("t"), {}, make_put(id, "", {{"n", 0}}), claim};
  return test::submit(to, std::move(request), save_ack::durable).get();
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(the_owner_of_a_thread_is_who_claimed_it_last, backend, backends) {
  backend b;
  auto& s = *b.saver;
  BOOST_TEST(s.thread_owner("t").value() == 0u);
  fill(s); // without claims: nobody is asked, and nobody is the owner
  BOOST_TEST(s.thread_owner("t").value() == 0u);
  BOOST_TEST(put_claimed(s, "d1", {0, 5}).has_value());
  BOOST_TEST(put_claimed(s, "d2", {5, 5}).has_value());
  BOOST_TEST(s.thread_owner("t").value() == 5u);
  BOOST_TEST(put_claimed(s, "d3", {5, 6}).has_value());
  BOOST_TEST(s.thread_owner("t").value() == 6u);
  BOOST_TEST(s.thread_owner("u").value() == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_owners_of_all_threads_are_listed, backend, backends) {
  backend b;
  auto& s = *b.saver;
  BOOST_TEST(s.owners().value().empty());
  fill(s);
  BOOST_TEST(put_claimed(s, "d1", {0, 5}).has_value());
  BOOST_TEST(put_claimed(s, "d2", {5, 5 | thread_at_rest}).has_value());
  auto all = s.owners().value();
  BOOST_TEST_REQUIRE(all.size() == 2u);
  BOOST_TEST(all[0].thread_id == "t");
  BOOST_TEST(all[0].owner == (5 | thread_at_rest));
  BOOST_TEST(all[1].thread_id == "u");
  BOOST_TEST(all[1].owner == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_tuple_of_some_channels_has_their_values_and_all_else, backend,
                              backends) {
  backend b;
  auto& s = *b.saver;
  put(s, at("t"), make_put("c1", "", {{"a", 1}, {"b", std::string(1000, 'x')}, {"c", 3}}));
  put_writes(s, at("t", "", "c1"), one_write("task", 1));
  auto whole = get(s, at("t"));
  auto some = s.get_tuple_of(at("t"), {"a", "c", "no such channel"}).value().value();
  auto named = [](const checkpoint_tuple& of, const char* channel) -> value {
    for (const auto& [name, val] : of.checkpoint.channel_values)
      if (name == channel)
        return val;
    return {};
  };
  BOOST_TEST(named(some, "a") == value(1));
  BOOST_TEST(named(some, "c") == value(3));
  BOOST_TEST((some.ref == whole.ref));
  BOOST_TEST((some.checkpoint.channel_versions == whole.checkpoint.channel_versions));
  BOOST_TEST((some.pending_writes == whole.pending_writes));
  BOOST_TEST(!s.get_tuple_of(at("u"), {"a"}).value().has_value());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(who_is_no_owner_any_more_stores_nothing, backend, backends) {
  backend b;
  auto& s = *b.saver;
  BOOST_TEST(put_claimed(s, "d1", {0, 5}).has_value());
  BOOST_TEST(put_claimed(s, "d2", {5, 6}).has_value());
  for (thread_claim late : {thread_claim{5, 5}, thread_claim{0, 5}, thread_claim{0, 7}})
    require_error(put_claimed(s, "d3", late), errc::conflict);
  save_request writes{at("t", "", "d2"), {one_write("task", 1)}, std::nullopt, thread_claim{5, 5}};
  require_error(test::submit(s, writes, save_ack::accepted).get(), errc::conflict);
  writes.ref.checkpoint_ns = "child:1"; // the claim is on the whole thread
  require_error(test::submit(s, writes, save_ack::accepted).get(), errc::conflict);
  BOOST_TEST(!is_there(s, at("t", "", "d3")));
  BOOST_TEST(get(s, at("t", "", "d2")).pending_writes.empty());
  BOOST_TEST(put_claimed(s, "d3", {6, 6}).has_value()); // the owner continues
}

// The owner that was read may be a run that is still on.
BOOST_AUTO_TEST_CASE_TEMPLATE(who_goes_on_from_the_newest_checkpoint_must_know_the_newest, backend,
                              backends) {
  backend b;
  auto& s = *b.saver;
  auto go_on = [&s](const std::string& id, const std::string& parent, thread_claim claim) {
    save_request request{at("t"), {}, make_put(id, parent, {{"n", 0}}), claim};
    return test::submit(s, std::move(request), save_ack::durable).get();
  };
  BOOST_TEST(go_on("d1", "", {0, 5, true}).has_value());
  BOOST_TEST(go_on("d2", "d1", {5, 5}).has_value());
  require_error(go_on("d3", "d1", {5, 6, true}), errc::conflict);
  require_error(go_on("d3", "", {5, 6, true}), errc::conflict);
  save_request writes{at("t", "", "d1"), {one_write("task", 1)}, std::nullopt, {{5, 6, true}}};
  require_error(test::submit(s, writes, save_ack::durable).get(), errc::conflict);
  BOOST_TEST(s.thread_owner("t").value() == 5u);
  BOOST_TEST(go_on("d3", "d2", {5, 6, true}).has_value());
  BOOST_TEST(go_on("d4", "d3", {5, 6, true}).has_value()); // sent before the answer for d3
  BOOST_TEST(go_on("e1", "d1", {6, 7}).has_value());       // a branch is marked as one
}

namespace {

// Takes the thread over, and stores nothing else.
result<void> claim_only(saver& to, thread_claim claim, const std::string& ns = {}) {
  return test::submit(to, {at("t", ns), {}, std::nullopt, claim}, save_ack::durable).get();
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_claim_alone_takes_a_thread_over_in_all_namespaces, backend,
                              backends) {
  backend b;
  auto& s = *b.saver;
  BOOST_TEST(put_claimed(s, "d1", {0, 5}).has_value());
  auto before = s.list({});
  BOOST_TEST(claim_only(s, {5, 6}).has_value());
  BOOST_TEST(s.thread_owner("t").value() == 6u);
  BOOST_TEST((test::ids_of(s.list({}).value()) == test::ids_of(before.value())));
  for (const char* ns : {"", "child:1", "child:1|deep:2"}) {
    save_request late{at("t", ns, "d1"), {one_write("task", 1)}, std::nullopt, thread_claim{5, 5}};
    require_error(test::submit(s, late, save_ack::durable).get(), errc::conflict);
    late.claim = thread_claim{6, 6};
    BOOST_TEST(test::submit(s, late, save_ack::durable).get().has_value());
  }
  require_error(claim_only(s, {5, 7}), errc::conflict);
  require_error(claim_only(s, {5, 7}, "child:1"), errc::conflict);
  BOOST_TEST(claim_only(s, {5, 6}).has_value()); // it is the owner already
  BOOST_TEST(s.thread_owner("t").value() == 6u);
}

// So requests that were accepted before it are stored, and later ones are refused.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_claim_alone_keeps_its_place_in_the_order, backend, backends) {
  backend b;
  auto& s = *b.saver;
  BOOST_TEST(put_claimed(s, "d1", {0, 5}).has_value());
  save_request write{at("t", "", "d1"), {one_write("before", 1)}, std::nullopt, thread_claim{5, 5}};
  auto first = test::submit(s, write, save_ack::accepted);
  auto taken = test::submit(s, {at("t"), {}, std::nullopt, thread_claim{5, 6}}, save_ack::accepted);
  write.writes = {one_write("behind", 1)};
  auto late = test::submit(s, write, save_ack::accepted);
  BOOST_TEST(first.get().has_value());
  BOOST_TEST(taken.get().has_value());
  require_error(late.get(), errc::conflict);
  auto writes = get(s, at("t", "", "d1")).pending_writes;
  BOOST_REQUIRE(writes.size() == 1u);
  BOOST_TEST(writes[0].task_id == "before");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_claim_alone_takes_nothing_from_nobody, backend, backends) {
  backend b;
  auto& s = *b.saver;
  BOOST_TEST(claim_only(s, {0, 5}).has_value());
  BOOST_TEST(s.threads().value().empty());
  require_error(claim_only(s, {4, 5}), errc::conflict); // it was deleted
  BOOST_TEST(put_claimed(s, "d1", {0, 5}).has_value());
  s.delete_thread("t").value();
  require_error(claim_only(s, {5, 6}), errc::conflict);
  BOOST_TEST(claim_only(s, {0, 6}).has_value());
  BOOST_TEST(s.threads().value().empty());
  fill(s);
  BOOST_TEST(claim_only(s, {0, 6}).has_value());
  BOOST_TEST(s.thread_owner("t").value() == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nothing_lands_in_a_thread_behind_its_deletion, backend, backends) {
  backend b;
  auto& s = *b.saver;
  BOOST_TEST(put_claimed(s, "d1", {0, 5}).has_value());
  s.delete_thread("t").value();
  require_error(put_claimed(s, "d2", {5, 5}), errc::conflict);
  BOOST_TEST(s.threads().value().empty());
  BOOST_TEST(put_claimed(s, "d3", {0, 6}).has_value()); // a new run on a new thread
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
