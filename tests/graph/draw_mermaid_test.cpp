// Drawings as Mermaid flowcharts.
#include "tests/graph/draw_samples.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace troupe {

using namespace drawing_samples;

namespace {

const std::string default_styles = "  classDef default fill:#f2f0ff,stroke:#8a7fd0,color:#1f1b3a\n"
                                   "  classDef first fill:#ffffff\n"
                                   "  classDef last fill:#bfb6fc\n";

// Every line is one of those we write, whatever the names are.
bool is_flowchart(const std::string& text) {
  std::string word = "[A-Za-z_][A-Za-z0-9_]*";
  std::string quoted = "\"([^\"<>\\\\\\[\\](){}|;`%]|#[0-9]+;|<br/>)*\"";
  std::regex line{"---|title: \"([^\"\\\\]|\\\\[\"\\\\])*\"|flowchart (TD|LR)"
                  "| *"
                  + word + "(\\[" + quoted + "\\]|\\[\\[" + quoted + "\\]\\]|\\(\\[" + quoted
                  + "\\]\\):::(first|last))"
                    "| *subgraph "
                  + word + "\\[" + quoted
                  + "\\]| *direction TB| *end"
                    "| *"
                  + word + " (-->|-\\.->)(\\|" + quoted + "\\|)? " + word
                  + "|  classDef [a-z]+ [a-z]+:#?[a-zA-Z0-9]+(,[a-z]+:#[0-9a-f]+)*"
                    "|  class "
                  + word + "(," + word + ")* box"};
  std::istringstream in{text};
  for (std::string l; std::getline(in, l);)
    if (!std::regex_match(l, line)) {
      BOOST_TEST_MESSAGE("no line of a flowchart: " << l);
      return false;
    }
  return text.ends_with('\n');
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_draw_mermaid)

BOOST_AUTO_TEST_CASE(a_chain_leads_from_start_to_end) {
  BOOST_TEST(chain({"a", "b"}).draw_mermaid()
             == "flowchart TD\n"
                "  __start__([\"start\"]):::first\n"
                "  a[\"a\"]\n"
                "  b[\"b\"]\n"
                "  __end__([\"end\"]):::last\n"
                "  __start__ --> a\n"
                "  a --> b\n"
                "  b --> __end__\n"
                  + default_styles);
}

BOOST_AUTO_TEST_CASE(routes_are_dotted_and_labelled) {
  auto text = loop().draw_mermaid();
  BOOST_TEST(contains(text, "  plan -.->|\"more\"| write\n"
                            "  plan -.->|\"done\"| __end__\n"
                            "  write --> plan\n"));
}

BOOST_AUTO_TEST_CASE(a_fan_out_has_an_edge_to_each) {
  auto text = fan_out().draw_mermaid();
  BOOST_TEST(contains(text, "  split --> left\n  split --> right\n"
                            "  left --> join\n  right --> join\n"));
}

BOOST_AUTO_TEST_CASE(a_nested_graph_is_one_node_without_xray) {
  auto text = nested().draw_mermaid();
  BOOST_TEST(contains(text, "  middle[[\"middle\"]]\n"));
  BOOST_TEST(!contains(text, "subgraph"));
  BOOST_TEST(!contains(text, "helper"));
}

BOOST_AUTO_TEST_CASE(xray_opens_as_many_levels_as_it_says) {
  BOOST_TEST(nested().draw_mermaid({.xray = 1})
             == "flowchart TD\n"
                "  __start__([\"start\"]):::first\n"
                "  first[\"first\"]\n"
                "  subgraph middle[\"middle\"]\n"
                "    direction TB\n"
                "    middle___start__([\"start\"]):::first\n"
                "    middle_inner[[\"inner\"]]\n"
                "    middle___end__([\"end\"]):::last\n"
                "    middle___start__ --> middle_inner\n"
                "    middle_inner --> middle___end__\n"
                "  end\n"
                "  caller[\"caller\"]\n"
                "  subgraph caller_helper[\"helper\"]\n"
                "    direction TB\n"
                "    caller_helper___start__([\"start\"]):::first\n"
                "    caller_helper_called[\"called\"]\n"
                "    caller_helper___end__([\"end\"]):::last\n"
                "    caller_helper___start__ --> caller_helper_called\n"
                "    caller_helper_called --> caller_helper___end__\n"
                "  end\n"
                "  __end__([\"end\"]):::last\n"
                "  __start__ --> first\n"
                "  first -.-> middle\n"
                "  first -.-> caller\n"
                "  middle --> caller\n"
                "  caller -.-> caller_helper\n"
                "  caller --> __end__\n"
                  + default_styles
                  + "  classDef box fill:#faf9ff,stroke:#b8b2dc\n"
                    "  class middle,caller_helper box\n");
  auto all = nested().draw_mermaid({.xray = xray_all});
  BOOST_TEST(contains(all, "    subgraph middle_inner[\"inner\"]\n"));
  BOOST_TEST(contains(all, "      middle_inner_deep[\"deep\"]\n"));
  BOOST_TEST(all == nested().draw_mermaid({.xray = 2}));
}

BOOST_AUTO_TEST_CASE(a_nested_graph_that_would_make_the_picture_too_large_stays_closed) {
  auto text = nested().draw_mermaid({.xray = xray_all, .nodes_max = 9});
  BOOST_TEST(contains(text, "  subgraph middle[\"middle\"]\n"));
  BOOST_TEST(contains(text, "  caller_helper[[\"helper\"]]\n"));
  BOOST_TEST(contains(text, "    middle_inner[[\"inner\"]]\n"));
}

BOOST_AUTO_TEST_CASE(graphs_nested_many_times_over_do_not_make_an_endless_picture) {
  auto graph = chain({"n"});
  for (int depth = 0; depth < 40; ++depth) {
    state_graph<> g{{{"x", last_value}}};
    g.add_node("left", graph);
    g.add_node("right", graph);
    g.add_edge(START, "left");
    g.add_edge("left", "right");
    graph = g.compile();
  }
  BOOST_TEST(graph.draw_mermaid({.xray = xray_all, .nodes_max = 1000}).size() < 300'000u);
}

BOOST_AUTO_TEST_CASE(a_route_from_a_nested_graph_to_itself_leads_from_its_end_to_its_start) {
  state_graph<> g{{{"x", last_value}}};
  g.add_node("sub", chain({"n"}));
  g.add_edge(START, "sub");
  g.add_conditional_edges("sub", to_end, {"sub", END});
  BOOST_TEST(contains(g.compile().draw_mermaid(), "  sub -.-> sub\n"));
  BOOST_TEST(contains(g.compile().draw_mermaid({.xray = 1}), "  sub___end__ -.-> sub___start__\n"));
}

BOOST_AUTO_TEST_CASE(metadata_and_breakpoints_stand_under_a_name) {
  state_graph<> g{{{"x", last_value}}};
  auto metadata = value::map({{"__tools", value::list({"add", "sub"})},
                              {"deep", value::map({{"a", 1}})},
                              {"long", std::string(200, 'x')},
                              {"n", 3}});
  g.add_node("tools", nothing, {.metadata = metadata});
  g.add_edge(START, "tools");
  auto graph = g.compile({.interrupt_before = {"tools"}, .interrupt_after = {"*"}});
  BOOST_TEST(contains(graph.draw_mermaid(),
                      "  tools[\"tools<br/>#95;#95;tools = add, sub<br/>deep = …<br/>long = "
                        + std::string(52, 'x')
                        + "…<br/>n = 3<br/>#95;#95;interrupt = before,after\"]\n"));
  BOOST_TEST(contains(graph.draw_mermaid({.details = false}), "  tools[\"tools\"]\n"));
}

BOOST_AUTO_TEST_CASE(options_give_direction_title_curve_and_colours) {
  auto text = chain({"a"}).draw_mermaid({.direction = draw_direction::right,
                                         .curve = draw_curve::straight,
                                         .title = "A \"b\" \\",
                                         .colors = {.node = "red", .start = "url(x)"}});
  BOOST_TEST(text.starts_with("---\ntitle: \"A \\\"b\\\" \\\\\"\nconfig:\n  flowchart:\n"
                              "    curve: linear\n---\nflowchart LR\n"));
  BOOST_TEST(contains(text, "classDef default fill:red,"));
  BOOST_TEST(contains(text, "classDef first fill:#ffffff\n"));
  BOOST_TEST(contains(nested().draw_mermaid({.xray = 1, .direction = draw_direction::right}),
                      "    direction LR\n"));
}

BOOST_AUTO_TEST_CASE(a_front_of_ones_own_replaces_the_one_that_is_made) {
  auto text = chain({"a"}).draw_mermaid({.title = "t", .mermaid_frontmatter = "config:\n  x: 1"});
  BOOST_TEST(text.starts_with("---\nconfig:\n  x: 1\n---\nflowchart TD\n"));
}

BOOST_AUTO_TEST_CASE(names_that_are_no_plain_words_have_numbers_for_ids) {
  auto g = graph_of({"end", "a b", "quote\"]; x[\"", "_2", "ünï", "line\nbreak", "graph", "END"});
  g.add_edge(START, "end");
  g.add_conditional_edges("end", to_end, labels{{"\"|#&<b>", "a b"}});
  auto text = g.compile().draw_mermaid();
  BOOST_TEST(contains(text, "  _1[\"end\"]\n"));
  BOOST_TEST(contains(text, "  _2[\"a b\"]\n"));
  BOOST_TEST(contains(text, "  _3[\"quote#34;#93;#59; x#91;#34;\"]\n"));
  BOOST_TEST(contains(text, "  _4[\"#95;2\"]\n"));
  BOOST_TEST(contains(text, "  _5[\"ünï\"]\n"));
  BOOST_TEST(contains(text, "  _6[\"line break\"]\n"));
  BOOST_TEST(contains(text, "  _7[\"graph\"]\n"));
  BOOST_TEST(contains(text, "  _8[\"END\"]\n"));
  BOOST_TEST(contains(text, "  _1 -.->|\"#34;#124;#35;#38;#60;b#62;\"| _2\n"));
}

BOOST_AUTO_TEST_CASE(ids_of_nested_nodes_are_not_those_of_others) {
  auto g = graph_of({"sub_n", "sub___start__"});
  g.add_node("sub", chain({"n"}));
  g.add_edge(START, "sub");
  auto text = g.compile().draw_mermaid({.xray = 1});
  BOOST_TEST(contains(text, "  sub_n[\"sub_n\"]\n"));
  BOOST_TEST(contains(text, "    _5([\"start\"]):::first\n"));
  BOOST_TEST(contains(text, "    _6[\"n\"]\n"));
}

BOOST_AUTO_TEST_CASE(marks_that_mean_something_in_a_label_are_codes) {
  auto g = graph_of({"a_b-c.d", "1. x", "**b** _i_", "my direction TB", "%%{x}%%"});
  g.add_edge(START, "1. x");
  auto text = g.compile().draw_mermaid();
  BOOST_TEST(contains(text, "[\"a_b-c.d\"]"));
  BOOST_TEST(contains(text, "[\"1#46; x\"]"));
  BOOST_TEST(contains(text, "[\"#42;#42;b#42;#42; #95;i#95;\"]"));
  BOOST_TEST(contains(text, "[\"my #100;irection TB\"]"));
  BOOST_TEST(contains(text, "[\"#37;#37;#123;x#125;#37;#37;\"]"));
}

BOOST_DATA_TEST_CASE(no_text_breaks_a_flowchart, boost::unit_test::data::xrange(60u), seed) {
  auto [graph, options] = hostile_graph(seed);
  auto text = graph.draw_mermaid(options);
  BOOST_TEST_CONTEXT(text) {
    BOOST_TEST(is_flowchart(text));
    BOOST_TEST(text == graph.draw_mermaid(options));
  }
}

BOOST_AUTO_TEST_CASE(a_thousand_nodes_are_drawn) {
  BOOST_TEST(contains(chain(numbered(1000)).draw_mermaid(), "  n998 --> n999\n"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
