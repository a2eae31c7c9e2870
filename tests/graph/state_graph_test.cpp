// The builder: what it refuses at once, and the forms of bodies and routes it takes.
#include "graph/graph_plan.hpp"

#include <troupe/limits.hpp>
#include <troupe/message.hpp>
#include <troupe/saver.hpp>
#include <troupe/state_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {
namespace {

struct counter {
  std::int64_t count = 3;
  std::vector<std::string> log;
  std::string word;
  TROUPE_STATE(counter, (count, sum), (log, append), word)
};

struct just_word {
  std::string word = "none";
  std::int64_t secret = 7; // a channel of its own
  TROUPE_STATE(just_word, word, secret)
};

schema plain() {
  return {{"x", last_value}, {"log", append}};
}

value no_update(const state_view&) {
  return {};
}

// Bodies that ask nothing of their run get a context that is never looked into.
context& blank_context() {
  alignas(std::max_align_t) static unsigned char room[64];
  static context blank{reinterpret_cast<detail::task_scope&>(room)};
  return blank;
}

state_view view_of(value whole) {
  return state_view{std::move(whole)};
}

// The output of node `a` of a graph over S with this body, for this state.
template <class S = counter, class F>
node_output call(F body, value state = value::map({{"count", 5}, {"word", "hi"}})) {
  state_graph<S> g;
  g.add_node("a", std::move(body));
  g.add_edge(START, "a");
  auto graph = g.compile();
  const auto& made = graph.plan()->node(1).body;
  auto view = view_of(std::move(state));
  if (const auto* plain = made.plain())
    return (*plain)(view, blank_context());
  BOOST_REQUIRE(made.coroutine());
  auto running = (*made.coroutine())(view, blank_context());
  running.start();
  BOOST_REQUIRE(running.done());
  return running.take();
}

// Where the only route of a graph with this route goes.
template <class F>
std::vector<destination> route(F body, value state = value::map({{"count", 5}})) {
  state_graph<counter> g;
  g.add_node("a", [](const counter&) {});
  g.add_edge(START, "a");
  g.add_conditional_edges("a", std::move(body));
  auto graph = g.compile();
  auto view = view_of(std::move(state));
  return graph.plan()->node(1).routes.at(0).body(view, blank_context()).take();
}

std::vector<destination> names_of(std::initializer_list<const char*> names) {
  return {names.begin(), names.end()};
}

const state_update& update_in(const node_output& out, std::size_t i = 0) {
  return std::get<state_update>(out.parts.at(i));
}

// The text of the error the call throws.
template <class F> std::string refusal(F f) {
  try {
    f();
  } catch (const error& e) {
    BOOST_TEST((e.code() == errc::invalid_graph));
    return e.message();
  }
  return "nothing was refused";
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_state_graph)

// ---- nodes ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_node_name_is_refused_when_it_is_taken_or_reserved) {
  state_graph<> g{plain()};
  g.add_node("a", no_update);
  auto add = [&g](std::string name) {
    return refusal([&] { g.add_node(std::move(name), no_update); });
  };
  BOOST_TEST(add("a") == "Node `a` already present.");
  BOOST_TEST(add("__start__") == "Node `__start__` is reserved.");
  BOOST_TEST(add("__end__") == "Node `__end__` is reserved.");
  BOOST_TEST(
    add("a|b")
    == "add node `a|b`: '|' is a reserved character and is not allowed in the node names.");
  BOOST_TEST(
    add("a:b")
    == "add node `a:b`: ':' is a reserved character and is not allowed in the node names.");
  BOOST_TEST(add("__interrupt__") == "Node name '__interrupt__' is reserved");
  BOOST_TEST(add("configurable") == "Node name 'configurable' is reserved");
  BOOST_TEST(add("__snapshot_bumps__") == "Node name '__snapshot_bumps__' is reserved");
  BOOST_TEST(add("__pregel_strict_resume") == "Node name '__pregel_strict_resume' is reserved");
  BOOST_TEST(add("").find("its name is empty") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_node_name_may_be_as_long_as_the_limit_and_no_longer) {
  state_graph<> g{plain()};
  g.add_node(std::string(limits::node_name_bytes_max, 'n'), no_update);
  auto text =
    refusal([&] { g.add_node(std::string(limits::node_name_bytes_max + 1, 'n'), no_update); });
  BOOST_TEST(text.find("more than 1024 bytes") != std::string::npos);
  BOOST_TEST(text.size() < 200);
}

BOOST_AUTO_TEST_CASE(a_refused_node_leaves_nothing_behind) {
  state_graph<> g{plain()};
  node_options options{.input_schema = schema{{"fresh", last_value}, {"x", topic}}};
  BOOST_TEST(refusal([&] { g.add_node("a", no_update, options); })
             == "Channel 'x' already exists with a different type");
  g.add_node("a", no_update);
  g.add_edge(START, "a");
  BOOST_TEST(g.compile().plan()->find_channel("fresh") == no_index);
}

BOOST_AUTO_TEST_CASE(a_node_needs_a_body_and_a_route_too) {
  state_graph<> g{plain()};
  BOOST_TEST(refusal([&] { g.add_node_body("a", {}, {}); }).find("no body") != std::string::npos);
  BOOST_TEST(refusal([&] { g.add_route("a", {}, {}, {}, {}); }).find("the route is missing")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_node_may_be_called_like_a_state_key) {
  state_graph<> g{plain()};
  g.add_node("x", no_update);
  g.add_edge(START, "x");
  BOOST_TEST(g.compile().nodes() == std::vector<std::string>{"x"},
             boost::test_tools::per_element());
}

// ---- edges ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_edge_is_refused_when_its_ends_make_no_sense) {
  state_graph<> g{plain()};
  g.add_node("a", no_update);
  g.add_node("c", no_update);
  BOOST_TEST(refusal([&] { g.add_edge(END, "a"); }) == "END cannot be a start node");
  BOOST_TEST(refusal([&] { g.add_edge("a", START); }) == "START cannot be an end node");
  BOOST_TEST(refusal([&] { g.add_edge({"a", END}, "c"); }) == "END cannot be a start node");
  BOOST_TEST(refusal([&] { g.add_edge({"a", "c"}, START); }) == "START cannot be an end node");
  BOOST_TEST(refusal([&] { g.add_edge({"a", "b"}, "c"); }) == "Need to add_node `b` first");
  BOOST_TEST(refusal([&] { g.add_edge({"a", "c"}, "b"); }) == "Need to add_node `b` first");
  BOOST_TEST(refusal([&] {
               g.add_edge({START, "a"}, "c");
             })
             == "Need to add_node `__start__` first");
  BOOST_TEST(refusal([&] { g.add_edge(std::vector<std::string>{}, "c"); }).find("no start node")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_edge_may_name_a_node_that_is_added_later) {
  state_graph<> g{plain()};
  g.set_entry_point("late");
  g.set_finish_point("late");
  g.add_node("late", no_update);
  BOOST_TEST(g.compile().nodes().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_conditional_entry_point_is_a_route_from_the_start) {
  state_graph<> g{plain()};
  g.add_node("a", no_update);
  g.add_node("b", no_update);
  g.set_conditional_entry_point([](const state_view&) { return "left"; },
                                {{"left", "a"}, {"right", "b"}}, "choice");
  auto drawn = g.compile().edges();
  auto from_start = [](const auto& e) { return e.from == START && e.conditional; };
  BOOST_TEST(std::ranges::count_if(drawn, from_start) == 2);
  BOOST_TEST(refusal([&] {
               g.set_conditional_entry_point([](const state_view&) { return "a"; }, {"a"},
                                             "choice");
             }).find("choice")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_sequence_takes_bodies_graphs_and_options_and_leads_from_each_to_the_next) {
  state_graph<> inner{plain()};
  inner.add_sequence(std::pair{"only", &no_update});
  inner.add_edge(START, "only");
  state_graph<> g{plain()};
  g.add_sequence(std::pair{"a", &no_update},
                 std::tuple{std::string{"b"}, &no_update, node_options{.defer = true}},
                 std::pair{"c", inner.compile({.name = "inner"})});
  g.add_edge(START, "a");
  auto graph = g.compile();
  BOOST_TEST(graph.nodes() == (std::vector<std::string>{"a", "b", "c"}),
             boost::test_tools::per_element());
  std::string edges;
  for (const auto& e : graph.edges())
    edges += e.from + ">" + e.to + " ";
  BOOST_TEST(edges == "__start__>a a>b b>c c>__end__ ");
  BOOST_TEST(graph.plan()->nodes[graph.plan()->find_node("b")].defer);
  BOOST_TEST(!graph.plan()->nodes[graph.plan()->find_node("a")].defer);
  BOOST_TEST(graph.subgraphs().at(0).first == "c");
  BOOST_TEST(refusal([&] {
               g.add_sequence(std::pair{"d", &no_update}, std::pair{"a", &no_update});
             }).find("`a`")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_checkpointer_is_a_rule_or_a_saver) {
  BOOST_TEST((checkpointer{}.mode() == checkpointing::inherit));
  checkpointer none = checkpointing::none;
  BOOST_TEST((none.mode() == checkpointing::none));
  BOOST_TEST(!none.saver());
  auto kept = make_memory_saver();
  checkpointer own = kept;
  BOOST_TEST((own.mode() == checkpointing::inherit));
  BOOST_TEST(own.saver() == kept);
  BOOST_TEST(!checkpointer{std::shared_ptr<saver>{}}.saver());
}

BOOST_AUTO_TEST_CASE(route_names_are_numbered_unless_given_and_given_ones_are_unique_per_node) {
  state_graph<> g{plain()};
  g.add_node("s", no_update);
  g.add_edge(START, "s");
  auto to_end = [](const state_view&) { return END; };
  g.add_conditional_edges("s", to_end);
  g.add_conditional_edges("s", to_end, {}, "n");
  g.add_conditional_edges("s", to_end, {}, "condition_2");
  g.add_conditional_edges("s", to_end);
  g.add_conditional_edges(START, to_end, {}, "n");
  BOOST_TEST(refusal([&] { g.add_conditional_edges("s", to_end, {}, "n"); })
             == "Branch with name `n` already exists for node `s`");
  auto graph = g.compile();
  std::vector<std::string> names;
  for (const auto& r : graph.plan()->node(1).routes)
    names.push_back(r.name);
  BOOST_TEST(names == (std::vector<std::string>{"condition", "n", "condition_2", "condition_3"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_label_stands_once_in_a_path_map) {
  state_graph<> g{plain()};
  g.add_node("s", no_update);
  path_map map{std::vector<std::pair<std::string, std::string>>{{"x", "s"}, {"x", END}}};
  auto text = refusal([&] {
    g.add_conditional_edges(
      "s", [](const state_view&) { return "x"; }, map);
  });
  BOOST_TEST(text.find("`x`") != std::string::npos);
}

// ---- channels -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_key_keeps_its_first_kind_and_last_value_asks_for_no_other) {
  state_graph<> g{{{"n", sum}, {"t", topic}, {"x", last_value}, {"left", remaining_steps}}};
  auto input = [&g](schema keys) { return refusal([&] { g.input_schema(keys); }); };
  const std::string ok = "nothing was refused";
  BOOST_TEST(input({{"n", last_value}, {"t", last_value}}) == ok);
  BOOST_TEST(input({{"n", sum}, {"t", topic}}) == ok);
  BOOST_TEST(input({{"n", starting_at(sum, 5)}}) == ok);
  BOOST_TEST(input({{"n", append}}) == "Channel 'n' already exists with a different type");
  BOOST_TEST(input({{"t", topic_accumulating}})
             == "Channel 't' already exists with a different type");
  BOOST_TEST(input({{"x", any_value}}) == "Channel 'x' already exists with a different type");
  auto node = [&g](schema keys) {
    static int count = 0;
    return refusal(
      [&] { g.add_node("node" + std::to_string(count++), no_update, {.input_schema = keys}); });
  };
  BOOST_TEST(node({{"x", is_last_step}})
             == "Managed value 'x' already exists with a different type");
  BOOST_TEST(node({{"left", is_last_step}})
             == "Managed value 'left' already exists with a different type");
  BOOST_TEST(node({{"left", remaining_steps}, {"n", last_value}}) == ok);
}

BOOST_AUTO_TEST_CASE(managed_channels_are_refused_in_input_and_output_schemas) {
  state_graph<> g{{{"x", last_value}, {"left", remaining_steps}}};
  BOOST_TEST(refusal([&] {
               g.input_schema({{"left", remaining_steps}, {"last", is_last_step}});
             })
             == "Invalid managed channels detected in the input schema: left, last. Managed "
                "channels are not permitted in Input/Output schema.");
  BOOST_TEST(refusal([&] {
               g.output_schema({{"x", last_value}, {"left", last_value}});
             })
             == "Invalid managed channels detected in the output schema: left. Managed channels "
                "are not permitted in Input/Output schema.");
}

BOOST_AUTO_TEST_CASE(a_channel_name_is_refused_when_it_is_reserved_or_stands_twice) {
  auto make = [](std::string name, const channel_spec& spec) {
    return refusal([&] { state_graph<> g{{{name, spec}}}; });
  };
  for (auto name : {"__input__", "checkpoint_ns", ":", "__start__", "__pregel_tasks", "branch:to:a",
                    "join:a+b:c", "__snapshot_bumps__"})
    BOOST_TEST(make(name, last_value) == "Channel name '" + std::string{name} + "' is reserved");
  BOOST_TEST(make("__input__", is_last_step) == "Managed name '__input__' is reserved");
  for (auto name : {"__root__", "__end__", "a:b", "branch", ""})
    BOOST_TEST(make(name, last_value) == "nothing was refused");
  BOOST_TEST(refusal([] {
               state_graph<> g{{{"x", last_value}, {"x", last_value}}};
             })
             == "Channel 'x' is declared twice in one schema");
}

// ---- bodies ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_body_takes_what_it_needs_of_state_and_context) {
  auto seen = [](const node_output& out) { return update_in(out).to_value()["count"]; };
  auto twice = [](const counter& s) { return set(&counter::count, s.count * 2); };
  BOOST_TEST(seen(call(twice)) == value(10));
  BOOST_TEST(seen(call([](counter s, context&) { return set(&counter::count, s.count); }))
             == value(5));
  BOOST_TEST(seen(call([](const state_view& s) {
               return state_update{{"count", s["count"]}};
             }))
             == value(5));
  BOOST_TEST(seen(call([](const state_view& s, context&) { return s.to_value(); })) == value(5));
  BOOST_TEST(seen(call([](const value& s) { return s; })) == value(5));
  BOOST_TEST(seen(call([](value s, context&) { return s; })) == value(5));
  BOOST_TEST(seen(call([](context&) { return state_update{{"count", 1}}; })) == value(1));
  BOOST_TEST(seen(call([] { return state_update{{"count", 2}}; })) == value(2));
  BOOST_TEST(seen(call([](const auto& s) { return set(&counter::count, s.count); })) == value(5));
  BOOST_TEST(seen(call([](const std::map<std::string, value>& s) {
               return state_update{{"count", s.at("count")}};
             }))
             == value(5));
}

value free_body(const state_view& s) {
  return value::map({{"word", s["word"]}});
}
struct functor {
  int calls = 0;
  update<counter> operator()(const counter&, context&) { return set(&counter::count, ++calls); }
};

BOOST_AUTO_TEST_CASE(a_body_may_be_a_function_a_pointer_to_one_an_object_or_a_std_function) {
  BOOST_TEST(update_in(call(free_body)).to_value()["word"] == value("hi"));
  BOOST_TEST(update_in(call(&free_body)).to_value()["word"] == value("hi"));
  BOOST_TEST(update_in(call(functor{})).to_value()["count"] == value(1));
  BOOST_TEST(update_in(call(std::function<value(const state_view&)>{free_body})).to_value()["word"]
             == value("hi"));
}

BOOST_AUTO_TEST_CASE(a_body_reads_defaults_for_members_without_a_value) {
  auto out = call([](const counter& s) { return set(&counter::count, s.count); }, value::map());
  BOOST_TEST(update_in(out).to_value()["count"] == value(3));
}

BOOST_AUTO_TEST_CASE(a_body_fails_with_the_name_of_a_member_that_does_not_fit) {
  auto wrong = value::map({{"count", "five"}});
  try {
    call([](const counter&) {}, wrong);
    BOOST_FAIL("nothing was thrown");
  } catch (const error& e) {
    BOOST_TEST((e.code() == errc::invalid_value));
    BOOST_TEST(e.message().find("count") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_body_may_say_nothing_in_several_ways) {
  BOOST_TEST(call([](const counter&) {}).parts.empty());
  BOOST_TEST(call([] {}).parts.empty());
  BOOST_TEST(call([](const counter&) { return value{}; }).parts.empty());
  BOOST_TEST(call([](const counter&) { return state_update{}; }).parts.empty());
  BOOST_TEST(call([](const counter&) { return update<counter>{}; }).parts.empty());
  BOOST_TEST(call([](const counter&) { return std::optional<command>{}; }).parts.empty());
  BOOST_TEST(call([](const counter&) { return std::vector<command>{}; }).parts.empty());
  BOOST_TEST(
    call([](const counter&) { return std::variant<std::monostate, command>{}; }).parts.empty());
  BOOST_TEST(call([](const counter&) -> coro<void> { co_return; }).parts.empty());
}

BOOST_AUTO_TEST_CASE(a_body_may_return_updates_commands_and_sends) {
  auto update = call([] { return set(&counter::word, "w").set(&counter::count, 2); });
  BOOST_TEST(update_in(update).entries().size() == 2u);
  auto whole = call([](counter s) { return s; });
  BOOST_TEST(update_in(whole).to_value()["word"] == value("hi"));
  auto going = call([] { return command{.update = state_update{{"word", "w"}}, .goto_ = "b"}; });
  BOOST_TEST((std::get<command>(going.parts.at(0)).goto_.list() == names_of({"b"})));
  auto sending = call([] { return send{"b", 4}; });
  BOOST_TEST((std::get<send>(sending.parts.at(0)) == send{"b", 4}));
  auto root = call([] { return value(7); });
  BOOST_TEST(update_in(root).to_value()["__root__"] == value(7));
}

BOOST_AUTO_TEST_CASE(a_body_may_return_lists_options_and_choices_of_them_in_order) {
  auto commands = call([] { return std::vector<command>{{.goto_ = "b"}, {.goto_ = "c"}}; });
  BOOST_REQUIRE(commands.parts.size() == 2u);
  BOOST_TEST((std::get<command>(commands.parts[1]).goto_.list() == names_of({"c"})));

  auto sends = call([] { return std::vector<send>{{"b", 1}, {"b", 2}}; });
  BOOST_TEST((std::get<send>(sends.parts.at(1)) == send{"b", 2}));

  auto maybe = call([] { return std::optional<value>{value::map({{"word", "w"}})}; });
  BOOST_TEST(update_in(maybe).entries().size() == 1u);

  using choice = std::variant<command, update<counter>, std::monostate>;
  auto chosen = call([](const counter&) -> choice { return set(&counter::word, "w"); });
  BOOST_TEST(update_in(chosen).to_value()["word"] == value("w"));

  auto mixed = call([] {
    return std::vector<std::variant<state_update, command>>{state_update{{"word", "w"}},
                                                            command{.goto_ = "b"}};
  });
  BOOST_REQUIRE(mixed.parts.size() == 2u);
  BOOST_TEST((std::get<command>(mixed.parts[1]).goto_.list() == names_of({"b"})));

  auto raw = call([] {
    node_output out;
    out.parts.emplace_back(send{"b", 1});
    return out;
  });
  BOOST_TEST(raw.parts.size() == 1u);
}

coro<std::int64_t> doubled(std::int64_t x) {
  co_return x * 2;
}
coro<value> coroutine_function(const counter& s, context&) {
  auto half = doubled(s.count);
  auto count = co_await half;
  co_return value::map({{"count", count}});
}

BOOST_AUTO_TEST_CASE(a_body_may_be_a_coroutine_of_any_form) {
  BOOST_TEST(update_in(call(coroutine_function)).to_value()["count"] == value(10));
  std::int64_t captured = 4;
  auto capturing = call([captured](const counter& s) -> coro<update<counter>> {
    auto inner = doubled(captured);
    auto count = co_await inner;
    co_return set(&counter::count, count + s.count);
  });
  BOOST_TEST(update_in(capturing).to_value()["count"] == value(13));
  auto of_context = call([](context&) -> coro<command> { co_return command{.goto_ = "b"}; });
  BOOST_TEST((std::get<command>(of_context.parts.at(0)).goto_.list() == names_of({"b"})));
  auto list = call([](const state_view& s) -> coro<std::vector<send>> {
    co_return std::vector<send>{{"b", s["count"]}, {"c", s["word"]}};
  });
  BOOST_TEST((std::get<send>(list.parts.at(1)) == send{"c", "hi"}));
  auto bare = call([]() -> coro<std::optional<state_update>> {
    co_return state_update{{"word", "w"}};
  });
  BOOST_TEST(update_in(bare).entries().size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_a_coroutine_body_throws_comes_out_when_its_result_is_taken) {
  BOOST_CHECK_THROW(call([](const counter&) -> coro<value> {
                      throw node_error{"ValueError", "no"};
                      co_return value{};
                    }),
                    node_error);
}

BOOST_AUTO_TEST_CASE(another_typed_state_as_parameter_is_the_input_schema_of_the_node) {
  state_graph<counter> g;
  g.add_node("a", [](const just_word& s) { return set(&counter::word, s.word); });
  g.add_edge(START, "a");
  auto graph = g.compile();
  const auto& plan = *graph.plan();
  const auto& reads = plan.node(1).reads;
  BOOST_REQUIRE(reads.size() == 2u);
  BOOST_TEST(plan.channel(reads[0]).name == "word");
  BOOST_TEST(plan.channel(reads[1]).name == "secret");
  BOOST_TEST(plan.channel(reads[1]).state);
  auto view = view_of(value::map({{"word", "w"}, {"count", "not looked at"}}));
  auto out = (*plan.node(1).body.plain())(view, blank_context());
  BOOST_TEST(update_in(out).to_value()["word"] == value("w"));
}

BOOST_AUTO_TEST_CASE(an_input_schema_that_is_given_counts_more_than_the_parameter) {
  state_graph<counter> g;
  g.add_node("a", [](const just_word&) {}, {.input_schema = schema{{"word", last_value}}});
  g.add_edge(START, "a");
  auto graph = g.compile();
  BOOST_TEST(graph.plan()->node(1).reads.size() == 1u);
  BOOST_TEST(graph.plan()->find_channel("secret") == no_index);
}

// ---- routes ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_route_may_give_names_labels_sends_and_lists_of_them) {
  BOOST_TEST((route([](const counter&) { return END; }) == names_of({END})));
  BOOST_TEST(
    (route([](const counter& s) { return s.count > 3 ? "many" : "few"; }) == names_of({"many"})));
  BOOST_TEST((route([](const counter&) { return std::string{"b"}; }) == names_of({"b"})));
  BOOST_TEST((route([](const counter& s) { return s.count == 5; }) == names_of({"true"})));
  BOOST_TEST((route([](const counter& s) { return s.count != 5; }) == names_of({"false"})));
  std::vector<destination> sent{send{"b", 1}};
  BOOST_TEST((route([](const counter&) { return send{"b", 1}; }) == sent));
  BOOST_TEST((route([](const counter&) { return destination{send{"b", 1}}; }) == sent));
  BOOST_TEST((route([](const counter&) { return std::vector<send>{{"b", 1}}; }) == sent));
  BOOST_TEST((route([](const counter&) {
                return std::vector<std::string>{"b", "c"};
              })
              == names_of({"b", "c"})));
  BOOST_TEST(
    (route([](const counter&) { return std::vector<const char*>{"b"}; }) == names_of({"b"})));
  BOOST_TEST((route([](const counter&) {
                return destinations{"b", "c"};
              })
              == names_of({"b", "c"})));
  std::vector<destination> mixed{send{"b", 1}, "c"};
  BOOST_TEST((route([mixed](const counter&) { return mixed; }) == mixed));
}

BOOST_AUTO_TEST_CASE(a_route_takes_what_a_body_takes) {
  BOOST_TEST((route([] { return "b"; }) == names_of({"b"})));
  BOOST_TEST((route([](context&) { return "b"; }) == names_of({"b"})));
  BOOST_TEST((route([](const counter&, context&) { return "b"; }) == names_of({"b"})));
  BOOST_TEST((route([](const state_view& s) { return std::to_string(s["count"].as_int()); })
              == names_of({"5"})));
  BOOST_TEST((route([](const value& s) { return to_json(s); }) == names_of({"{\"count\":5}"})));
  BOOST_TEST((route([](const just_word& s) { return s.word; }) == names_of({"none"})));
}

BOOST_AUTO_TEST_CASE(a_graph_without_a_struct_takes_the_dynamic_view) {
  state_graph<> g{plain()};
  g.add_node("a", [](const state_view& s) { return value::map({{"x", s["x"]}}); });
  g.add_node("b", [](const auto& s) { return s.to_value(); });
  g.add_node("c", [](const counter& s) { return set(&counter::count, s.count); });
  g.add_edge(START, "a");
  auto graph = g.compile();
  BOOST_TEST((graph.nodes() == std::vector<std::string>{"a", "b", "c"}));
  BOOST_TEST(graph.plan()->find_channel("count") != no_index);
}

// ---- compiling ------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_builder_goes_on_after_compiling_and_the_graph_stays_as_it_was) {
  state_graph<> g{plain()};
  g.add_node("a", no_update);
  g.add_edge(START, "a");
  auto before = g.compile({.name = "before"});
  g.add_node("b", no_update);
  g.add_edge("a", "b");
  auto after = g.compile();
  BOOST_TEST(before.name() == "before");
  BOOST_TEST(after.name() == "graph");
  BOOST_TEST(before.nodes().size() == 1u);
  BOOST_TEST(after.nodes().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_graph_outlives_its_builder_and_is_cheap_to_copy) {
  std::optional<compiled_graph> graph;
  {
    state_graph<counter> g;
    auto word = std::make_shared<std::string>("shared");
    g.add_node("a", [word](const counter&) { return set(&counter::word, *word); });
    g.add_edge(START, "a");
    graph = g.compile();
  }
  auto copy = *graph;
  BOOST_TEST(copy.plan() == graph->plan());
  auto out = (*copy.plan()->node(1).body.plain())(view_of(value::map()), blank_context());
  BOOST_TEST(update_in(out).to_value()["word"] == value("shared"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
