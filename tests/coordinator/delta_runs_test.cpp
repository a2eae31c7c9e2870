// Delta channels through the front door: whatever happens to a thread, one that is written like a
// plain reducer reads like it, at every checkpoint.
#include "tests/fixtures/savers.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <functional>
#include <random>
#include <set>
#include <stdexcept>

namespace troupe {
namespace {

// One text, to the plain and the delta channel alike.
state_update to_both(value v) {
  return {{"plain", v}, {"log", v}};
}

state_update word(const std::string& text) {
  return to_both(value::list({text}));
}

const schema two_delta_channels(std::int64_t frequency) {
  return {{"plain", append}, {"log", delta(append, frequency)}, {"x", last_value}};
}

/// Everything that is written has a number, so that nothing is mistaken.
struct made_words {
  std::atomic<int> count = 0;
  bool every(int n) const { return count % n == 0; }
  state_update next(const std::string& who) { return word(who + std::to_string(++count)); }
  state_update reset() { return to_both(overwrite(value::list({"o" + std::to_string(++count)}))); }
};

/// a → ask and f → b → w, sent twice. At times a node resets, fails, or leaves both channels alone.
compiled_graph asking_graph(made_words& words, std::int64_t frequency) {
  state_graph<> g{two_delta_channels(frequency)};
  g.add_node("a", [&words] {
    auto out = words.next("a");
    return words.every(3) ? state_update{{"x", words.count.load()}} : out;
  });
  g.add_node("ask", [&words](context& ctx) {
    auto answer = to_json(ctx.interrupt("?"));
    return words.every(4) ? words.reset() : word("ask:" + answer);
  });
  g.add_node("f", [&words] {
    auto out = words.next("f");
    if (words.every(5))
      throw std::runtime_error{"boom"};
    return words.every(7) ? words.reset() : out;
  });
  g.add_node("b", [&words] { return words.next("b"); });
  g.add_node("w", [&words](const state_view& in) {
    return words.next("w" + std::string{in["of"].as_string()} + ":");
  });
  g.add_edge(START, "a");
  g.add_edge("a", "ask");
  g.add_edge("a", "f");
  g.add_edge({"ask", "f"}, "b");
  g.add_conditional_edges("b", [] {
    return destinations{std::vector<send>{{"w", value::map({{"of", "first"}})},
                                          {"w", value::map({{"of", "second"}})}}};
  });
  return g.compile({.name = "asking"});
}

/// The same after `a`, with two channels of its own.
compiled_graph nested_graph(made_words& words, std::int64_t frequency, checkpointing how) {
  state_graph<> inner{schema{{"inner plain", append}, {"inner log", delta(append, frequency)}}};
  auto said = [](const value& v) { return state_update{{"inner plain", v}, {"inner log", v}}; };
  inner.add_node("c", [&words, said] { return said(words.next("c").entries()[0].second); });
  inner.add_node("ask", [&words, said](context& ctx) {
    auto answer = value::list({"ask:" + to_json(ctx.interrupt("?"))});
    return said(words.every(4) ? overwrite(answer) : answer);
  });
  inner.add_node("d", [&words, said] {
    auto out = said(words.next("d").entries()[0].second);
    if (words.every(5))
      throw std::runtime_error{"boom"};
    return out;
  });
  inner.add_edge(START, "c");
  inner.add_edge("c", "ask");
  inner.add_edge("c", "d");
  state_graph<> g{two_delta_channels(frequency)};
  g.add_node("a", [&words] { return words.next("a"); });
  g.add_node("f", inner.compile({.name = "inner", .checkpointer = how}));
  g.add_node("b", [&words] { return words.next("b"); });
  g.add_edge(START, "a");
  g.add_edge("a", "f");
  g.add_edge("f", "b");
  g.add_edge("b", "f");
  return g.compile({.name = "nested", .interrupt_before = {"b"}});
}

/// Random calls on one thread.
class thread_user {
public:
  using graph_maker = std::function<compiled_graph(made_words&, std::int64_t frequency)>;

  thread_user(unsigned seed, std::shared_ptr<saver> store, const graph_maker& make)
    : random_{seed},
      store_{std::move(store)},
      rt_{{.saver = store_}},
      app_{rt_.load(make(words_, pick({1, 2, 3, 100})))} {}

  void call_something() {
    switch (random_() % 10) {
      case 0:
      case 1: return run("input", words_.next("i").to_value());
      case 2:
      case 3: return run("go on", nullptr);
      case 4: return run("answer", command{.resume = "A" + std::to_string(++words_.count)});
      case 5:
        return run("answer and update", command{.update = words_.next("u"),
                                                .resume = "A" + std::to_string(++words_.count)});
      case 6: return run("command", command{.update = words_.next("u")});
      case 7: return update("update", {{words_.next("s"), pick({"a", "ask", "f", "b"})}});
      case 8:
        return update("updates",
                      {{words_.next("s"), pick({"a", "f"})}, {words_.next("s"), pick({"f", "b"})}});
      default: return update_otherwise();
    }
  }

  /// The first checkpoint, of whatever namespace, where the two channels differ; or nothing.
  std::string difference() {
    std::set<std::string> namespaces{""};
    for (const auto& tuple : store_->list({.thread_id = "t"}).value())
      namespaces.insert(tuple.ref.checkpoint_ns);
    for (const auto& ns : namespaces) {
      auto shown = app_.get_state_history({.thread_id = "t", .checkpoint_ns = ns});
      shown.push_back(app_.get_state({.thread_id = "t", .checkpoint_ns = ns}));
      for (const auto& s : shown)
        for (std::string who : {"", "inner "})
          if (s.values[who + "plain"] != s.values[who + "log"])
            return describe(s, ns, s.values[who + "plain"], s.values[who + "log"]);
    }
    return {};
  }

private:
  template <class T> T pick(std::initializer_list<T> of) {
    return of.begin()[random_() % of.size()];
  }

  // The newest checkpoint, or now and then any.
  run_config somewhere(bool any_namespace) {
    run_config out{.thread_id = "t"};
    list_query query{.thread_id = "t"};
    if (!any_namespace)
      query.checkpoint_ns = "";
    auto there = store_->list(query).value();
    if (!there.empty() && random_() % 5 < 2) {
      const auto& at = there[random_() % there.size()].ref;
      out.checkpoint_id = at.checkpoint_id;
      out.checkpoint_ns = at.checkpoint_ns;
    }
    out.strict_resume = random_() % 2 == 0;
    return out;
  }

  std::string describe(const state_snapshot& s, const std::string& ns, const value& plain,
                       const value& log) const {
    return "step " + to_json(s.metadata["step"]) + " " + to_json(s.metadata["source"]) + " " + ns
           + " " + s.config.checkpoint_id + ": plain " + to_json(plain) + ", log " + to_json(log)
           + "\nafter:\n" + said_;
  }

  void say(const char* what, const run_config& at, const std::string& how) {
    said_ += std::string{what} + " at " + at.checkpoint_ns + " "
             + (at.checkpoint_id.empty() ? "head" : at.checkpoint_id) + " "
             + std::string{to_string(at.durability)} + ": " + how + "\n";
  }

  void run(const char* what, const run_input& input) {
    auto config = somewhere(true);
    config.durability = pick({durability::sync, durability::async, durability::exit});
    auto ended = app_.try_invoke(input, config);
    say(what, config, ended ? to_json(ended->value()) : ended.error().message());
  }

  void update(const char* what, std::vector<outside_update> updates) {
    auto config = somewhere(false);
    auto made = app_.try_bulk_update_state(config, {std::move(updates)});
    say(what, config, made ? made->checkpoint_id : made.error().message());
  }

  void update_otherwise() {
    switch (random_() % 5) {
      case 0: return update("clear", {{std::nullopt, END}});
      case 1: return update("as input", {{words_.next("i"), "__input__"}});
      case 2: return update("copy", {{std::nullopt, "__copy__"}});
      case 3: return update("overwrite", {{words_.reset(), pick({"a", "b"})}});
      default: return update("inferred", {{words_.next("s"), ""}});
    }
  }

  std::mt19937 random_;
  made_words words_;
  std::shared_ptr<saver> store_;
  runtime rt_;
  app<> app_;
  std::string said_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_delta_runs)

void try_everything(unsigned seed, const std::shared_ptr<saver>& store,
                    const thread_user::graph_maker& make) {
  thread_user user{seed, store, make};
  for (int i = 0; i < 25; ++i) {
    user.call_something();
    auto found = user.difference();
    BOOST_REQUIRE_MESSAGE(found.empty(), "seed " << seed << ", call " << i << ": " << found);
  }
}

BOOST_DATA_TEST_CASE(delta_channel_reads_like_a_reducer_whatever_is_done_to_the_thread,
                     boost::unit_test::data::xrange(0u, 150u), seed) {
  try_everything(seed, make_memory_saver(), asking_graph);
}

BOOST_DATA_TEST_CASE(delta_channel_of_a_subgraph_reads_like_a_reducer_too,
                     boost::unit_test::data::xrange(0u, 100u), seed) {
  auto how = seed % 2 == 0 ? checkpointing::inherit : checkpointing::per_thread;
  try_everything(seed, make_memory_saver(), [how](made_words& words, std::int64_t frequency) {
    return nested_graph(words, frequency, how);
  });
}

BOOST_DATA_TEST_CASE(delta_channel_reads_like_a_reducer_from_the_disk,
                     boost::unit_test::data::xrange(0u, 5u), seed) {
  test::temporary_directory dir;
  try_everything(seed, open_lmdb_saver(dir.path() / "data").value(), asking_graph);
}

// ---- what is stored, and for whom ---------------------------------------------------------------

// START → n0 → n1 → n2, each writes its name to the delta channel d.
compiled_graph line_graph() {
  state_graph<> g{schema{{"d", delta(append)}}};
  for (const char* name : {"n0", "n1", "n2"})
    g.add_node(name, [name] { return state_update{{"d", words({name})}}; });
  g.add_edge(START, "n0");
  g.add_edge("n0", "n1");
  g.add_edge("n1", "n2");
  return g.compile({.name = "line"});
}

// START → ask → b; the answer is written.
compiled_graph ask_graph() {
  state_graph<> g{schema{{"d", delta(append)}}};
  g.add_node("ask", [](context& ctx) {
    return state_update{{"d", value::list({ctx.interrupt("?")})}};
  });
  g.add_node("b", [] { return state_update{{"d", words({"b"})}}; });
  g.add_edge(START, "ask");
  g.add_edge("ask", "b");
  return g.compile({.name = "ask"});
}

struct line_thread {
  explicit line_thread(const compiled_graph& g) : rt{{.saver = store}}, app{rt.load(g)} {}

  value at(const std::string& id) {
    return app.get_state({.thread_id = "t", .checkpoint_id = id}).values["d"];
  }
  checkpoint_tuple stored(const std::string& id) const {
    return *store->get_tuple({"t", "", id}).value();
  }
  value invoke(const run_input& input, const run_config& config = {.thread_id = "t"}) {
    return app.invoke(input, config).value()["d"];
  }
  std::string id_of_step(int step) {
    for (const auto& s : app.get_state_history({.thread_id = "t"}))
      if (s.metadata["step"] == value(step))
        return s.config.checkpoint_id;
    return "none";
  }

  std::shared_ptr<saver> store = make_memory_saver();
  runtime rt;
  troupe::app<> app;
};

const value give_i = value::map({{"d", value::list({"i"})}});

BOOST_AUTO_TEST_CASE(update_at_an_old_checkpoint_stores_the_value_and_leaves_the_old_branch_alone) {
  line_thread t{line_graph()};
  t.invoke(give_i);
  auto old = t.app.get_state({.thread_id = "t"}).config.checkpoint_id;
  auto made = t.app.update_state({.thread_id = "t", .checkpoint_id = t.id_of_step(1)},
                                 state_update{{"d", words({"X"})}}, "n0");
  auto fork = t.stored(made.checkpoint_id);
  BOOST_TEST(fork.checkpoint.channel_values.at(1).second
             == value::extension(value_kind::delta_snapshot, words({"i", "n0", "X"})));
  BOOST_TEST(fork.metadata["counters_since_delta_snapshot"].is_null());
  BOOST_TEST(t.invoke(nullptr) == words({"i", "n0", "X", "n1", "n2"}));
  BOOST_TEST(t.at(old) == words({"i", "n0", "n1", "n2"}));
}

BOOST_AUTO_TEST_CASE(answer_at_a_superseded_checkpoint_is_read_by_its_own_branch_only) {
  for (auto durability : {durability::sync, durability::async, durability::exit}) {
    line_thread t{ask_graph()};
    t.invoke(give_i);
    auto asked = t.app.get_state({.thread_id = "t"}).config.checkpoint_id;
    auto other = t.app.update_state({.thread_id = "t"}, state_update{{"d", words({"u"})}}, "ask");
    auto answered = t.invoke(
      command{.update = state_update{{"d", words({"c"})}}, .resume = "B"},
      {.thread_id = "t", .checkpoint_id = asked, .durability = durability, .strict_resume = false});
    BOOST_TEST(answered == words({"i", "c", "B", "b"}));
    BOOST_TEST(t.app.get_state({.thread_id = "t"}).values["d"] == answered);
    BOOST_TEST(t.at(other.checkpoint_id) == words({"i", "u"}));
  }
}

BOOST_AUTO_TEST_CASE(exit_stores_the_writes_of_all_steps_with_a_stub_in_the_order_they_ran) {
  line_thread t{line_graph()};
  const run_config config{.thread_id = "t", .durability = durability::exit};
  BOOST_TEST(t.invoke(give_i, config) == words({"i", "n0", "n1", "n2"}));
  auto last = t.stored("");
  auto stub = t.stored(last.parent_id);
  BOOST_TEST(stub.metadata == value::map({{"step", -2}}));
  BOOST_TEST(stub.parent_id == "");
  std::string writes;
  for (const auto& w : stub.pending_writes)
    writes += w.task_id.substr(0, 18) + " " + w.task_path + " " + to_json(w.value) + "\n";
  BOOST_TEST(writes.substr(0, 8) == "00000000");
  BOOST_TEST(writes.substr(18)
             == " ~__pregel_pull, __start__ [\"i\"]\n"
                "ffffffff-0000-0001 ~~0000000001~__pregel_pull, n0 [\"n0\"]\n"
                "ffffffff-0000-0002 ~~0000000002~__pregel_pull, n1 [\"n1\"]\n"
                "ffffffff-0000-0003 ~~0000000003~__pregel_pull, n2 [\"n2\"]\n");
  BOOST_TEST(t.at("") == words({"i", "n0", "n1", "n2"}));

  // A command at the stub makes a branch of its own, and goes through the entry again.
  auto branch = t.invoke(command{.update = state_update{{"d", words({"c"})}}},
                         {.thread_id = "t", .checkpoint_id = stub.ref.checkpoint_id});
  BOOST_TEST(branch == words({"c", "n0", "n1", "n2"}));
  BOOST_TEST(t.at(last.ref.checkpoint_id) == words({"i", "n0", "n1", "n2"}));
}

BOOST_AUTO_TEST_CASE(exit_run_that_is_refused_or_fails_leaves_only_what_was_applied) {
  state_graph<> g{schema{{"d", delta(append)}}};
  g.add_node("a", [] { return state_update{{"d", words({"a"})}}; });
  g.add_node("x", [] { return state_update{{"d", overwrite(words({"x"}))}}; });
  g.add_node("y", [] { return state_update{{"d", overwrite(words({"y"}))}}; });
  g.add_edge(START, "a");
  g.add_edge("a", "x");
  g.add_edge("a", "y");
  line_thread t{g.compile({.name = "refused"})};
  auto refused = t.app.try_invoke(give_i, {.thread_id = "t", .durability = durability::exit});
  BOOST_TEST((refused.error().code() == errc::invalid_update));
  BOOST_TEST(t.app.get_state({.thread_id = "t"}).values["d"] == words({"i", "a"}));
}

BOOST_AUTO_TEST_CASE(messages_without_an_id_keep_the_one_they_are_given) {
  state_graph<> g{schema{{"messages", delta(add_messages)}}};
  g.add_node("a", [] { return state_update{{"messages", value::list({"from a", "again"})}}; });
  g.add_edge(START, "a");
  for (auto durability : {durability::sync, durability::exit}) {
    line_thread t{g.compile({.name = "messages"})};
    auto shown = t.app
                   .invoke(value::map({{"messages", value::list({"hi"})}}),
                           {.thread_id = "t", .durability = durability})
                   .value()["messages"];
    BOOST_REQUIRE(shown.size() == 3u);
    for (const auto& m : shown.items())
      BOOST_TEST(m.payload()["id"].size() == 36u);
    BOOST_TEST(t.app.get_state({.thread_id = "t"}).values["messages"] == shown);
    auto more = t.app.update_state({.thread_id = "t"}, state_update{{"messages", "outside"}}, "a");
    auto after = t.app.get_state({.thread_id = "t"}).values["messages"];
    BOOST_TEST(after.size() == 4u);
    BOOST_TEST(after[3].payload()["id"].size() == 36u);
    BOOST_TEST(t.app.get_state({.thread_id = "t"}).values["messages"] == after);
  }
}

// START → f (c → ask and d).
compiled_graph outer_of_asking(std::atomic<int>& starts) {
  state_graph<> inner{schema{{"plain", append}, {"log", delta(append)}}};
  inner.add_node("c", [&starts] {
    ++starts;
    return word("c");
  });
  inner.add_node("ask", [](context& ctx) { return to_both(value::list({ctx.interrupt("?")})); });
  inner.add_node("d", [] { return word("d"); });
  inner.add_edge(START, "c");
  inner.add_edge("c", "ask");
  inner.add_edge("c", "d");
  state_graph<> g{schema{{"x", last_value}}};
  g.add_node("f", inner.compile({.name = "inner"}));
  g.add_edge(START, "f");
  return g.compile({.name = "outer"});
}

BOOST_AUTO_TEST_CASE(fork_of_a_subgraph_that_was_updated_goes_on_in_its_new_namespace) {
  for (auto durability : {durability::sync, durability::async, durability::exit}) {
    std::atomic<int> starts = 0;
    line_thread t{outer_of_asking(starts)};
    t.invoke(value::map({{"x", 1}}));
    auto within = t.app.get_state({.thread_id = "t"}, true).tasks.at(0).state->config.checkpoint_ns;
    auto updated = t.app.update_state({.thread_id = "t", .checkpoint_ns = within}, word("u"), "c");
    BOOST_TEST_CONTEXT(to_string(durability)) {
      t.invoke(nullptr, {.thread_id = "t",
                         .checkpoint_id = updated.checkpoint_id,
                         .checkpoint_ns = within,
                         .durability = durability});
      auto forked = t.app.get_state({.thread_id = "t"}, true).tasks.at(0).state;
      BOOST_TEST(forked->config.checkpoint_ns != within);
      BOOST_TEST(forked->values["plain"] == words({"c", "u", "d"}));
      BOOST_TEST(forked->values["log"] == words({"c", "u", "d"}));
      t.invoke(command{.resume = "A"});
      const auto& within_fork = forked->config.checkpoint_ns;
      auto ended = t.app.get_state({.thread_id = "t", .checkpoint_ns = within_fork}).values;
      BOOST_TEST(ended["plain"] == words({"c", "u", "A", "d"}));
      BOOST_TEST(ended["log"] == ended["plain"]);
      BOOST_TEST(starts == 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(frequency_bounds_how_far_a_state_is_read_back) {
  state_graph<> g{schema{{"d", delta(append, 3)}, {"n", sum}}};
  g.add_node("a", [](const state_view& in) {
    return state_update{{"d", value::list({in["n"]})}, {"n", 1}};
  });
  g.add_edge(START, "a");
  g.add_conditional_edges("a", [](const state_view& in) {
    return std::string{in["n"].as_int() < 20 ? "a" : END};
  });
  line_thread t{g.compile({.name = "loop"})};
  auto all = t.invoke(value::map(), {.thread_id = "t", .recursion_limit = 50});
  BOOST_TEST(all.size() == 20u);
  std::size_t snapshots = 0;
  for (const auto& tuple : t.store->list({.thread_id = "t"}).value()) {
    for (const auto& [name, v] : tuple.checkpoint.channel_values)
      snapshots += v.is(value_kind::delta_snapshot) ? 1 : 0;
    auto found = t.store->get_delta_channel_history(tuple.ref, {"d"}).value();
    BOOST_TEST(found[0].second.writes.size() <= 3u);
  }
  BOOST_TEST(snapshots == 6u);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
