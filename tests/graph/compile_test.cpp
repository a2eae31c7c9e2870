// The compiler: what only the whole graph shows to be wrong, and what is in a plan.
#include "graph/graph_plan.hpp"
#include "graph/names.hpp"

#include <troupe/state_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace troupe {
namespace {

using texts = std::vector<std::string>;

struct story {
  std::vector<std::string> log;
  std::int64_t words = 10;
  std::string title;
  TROUPE_STATE(story, (log, append), (words, sum), title)
};

struct draft {
  std::string title;
  std::string scratch; // private to those who read it
  TROUPE_STATE(draft, title, scratch)
};

value says_nothing(const state_view&) {
  return {};
}
const char* always_to_end(const state_view&) {
  return END;
}

// A builder with nodes of these names.
state_graph<> unconnected(std::initializer_list<const char*> nodes,
                          schema state = {{"x", last_value}}) {
  state_graph<> g{std::move(state)};
  for (auto* n : nodes)
    g.add_node(n, says_nothing);
  return g;
}

std::string refusal(const state_graph<>& g, compile_options options = {}) {
  auto graph = g.try_compile(std::move(options));
  if (graph)
    return "nothing was refused";
  BOOST_TEST((graph.error().code() == errc::invalid_graph));
  return graph.error().message();
}

const plan_node& node_of(const compiled_graph& graph, std::string_view name) {
  const auto& plan = *graph.plan();
  BOOST_REQUIRE(plan.find_node(name) != no_index);
  return plan.node(plan.find_node(name));
}

const plan_channel& channel_of(const compiled_graph& graph, std::string_view name) {
  const auto& plan = *graph.plan();
  BOOST_REQUIRE_MESSAGE(plan.find_channel(name) != no_index, name);
  return plan.channel(plan.find_channel(name));
}

texts names_of(const compiled_graph& graph, std::span<const channel_index> channels) {
  texts out;
  for (auto c : channels)
    out.push_back(graph.plan()->channel(c).name);
  return out;
}

texts channel_names(const compiled_graph& graph) {
  texts out;
  for (const auto& c : graph.plan()->channels)
    out.push_back(c.name);
  return out;
}

// As `channel`, or `channel=value`.
texts writes_of(const compiled_graph& graph, std::string_view node) {
  texts out;
  for (const auto& w : node_of(graph, node).writes)
    out.push_back(graph.plan()->channel(w.channel).name
                  + (w.val.is_null() ? "" : "=" + std::string{w.val.as_string()}));
  return out;
}

void same(const texts& got, const texts& wanted) {
  BOOST_TEST(got == wanted, boost::test_tools::per_element());
}

struct person {
  std::string name;
  std::optional<int> age;
  TROUPE_STATE(person, name, age)
};
struct crowd {
  std::vector<person> people;
  std::map<std::string, double> scores;
  bool done = false;
  TROUPE_STATE(crowd, (people, append), scores, done)
};

} // namespace

BOOST_AUTO_TEST_SUITE(graph_compile)

// ---- mistakes -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_edge_from_an_unknown_node_is_refused) {
  auto g = unconnected({"a"});
  g.add_edge("zz", "a");
  BOOST_TEST(refusal(g) == "Found edge starting at unknown node 'zz'");
  auto h = unconnected({"a"});
  h.add_conditional_edges("zz", always_to_end);
  h.add_edge(START, "a");
  BOOST_TEST(refusal(h) == "Found edge starting at unknown node 'zz'");
  auto from_end = unconnected({"a"});
  from_end.add_conditional_edges(END, always_to_end);
  from_end.add_edge(START, "a");
  BOOST_TEST(refusal(from_end) == "Found edge starting at unknown node '__end__'");
}

BOOST_AUTO_TEST_CASE(a_graph_needs_an_entrypoint) {
  const std::string wanted =
    "Graph must have an entrypoint: add at least one edge from START to another node";
  auto g = unconnected({"a", "b"});
  BOOST_TEST(refusal(g) == wanted);
  g.add_edge("a", "b");
  g.add_edge({"a", "b"}, "b");
  BOOST_TEST(refusal(g) == wanted);
  BOOST_TEST(refusal(state_graph<>{{}}) == wanted);
  g.add_conditional_edges(START, always_to_end);
  BOOST_TEST(refusal(g) == "nothing was refused");
}

BOOST_AUTO_TEST_CASE(a_route_to_an_unknown_node_is_refused) {
  auto g = unconnected({"a"});
  g.add_edge(START, "a");
  g.add_conditional_edges("a", always_to_end, {"a", END});
  BOOST_TEST(refusal(g) == "nothing was refused");
  path_map map{std::vector<std::pair<std::string, std::string>>{{"label", "z"}}};
  g.add_conditional_edges("a", always_to_end, map, "cond");
  BOOST_TEST(refusal(g) == "At 'a' node, 'cond' branch found unknown target 'z'");
  auto h = unconnected({"a"});
  h.add_conditional_edges(START, always_to_end, {START});
  BOOST_TEST(refusal(h)
             == "At '__start__' node, 'condition' branch found unknown target '__start__'");
}

BOOST_AUTO_TEST_CASE(an_edge_to_an_unknown_node_is_refused) {
  auto g = unconnected({"a"});
  g.add_edge(START, "a");
  g.add_edge("a", "z");
  BOOST_TEST(refusal(g) == "Found edge ending at unknown node `z`");
  auto h = unconnected({});
  h.add_node("a", says_nothing, {.destinations = {END, "z"}});
  h.add_edge(START, "a");
  BOOST_TEST(refusal(h) == "Found edge ending at unknown node `z`");
}

BOOST_AUTO_TEST_CASE(a_breakpoint_at_an_unknown_node_is_refused) {
  auto g = unconnected({"a"});
  g.add_edge(START, "a");
  BOOST_TEST(refusal(g, {.interrupt_before = {"a", "q"}}) == "Interrupt node `q` not found");
  BOOST_TEST(refusal(g, {.interrupt_after = {"q"}}) == "Interrupt node `q` not found");
  BOOST_TEST(refusal(g, {.interrupt_after = {START}}) == "Interrupt node `__start__` not found");
  BOOST_TEST(refusal(g, {.interrupt_before = {"*"}, .interrupt_after = {"*"}})
             == "nothing was refused");
}

BOOST_AUTO_TEST_CASE(the_first_mistake_in_the_order_of_the_reference_is_reported) {
  auto g = unconnected({"a"});
  g.add_edge("a", "z");
  g.add_conditional_edges("a", always_to_end, {"y"});
  BOOST_TEST(refusal(g, {.interrupt_before = {"q"}}).starts_with("Graph must have an entrypoint"));
  g.add_edge(START, "a");
  BOOST_TEST(refusal(g, {.interrupt_before = {"q"}}).starts_with("At 'a' node"));
  g.add_edge("x", "a");
  BOOST_TEST(refusal(g).starts_with("Found edge starting"));
}

BOOST_AUTO_TEST_CASE(two_joins_that_would_share_a_channel_are_refused) {
  auto g = unconnected({"a", "b", "a+b", "c"});
  g.add_edge(START, "a");
  g.add_edge({"a", "b"}, "c");
  g.add_edge({"a+b"}, "c");
  BOOST_TEST(refusal(g) == "compile a graph: two edges would share a channel: `join:a+b:c`");
}

BOOST_AUTO_TEST_CASE(compile_throws_what_try_compile_returns) {
  auto g = unconnected({"a"});
  BOOST_CHECK_EXCEPTION(g.compile(), error, [](const error& e) {
    return e.code() == errc::invalid_graph && e.message().starts_with("Graph must have");
  });
}

BOOST_AUTO_TEST_CASE(unreachable_nodes_are_allowed) {
  auto g = unconnected({"a", "island", "other"});
  g.add_edge(START, "a");
  g.add_edge("island", "other");
  BOOST_TEST(refusal(g) == "nothing was refused");
}

// ---- channels -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(channels_stand_in_the_order_of_the_reference) {
  state_graph<> g{{{"z", last_value}, {"left", remaining_steps}, {"a", append}}};
  g.input_schema({{"in", last_value}, {"z", last_value}});
  g.output_schema({{"out", any_value}});
  g.add_node("late", says_nothing, {.defer = true, .input_schema = schema{{"mine", topic}}});
  g.add_node("first", says_nothing);
  g.add_route(START, [](const state_view&, context&) { return std::vector<destination>{"first"}; },
              schema{{"asked", last_value}}, {}, {});
  g.add_edge({"late", "first"}, "late");
  g.add_edge({"late", "late"}, "first");
  auto graph = g.compile();
  same(channel_names(graph),
       {"z", "a", "in", "out", "mine", "asked", "left", "__start__", "__pregel_tasks",
        "branch:to:late", "branch:to:first", "join:late+first:late", "join:late+late:first"});
  for (const auto& c : graph.plan()->channels)
    BOOST_TEST(c.control == !c.state);
  BOOST_TEST(channel_of(graph, "left").state);
  BOOST_TEST(channel_of(graph, "left").triggers.empty());
  BOOST_TEST(!channel_of(graph, "__start__").state);
}

BOOST_AUTO_TEST_CASE(channels_of_the_compiler_have_the_kinds_of_the_reference) {
  auto g = unconnected({"a"});
  g.add_node("late", says_nothing, {.defer = true});
  g.add_edge(START, "a");
  g.add_edge({"a"}, "late");
  g.add_edge({"a", "late", "a"}, "a");
  auto graph = g.compile();
  auto is = [&graph](const char* name, const channel_spec& spec) {
    BOOST_TEST((channel_of(graph, name).spec == spec), name);
  };
  is("__start__", ephemeral);
  is("__pregel_tasks", topic);
  is("branch:to:a", ephemeral_unguarded);
  is("branch:to:late", {.kind = channel_kind::last_value_after_finish});
  is("join:a:late", {.kind = channel_kind::named_barrier_after_finish, .names = {"a"}});
  is("join:a+late+a:a", {.kind = channel_kind::named_barrier, .names = {"a", "late"}});
}

BOOST_AUTO_TEST_CASE(a_plan_lists_its_channels_by_what_they_are_for) {
  state_graph<> g{{{"z", last_value}, {"left", remaining_steps}, {"seen", any_value}}};
  g.input_schema({{"in", last_value}});
  g.add_node("a", says_nothing,
             {.input_schema = schema{{"mine", ephemeral}, {"all", topic_accumulating}}});
  g.add_node("late", says_nothing, {.defer = true});
  g.add_edge(START, "a");
  g.add_edge({"a"}, "late");
  auto graph = g.compile();
  const auto& plan = *graph.plan();
  same(names_of(graph, plan.input_keys), {"in"});
  same(names_of(graph, plan.output_keys), {"z", "seen"});
  same(names_of(graph, plan.stream_keys), {"z", "seen", "in", "mine", "all"});
  same(names_of(graph, plan.reacting),
       {"seen", "mine", "__start__", "__pregel_tasks", "branch:to:a"});
  same(names_of(graph, plan.finishing), {"branch:to:late", "join:a:late"});
  BOOST_TEST(plan.channel(plan.start).name == "__start__");
  BOOST_TEST(plan.channel(plan.tasks).name == "__pregel_tasks");
  BOOST_TEST(!plan.single);
}

BOOST_AUTO_TEST_CASE(a_state_of_one_value_is_known_as_such) {
  auto root = unconnected({"a"}, {{"__root__", sum}});
  root.add_edge(START, "a");
  BOOST_TEST(root.compile().plan()->single);
  auto two = unconnected({"a"}, {{"__root__", sum}, {"x", last_value}});
  two.add_edge(START, "a");
  BOOST_TEST(!two.compile().plan()->single);
}

BOOST_AUTO_TEST_CASE(a_key_that_two_schemas_declare_is_one_channel_of_the_first_kind) {
  state_graph<> g{{{"n", sum}}};
  g.add_node("a", says_nothing, {.input_schema = schema{{"n", last_value}}});
  g.add_edge(START, "a");
  auto graph = g.compile();
  BOOST_TEST((channel_of(graph, "n").spec == sum));
  same(names_of(graph, node_of(graph, "a").reads), {"n"});
}

// ---- nodes ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(start_is_node_zero_and_is_triggered_by_its_own_channel) {
  auto g = unconnected({"a"});
  g.add_edge(START, "a");
  auto graph = g.compile();
  const auto& start = graph.plan()->node(0);
  BOOST_TEST(start.name == "__start__");
  BOOST_TEST((!start.body.plain() && !start.body.coroutine()));
  BOOST_TEST(start.reads.empty());
  same(names_of(graph, start.triggers), {"__start__"});
  BOOST_TEST(start.branch == graph.plan()->start);
  BOOST_TEST((channel_of(graph, "__start__").triggers == std::vector<node_index>{0}));
  same(writes_of(graph, START), {"branch:to:a"});
}

BOOST_AUTO_TEST_CASE(nodes_stand_in_the_order_in_which_they_were_added_and_are_found_by_name) {
  auto g = unconnected({"z", "m", "a"});
  g.add_edge(START, "a");
  auto graph = g.compile();
  same(graph.nodes(), {"z", "m", "a"});
  BOOST_TEST(graph.plan()->find_node("m") == 2u);
  BOOST_TEST(graph.plan()->find_node(START) == 0u);
  BOOST_TEST(graph.plan()->find_node("") == no_index);
  BOOST_TEST(graph.plan()->find_node(END) == no_index);
  BOOST_TEST(graph.plan()->find_channel("branch:to:zz") == no_index);
}

// Small and large graphs are searched in different ways.
BOOST_AUTO_TEST_CASE(names_are_found_one_by_one_and_in_their_order) {
  for (std::size_t size : {1u, 7u, 8u, 9u, 100u}) {
    state_graph<> g{{{"x", last_value}}};
    for (std::size_t i = 0; i < size; ++i)
      g.add_node(std::to_string(i * 37 % size), [] {});
    g.add_edge(START, "0");
    auto graph = g.compile();
    const auto& plan = *graph.plan();
    std::size_t next_node = 0, next_channel = 0;
    for (auto n : plan.nodes_by_name()) {
      BOOST_TEST(plan.find_node(plan.nodes[n].name) == n);
      BOOST_TEST(plan.find_node(plan.nodes[n].name, next_node) == n);
      BOOST_TEST(plan.find_node("none", next_node) == no_index);
    }
    for (auto c : plan.channels_by_name()) {
      BOOST_TEST(plan.find_channel(plan.channels[c].name) == c);
      BOOST_TEST(plan.find_channel(plan.channels[c].name, next_channel) == c);
    }
    next_node = 0; // also in another order
    for (node_index n = 0; n < plan.nodes.size(); ++n)
      BOOST_TEST(plan.find_node(plan.nodes[n].name, next_node) == n);
  }
}

BOOST_AUTO_TEST_CASE(what_a_node_was_given_is_in_its_plan) {
  state_graph<> g{{{"x", last_value}}};
  g.add_node("a", says_nothing,
             {.lane = lane::blocking,
              .defer = true,
              .metadata = value::map({{"k", 1}}),
              .destinations = {"a", END}});
  g.add_edge(START, "a");
  auto graph =
    g.compile({.name = "g", .interrupt_after = {"a"}, .checkpointer = checkpointing::none});
  const auto& a = node_of(graph, "a");
  BOOST_TEST((a.lane == lane::blocking));
  BOOST_TEST(a.defer);
  BOOST_TEST(a.settings->metadata["k"] == value(1));
  same(a.settings->destinations, {"a", END});
  BOOST_TEST(a.body.plain() != nullptr);
  BOOST_TEST(graph.name() == "g");
  BOOST_TEST((graph.plan()->options.checkpointer.mode() == checkpointing::none));
  same(graph.plan()->options.interrupt_after, {"a"});
}

BOOST_AUTO_TEST_CASE(a_node_reads_the_whole_state_or_its_input_schema_in_its_order) {
  state_graph<> g{{{"x", last_value}, {"left", remaining_steps}, {"log", append}}};
  g.input_schema({{"in", last_value}});
  g.add_node("all", says_nothing);
  g.add_node(
    "some", says_nothing,
    {.input_schema = schema{{"log", append}, {"mine", last_value}, {"left", remaining_steps}}});
  g.add_node("none", says_nothing, {.input_schema = schema{}});
  g.add_edge(START, "all");
  auto graph = g.compile();
  same(names_of(graph, node_of(graph, "all").reads), {"x", "left", "log"});
  same(names_of(graph, node_of(graph, "some").reads), {"log", "mine", "left"});
  same(names_of(graph, node_of(graph, "none").reads), {});
}

BOOST_AUTO_TEST_CASE(edges_become_writes_before_joins_in_the_order_added_without_end_or_repeats) {
  auto g = unconnected({"a", "b", "c", "d"});
  g.add_edge({"b", "a"}, "d");
  g.add_edge(START, "a");
  g.add_edge("a", "c");
  g.add_edge("a", END);
  g.add_edge("a", "b");
  g.add_edge("a", "c");
  g.add_edge({"a", "c"}, "d");
  g.add_edge({"b", "a"}, "d");
  g.add_edge({"a", "b"}, END);
  auto graph = g.compile();
  same(writes_of(graph, "a"), {"branch:to:c", "branch:to:b", "join:b+a:d=a", "join:a+c:d=a"});
  same(writes_of(graph, "b"), {"join:b+a:d=b"});
  same(writes_of(graph, "d"), {});
}

BOOST_AUTO_TEST_CASE(a_source_that_stands_twice_in_a_join_writes_twice) {
  auto g = unconnected({"a", "b"});
  g.add_edge(START, "a");
  g.add_edge({"a", "a"}, "b");
  auto graph = g.compile();
  same(writes_of(graph, "a"), {"join:a+a:b=a", "join:a+a:b=a"});
}

BOOST_AUTO_TEST_CASE(triggers_are_sorted_by_channel_name) {
  auto g = unconnected({"a", "b", "zeta"});
  g.add_edge(START, "a");
  g.add_edge({"b", "a"}, "zeta");
  g.add_edge({"a", "b"}, "zeta");
  auto graph = g.compile();
  const auto& zeta = node_of(graph, "zeta");
  same(names_of(graph, zeta.triggers), {"branch:to:zeta", "join:a+b:zeta", "join:b+a:zeta"});
  BOOST_TEST(graph.plan()->channel(zeta.branch).name == "branch:to:zeta");
  for (auto c : zeta.triggers)
    BOOST_TEST((graph.plan()->channel(c).triggers == std::vector<node_index>{3}));
}

// The ids are the reference's.
BOOST_AUTO_TEST_CASE(pulled_task_is_known_by_its_node_and_triggers) {
  auto g = unconnected({"bad", "ok", "z"});
  g.add_edge(START, "bad");
  g.add_edge(START, "z");
  g.add_edge({"bad", "ok"}, "z");
  auto graph = g.compile();
  auto id = [&graph](std::string_view node, std::string_view checkpoint_id, std::int64_t step) {
    return pulled_task_id({.checkpoint_id = checkpoint_id, .checkpoint_ns = {}, .step = step},
                          *graph.plan(), node_of(graph, node));
  };
  BOOST_TEST(id("z", "00000000-0000-6000-8000-000000000004", 2)
             == "823ea499-b01b-9ef7-e8ce-ded02377a189");
}

BOOST_AUTO_TEST_CASE(routes_read_as_their_node_unless_they_say_otherwise) {
  state_graph<story> g;
  g.add_node("a", [](const draft&) {});
  g.add_edge(START, "a");
  g.add_conditional_edges(
    "a", [](const story&) { return END; }, {END}, "plain");
  g.add_conditional_edges(
    "a", [](const draft&) { return END; }, {}, "private");
  g.add_conditional_edges(START, [](const story&) { return END; });
  auto graph = g.compile();
  const auto& routes = node_of(graph, "a").routes;
  BOOST_REQUIRE(routes.size() == 2u);
  BOOST_TEST(routes[0].name == "plain");
  BOOST_TEST(routes[0].map.given());
  BOOST_TEST(!routes[0].reads);
  BOOST_REQUIRE(routes[1].reads);
  same(names_of(graph, *routes[1].reads), {"title", "scratch"});
  BOOST_REQUIRE(graph.plan()->node(0).routes.at(0).reads); // START itself reads says_nothing
  same(names_of(graph, *graph.plan()->node(0).routes[0].reads), {"log", "words", "title"});
}

// ---- typed graphs ---------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_typed_graph_has_a_channel_for_each_member_and_private_ones_behind) {
  state_graph<story> g;
  g.add_node("a", [](const draft& d) { return set(&draft::scratch, d.title); });
  g.add_node("b", [](const story&) {});
  g.add_edge(START, "a");
  typed_graph<story> graph = g.compile();
  const auto& plan = *graph.plan();
  same(names_of(graph, plan.stream_keys), {"log", "words", "title", "scratch"});
  same(names_of(graph, plan.output_keys), {"log", "words", "title"});
  same(names_of(graph, plan.input_keys), {"log", "words", "title"});
  same(names_of(graph, node_of(graph, "a").reads), {"title", "scratch"});
  same(names_of(graph, node_of(graph, "b").reads), {"log", "words", "title"});
  BOOST_TEST((channel_of(graph, "words").spec == sum));
  BOOST_TEST(channel_of(graph, "words").spec.op->initial.value() == value(10));
}

// ---- advice ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_node_with_destinations_and_edges_is_warned_about) {
  auto g = unconnected({"b"});
  g.add_node("goes", says_nothing, {.destinations = {"b"}});
  g.add_node("both", says_nothing, {.destinations = {"b"}});
  g.add_node("ends", says_nothing, {.destinations = {"b", END}});
  for (const auto* node : {"goes", "both", "ends"})
    g.add_edge(START, node);
  g.add_edge("both", "b");
  g.add_edge("ends", END);
  auto graph = g.compile();
  BOOST_REQUIRE(graph.warnings().size() == 1u);
  BOOST_TEST(graph.warnings()[0].find("`both`") != std::string::npos);
}

// ---- sizes ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_long_chain_and_a_wide_fan_keep_their_shape) {
  constexpr std::size_t length = 1000;
  state_graph<> g{{{"x", last_value}}};
  std::vector<std::string> all;
  for (std::size_t i = 0; i < length; ++i) {
    all.push_back("n" + std::to_string(i));
    g.add_node(all[i], says_nothing);
    g.add_edge(i == 0 ? std::string{START} : all[i - 1], all[i]);
  }
  g.add_node("last", says_nothing);
  g.add_edge(all, "last");
  auto graph = g.compile();
  const auto& plan = *graph.plan();
  BOOST_TEST(plan.nodes.size() == length + 2);
  BOOST_TEST(plan.find_node("n999") == 1000u);
  same(writes_of(graph, "n998").size() == 2 ? texts{} : texts{"two writes"}, {});
  const auto& join = plan.channel(node_of(graph, "last").triggers[1]);
  BOOST_TEST(join.spec.names.size() == length);
  BOOST_TEST(std::ranges::is_sorted(join.spec.names));
}

BOOST_AUTO_TEST_CASE(reserved_words_are_those_of_the_reference) {
  for (auto word : {"langsmith:hidden", "|", ":", "configurable", "__snapshot_bumps__",
                    "__pregel_strict_resume", "__pregel_push", "__error_source_node__"})
    BOOST_TEST(names::reserved(word), word);
  for (auto word :
       {"", "a", "__start__", "__end__", "__pregel_tasks", "__return__", "__previous__"})
    BOOST_TEST(!names::reserved(word), word);
}

BOOST_AUTO_TEST_CASE(a_graph_says_what_goes_in_and_comes_out_as_json_schema) {
  state_graph<crowd> g;
  g.add_node("n", [] {});
  g.add_edge(START, "n");
  g.output_schema({{"done", last_value}, {"said", add_messages}});
  g.context_schema<person>();
  auto graph = g.compile({.name = "meeting"});
  BOOST_TEST(to_json(graph.input_jsonschema()["properties"]["people"])
             == R"({"items":{"properties":{"age":{"anyOf":[{"type":"integer"},{"type":"null"}]},)"
                R"("name":{"type":"string"}},"required":["name"],"title":"person",)"
                R"("type":"object"},"type":"array"})");
  BOOST_TEST(to_json(graph.input_jsonschema()["properties"]["scores"])
             == R"({"additionalProperties":{"type":"number"},"type":"object"})");
  auto out = graph.output_jsonschema();
  BOOST_TEST(out["title"] == value("meeting_output"));
  BOOST_TEST(out["properties"].size() == 2u);
  BOOST_TEST(out["properties"]["done"] == (value{{"type", "boolean"}}));
  const auto& message = out["properties"]["said"]["items"];
  BOOST_TEST(message["title"] == value("message"));
  BOOST_TEST(message["properties"]["content"] == value::map()); // null is not a schema
  BOOST_TEST(message["properties"]["id"] == value::map());
  BOOST_TEST(graph.context_jsonschema()["required"] == value::list({"name"}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
