// A server that stops in the middle of a run, and the next one on its port and its data.
#include "tasks/task_scope.hpp"
#include "tests/client/served_graphs.hpp"
#include "tests/fixtures/savers.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>

namespace troupe {
namespace {

using test::options_for;

// Two nodes. The first one ends only once its server has asked the run to stop.
struct counted_runs {
  std::atomic<int> first{0};
  std::atomic<int> second{0};
  std::promise<void> entered;

  compiled_graph graph() {
    state_graph<> g{{{"n", last_value}}};
    g.add_node(
      "first",
      [this](const state_view& s, context& ctx) {
        if (++first == 1)
          entered.set_value();
        while (!ctx.scope().run->control.drain_requested())
          std::this_thread::yield();
        return state_update{{"n", s["n"].as_int() + 1}};
      },
      node_options{.lane = lane::blocking});
    g.add_node("second", [this](const state_view& s) {
      ++second;
      return state_update{{"n", s["n"].as_int() + 10}};
    });
    g.add_edge(START, "first");
    g.add_edge("first", "second");
    return g.compile({.name = "counted"});
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(client_restart)

BOOST_AUTO_TEST_CASE(a_remote_graph_goes_on_over_a_restart_of_its_server_without_a_second_run) {
  test::temporary_directory folder;
  counted_runs counted;
  auto serve = [&](std::uint16_t port) {
    return std::make_unique<agent_server>(server_options{.graphs = {{"counted", counted.graph()}},
                                                         .port = port,
                                                         .data_dir = folder.path().string(),
                                                         .worker_threads = 2});
  };
  auto server = serve(0);
  auto port = server->port();
  auto options = options_for("http://127.0.0.1:" + std::to_string(port));
  options.reconnects_max = 100'000; // of 1 ms, until the next server listens
  agent_client client{options};
  auto reading = std::async(std::launch::async, [client] {
    std::vector<std::string> seen;
    auto parts = remote_graph{client, "counted"}.stream(
      value::map({{"n", 0}}), {.thread_id = test::known_thread}, {stream_mode::updates});
    while (auto part = parts.next())
      seen.push_back(to_json(part->data));
    seen.push_back(to_json(parts.get().value()));
    return seen;
  });
  counted.entered.get_future().wait();
  BOOST_TEST(server->drain());
  server.reset();
  server = serve(port);
  auto seen = reading.get();
  std::vector<std::string> expected{R"({"first":{"n":1}})", R"({"second":{"n":11}})",
                                    R"({"n":11})"};
  BOOST_TEST(seen == expected, boost::test_tools::per_element());
  BOOST_TEST(counted.first == 1);
  BOOST_TEST(counted.second == 1);
  BOOST_TEST(client.runs.list(test::known_thread).get().size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
