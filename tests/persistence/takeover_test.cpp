// Two runtimes at one thread, as two processes are: which one resumes it, and what the other one
// sees.
//
// Bodies note that they ran; a saver in front of the shared one notes what was stored. Gates decide
// what comes first.
#include "tests/fixtures/small_graphs.hpp"
#include "tests/persistence/saver_kinds.hpp"

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace troupe {

namespace {

using test::backends;

/// The events in order, and the gates of tasks that stop for them.
class journal {
public:
  struct entry {
    std::string who;
    // "ran", "stored", "refused", "held", "read", "took" (the thread over), "rested"
    std::string what;
    std::string of; // a task, or a namespace, or nothing
    friend bool operator==(const entry&, const entry&) = default;
  };

  void add(entry e) {
    std::lock_guard lock{mutex_};
    entries_.push_back(std::move(e));
    changed_.notify_all();
  }
  void wait_for(const std::function<bool(const std::vector<entry>&)>& come) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return come(entries_); });
  }
  /// Until so many tasks' writes were answered, well or not.
  void wait_for_answers(const std::string& who, std::ptrdiff_t tasks) {
    wait_for([&](const auto& all) {
      return std::ranges::count_if(all,
                                   [&](const entry& e) {
                                     return e.who == who && !e.of.empty()
                                            && (e.what == "stored" || e.what == "refused");
                                   })
             >= tasks;
    });
  }
  std::vector<entry> entries() const {
    std::lock_guard lock{mutex_};
    return entries_;
  }

  /// The tasks that one ran although the writes of another's execution had been stored.
  std::vector<std::string> ran_again() const {
    std::map<std::string, std::string> stored;
    std::vector<std::string> again;
    for (const auto& e : entries())
      if (e.what == "stored")
        stored.emplace(e.of, e.who);
      else if (auto by = stored.find(e.of); e.what == "ran" && by != stored.end())
        again.push_back(e.of + ": " + e.who + " behind " + by->second);
    return again;
  }

  void close(const std::string& place) {
    std::lock_guard lock{mutex_};
    gates_.try_emplace(place);
  }
  gate& at(const std::string& place) {
    std::lock_guard lock{mutex_};
    return gates_.at(place);
  }
  void pass(const std::string& place) {
    if (auto* there = find(place))
      there->pass();
  }
  void open_all() {
    std::lock_guard lock{mutex_};
    for (auto& [place, there] : gates_)
      there.open();
  }

private:
  gate* find(const std::string& place) {
    std::lock_guard lock{mutex_};
    auto there = gates_.find(place);
    return there == gates_.end() ? nullptr : &there->second;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<entry> entries_;
  std::map<std::string, gate> gates_;
};

/// Notes what one runtime reads and stores.
class noting_saver : public forwarding_saver {
public:
  noting_saver(std::shared_ptr<saver> inner, std::string who, journal& notes)
    : forwarding_saver{std::move(inner)},
      who_{std::move(who)},
      notes_{notes} {}

  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref) override {
    notes_.add({who_, "read", ref.checkpoint_ns});
    return forwarding_saver::get_tuple(ref);
  }
  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    std::lock_guard lock{mutex_};
    if (!holds_)
      return pass_on(std::move(request), when, std::move(done));
    held_.push_back([this, request = std::move(request), when, done = std::move(done)] {
      pass_on(request, when, done);
    });
    notes_.add({who_, "held", {}});
  }

  /// Requests that are submitted from now on wait for let_go().
  void hold() {
    std::lock_guard lock{mutex_};
    holds_ = true;
  }
  void let_go() {
    std::lock_guard lock{mutex_};
    holds_ = false;
    for (auto& next : held_)
      next();
    held_.clear();
  }

private:
  void pass_on(save_request request, save_ack when, std::function<void(result<void>)> done) {
    std::vector<std::string> tasks;
    for (const auto& task : request.writes)
      tasks.push_back(task.task_id);
    bool only_claim = tasks.empty() && !request.put && request.claim;
    bool rests = only_claim && (request.claim->owner & thread_at_rest) != 0;
    auto answered = rests ? "rested" : only_claim ? "took" : "stored";
    if (tasks.empty())
      tasks.emplace_back();
    forwarding_saver::submit(std::move(request), when,
                             [this, tasks, answered, done = std::move(done)](result<void> how) {
                               for (const auto& task : tasks)
                                 notes_.add({who_, how ? answered : "refused", task});
                               done(std::move(how));
                             });
  }

  std::string who_;
  journal& notes_;
  std::mutex mutex_;
  bool holds_ = false;
  std::vector<std::function<void()>> held_;
};

/// One of the two: a runtime with its own way to the store, and the graph with bodies that note.
class racer {
public:
  using build = std::function<compiled_graph(const racer&)>;

  racer(std::string who, const std::shared_ptr<saver>& store, journal& notes, const build& graph)
    : who_{std::move(who)},
      notes_{notes},
      saver_{std::make_shared<noting_saver>(store, who_, notes)},
      machine_{{.saver = saver_, .worker_threads = 1, .blocking_threads = 6}},
      runs_{machine_.load(graph(*this))} {}

  /// Adds a node that notes its execution, stops at its gate and logs its name.
  void add(state_graph<>& g, const std::string& name) const {
    g.add_node(name,
               [this, name](const state_view&, context& ctx) {
                 notes_.add({who_, "ran", std::string{ctx.task_id()}});
                 notes_.pass(who_ + " " + name);
                 return log(name);
               },
               {.lane = lane::blocking});
  }

  const std::string& who() const noexcept { return who_; }
  noting_saver& saver() noexcept { return *saver_; }
  app<>& runs() noexcept { return runs_; }
  run_handle start(run_input input, run_config config = {}) {
    config.thread_id = "t";
    return runs_.start(input, config);
  }

private:
  std::string who_;
  journal& notes_;
  std::shared_ptr<noting_saver> saver_;
  runtime machine_;
  app<> runs_;
};

/// START → first, second, third → join.
void add_three(const racer& by, state_graph<>& g) {
  for (const char* name : {"first", "second", "third"})
    by.add(g, name);
  by.add(g, "join");
  for (const char* name : {"first", "second", "third"})
    g.add_edge(START, name);
  g.add_edge({"first", "second", "third"}, "join");
}

/// That graph, within so many others.
compiled_graph three_at_once(const racer& by, int depth) {
  state_graph<> g{log_only};
  if (depth == 0) {
    add_three(by, g);
  } else {
    g.add_node("within", three_at_once(by, depth - 1));
    g.add_edge(START, "within");
  }
  return g.compile();
}

/// The checkpoints with two successors, in any namespace, and the roots beyond the first.
std::vector<std::string> forks(saver& store) {
  std::set<std::pair<std::string, std::string>> parents;
  std::vector<std::string> out;
  auto all = store.list({.thread_id = "t"});
  for (const auto& tuple : all.value())
    if (!parents.emplace(tuple.ref.checkpoint_ns, tuple.parent_id).second)
      out.push_back(tuple.ref.checkpoint_ns + " " + tuple.parent_id);
  return out;
}

std::vector<std::string> logged(app<>& runs) {
  auto entries = runs.get_state({.thread_id = "t"}).values["log"];
  std::vector<std::string> out;
  for (const auto& e : entries.items())
    out.emplace_back(e.as_string());
  std::ranges::sort(out);
  return out;
}

const std::vector<std::string> each_once{"first", "join", "second", "third"};

/// One runtime is in a step of three tasks, one of which is stored; another one resumes the thread,
/// one task at a time. While that is in its first task, the first runtime ends another one.
void resume_mid_step(const std::shared_ptr<saver>& store, int depth, durability second) {
  journal notes;
  for (const char* place : {"a second", "a third", "b second"})
    notes.close(place);
  auto graph = [depth](const racer& by) { return three_at_once(by, depth); };
  racer a{"a", store, notes, graph};
  racer b{"b", store, notes, graph};
  auto first = a.start(value::map({{"log", value::list({})}}), {.durability = durability::sync});
  notes.wait_for_answers("a", 1);
  notes.at("a second").wait_for(1);
  notes.at("a third").wait_for(1);
  auto other = b.start(nullptr, {.durability = second, .max_concurrency = 1});
  notes.wait_for([](const auto& all) {
    return std::ranges::any_of(all, [](const auto& e) { return e.who == "b" && e.what == "ran"; });
  });
  notes.at("a third").open();
  notes.wait_for_answers("a", 2);
  notes.at("b second").open();
  BOOST_TEST((code_of(other.get()) == errc::ok));
  notes.open_all();
  BOOST_TEST((code_of(first.get()) == errc::conflict));
  BOOST_TEST(notes.ran_again() == std::vector<std::string>{}, boost::test_tools::per_element());
  BOOST_TEST(forks(*store) == std::vector<std::string>{}, boost::test_tools::per_element());
  BOOST_TEST(logged(b.runs()) == each_once, boost::test_tools::per_element());
}

constexpr durability durabilities[] = {durability::sync, durability::async, durability::exit};

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_takeover)

BOOST_AUTO_TEST_CASE_TEMPLATE(what_one_stored_the_other_does_not_run_again, backend, backends) {
  for (auto second : durabilities) {
    backend on;
    resume_mid_step(on.saver, 0, second);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_one_stored_two_graphs_down_the_other_does_not_run_again, backend,
                              backends) {
  for (auto second : durabilities) {
    backend on;
    resume_mid_step(on.saver, 2, second);
  }
}

// It stores at its end only, and first in a namespace that nobody else has.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_run_that_stores_late_forks_nothing, backend, backends) {
  backend on;
  journal notes;
  notes.close("a pick");
  notes.close("b pick");
  auto graph = [](const racer& by) {
    state_graph<> inner{log_only};
    by.add(inner, "inner");
    inner.add_edge(START, "inner");
    state_graph<> g{log_only};
    by.add(g, "pick");
    g.add_node("within", inner.compile());
    g.add_edge(START, "pick");
    g.add_conditional_edges(
      "pick", [who = by.who()](const state_view&) { return who == "b" ? "within" : END; },
      {"within", END});
    return g.compile();
  };
  racer a{"a", on.saver, notes, graph};
  racer b{"b", on.saver, notes, graph};
  auto first = a.start(log("0"), {.durability = durability::sync});
  notes.at("a pick").wait_for(1);
  auto other = b.start(nullptr, {.durability = durability::exit});
  notes.at("b pick").wait_for(1);
  notes.at("a pick").open();
  BOOST_TEST((code_of(first.get()) == errc::conflict));
  notes.at("b pick").open();
  BOOST_TEST((code_of(other.get()) == errc::ok));
  BOOST_TEST(forks(*on.saver) == std::vector<std::string>{}, boost::test_tools::per_element());
}

// A new input needs no more than its own first checkpoint; what is within waits for that.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_new_input_reads_what_is_within_once_the_thread_is_its_own, backend,
                              backends) {
  for (auto second : {durability::sync, durability::async}) {
    backend on;
    journal notes;
    for (const char* place : {"a two", "a three"})
      notes.close(place);
    auto graph = [](const racer& by) {
      state_graph<> inner{log_only};
      for (const char* name : {"one", "two", "three"})
        by.add(inner, name);
      inner.add_edge(START, "one");
      inner.add_edge("one", "two");
      inner.add_edge("two", "three");
      state_graph<> g{log_only};
      g.add_node("inner", inner.compile({.checkpointer = checkpointing::per_thread}));
      g.add_edge(START, "inner");
      return g.compile();
    };
    racer a{"a", on.saver, notes, graph};
    racer b{"b", on.saver, notes, graph};
    auto first = a.start(log("0"), {.durability = durability::sync});
    notes.at("a two").wait_for(1);
    b.saver().hold();
    auto other = b.start(log("1"), {.durability = second});
    notes.wait_for([](const auto& all) {
      return std::ranges::find(all, journal::entry{"b", "held", ""}) != all.end();
    });
    notes.at("a two").open();
    notes.at("a three").wait_for(1);
    b.saver().let_go();
    BOOST_TEST((code_of(other.get()) == errc::ok));
    notes.at("a three").open();
    BOOST_TEST((code_of(first.get()) == errc::conflict));
    auto happened = notes.entries();
    auto stored = std::ranges::find(happened, journal::entry{"b", "stored", ""});
    auto read = std::ranges::find(happened, journal::entry{"b", "read", "inner"});
    BOOST_TEST((stored < read && read != happened.end()));
    BOOST_TEST(forks(*on.saver) == std::vector<std::string>{}, boost::test_tools::per_element());
    BOOST_TEST(std::ranges::count(happened, journal::entry{"b", "took", ""}) == 0);
  }
}

// The cost of runs and updates that continue where this runtime left the thread.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_thread_is_taken_over_from_another_runtime_only, backend, backends) {
  backend on;
  journal notes;
  auto graph = [](const racer& by) {
    state_graph<> g{log_only};
    g.add_node("ask", [](context& ctx) { return log(ctx.interrupt("who?")); });
    by.add(g, "last");
    g.add_edge(START, "ask");
    g.add_edge("ask", "last");
    return g.compile();
  };
  racer a{"a", on.saver, notes, graph};
  racer b{"b", on.saver, notes, graph};
  auto took = [&notes](const char* who) {
    return std::ranges::count(notes.entries(), journal::entry{who, "took", ""});
  };
  for (auto durable : durabilities) {
    run_config config{.thread_id = "t", .durability = durable};
    BOOST_TEST(a.runs().invoke(log("0"), config).paused());
    auto asked = a.runs().get_state(config).config.checkpoint_id;
    BOOST_TEST(!a.runs().invoke(answer("me"), config).paused());
    a.runs().update_state(config, log("more"));
    a.runs().invoke(nullptr, config);
    config.checkpoint_id = asked;
    BOOST_TEST(a.runs().invoke(nullptr, config).paused());
    config.checkpoint_id.clear();
    BOOST_TEST(!a.runs().invoke(answer("you"), config).paused());
  }
  BOOST_TEST(took("a") == 0);
  const run_config config{.thread_id = "t"};
  BOOST_TEST(b.runs().invoke(log("0"), config).paused());
  BOOST_TEST(took("b") == 0);
  a.runs().invoke(answer("me"), config);
  BOOST_TEST(took("a") == 0); // who pauses has put the thread to rest
  b.runs().update_state(config, log("more"));
  BOOST_TEST(took("b") == 1);
  b.runs().invoke(nullptr, config);
  BOOST_TEST(took("b") == 1);
}

// Turns are a runtime's own: to the runs of another one, each strategy does what take_over does.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_run_of_another_runtime_is_taken_over_by_every_strategy, backend,
                              backends) {
  using strategy = multitask_strategy;
  for (auto how : {strategy::take_over, strategy::reject, strategy::enqueue, strategy::interrupt,
                   strategy::rollback})
    for (bool resumes : {false, true}) {
      backend on;
      journal notes;
      notes.close("a two");
      auto graph = [](const racer& by) {
        state_graph<> g{log_only};
        by.add(g, "one");
        by.add(g, "two");
        g.add_edge(START, "one");
        g.add_edge("one", "two");
        return g.compile();
      };
      racer a{"a", on.saver, notes, graph};
      racer b{"b", on.saver, notes, graph};
      auto first = a.start(log("0"), {.durability = durability::sync});
      notes.at("a two").wait_for(1);
      auto input = resumes ? run_input{nullptr} : run_input{log("1")};
      BOOST_TEST((code_of(b.start(input, {.multitask = how}).get()) == errc::ok),
                 to_string(how)); // it neither waits nor is refused
      BOOST_TEST(!first.ready()); // nor is the other one cancelled
      notes.at("a two").open();
      BOOST_TEST((code_of(first.get()) == errc::conflict), to_string(how));
      auto expected = resumes ? std::vector<std::string>{"0", "one", "two"} // nothing is undone
                              : std::vector<std::string>{"0", "1", "one", "one", "two"};
      BOOST_TEST(logged(b.runs()) == expected, boost::test_tools::per_element());
      BOOST_TEST(forks(*on.saver) == std::vector<std::string>{}, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
