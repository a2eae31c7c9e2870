// Traces of runs, and how they are drawn.
#include "tests/graph/draw_samples.hpp"

#include <troupe/run_trace.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe {

using namespace drawing_samples;

namespace {

using namespace std::chrono_literals;

task_snapshot task_of(std::string name) {
  task_snapshot out;
  out.name = std::move(name);
  return out;
}

// A snapshot that a step stored at this second of a minute.
state_snapshot snapshot_at(int second, std::string id, std::string parent,
                           std::vector<task_snapshot> tasks, const char* source = "loop") {
  state_snapshot out;
  out.config = {"t", "", std::move(id)};
  out.metadata = value::map({{"source", source}});
  out.created_at = "2026-11-22T15:09:" + std::to_string(10 + second) + ".500000+00:00";
  out.parent_id = std::move(parent);
  out.tasks = std::move(tasks);
  return out;
}

stream_part debug_of(const char* type, int second, value payload,
                     std::vector<std::string> ns = {}) {
  return {
    stream_mode::debug, std::move(ns),
    value::map({{"type", type},
                {"timestamp", "2026-11-22T23:59:" + std::to_string(10 + second) + ".000000+00:00"},
                {"payload", std::move(payload)}})};
}

value begun(const char* id, const char* name) {
  return value::map({{"id", id}, {"name", name}, {"triggers", value::list()}});
}
value ended(const char* id, const char* name, value failure = {}, value asks = value::list()) {
  return value::map(
    {{"id", id}, {"name", name}, {"error", std::move(failure)}, {"interrupts", std::move(asks)}});
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_run_trace)

BOOST_AUTO_TEST_CASE(a_task_of_a_history_ran_as_often_as_a_step_follows_its_checkpoint) {
  auto asks = task_of("ask");
  asks.interrupts.push_back({.id = "i", .value = "go?"});
  auto failed = task_of("fetch");
  failed.error = value("lost");
  auto inner = std::make_shared<state_snapshot>(snapshot_at(0, "x", "", {task_of("deep")}));
  auto outer = task_of("team");
  outer.state = inner;
  auto done = task_of("done");
  done.result = value(1);
  auto trace = trace_of({
    snapshot_at(9, "c4", "c3", {asks, failed, outer, done, task_of("late")}),
    snapshot_at(5, "c3", "c1", {task_of("a")}), // a fork
    snapshot_at(3, "c2", "c1", {task_of("never")}, "update"),
    snapshot_at(2, "c1", "c0", {task_of("a"), task_of("b")}),
    snapshot_at(1, "c0", "", {task_of("__start__")}, "input"),
  });
  BOOST_TEST((trace.nodes.at("a") == node_trace{.ran = 2, .time = 7s}));
  BOOST_TEST((trace.nodes.at("b") == node_trace{.ran = 1, .time = 3s}));
  BOOST_TEST((trace.nodes.at("ask") == node_trace{.asks = 1}));
  BOOST_TEST((trace.nodes.at("fetch") == node_trace{.failed = 1}));
  BOOST_TEST((trace.nodes.at("team|deep") == node_trace{.waits = 1}));
  BOOST_TEST((trace.nodes.at("done") == node_trace{.ran = 1}));
  BOOST_TEST((trace.nodes.at("late") == node_trace{.waits = 1}));
  BOOST_TEST(trace.nodes.count("never") == 0u);
  BOOST_TEST(trace.nodes.count("__start__") == 0u);
}

BOOST_AUTO_TEST_CASE(a_step_with_a_question_and_times_that_are_not_times_count_as_unknown) {
  auto asks = task_of("ask");
  asks.interrupts.push_back({.id = "i", .value = "go?"});
  auto odd = snapshot_at(5, "c1", "c0", {task_of("a")});
  odd.created_at = "2026-99-22T15:09:10.500000";
  auto trace = trace_of({snapshot_at(9, "c2", "c1", {}), odd, snapshot_at(1, "c0", "", {asks})});
  BOOST_TEST((trace.nodes.at("ask") == node_trace{.ran = 1}));
  BOOST_TEST((trace.nodes.at("a") == node_trace{.ran = 1}));
  BOOST_TEST(trace_of(std::vector<state_snapshot>{}).nodes.empty());
}

BOOST_AUTO_TEST_CASE(parts_of_mode_debug_have_times_and_replace_those_of_mode_tasks) {
  auto question = value::list({value("go?")});
  std::vector<stream_part> parts{
    {stream_mode::tasks, {}, begun("1", "a")},
    debug_of("task", 0, begun("1", "a")),
    debug_of("task", 0, begun("2", "b"), {"team:77", "pair"}),
    debug_of("task_result", 2, ended("1", "a")),
    debug_of("checkpoint", 2, value::map({{"id", "9"}, {"name", "no task"}})),
    debug_of("task_result", 3, ended("2", "b", value("lost")), {"team:77", "pair"}),
    debug_of("task", 3, begun("3", "ask")),
    debug_of("task_result", 4, ended("3", "ask", {}, question)),
    debug_of("task", 4, begun("4", "slow")),
    debug_of("task", 4, value("not a task")),
  };
  auto trace = trace_of(parts);
  BOOST_TEST((trace.nodes.at("a") == node_trace{.ran = 1, .time = 2s}));
  BOOST_TEST((trace.nodes.at("team|pair|b") == node_trace{.failed = 1}));
  BOOST_TEST((trace.nodes.at("ask") == node_trace{.asks = 1}));
  BOOST_TEST((trace.nodes.at("slow") == node_trace{.waits = 1}));
  BOOST_TEST(trace.nodes.size() == 4u);

  parts.push_back(debug_of("task_result", 9, ended("3", "ask"))); // answered
  BOOST_TEST((trace_of(parts).nodes.at("ask") == node_trace{.ran = 1, .time = 6s}));
}

BOOST_AUTO_TEST_CASE(a_run_gives_the_same_counts_as_history_and_as_parts) {
  state_graph<> g{{{"x", last_value}}};
  g.add_node("twice", nothing);
  g.add_node("ask", [](context& ctx) -> state_update { return {{"x", ctx.interrupt("go?")}}; });
  g.add_edge(START, "twice");
  g.add_edge("twice", "ask");
  runtime rt{{.saver = make_memory_saver()}};
  auto graph = g.compile();
  auto app = rt.load(graph);
  std::vector<stream_part> parts;
  for (auto& part : app.stream({{"x", 1}}, {.thread_id = "t"}, {stream_mode::tasks}))
    parts.push_back(part);
  auto of_parts = trace_of(parts);
  auto of_history = trace_of(app.get_state_history({.thread_id = "t"}));
  BOOST_TEST((of_parts.nodes.at("ask") == node_trace{.asks = 1}));
  BOOST_TEST((of_history.nodes.at("ask") == node_trace{.asks = 1}));
  BOOST_TEST(of_parts.nodes.at("twice").ran == 1u);
  BOOST_TEST(of_history.nodes.at("twice").ran == 1u);
  app.invoke(command{.resume = "yes"}, {.thread_id = "t"});
  BOOST_TEST(trace_of(app.get_state_history({.thread_id = "t"})).nodes.at("ask").ran == 1u);
}

BOOST_AUTO_TEST_CASE(a_trace_is_drawn_as_a_line_and_a_colour) {
  auto g = graph_of({"a", "b", "c", "idle"});
  g.add_node("sub", chain({"n"}));
  g.add_edge(START, "a");
  auto graph = g.compile();
  draw_options options{.xray = 1,
                       .trace = {{{"a", {.ran = 2, .time = 1500us}},
                                  {"b", {.ran = 1, .failed = 1}},
                                  {"c", {.ran = 3, .asks = 1, .time = 12ms}},
                                  {"sub|n", {.waits = 2, .time = 61s}},
                                  {"unknown", {.ran = 1}}}}};
  auto text = graph.draw_mermaid(options);
  BOOST_TEST(contains(text, "  a[\"a<br/>ran 2 times in 1500 µs\"]:::ran\n"));
  BOOST_TEST(contains(text, "  b[\"b<br/>ran 1 time, failed 1 time\"]:::failed\n"));
  BOOST_TEST(contains(text, "  c[\"c<br/>ran 3 times in 12 ms, asks\"]:::waits\n"));
  BOOST_TEST(contains(text, "  idle[\"idle\"]\n"));
  BOOST_TEST(contains(text, "    sub_n[\"n<br/>2 wait\"]:::waits\n"));
  BOOST_TEST(contains(text, "  classDef waits fill:#fff0c0\n"));
  BOOST_TEST(!contains(graph.draw_mermaid(), "classDef waits"));
  options.colors.failed = "red\"]";
  auto dot = graph.draw_dot(options);
  BOOST_TEST(contains(dot, "\"a\" [label=\"a\\nran 2 times in 1500 µs\", fillcolor=\"#d5f2dc\"];"));
  BOOST_TEST(contains(dot, "fillcolor=\"#fad4d4\"];"));
  BOOST_TEST(!contains(dot, "red"));
}

BOOST_AUTO_TEST_CASE(a_graph_is_listed_for_a_terminal) {
  auto g = graph_of({"plan", "wri\nte"});
  g.add_node("sub", chain({"n"}));
  g.add_edge(START, "plan");
  g.add_conditional_edges("plan", to_end, {{"yes", "wri\nte"}, {"no", END}});
  g.add_edge("wri\nte", "sub");
  auto graph = g.compile({.interrupt_before = {"plan"}});
  BOOST_TEST(graph.draw_ascii({.xray = 1, .title = "A title"})
             == "A title\n\n"
                "start\n"
                "  -> plan\n"
                "plan  (__interrupt = before)\n"
                "  ..> wri te  [yes]\n"
                "  ..> end  [no]\n"
                "wri te\n"
                "  -> sub\n"
                "sub\n"
                "  -> end\n"
                "  | start\n"
                "  |   -> n\n"
                "  | n\n"
                "  |   -> end\n"
                "  | end\n"
                "end\n");
  BOOST_TEST(contains(graph.draw_ascii({.trace = {{{"plan", {.waits = 1}}}}}), "  (waits)\n"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
