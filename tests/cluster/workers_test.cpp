// Homes and workers over real links, in one process.
#include "tests/cluster/placed_graphs.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include "cluster/links/certificates.hpp"

#include <troupe/cluster.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;

const schema& pairs = placed_numbers;

std::string at(const worker& w) {
  return "127.0.0.1:" + std::to_string(w.port());
}

std::shared_ptr<worker_pool> pool_of(std::vector<std::string> workers) {
  return connect_workers({.workers = std::move(workers), .plain = true}).value();
}

BOOST_AUTO_TEST_SUITE(cluster_workers)

BOOST_AUTO_TEST_CASE(a_graph_runs_on_a_worker_pauses_and_goes_on) {
  worker w{{.name = "w1", .plain = true}, {outer_asking_graph()}};
  runtime rt{{.saver = make_memory_saver(), .workers = pool_of({at(w)})}};
  auto app = rt.load(outer_asking_graph());
  auto asked = app.invoke(value{{"x", 1}}, {.thread_id = "t"});
  BOOST_TEST_REQUIRE(asked.interrupts().size() == 1U);
  auto out = app.invoke(command{.resume = value(10)}, {.thread_id = "t"});
  BOOST_TEST(out.value()["x"].as_int() == 12);
}

BOOST_AUTO_TEST_CASE(a_node_of_a_graph_within_one_that_runs_here_runs_on_a_worker) {
  auto graph = [](const std::string& where) {
    state_graph<> inner{pairs};
    inner.add_node("there",
                   [where] {
                     return value{{"log", value::list({where})}};
                   },
                   {.placement = on_worker{}});
    inner.add_edge(START, "there");
    state_graph<> g{pairs};
    g.add_node("here", inner.compile({.name = "inner"}));
    g.add_edge(START, "here");
    return g.compile({.name = "around"});
  };
  worker w{{.name = "w1", .plain = true}, {graph("worker")}};
  runtime rt{{.workers = pool_of({at(w)})}};
  auto out = rt.load(graph("home")).invoke(value{{"x", 1}});
  BOOST_TEST(to_json(out.value()["log"]) == R"(["worker"])");
}

BOOST_AUTO_TEST_CASE(a_worker_may_join_its_home) {
  auto pool = connect_workers({.listen = "127.0.0.1:0", .plain = true}).value();
  worker w{{.name = "w1",
            .listen = "",
            .join = {"127.0.0.1:" + std::to_string(pool->port())},
            .plain = true},
           {outer_asking_graph()}};
  runtime rt{{.saver = make_memory_saver(), .workers = pool}};
  auto asked = rt.load(outer_asking_graph()).invoke(value{{"x", 1}}, {.thread_id = "t"});
  BOOST_TEST(asked.interrupts().size() == 1U);
}

BOOST_AUTO_TEST_CASE(links_are_mutual_tls_where_certificates_are_given) {
  auto form = (std::filesystem::temp_directory_path() / "troupe-workers-XXXXXX").string();
  std::filesystem::path dir = ::mkdtemp(form.data());
  auto now = std::chrono::system_clock::now();
  cluster::init_ca(dir, {}, now).value();
  auto issue = [&](const std::string& name) {
    auto made = cluster::issue_cert(dir, {.name = name}, now).value();
    return link_certificates{made.certificate, made.key, dir / "ca.pem"};
  };
  worker w{{.name = "w1", .tls = issue("worker")}, {outer_asking_graph()}};
  auto pool = connect_workers({.workers = {at(w)}, .tls = issue("home")}).value();
  runtime rt{{.saver = make_memory_saver(), .workers = pool}};
  auto asked = rt.load(outer_asking_graph()).invoke(value{{"x", 1}}, {.thread_id = "t"});
  BOOST_TEST(asked.interrupts().size() == 1U);
  std::filesystem::remove_all(dir);
}

BOOST_AUTO_TEST_CASE(tasks_go_where_their_label_is) {
  gate cpu, gpu;
  auto graph = [](gate& passed) {
    state_graph<> g{pairs};
    g.add_node("far", [&passed] { passed.pass(); }, {.placement = on_worker{.label = "gpu"}});
    g.add_edge(START, "far");
    return g.compile();
  };
  cpu.open();
  gpu.open();
  worker one{{.name = "one", .plain = true}, {graph(cpu)}};
  worker two{{.name = "two", .labels = {"gpu"}, .plain = true}, {graph(gpu)}};
  runtime rt{{.workers = pool_of({at(one), at(two)})}};
  auto app = rt.load(graph(cpu));
  for (int i = 0; i < 10; ++i)
    app.invoke(value{{"x", 1}});
  BOOST_TEST(cpu.came() == 0);
  BOOST_TEST(gpu.came() == 10);
}

BOOST_AUTO_TEST_CASE(a_worker_with_another_version_of_the_graph_gets_none_of_its_tasks) {
  state_graph<> g{pairs};
  g.add_node("sub", asking_graph(), {.placement = on_worker{}});
  g.add_edge(START, "sub");
  worker w{{.name = "w1", .plain = true}, {g.compile({.name = "outer", .version = "2"})}};
  runtime rt{{.workers = pool_of({at(w)})}};
  auto how = rt.load(outer_asking_graph()).try_invoke(value{{"x", 1}});
  BOOST_TEST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::unknown_graph));
  BOOST_TEST(how.error().message().find("w1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_task_of_a_worker_that_is_gone_runs_on_another_one) {
  gate held;
  auto graph = [&held](bool waits) {
    state_graph<> g{pairs};
    g.add_node("far",
               [&held, waits](context& ctx) -> value {
                 if (waits) {
                   held.pass();
                   return {{"x", -1}};
                 }
                 return {{"x", ctx.task_id().empty() ? 0 : 7}};
               },
               {.lane = lane::blocking, .placement = on_worker{}});
    g.add_edge(START, "far");
    return g.compile();
  };
  auto first = std::make_unique<worker>(worker_options{.name = "one", .plain = true},
                                        std::vector{graph(true)});
  auto file = std::filesystem::temp_directory_path()
              / ("troupe-workers-" + std::to_string(::getpid()) + ".txt");
  std::ofstream{file} << "# one worker\n" << at(*first) << '\n';
  auto pool = connect_workers({.workers_file = file, .plain = true}).value();
  runtime rt{{.workers = pool}};
  auto app = rt.load(graph(false));
  auto run = app.start(value{{"x", 1}});
  held.wait_for(1);
  worker second{{.name = "two", .plain = true}, {graph(false)}};
  std::ofstream{file} << at(second) << '\n';
  held.open(); // its outcome must not count: its links are gone first
  first.reset();
  auto out = run.get().value();
  BOOST_TEST((out.value()["x"].as_int() == 7 || out.value()["x"].as_int() == -1));
  std::filesystem::remove(file);
}

BOOST_AUTO_TEST_CASE(a_worker_that_drains_ends_when_its_tasks_did) {
  gate held;
  state_graph<> g{pairs};
  g.add_node("far", [&held] { held.pass(); }, {.lane = lane::blocking, .placement = on_worker{}});
  g.add_edge(START, "far");
  worker w{{.name = "w1", .plain = true}, {g.compile()}};
  runtime rt{{.workers = pool_of({at(w)})}};
  auto run = rt.load(g.compile()).start(value{{"x", 1}});
  held.wait_for(1);
  w.drain("for a test");
  held.open();
  BOOST_TEST(!run.get().value().paused());
  w.wait();
}

// Proves that drain() touches nothing of the worker after wait() returned: what it would touch is
// gone, which a sanitizer reports.
BOOST_AUTO_TEST_CASE(a_worker_may_be_destroyed_as_soon_as_it_has_drained) {
  state_graph<> g{pairs};
  g.add_node("far", [] {}, {.placement = on_worker{}});
  g.add_edge(START, "far");
  auto graph = g.compile();
  for (int i = 0; i < 100; ++i) {
    std::optional<worker> w{std::in_place, worker_options{.name = "w1", .plain = true},
                            std::vector{graph}};
    gate gone; // the thread that drains outlives the worker
    std::thread other{[&w, &gone] {
      w->drain("for a test");
      gone.pass();
    }};
    w->wait();
    w.reset();
    gone.open();
    other.join();
  }
}

BOOST_AUTO_TEST_CASE(a_graph_of_a_worker_that_drains_goes_on_elsewhere_at_its_next_step) {
  gate held;
  std::atomic<int> ones = 0, twos = 0;
  auto graph = [&](bool waits) {
    state_graph<> in{pairs};
    in.add_node("one",
                [&held, &ones, waits] {
                  ++ones;
                  if (waits)
                    held.pass();
                },
                {.lane = lane::blocking});
    in.add_node("two", [&twos, waits](const state_view&) {
      ++twos;
      return value{{"x", waits ? -1 : 7}};
    });
    in.add_edge(START, "one");
    in.add_edge("one", "two");
    state_graph<> g{pairs};
    g.add_node("in", in.compile({.name = "in"}), {.placement = on_worker{}});
    g.add_edge(START, "in");
    return g.compile({.name = "out"});
  };
  worker first{{.name = "one", .plain = true}, {graph(true)}};
  worker second{{.name = "two", .labels = {"later"}, .plain = true}, {graph(false)}};
  auto file = std::filesystem::temp_directory_path()
              / ("troupe-draining-" + std::to_string(::getpid()) + ".txt");
  std::ofstream{file} << at(first) << '\n';
  runtime rt{{.saver = make_memory_saver(),
              .workers = connect_workers({.workers_file = file, .plain = true}).value()}};
  auto run = rt.load(graph(false)).start(value{{"x", 1}}, {.thread_id = "t"});
  held.wait_for(1);
  std::ofstream{file, std::ios::app} << at(second) << '\n';
  first.drain("for a test");
  held.open();
  BOOST_TEST(run.get().value().value()["x"].as_int() == 7);
  BOOST_TEST(ones == 1); // what the first worker finished stays finished
  BOOST_TEST(twos == 1);
  first.wait();
  std::filesystem::remove(file);
}

namespace {

// A graph on a worker that drains while its only step runs, and a step at home after it.
result<run_result> drained_in_its_last_step(bool asks_itself) {
  gate held;
  state_graph<> in{pairs};
  in.add_node("one",
              [&held, asks_itself](context& ctx) {
                held.pass();
                if (asks_itself)
                  ctx.request_drain("its own wish");
                return value{{"x", 7}};
              },
              {.lane = lane::blocking});
  in.add_edge(START, "one");
  state_graph<> g{pairs};
  g.add_node("in", in.compile({.name = "in"}), {.placement = on_worker{}});
  g.add_node("next", [](const state_view& s) { return value{{"x", s["x"].as_int() + 1}}; });
  g.add_edge(START, "in");
  g.add_edge("in", "next");
  auto graph = g.compile({.name = "out"});
  worker first{{.name = "one", .plain = true}, {graph}};
  runtime rt{{.saver = make_memory_saver(), .workers = pool_of({at(first)})}};
  auto run = rt.load(graph).start(value{{"x", 1}}, {.thread_id = "t"});
  held.wait_for(1);
  first.drain("for a test");
  held.open();
  auto out = run.get();
  first.wait();
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_graph_that_ends_while_its_worker_drains_drains_nobody_else) {
  auto out = drained_in_its_last_step(false);
  BOOST_TEST_REQUIRE(out.has_value());
  BOOST_TEST(out->value()["x"].as_int() == 8);
}

BOOST_AUTO_TEST_CASE(a_body_may_drain_its_run_from_a_worker_that_drains) {
  auto out = drained_in_its_last_step(true);
  BOOST_TEST_REQUIRE(!out.has_value());
  BOOST_TEST((out.error().code() == errc::graph_drained));
  BOOST_TEST(out.error().message().find("its own wish") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_task_that_does_not_end_in_the_time_to_drain_goes_elsewhere) {
  auto held = std::make_shared<gate>(); // the body continues after the test
  auto graph = [held](bool waits) {
    state_graph<> g{pairs};
    g.add_node("far",
               [held, waits]() -> value {
                 if (waits)
                   held->pass();
                 return {{"x", waits ? -1 : 7}};
               },
               {.lane = lane::blocking, .placement = on_worker{}});
    g.add_edge(START, "far");
    return g.compile();
  };
  worker first{{.name = "one", .plain = true}, {graph(true)}};
  worker second{{.name = "two", .plain = true}, {graph(false)}};
  auto file = std::filesystem::temp_directory_path()
              / ("troupe-leaving-" + std::to_string(::getpid()) + ".txt");
  std::ofstream{file} << at(first) << '\n';
  runtime rt{{.workers = connect_workers({.workers_file = file, .plain = true}).value()}};
  auto run = rt.load(graph(false)).start(value{{"x", 1}});
  held->wait_for(1);
  std::ofstream{file, std::ios::app} << at(second) << '\n';
  first.drain("for a test", 10ms);
  first.wait(); // for no body
  BOOST_TEST(run.get().value().value()["x"].as_int() == 7);
  held->open();
  std::filesystem::remove(file);
}

BOOST_AUTO_TEST_CASE(bad_options_are_refused_with_what_is_wrong) {
  auto refusal = [](worker_pool_options options) {
    return connect_workers(std::move(options)).error().message();
  };
  BOOST_TEST(refusal({.workers = {"nowhere"}, .plain = true}).find("nowhere") != std::string::npos);
  BOOST_TEST(refusal({.workers = {"h:1"}}).find("TLS") != std::string::npos);
  BOOST_TEST(refusal({.workers_file = "/no/such/file", .plain = true}).find("/no/such/file")
             != std::string::npos);
  BOOST_TEST(refusal({.workers = {"other-host:1"}, .plain = true}).find("TLS")
             != std::string::npos);
  BOOST_TEST(refusal({.listen = "0.0.0.0:0", .plain = true}).find("TLS") != std::string::npos);
  BOOST_TEST(refusal({.plain = true, .heartbeat = 1ms}).find("heartbeat") != std::string::npos);
  BOOST_CHECK_THROW((worker{{.plain = true}, {}}), error);
  BOOST_CHECK_THROW((worker{{.join = {"10.0.0.7:1"}, .plain = true}, {outer_asking_graph()}}),
                    error);
  BOOST_CHECK_THROW((worker{{.labels = {""}, .plain = true}, {outer_asking_graph()}}), error);
  BOOST_CHECK_THROW((worker{{.labels = {"a\nb"}, .plain = true}, {outer_asking_graph()}}), error);
  BOOST_CHECK_THROW((worker{{.name = "a\nb", .plain = true}, {outer_asking_graph()}}), error);
  std::vector<compiled_graph> many;
  for (std::size_t i = 0; i <= limits::worker_graphs_max; ++i) {
    state_graph<> g{pairs};
    g.add_node("here", [] {});
    g.add_edge(START, "here");
    many.push_back(g.compile({.name = std::to_string(i)}));
  }
  BOOST_CHECK_THROW((worker{{.plain = true}, many}), error);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe
