// store_history::latest_only on every saver: runs, questions, runs within runs and delta channels
// keep one checkpoint, and everything still resumes.
#include "tests/fixtures/small_graphs.hpp"
#include "tests/persistence/saver_kinds.hpp"

#include <troupe/data_dir.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

namespace troupe {

namespace {

using test::backends;
using test::require_error;

constexpr durability all_durabilities[] = {durability::sync, durability::async, durability::exit};

run_config latest_only(durability when = durability::async) {
  return {.thread_id = "t",
          .durability = when,
          .store_history = store_history::latest_only,
          .recursion_limit = 20'000};
}

/// Counts to `to`, a step each. `last` holds the last numbers: a large value that changes at both
/// ends. `seen` changes every tenth step.
compiled_graph counting(std::int64_t to) {
  state_graph<> g{{{"n", sum}, {"last", keep_last(append, 40)}, {"seen", last_value}}};
  g.add_node("count", [](const state_view& s) {
    auto n = s["n"].as_int() + 1;
    state_update out{{"n", 1}, {"last", value::list({"number " + std::to_string(n)})}};
    if (n % 10 == 0)
      out.set("seen", n);
    return out;
  });
  g.add_edge(START, "count");
  g.add_conditional_edges("count", [to](const state_view& s) {
    return s["n"].as_int() % to == 0 ? destinations{END} : destinations{"count"};
  });
  return g.compile({.name = "counting"});
}

std::vector<checkpoint_tuple> stored(saver& from) {
  return from.list({.thread_id = "t"}).value();
}

/// "NAMESPACE:HOW MANY", without the ids of tasks.
std::vector<std::string> counts(saver& from) {
  std::map<std::string, int> by_ns;
  for (const auto& tuple : stored(from))
    ++by_ns[tuple.ref.checkpoint_ns.substr(0, tuple.ref.checkpoint_ns.find(':'))];
  std::vector<std::string> out;
  for (const auto& [ns, n] : by_ns)
    out.push_back(ns + ":" + std::to_string(n));
  return out;
}

using texts = std::vector<std::string>;

/// ask → ask → … , three questions, each in a graph of its own.
compiled_graph asking(checkpointer how) {
  state_graph<> inner{{{"log", append}}};
  inner.add_node("before", [] { return log("before"); });
  inner.add_node("ask", [](context& ctx) { return log(ctx.interrupt("?")); });
  inner.add_edge(START, "before");
  inner.add_edge("before", "ask");
  state_graph<> g{{{"log", append}, {"n", sum}}};
  auto graph = inner.compile({.name = "inner", .checkpointer = std::move(how)});
  g.add_node("inner",
             [graph](context& ctx) -> coro<state_update> {
               auto run = ctx.run(graph, value::map({}));
               auto out = co_await run;
               co_return state_update{{"log", value::list({out["log"]})}, {"n", 1}};
             },
             {.calls = {graph}});
  g.add_edge(START, "inner");
  g.add_conditional_edges("inner", [](const state_view& s) {
    return s["n"].as_int() == 3 ? destinations{END} : destinations{"inner"};
  });
  return g.compile({.name = "outer"});
}

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_store_history)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_run_keeps_one_checkpoint, backend, backends) {
  for (auto when : all_durabilities) {
    backend kept;
    runtime rt{{.saver = kept.saver}};
    auto app = rt.load(counting(60));
    auto out = app.invoke({{"n", 0}}, latest_only(when));
    BOOST_TEST(out.value()["n"] == value(60));
    app.invoke({{"n", 0}}, latest_only(when));
    auto all = stored(*kept.saver);
    BOOST_REQUIRE(all.size() == 1u);
    auto state = app.get_state({.thread_id = "t"});
    BOOST_TEST(state.values["last"].size() == 40u);
    BOOST_TEST(to_json(state.values["last"][39]) == "\"number 120\"");
    BOOST_TEST(to_json(state.values["last"][0]) == "\"number 81\"");
    BOOST_TEST(state.values["seen"] == value(120));
    BOOST_TEST(state.next.empty());
  }
}

// Each step is a commit of its own. Otherwise the free pages of the file would be as many as the
// fullest commit needed, which depends on time.
BOOST_AUTO_TEST_CASE(a_thousand_steps_take_the_room_of_a_hundred) {
  test::temporary_directory dir;
  auto place = dir.path() / "data";
  auto saver = open_lmdb_saver(place).value();
  runtime rt{{.saver = saver}};
  auto app = rt.load(counting(100));
  auto run = [&] { app.invoke({{"n", 0}}, latest_only(durability::sync)); };
  run();
  auto records = saver->threads().value()[0].bytes;
  auto sizes = stat_data(place).value();
  for (int i = 0; i < 9; ++i)
    run();
  BOOST_TEST(app.get_state({.thread_id = "t"}).values["n"] == value(1'000));
  auto info = saver->threads().value()[0];
  BOOST_TEST(info.checkpoints == 1u);
  BOOST_TEST(info.bytes < records + 2'000);
  auto later = stat_data(place).value();
  BOOST_TEST(later.used_bytes <= sizes.used_bytes + 8'192); // two pages
  BOOST_TEST(later.file_bytes <= sizes.file_bytes + 50'000);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(questions_in_runs_within_a_run_are_answered, backend, backends) {
  for (auto when : all_durabilities)
    for (auto how : {checkpointing::inherit, checkpointing::per_thread}) {
      backend kept;
      auto graph = asking(how);
      auto config = latest_only(when);
      std::optional<run_result> out;
      for (int i = 0; i < 4; ++i) {
        runtime rt{{.saver = kept.saver}}; // another process
        auto app = rt.load(graph);
        out = i == 0 ? app.try_invoke({{"n", 0}}, config).value()
                     : app.try_invoke(answer("answer " + std::to_string(i)), config).value();
        BOOST_TEST(out->paused() == (i < 3));
        auto found = counts(*kept.saver);
        bool inner_there = i < 3 || how == checkpointing::per_thread;
        BOOST_TEST(found == (inner_there ? texts{":1", "inner:1"} : texts{":1"}),
                   boost::test_tools::per_element());
      }
      auto expected = how == checkpointing::inherit
                        ? R"([["before","answer 1"],["before","answer 2"],["before","answer 3"]])"
                        : R"([["before","answer 1"],["before","answer 1","before","answer 2"],)"
                          R"(["before","answer 1","before","answer 2","before","answer 3"]])";
      BOOST_TEST(to_json(out->value()["log"]) == expected);
    }
}

// Each saving fails once. Another process resumes from what is stored.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_run_that_is_cut_off_anywhere_resumes, backend, backends) {
  for (int nth = 1; nth < 30; ++nth) {
    backend kept;
    auto failing = std::make_shared<failing_saver>(kept.saver, nth);
    auto graph = counting(20);
    auto config = latest_only(durability::sync);
    errc how = errc::ok;
    {
      runtime rt{{.saver = failing}};
      how = code_of(rt.load(graph).try_invoke({{"n", 0}}, config));
    }
    BOOST_TEST((how == errc::ok) == !failing->failed());
    runtime rt{{.saver = kept.saver}};
    auto app = rt.load(graph);
    auto there = !stored(*kept.saver).empty();
    auto out = there ? app.invoke(nullptr, config) : app.invoke({{"n", 0}}, config);
    BOOST_TEST(out.value()["n"] == value(20), "failed at " << nth);
    BOOST_TEST(counts(*kept.saver) == texts{":1"}, boost::test_tools::per_element());
    if (how == errc::ok)
      break;
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(delta_channels_keep_what_their_values_need, backend, backends) {
  constexpr std::int64_t frequency = 7;
  for (auto when : all_durabilities) {
    backend kept;
    state_graph<> g{{{"plain", append},
                     {"often", delta(append, frequency)},
                     {"seldom", delta(append, frequency)},
                     {"never", delta(append, frequency)},
                     {"n", sum}}};
    g.add_node("say", [](const state_view& s) {
      auto word = value::list({s["n"]});
      state_update out{{"plain", word}, {"often", word}, {"n", 1}};
      if (s["n"].as_int() % 5 == 0)
        out.set("seldom", word);
      return out;
    });
    g.add_edge(START, "say");
    g.add_conditional_edges("say", [](const state_view& s) {
      return s["n"].as_int() % 40 == 0 ? destinations{END} : destinations{"say"};
    });
    runtime rt{{.saver = kept.saver}};
    auto app = rt.load(g.compile({.name = "saying"}));
    for (int i = 1; i <= 3; ++i) {
      app.invoke({{"n", 0}}, latest_only(when));
      auto state = app.get_state({.thread_id = "t"});
      BOOST_TEST(state.values["often"] == state.values["plain"]);
      BOOST_TEST(state.values["seldom"].size() == static_cast<std::size_t>(8 * i));
      BOOST_TEST(stored(*kept.saver).size() <= static_cast<std::size_t>(frequency) + 1);
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_past_of_earlier_runs_goes_within_a_few_steps, backend, backends) {
  backend kept;
  auto all = latest_only();
  all.store_history = store_history::all;
  runtime rt{{.saver = kept.saver}};
  auto app = rt.load(counting(300));
  app.invoke({{"n", 0}}, all);
  auto old = stored(*kept.saver)[100].ref.checkpoint_id;
  all.checkpoint_id = old;
  app.invoke({{"n", 0}}, all); // a branch
  BOOST_TEST(stored(*kept.saver).size() > 400u);
  app.invoke({{"n", 0}}, latest_only());
  BOOST_TEST(counts(*kept.saver) == texts{":1"}, boost::test_tools::per_element());
  BOOST_TEST(app.get_state({.thread_id = "t"}).values["last"].size() == 40u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_older_checkpoint_is_named_as_missing, backend, backends) {
  backend kept;
  runtime rt{{.saver = kept.saver}};
  auto app = rt.load(counting(5));
  auto config = latest_only();
  app.invoke({{"n", 0}}, config);
  auto old = config;
  old.checkpoint_id = stored(*kept.saver)[0].ref.checkpoint_id;
  app.invoke({{"n", 0}}, config);
  require_error(app.try_get_state(old), errc::checkpoint_missing);
  require_error(app.try_invoke({{"n", 0}}, old), errc::checkpoint_missing);
  require_error(app.try_update_state(old, state_update{{"n", 1}}), errc::checkpoint_missing);
  BOOST_TEST(app.get_state(config).values["n"] == value(10));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_fork_of_the_newest_checkpoint_replaces_it, backend, backends) {
  backend kept;
  runtime rt{{.saver = kept.saver}};
  auto app = rt.load(asking(checkpointing::inherit));
  auto config = latest_only();
  app.invoke({{"n", 0}}, config);
  auto again = config;
  again.checkpoint_id = app.get_state(config).config.checkpoint_id;
  BOOST_TEST(app.try_invoke(nullptr, again).value().paused());
  BOOST_TEST(app.get_state(config).metadata["source"] == value("fork"));
  for (int i = 1; i <= 3; ++i)
    app.try_invoke(answer(std::to_string(i)), config).value();
  BOOST_TEST(app.get_state(config).values["n"] == value(3));
  BOOST_TEST(counts(*kept.saver) == texts{":1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_update_from_outside_replaces_the_checkpoint, backend, backends) {
  backend kept;
  runtime rt{{.saver = kept.saver}};
  auto app = rt.load(counting(5));
  app.invoke({{"n", 0}}, latest_only());
  for (int i = 0; i < 3; ++i)
    app.update_state(latest_only(), {{"n", 10}}, "count");
  BOOST_TEST(app.get_state(latest_only()).values["n"] == value(35));
  BOOST_TEST(counts(*kept.saver) == texts{":1"}, boost::test_tools::per_element());
}

// A value is small, then large, then patched, then small again. No patch is left without its base.
BOOST_AUTO_TEST_CASE_TEMPLATE(values_of_any_size_follow_each_other, backend, backends) {
  backend kept;
  state_graph<> g{{{"n", sum}, {"v", last_value}, {"w", last_value}}};
  auto of = [](std::int64_t n) {
    std::vector<value> list;
    for (std::int64_t i = 0; i < n % 7 * 10; ++i)
      list.emplace_back("an element " + std::to_string(n % 3 == 0 ? i : n));
    return value::list(std::move(list));
  };
  g.add_node("count", [of](const state_view& s) {
    auto n = s["n"].as_int() + 1;
    state_update out{{"n", 1}, {"v", of(n)}};
    if (n % 4 == 0)
      out.set("w", value::map({{"all", s.contains("w") ? s["w"]["all"] : value{}}, {"n", n}}));
    return out;
  });
  g.add_edge(START, "count");
  g.add_conditional_edges("count", [](const state_view& s) {
    return s["n"].as_int() == 100 ? destinations{END} : destinations{"count"};
  });
  auto graph = g.compile({.name = "sizes", .interrupt_after = {"count"}});
  auto config = latest_only(durability::sync);
  for (int n = 1; n <= 100; ++n) {
    runtime rt{{.saver = kept.saver}};
    auto app = rt.load(graph);
    static_cast<void>(n == 1 ? app.try_invoke({{"n", 0}}, config).value()
                             : app.try_invoke(nullptr, config).value());
    auto state = app.get_state(config);
    BOOST_TEST(state.values["v"] == of(n));
    BOOST_TEST(stored(*kept.saver).size() == 1u);
  }
}

BOOST_AUTO_TEST_CASE(a_run_without_a_past_is_not_rolled_back) {
  auto saver = make_memory_saver();
  gate hold; // first: the run that is given up may still be in it
  runtime rt{{.saver = saver}};
  auto app = rt.load(chain_of(
    {"a", "b"}, "held",
    [&hold](const std::string& node, context&) {
      if (node == "b")
        hold.pass();
    },
    lane::blocking));
  auto config = latest_only(durability::sync);
  auto first = app.start(value::map({}), config);
  hold.wait_for(1);
  config.multitask = multitask_strategy::rollback;
  auto second = app.start(value::map({}), config);
  hold.open();
  require_error(second.get(), errc::conflict);
  BOOST_TEST(stored(*saver).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_saver_without_submit_prunes) {
  class plain_saver : public forwarding_saver {
  public:
    using forwarding_saver::forwarding_saver;
    void submit(save_request request, save_ack when,
                std::function<void(result<void>)> done) override {
      request.claim.reset();
      saver::submit(std::move(request), when, std::move(done));
    }
  };
  class pruning_saver : public plain_saver {
  public:
    explicit pruning_saver(std::shared_ptr<saver> to) : plain_saver{to}, to_{std::move(to)} {}
    result<prune_report> prune(const std::vector<std::string>& ids,
                               const retention& keep) override {
      return to_->prune(ids, keep);
    }

  private:
    std::shared_ptr<saver> to_;
  };
  auto to = make_memory_saver();
  {
    runtime rt{{.saver = std::make_shared<pruning_saver>(to)}};
    rt.load(counting(20)).invoke({{"n", 0}}, latest_only());
  }
  BOOST_TEST(stored(*to).size() == 1u);
  runtime rt{{.saver = std::make_shared<plain_saver>(to)}};
  require_error(rt.load(counting(20)).try_invoke({{"n", 0}}, latest_only()), errc::invalid_config);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
