// Pruning, copying and deleting by run, on every saver; after the reference's conformance suite
// (libs/checkpoint-conformance: delete_for_runs, copy_thread, prune) and beyond it.
#include "tests/persistence/saver_kinds.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace troupe {

namespace {

using test::backends;
using test::checkpoint_id;
using test::ids_of;
using test::require_error;

using texts = std::vector<std::string>;

// ---- made threads -------------------------------------------------------------------------------

struct checkpoint_maker {
  std::string thread_id = "t";
  std::string ns = {};
  std::string run_id = "run 1";
  value parents = value::map({});
};

// A checkpoint of step `n` below that of step `parent`, with one write after it.
void put(saver& to, const checkpoint_maker& by, unsigned n, unsigned parent) {
  auto p = test::make_put(
    checkpoint_id(n), parent == 0 ? "" : checkpoint_id(parent), {{"n", value(n)}, {"s", "same"}},
    value{{"source", "loop"}, {"step", n}, {"run_id", by.run_id}, {"parents", by.parents}}, {n, 7});
  p.checkpoint.ts = "2026-11-21T20:21:07.00000" + std::to_string(n) + "+00:00";
  if (n > 1) {
    p.checkpoint.channel_versions[1].second = {1, 7};
    p.new_versions = {"n"};
  }
  to.put({by.thread_id, by.ns, {}}, p).value();
  to.put_writes({by.thread_id, by.ns, checkpoint_id(n)}, {"task", "path", {{"n", value(n)}}})
    .value();
}

void put_line(saver& to, const checkpoint_maker& by, unsigned count) {
  for (unsigned n = 1; n <= count; ++n)
    put(to, by, n, n - 1);
}

std::vector<checkpoint_tuple> all_of(saver& from, const std::string& thread_id,
                                     std::optional<std::string> ns = std::nullopt) {
  return from.list({.thread_id = thread_id, .checkpoint_ns = std::move(ns)}).value();
}

texts steps_of(saver& from, const std::string& thread_id, const std::string& ns = "") {
  texts steps;
  for (const auto& tuple : all_of(from, thread_id, ns))
    steps.push_back(to_json(tuple.metadata["step"]));
  return steps;
}

void require_equal(const checkpoint_tuple& a, const checkpoint_tuple& b) {
  BOOST_TEST(a.ref.checkpoint_ns == b.ref.checkpoint_ns);
  BOOST_TEST((a.checkpoint == b.checkpoint), a.ref.checkpoint_id);
  BOOST_TEST(a.metadata == b.metadata);
  BOOST_TEST(a.parent_id == b.parent_id);
  BOOST_TEST((a.pending_writes == b.pending_writes), a.ref.checkpoint_id);
}

void require_equal(const std::vector<checkpoint_tuple>& a, const std::vector<checkpoint_tuple>& b) {
  BOOST_REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    require_equal(a[i], b[i]);
}

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_saver_upkeep)

// ---- prune --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(pruning_keeps_the_newest_of_each_namespace, backend, backends) {
  backend on;
  auto& s = *on.saver;
  for (const auto* thread : {"t", "u", "other"})
    for (const auto* ns : {"", "child:1"})
      put_line(s, {.thread_id = thread, .ns = ns}, 4);
  auto newest = all_of(s, "t", "").front();
  auto untouched = all_of(s, "other");
  auto report = s.prune({"t", "u", "no such thread"}).value();
  BOOST_TEST((report == prune_report{12, 12}));
  for (const auto* thread : {"t", "u"})
    for (const auto* ns : {"", "child:1"})
      BOOST_TEST(steps_of(s, thread, ns) == texts{"4"});
  require_equal(all_of(s, "t", "").front(), newest);
  require_equal(all_of(s, "other"), untouched);
  BOOST_TEST((s.prune({}).value() == prune_report{}));
  BOOST_TEST((s.prune({"t"}).value() == prune_report{}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(each_rule_names_what_it_keeps, backend, backends) {
  backend on;
  auto& s = *on.saver;
  auto pruned = [&s](const retention& keep) {
    s.delete_thread("t").value();
    put_line(s, {}, 7);
    put(s, {}, 8, 3); // a branch
    s.prune({"t"}, keep).value();
    return steps_of(s, "t");
  };
  BOOST_TEST(pruned({.keep_latest = 3}) == (texts{"8", "7", "6"}));
  BOOST_TEST(pruned({.keep_latest = 100}).size() == 8u);
  BOOST_TEST(pruned({.keep_latest = 0}) == texts{});
  BOOST_TEST(pruned({.keep_latest = 1, .keep_every = 3}) == (texts{"8", "6", "3"}));
  BOOST_TEST(pruned({.keep_latest = 0, .keep_forks = true}) == (texts{"8", "7", "3"}));
  BOOST_TEST(pruned({.created_before = "2026-11-21T20:21:07.000006+00:00"})
             == (texts{"8", "7", "6"}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_dry_run_counts_what_would_go_and_removes_nothing, backend,
                              backends) {
  backend on;
  auto& s = *on.saver;
  put_line(s, {}, 7);
  put_line(s, {.ns = "child:1"}, 3);
  auto before = all_of(s, "t");
  auto counted = s.prune({"t", "no such thread"}, {.keep_latest = 2, .dry_run = true}).value();
  auto after = all_of(s, "t");
  BOOST_REQUIRE(after.size() == before.size());
  for (std::size_t i = 0; i < before.size(); ++i)
    require_equal(after[i], before[i]);
  auto removed = s.prune({"t"}, {.keep_latest = 2}).value();
  BOOST_TEST(counted.checkpoints == removed.checkpoints);
  BOOST_TEST(counted.values == 0u);
  BOOST_TEST(removed.checkpoints > 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_a_removed_step_called_goes_with_it, backend, backends) {
  backend on;
  auto& s = *on.saver;
  put_line(s, {}, 3);
  for (unsigned n = 1; n <= 3; ++n) {
    value parents = value::map({{"", checkpoint_id(n)}});
    auto task = std::to_string(n);
    put_line(s, {.ns = "node:" + task, .parents = parents}, 2);
    put_line(s, {.ns = "node:" + task + "|in:1", .parents = parents}, 1);
  }
  put_line(s, {.ns = "keeps", .parents = value::map({{"", checkpoint_id(1)}})}, 2);
  s.prune({"t"}).value();
  std::set<std::string> left;
  for (const auto& tuple : all_of(s, "t"))
    left.insert(tuple.ref.checkpoint_ns + " " + to_json(tuple.metadata["step"]));
  // A graph that keeps its state from call to call continues from its newest one.
  BOOST_TEST((left == std::set<std::string>{" 3", "node:3 2", "node:3|in:1 1", "keeps 2"}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_run_that_goes_on_from_a_removed_checkpoint_is_refused, backend,
                              backends) {
  backend on;
  auto& s = *on.saver;
  put_line(s, {}, 3);
  s.prune({"t"}).value();
  auto store = [&s](unsigned n, unsigned parent, std::vector<std::string> moved) {
    auto p = test::make_put(checkpoint_id(n), checkpoint_id(parent), {{"n", 0}, {"s", "same"}});
    p.new_versions = std::move(moved);
    save_request request{{"t", "", {}}, {}, std::move(p), thread_claim{0, 5}};
    return test::submit(s, std::move(request), save_ack::durable).get();
  };
  require_error(store(9, 2, {"n"}), errc::conflict);
  BOOST_TEST(s.thread_owner("t").value() == 0u);
  BOOST_TEST(store(8, 2, {"n", "s"}).has_value()); // it needs nothing of its parent
  BOOST_TEST(store(9, 3, {"n"}).has_value());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_thread_id_that_can_not_be_is_refused, backend, backends) {
  backend on;
  std::string too_long(limits::thread_id_bytes_max + 1, 'x');
  require_error(on.saver->prune({"t", too_long}), errc::invalid_config);
  require_error(on.saver->copy_thread(too_long, "t"), errc::invalid_config);
  require_error(on.saver->copy_thread("t", ""), errc::invalid_config);
}

// ---- random threads -----------------------------------------------------------------------------

namespace {

constexpr std::string_view counters = "counters_since_delta_snapshot";

// The values of a checkpoint's channels, with their versions.
struct made_checkpoint {
  std::map<std::string, std::pair<version, value>> channels;
  std::int64_t since_snapshot = 0;
};

// A thread with branches, lists and maps that grow (so that they are stored as differences), and a
// delta channel.
class random_thread {
public:
  random_thread(saver& to, unsigned seed) : to_{to}, random_{seed} {}

  void grow(unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      put_next();
  }

private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }

  void put_next() {
    auto n = ++count_;
    auto parent = n - 1 - (below(6) == 0 ? below(std::min(n, 8u)) : 0);
    auto next = made_[parent];
    if (parent != n - 1)
      tag_ = n;
    checkpoint_put p;
    version at{n, tag_};
    auto move = [&](const std::string& channel, value to) {
      next.channels[channel] = {at, std::move(to)};
      p.new_versions.push_back(channel);
    };
    move("delta", {});
    if (below(4) != 0)
      move("list", appended(next.channels["list"].second, n));
    if (below(3) == 0)
      move("map", next.channels["map"].second.is_map()
                    ? next.channels["map"].second.with(std::to_string(below(5)), value(n))
                    : value::map({{"long", std::string(200, 'x')}}));
    if (below(5) == 0)
      move("n", value(n));
    if (below(9) == 0)
      move("n", {});
    auto is_snapshot = below(5) == 0;
    next.since_snapshot = is_snapshot ? 0 : next.since_snapshot + 1;
    auto metadata = value::map({{"step", value(n)}, {"source", "loop"}});
    if (!is_snapshot)
      metadata = metadata.with(
        counters, value::map({{"delta", value{next.since_snapshot, next.since_snapshot}}}));
    if (parent != 0)
      to_
        .put_writes({"t", "", checkpoint_id(parent)},
                    {"task " + std::to_string(n), "", {{"delta", value(n)}, {"n", "x"}}})
        .value();
    p.parent_id = parent == 0 ? "" : checkpoint_id(parent);
    p.metadata = std::move(metadata);
    p.checkpoint.id = checkpoint_id(n);
    p.checkpoint.ts = "2026-11-21T20:21:07.123456+00:00";
    for (const auto& [channel, held] : next.channels) {
      p.checkpoint.channel_versions.emplace_back(channel, held.first);
      if (channel == "delta" && is_snapshot)
        p.checkpoint.channel_values.emplace_back(
          channel, value::extension(value_kind::delta_snapshot, value{1, 2}));
      else if (!held.second.is_null())
        p.checkpoint.channel_values.emplace_back(channel, held.second);
    }
    std::ranges::sort(p.new_versions);
    p.new_versions.erase(std::unique(p.new_versions.begin(), p.new_versions.end()),
                         p.new_versions.end());
    to_.put({"t", "", {}}, p).value();
    made_[n] = std::move(next);
  }

  static value appended(const value& list, unsigned n) {
    std::vector<value> items;
    if (list.is_list())
      items.assign(list.items().begin(), list.items().end());
    items.emplace_back(std::string(40, static_cast<char>('a' + n % 26)));
    return value::list(std::move(items));
  }

  saver& to_;
  std::mt19937 random_;
  unsigned count_ = 0;
  std::uint64_t tag_ = 1;
  std::map<unsigned, made_checkpoint> made_;
};

delta_history delta_of(saver& from, const std::string& id) {
  return from.get_delta_channel_history({"t", "", id}, {"delta"}).value().front().second;
}

bool is_named(const std::vector<checkpoint_tuple>& all, std::size_t i, const retention& keep) {
  if (i < keep.keep_latest)
    return true; // newest first
  auto step = static_cast<std::uint64_t>(all[i].metadata["step"].as_int());
  if (keep.keep_every != 0 && step % keep.keep_every == 0)
    return true;
  auto children = std::ranges::count(all, all[i].ref.checkpoint_id, &checkpoint_tuple::parent_id);
  return keep.keep_forks && children != 1;
}

} // namespace

// Any removal leaves the other checkpoints as they were, also while the thread continues.
BOOST_AUTO_TEST_CASE_TEMPLATE(pruning_changes_nothing_of_what_stays, backend, backends) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    backend on;
    auto& s = *on.saver;
    random_thread thread{s, seed};
    std::mt19937 random{seed};
    for (int round = 0; round < 3; ++round) {
      thread.grow(25);
      auto before = all_of(s, "t");
      std::map<std::string, delta_history> deltas;
      for (const auto& tuple : before)
        deltas[tuple.ref.checkpoint_id] = delta_of(s, tuple.ref.checkpoint_id);
      retention keep{.keep_latest = 1 + random() % 4,
                     .keep_every = random() % 3 ? 0 : 2 + random() % 5,
                     .keep_forks = random() % 2 == 0};
      auto report = s.prune({"t"}, keep).value();
      auto after = all_of(s, "t");
      BOOST_TEST(before.size() - after.size() == report.checkpoints);
      std::size_t at = 0;
      for (std::size_t i = 0; i < before.size(); ++i) {
        const auto& id = before[i].ref.checkpoint_id;
        if (at < after.size() && after[at].ref.checkpoint_id == id) {
          require_equal(after[at++], before[i]);
          if (!before[i].metadata.contains(counters)) // it holds the value itself
            continue;
          auto delta = delta_of(s, id);
          BOOST_TEST((delta.writes == deltas[id].writes), "seed " << seed << ", " << id);
          BOOST_TEST((delta.seed == deltas[id].seed), "seed " << seed << ", " << id);
        } else {
          BOOST_TEST(!is_named(before, i, keep), "seed " << seed << ", " << id);
        }
      }
      BOOST_REQUIRE(at == after.size());
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_pruned_thread_is_as_small_as_one_that_was_never_longer, backend,
                              backends) {
  backend on;
  auto& s = *on.saver;
  put_line(s, {}, 9);
  auto values = s.prune({"t"}).value().values;
  BOOST_TEST(values == 8u); // of `n`; that of `s` is the same in all
  BOOST_TEST((s.prune({"t"}, {.keep_latest = 0}).value() == prune_report{1, 2}));
  BOOST_TEST(all_of(s, "t").empty());
}

// ---- rewind -------------------------------------------------------------------------------------

namespace {

// A second task writes after the checkpoint of step `n`.
void put_more_writes(saver& to, unsigned n, const std::string& ns = "") {
  to.put_writes({"t", ns, checkpoint_id(n)}, {"more", "path", {{"n", "late"}}}).value();
}

rewind_point after(saver& from, unsigned n, const std::vector<std::string>& namespaces) {
  rewind_point to{.after_id = checkpoint_id(n)};
  for (const auto& ns : namespaces) {
    auto head = from.get_tuple({"t", ns, checkpoint_id(n)}).value();
    to.heads.push_back({head->ref, head->pending_writes});
  }
  return to;
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_rewound_thread_is_what_it_was, backend, backends) {
  backend on;
  auto& s = *on.saver;
  random_thread thread{s, 5};
  thread.grow(30);
  put_line(s, {.ns = "child:1"}, 30);
  put_line(s, {.thread_id = "other"}, 40);
  // A task with an answer, a question and a write.
  s.put_writes({"t", "", checkpoint_id(30)},
               {"asks", "path", {{"x", 1}, {"__resume__", 1}, {"__interrupt__", "?"}}})
    .value();
  auto before = all_of(s, "t");
  auto other = all_of(s, "other");
  auto to = after(s, 30, {"", "child:1"});

  s.put_writes({"t", "", checkpoint_id(30)},
               {"asks", "path", {{"y", 2}, {"__resume__", 2}, {"__error__", "!"}, {"z", 3}}})
    .value();
  put_more_writes(s, 30);
  put_more_writes(s, 30, "child:1");
  put(s, {}, 31, 30);
  put(s, {}, 32, 31);
  put(s, {.ns = "child:1"}, 31, 30);
  put(s, {.ns = "new"}, 33, 0);
  put_more_writes(s, 40); // after a checkpoint that never came
  s.rewind("t", to).value();
  require_equal(all_of(s, "t"), before);
  require_equal(all_of(s, "other"), other);
  BOOST_TEST((s.prune({"t"}, {.keep_latest = 100}).value() == prune_report{}));

  put_more_writes(s, 30);
  put(s, {}, 31, 30); // it continues
  BOOST_TEST(all_of(s, "t").size() == before.size() + 1);
  s.put({"t", "", {}}, test::make_put(checkpoint_id(40), checkpoint_id(31), {{"n", 1}})).value();
  BOOST_TEST(s.get_tuple({"t", "", checkpoint_id(40)}).value()->pending_writes.empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_thread_that_is_rewound_to_nothing_is_not_there, backend, backends) {
  backend on;
  auto& s = *on.saver;
  put_line(s, {}, 3);
  put_line(s, {.ns = "child:1"}, 2);
  put_line(s, {.thread_id = "u"}, 1);
  s.rewind("t", {.after_id = checkpoint_id(0)}).value();
  BOOST_TEST(s.threads().value().size() == 1u);
  BOOST_TEST(all_of(s, "t").empty());
  s.rewind("no such thread", {.after_id = checkpoint_id(0)}).value();
  put_line(s, {}, 1);
  BOOST_TEST(steps_of(s, "t") == texts{"1"});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(only_the_run_that_wrote_last_is_undone, backend, backends) {
  backend on;
  auto& s = *on.saver;
  auto store = [&s](unsigned n, thread_claim claim) {
    save_request request{
      {"t", "", {}}, {}, test::make_put(checkpoint_id(n), "", {{"n", 0}}), claim};
    test::submit(s, std::move(request), save_ack::durable).get().value();
  };
  store(1, {0, 5});
  store(2, {5, 6});
  rewind_point to{.after_id = checkpoint_id(0), .claim = thread_claim{0, 5}};
  require_error(s.rewind("t", to), errc::conflict);
  BOOST_TEST(all_of(s, "t").size() == 2u);
  to.claim = thread_claim{5, 6};
  to.after_id = checkpoint_id(1);
  s.rewind("t", to).value();
  BOOST_TEST(all_of(s, "t").size() == 1u);
  require_error(s.rewind("", to), errc::invalid_config);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_head_that_is_gone_stays_so, backend, backends) {
  backend on;
  auto& s = *on.saver;
  put_line(s, {}, 3);
  auto to = after(s, 2, {""});
  to.heads.push_back({{"t", "no such", checkpoint_id(2)}, {}});
  s.prune({"t"}).value();
  s.rewind("t", to).value();
  BOOST_TEST(all_of(s, "t").empty());
}

// ---- copy_thread --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(a_copied_thread_has_all_of_the_other_and_goes_its_own_way, backend,
                              backends) {
  backend on;
  auto& s = *on.saver;
  random_thread thread{s, 3};
  thread.grow(60);
  put_line(s, {.ns = "child:1"}, 2);
  put_line(s, {.ns = std::string(1000, 'n') + ":1"}, 2);
  auto source = all_of(s, "t");
  s.copy_thread("t", "copy").value();
  require_equal(all_of(s, "copy"), source);
  BOOST_TEST(all_of(s, "copy").front().ref.thread_id == "copy");
  BOOST_TEST(s.thread_owner("copy").value() == 0u);

  put(s, {.thread_id = "copy"}, 70, 60);
  require_equal(all_of(s, "t"), source);
  s.delete_thread("t").value();
  BOOST_TEST(all_of(s, "copy").size() == source.size() + 1);
  thread.grow(1); // what the deleted one leaves is not the copy's
  BOOST_TEST(all_of(s, "t").size() == 1u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_thread_is_copied_to_a_new_one_only, backend, backends) {
  backend on;
  auto& s = *on.saver;
  put_line(s, {}, 1);
  put_line(s, {.thread_id = "u"}, 2);
  require_error(s.copy_thread("t", "u"), errc::invalid_config);
  require_error(s.copy_thread("t", "t"), errc::invalid_config);
  BOOST_TEST(steps_of(s, "u") == (texts{"2", "1"}));
  s.copy_thread("no such thread", "v").value();
  BOOST_TEST(s.threads().value().size() == 2u);
}

// ---- delete_for_runs ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(what_runs_made_is_deleted_in_all_threads_and_namespaces, backend,
                              backends) {
  backend on;
  auto& s = *on.saver;
  for (const auto* thread : {"t", "u"})
    for (const auto* ns : {"", "child:1"})
      for (unsigned n = 1; n <= 6; ++n)
        put(s, {.thread_id = thread, .ns = ns, .run_id = "run " + std::to_string((n + 1) / 2)}, n,
            n - 1);
  auto kept = all_of(s, "t", "")[2];
  BOOST_TEST(s.delete_for_runs({}).value().checkpoints == 0u);
  BOOST_TEST(s.delete_for_runs({"no such run"}).value().checkpoints == 0u);
  BOOST_TEST(s.delete_for_runs({"run 1", "run 3"}).value().checkpoints == 16u);
  for (const auto* thread : {"t", "u"})
    for (const auto* ns : {"", "child:1"})
      BOOST_TEST(steps_of(s, thread, ns) == (texts{"4", "3"}));
  require_equal(all_of(s, "t", "")[0], kept);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
