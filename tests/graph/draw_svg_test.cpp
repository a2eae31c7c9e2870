// Drawings as SVG documents.
#include "tests/graph/draw_samples.hpp"

#include "graph/draw_text.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <regex>
#include <string>
#include <vector>

namespace troupe {

using namespace drawing_samples;

namespace {

bool is_utf8_without_controls(std::string_view text) {
  while (!text.empty()) {
    auto [code, bytes] = drawing::front_character(text);
    if ((code == 0xfffd && bytes == 1) || (code < 0x20 && code != '\n') || code == 0x7f)
      return false;
    text.remove_prefix(bytes);
  }
  return true;
}

// Elements that match, quoted attributes, and no bare < or & in between.
bool is_xml(const std::string& text) {
  static const std::regex tag{
    "<(/?)([a-z]+)((?: [a-zA-Z-]+=\"[^\"<&]*(?:&[a-z0-9#]+;[^\"<&]*)*\")*)"
    "(/?)>"};
  static const std::regex between{"[^<&]*(&(amp|lt|gt|quot|#39);[^<&]*)*"};
  std::vector<std::string> open;
  auto at = text.cbegin();
  std::smatch m;
  bool done = false;
  while (!done && std::regex_search(at, text.cend(), m, tag)) {
    if (!std::regex_match(at, m[0].first, between))
      return false;
    at = m[0].second;
    if (m[1].length() == 0 && m[4].length() == 0)
      open.push_back(m[2]);
    if (m[1].length() != 0) {
      if (open.empty() || open.back() != m[2])
        return false;
      open.pop_back();
      done = open.empty();
    }
  }
  return done && std::string(at, text.cend()) == "\n" && is_utf8_without_controls(text);
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t out = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
    ++out;
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_draw_svg)

BOOST_AUTO_TEST_CASE(the_scan_of_these_tests_knows_broken_xml) {
  BOOST_TEST(is_xml("<a><b x=\"1\"/>t &amp; u</a>\n"));
  for (auto* bad : {"<a><b></a>\n", "<a>&</a>\n", "<a x=\"<\"/>\n", "<a></a><b></b>\n", "<a>\n",
                    "<a><</a>\n", "<a>\x01</a>\n", "<a>\xff</a>\n"})
    BOOST_TEST(!is_xml(bad), bad);
}

BOOST_AUTO_TEST_CASE(a_chain_is_straight) {
  auto text = chain({"a", "b"}).draw_svg();
  BOOST_TEST(is_xml(text));
  BOOST_TEST(text.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"96\" "));
  BOOST_TEST(contains(text, "<title>chain</title>"));
  BOOST_TEST(contains(text, "data-node=\"__start__\""));
  BOOST_TEST(count(text, "class=\"node\"") == 4u);
  BOOST_TEST(count(text, "stroke-width") == 3u);
  BOOST_TEST(!contains(text, " C"));
  BOOST_TEST(!contains(text, "stroke-dasharray"));
}

BOOST_AUTO_TEST_CASE(routes_are_dotted_and_labelled) {
  auto text = loop().draw_svg();
  BOOST_TEST(is_xml(text));
  BOOST_TEST(count(text, "stroke-dasharray") == 2u);
  BOOST_TEST(contains(text, ">more</text>"));
  BOOST_TEST(contains(text, ">done</text>"));
}

BOOST_AUTO_TEST_CASE(a_fan_out_has_curves) {
  auto text = fan_out().draw_svg();
  BOOST_TEST(is_xml(text));
  BOOST_TEST(count(text, " C") == 4u);
  BOOST_TEST(count(fan_out().draw_svg({.curve = draw_curve::straight}), " C") == 0u);
}

BOOST_AUTO_TEST_CASE(nested_graphs_are_boxes_under_xray) {
  BOOST_TEST(count(nested().draw_svg(), "class=\"box\"") == 0u);
  BOOST_TEST(count(nested().draw_svg({.xray = 1}), "class=\"box\"") == 2u);
  auto text = nested().draw_svg({.xray = xray_all});
  BOOST_TEST(is_xml(text));
  BOOST_TEST(count(text, "class=\"box\"") == 3u);
  BOOST_TEST(contains(text, "data-node=\"middle|inner|deep\""));
  BOOST_TEST(contains(text, "data-node=\"caller|called\""));
}

BOOST_AUTO_TEST_CASE(rightwards_a_chain_is_wide) {
  auto size_of = [](const std::string& svg) {
    std::smatch m;
    BOOST_REQUIRE(std::regex_search(svg, m, std::regex{"width=\"(\\d+)\" height=\"(\\d+)\""}));
    return std::pair{std::stoi(m[1]), std::stoi(m[2])};
  };
  auto [width, height] = size_of(chain(numbered(5)).draw_svg());
  BOOST_TEST(width < height);
  auto right = chain(numbered(5)).draw_svg({.direction = draw_direction::right});
  BOOST_TEST(is_xml(right));
  std::tie(width, height) = size_of(right);
  BOOST_TEST(width > height);
}

BOOST_AUTO_TEST_CASE(a_long_name_is_cut_and_whole_in_its_tooltip) {
  std::string name(100, 'x');
  auto text = chain({name}).draw_svg();
  BOOST_TEST(contains(text, "<title>" + name + "</title>"));
  BOOST_TEST(contains(text, ">" + std::string(39, 'x') + "…</text>"));
}

BOOST_AUTO_TEST_CASE(details_title_and_colours_are_shown) {
  state_graph<> g{{{"x", last_value}}};
  g.add_node("a", nothing, {.metadata = value::map({{"k", "<v>"}})});
  g.add_edge(START, "a");
  auto text = g.compile().draw_svg({.title = "Say <hi>", .colors = {.node = "#abc", .end = "\"x"}});
  BOOST_TEST(is_xml(text));
  BOOST_TEST(contains(text, ">k = &lt;v&gt;</text>"));
  BOOST_TEST(contains(text, ">Say &lt;hi&gt;</text>"));
  BOOST_TEST(contains(text, "fill=\"#abc\""));
  BOOST_TEST(contains(text, "fill=\"#bfb6fc\""));
}

BOOST_DATA_TEST_CASE(no_text_breaks_a_document, boost::unit_test::data::xrange(60u), seed) {
  auto [graph, options] = hostile_graph(seed);
  auto text = graph.draw_svg(options);
  BOOST_TEST_CONTEXT(text) {
    BOOST_TEST(is_xml(text));
    BOOST_TEST(!contains(text, "<script"));
    BOOST_TEST(text == graph.draw_svg(options));
  }
}

BOOST_AUTO_TEST_CASE(a_thousand_nodes_are_drawn) {
  BOOST_TEST(count(chain(numbered(1000)).draw_svg(), "class=\"node\"") == 1002u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
