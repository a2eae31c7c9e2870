// Functions over the parts of a run, on each of the ways to read one.
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/run_stream.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace troupe {
namespace {

const run_config with_thread{.thread_id = "t"};

/// Leaves node b out, and marks the others.
void without_b(stream_part part, const pass_part& pass) {
  if (part.data.contains("b"))
    return;
  part.data = part.data.with("marked", true);
  pass(std::move(part));
}

/// Adds a part of mode custom before each part.
void announced(stream_part part, const pass_part& pass) {
  stream_part note;
  note.mode = stream_mode::custom;
  note.data = value(part.data["marked"] == value(true) ? "marked" : "plain");
  pass(std::move(note));
  pass(std::move(part));
}

stream_options transformed(std::vector<stream_mode> modes, std::vector<part_transform> by) {
  stream_options out{std::move(modes)};
  out.transforms = std::move(by);
  return out;
}

std::vector<std::string> numbered(part_stream parts) {
  std::vector<std::string> out;
  for (auto& part : parts)
    out.push_back(std::to_string(part.seq) + " " + to_json(part.data));
  return out;
}

const std::vector<std::string> transformed_parts{
  R"(1 "marked")",
  R"(2 {"a":{"log":["a"]},"marked":true})",
  R"(3 "marked")",
  R"(4 {"c":{"log":["c"]},"marked":true})",
};

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_transform)

using enum stream_mode;

BOOST_AUTO_TEST_CASE(transforms_of_a_graph_come_before_those_of_each_of_its_streams) {
  state_graph<> g{log_only};
  g.add_node("a", [] { return log("a"); });
  g.add_node("b", [] { return log("b"); });
  g.add_node("c", [] { return log("c"); });
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_edge("b", "c");
  auto graph = g.compile({.name = "own", .transforms = {without_b}});
  runtime rt;
  auto app = rt.load(graph);
  BOOST_TEST(numbered(app.stream({}, with_thread, transformed({updates, custom}, {announced})))
               == transformed_parts,
             boost::test_tools::per_element());
  auto started = app.start({}, {.thread_id = "u"}, transformed({updates, custom}, {announced}));
  started.get().value();
  BOOST_TEST(numbered(app.follow("u")) == transformed_parts, boost::test_tools::per_element());
  auto run = app.stream_events({}, {.thread_id = "v"}, {announced});
  std::vector<std::string> read;
  auto parts = run.read({updates, custom});
  while (auto part = parts.next())
    read.push_back(std::to_string(part->seq) + " " + to_json(part->data));
  BOOST_TEST(read == transformed_parts, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(transforms_of_a_graph_within_another_one_have_no_effect) {
  state_graph<> in{log_only};
  in.add_node("b", [] { return log("b"); });
  in.add_edge(START, "b");
  state_graph<> g{log_only};
  g.add_node("inner", in.compile({.name = "in", .transforms = {without_b}}));
  g.add_edge(START, "inner");
  runtime rt;
  std::vector<std::string> seen;
  for (const auto& part : rt.load(g.compile()).stream({}, {.subgraphs = true}, {updates}))
    seen.push_back(to_json(part.data));
  BOOST_TEST(
    seen == (std::vector<std::string>{R"({"b":{"log":["b"]}})", R"({"inner":{"log":["b"]}})"}),
    boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(transforms_change_leave_out_and_add_parts_before_they_are_numbered) {
  runtime rt;
  auto app = rt.load(three_nodes([](const auto&) {}));
  auto got = numbered(app.stream({}, {}, transformed({updates, custom}, {without_b, announced})));
  BOOST_TEST(got == transformed_parts, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_part_of_a_mode_that_nobody_reads_is_not_added) {
  runtime rt;
  auto app = rt.load(three_nodes([](const auto&) {}));
  auto got = numbered(app.stream({}, {}, transformed({updates}, {without_b, announced})));
  BOOST_TEST(got.size() == 2u);
}

BOOST_AUTO_TEST_CASE(kept_parts_and_those_of_several_readers_are_transformed_too) {
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([](const auto&) {}));
  auto by = transformed({updates, custom}, {without_b, announced});
  BOOST_TEST(app.start({}, with_thread, by).get().has_value());
  BOOST_TEST(numbered(app.follow("t")) == transformed_parts, boost::test_tools::per_element());

  auto run = app.stream_events({}, {.thread_id = "other"}, by.transforms);
  auto parts = run.read({updates, custom});
  std::vector<std::string> got;
  while (auto part = parts.next())
    got.push_back(std::to_string(part->seq) + " " + to_json(part->data));
  BOOST_TEST(got == transformed_parts, boost::test_tools::per_element());
  BOOST_TEST(numbered(app.follow("other")) == transformed_parts, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_transform_that_throws_stops_the_run_at_the_end_of_its_step) {
  std::vector<std::string> ran;
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([&ran](const std::string& node) { ran.push_back(node); }));
  auto throws_at_a = [](const stream_part& part, const pass_part& pass) {
    if (part.data.contains("a"))
      throw std::runtime_error{"no such field"};
    pass(part);
  };
  auto parts = app.stream({}, with_thread, transformed({updates}, {throws_at_a}));
  auto end = parts.try_next();
  BOOST_REQUIRE(!end);
  BOOST_TEST((end.error().code() == errc::node_failed));
  BOOST_TEST(end.error().message().find("no such field") != std::string::npos);
  BOOST_TEST(ran == std::vector<std::string>{"a"}, boost::test_tools::per_element());

  auto own = [](const stream_part&, const pass_part&) { throw error{errc::missing_key, "mine"}; };
  auto run = app.stream_events(nullptr, with_thread, {own});
  auto read = run.read({updates});
  auto how = read.try_next();
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::missing_key));
  BOOST_TEST((code_of(run.get()) == errc::missing_key));
  BOOST_TEST(ran.size() == 2u);
  BOOST_TEST(app.invoke(nullptr, with_thread).value()["log"] == words({"a", "b", "c"}));
}

BOOST_AUTO_TEST_CASE(a_transformed_body_that_waits_for_its_reader_does_not_hold_the_run) {
  constexpr int all = 2000;
  runtime rt;
  auto talks = [](const std::string&, context& ctx) {
    for (int i = 0; i < all; ++i)
      ctx.write(value(i));
  };
  auto app = rt.load(chain_of({"w"}, "writer", talks, lane::blocking));
  auto options = transformed(
    {custom, tasks}, {[](stream_part part, const pass_part& pass) { pass(std::move(part)); }});
  options.queue_parts_max = 2;
  int next = 0;
  for (auto& part : app.stream({}, {}, options))
    if (part.mode == custom)
      BOOST_TEST(part.data == value(next++));
  BOOST_TEST(next == all);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
