// Many runs by one call, and parts that are printed.
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <future>
#include <iostream>
#include <map>
#include <stdexcept>

namespace troupe {

BOOST_AUTO_TEST_SUITE(coordinator_batch)

BOOST_AUTO_TEST_CASE(a_batch_gives_what_came_of_each_input_in_order) {
  state_graph<> g{{{"n", last_value}}};
  g.add_node("half", [](const state_view& s) {
    if (s["n"].as_int() % 2 != 0)
      throw std::runtime_error{"odd"};
    return state_update{{"n", s["n"].as_int() / 2}};
  });
  g.add_edge(START, "half");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  const std::vector<run_input> inputs{{{"n", 2}}, {{"n", 3}}, {{"n", 8}}};
  const std::vector<run_config> threads{{.thread_id = "a"}, {.thread_id = "b"}, {.thread_id = "c"}};
  auto all = app.batch(inputs, threads);
  BOOST_REQUIRE(all.size() == 3u);
  BOOST_TEST(all[0].value().value()["n"] == value(1));
  BOOST_TEST((all[1].error().code() == errc::node_failed));
  BOOST_TEST(all[2].value().value()["n"] == value(4));
  auto refused = [&](std::span<const run_config> configs) {
    try {
      app.batch(inputs, configs);
      return errc::ok;
    } catch (const error& e) {
      return e.code();
    }
  };
  BOOST_TEST((refused(std::span{threads}.first(2)) == errc::invalid_config));
  BOOST_TEST((refused(std::span{threads}.first(1)) == errc::invalid_config));
}

BOOST_AUTO_TEST_CASE(a_batch_is_taken_as_its_runs_end_each_with_the_place_of_its_input) {
  std::promise<void> go;
  auto may_go = go.get_future().share();
  state_graph<> g{{{"n", last_value}}};
  g.add_node("work",
             [may_go](const state_view& s) -> state_update {
               if (s["n"].as_int() == 0) // ends after the others
                 may_go.wait();
               if (s["n"].as_int() == 1)
                 throw std::length_error{"one"};
               return {{"n", s["n"].as_int() * 10}};
             },
             {.lane = lane::blocking});
  g.add_edge(START, "work");
  runtime rt;
  auto app = rt.load(g.compile());
  const std::vector<run_input> inputs{{{"n", 0}}, {{"n", 1}}, {{"n", 2}}};
  const std::vector<run_config> one(1);
  std::map<std::size_t, std::string> taken;
  std::vector<std::size_t> order;
  app.batch_as_completed(inputs, one, [&](std::size_t place, result<run_result> how) {
    order.push_back(place);
    taken[place] = how ? to_json(how->value()) : std::string{to_string(how.error().code())};
    if (order.size() == 2)
      go.set_value();
  });
  BOOST_TEST((taken
              == std::map<std::size_t, std::string>{
                {0, R"({"n":0})"}, {1, "node_failed"}, {2, R"({"n":20})"}}));
  BOOST_TEST(order.back() == 0u);
  const std::vector<run_config> two(2);
  auto never = [](std::size_t, const result<run_result>&) { BOOST_TEST(false); };
  BOOST_CHECK_EXCEPTION(app.batch_as_completed(inputs, two, never), error,
                        [](const error& e) { return e.code() == errc::invalid_config; });
  app.batch_as_completed({}, one, never);
  const auto throws = [](std::size_t, const result<run_result>&) { throw std::length_error{"x"}; };
  BOOST_CHECK_THROW(app.batch_as_completed(std::span{inputs}.subspan(1), one, throws),
                    std::length_error);
}

BOOST_AUTO_TEST_CASE(parts_are_printed_when_asked_for_whether_or_not_anybody_reads_them) {
  runtime rt;
  auto app = rt.load(three_nodes([](const auto&) {}));
  std::ostringstream printed;
  auto* before = std::cout.rdbuf(printed.rdbuf());
  run_config config{.print_mode = {stream_mode::updates}};
  app.invoke({}, config);
  auto stream = app.stream({}, config, {stream_mode::values});
  std::size_t parts = 0;
  while (auto part = stream.next())
    parts += part->mode == stream_mode::values;
  std::cout.rdbuf(before);
  auto text = printed.str();
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 6);
  BOOST_TEST(text.find("[updates] {") == 0u);
  BOOST_TEST(text.find("[values]") == std::string::npos);
  BOOST_TEST(parts == 3u); // after each step
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
