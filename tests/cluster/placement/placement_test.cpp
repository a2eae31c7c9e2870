// Which worker gets a task, and why none does; the queue of those that wait.
#include "cluster/placement/placement.hpp"
#include "cluster/wire/fair_queue.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::cluster {
namespace {

const graph_offer research{.name = "research", .hash = std::string(32, 'a')};
const graph_offer older{.name = "research", .hash = std::string(32, 'b')};

worker_view make(std::string name, std::uint32_t capacity, std::uint32_t running = 0,
                 std::vector<std::string> labels = {},
                 std::vector<graph_offer> graphs = {research}) {
  worker_view out{
    .name = std::move(name), .labels = std::move(labels), .graphs = std::move(graphs)};
  out.capacity = capacity;
  out.running = running;
  normalise(out);
  return out;
}

std::vector<const worker_view*> all(const std::vector<worker_view>& workers) {
  std::vector<const worker_view*> out;
  for (const auto& w : workers)
    out.push_back(&w);
  return out;
}

place_answer ask(const std::vector<worker_view>& workers, const on_worker& where = {}) {
  return place(all(workers), {.where = where, .graph = research});
}

std::string placed(const std::vector<worker_view>& workers, const on_worker& where = {}) {
  auto answer = ask(workers, where);
  return answer.worker ? answer.worker->name : answer.nobody ? "nobody" : "waits";
}

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_placement)

BOOST_AUTO_TEST_CASE(a_node_is_local_unless_it_says_otherwise) {
  BOOST_TEST(placement{}.local());
  placement gpu = on_worker{.label = "gpu"};
  BOOST_TEST(!gpu.local());
  BOOST_TEST(gpu.worker->label == "gpu");
  BOOST_TEST((gpu.worker->missing == no_worker::fail));
}

BOOST_AUTO_TEST_CASE(spread_takes_the_worker_with_the_fewest_tasks) {
  BOOST_TEST(placed({make("a", 8, 3), make("b", 8, 1), make("c", 2, 1)}) == "b");
  BOOST_TEST(placed({make("a", 2, 2), make("b", 9, 8)}) == "b");
}

BOOST_AUTO_TEST_CASE(workers_with_equally_many_tasks_take_turns) {
  auto first = make("a", 8), second = make("b", 8), newest = make("c", 8);
  first.last_given = 7;
  second.last_given = 6;
  newest.last_given = 8;
  BOOST_TEST(placed({first, second, newest}) == "b");
  BOOST_TEST(placed({first, second, newest}, {.choice = worker_choice::pack}) == "c");
}

BOOST_AUTO_TEST_CASE(pack_takes_the_fullest_worker_that_has_room) {
  on_worker packed{.choice = worker_choice::pack};
  BOOST_TEST(placed({make("a", 8, 1), make("b", 8, 5), make("c", 4, 4)}, packed) == "b");
}

BOOST_AUTO_TEST_CASE(a_task_waits_while_all_who_could_take_it_are_full) {
  BOOST_TEST(placed({make("a", 1, 1), make("b", 2, 2)}) == "waits");
}

BOOST_AUTO_TEST_CASE(a_worker_out_of_reach_gets_nothing_but_is_waited_for) {
  auto away = make("a", 4);
  away.reachable = false;
  BOOST_TEST(placed({away}) == "waits");
}

BOOST_AUTO_TEST_CASE(only_a_worker_with_the_label_is_taken) {
  on_worker gpu{.label = "gpu"};
  BOOST_TEST(placed({make("a", 4), make("b", 4, 3, {"tpu", "gpu"})}, gpu) == "b");
  BOOST_TEST(placed({make("a", 4), make("b", 1, 1, {"gpu"})}, gpu) == "waits");
}

BOOST_AUTO_TEST_CASE(a_worker_full_with_tasks_of_other_homes_comes_last_but_comes) {
  auto busy = make("a", 4);
  busy.foreign = 4;
  BOOST_TEST(placed({busy, make("b", 4, 3)}) == "b");
  BOOST_TEST(placed({busy, make("b", 4, 4)}) == "a");
  on_worker packed{.choice = worker_choice::pack};
  BOOST_TEST(placed({busy, make("b", 4, 1)}, packed) == "b");
}

BOOST_AUTO_TEST_CASE(the_error_names_the_label_and_why_each_worker_could_not_take_it) {
  auto drains = make("c", 4, 0, {"gpu"});
  drains.draining = true;
  auto why =
    ask({make("a", 4), make("b", 4, 0, {"gpu"}, {older}), drains}, {.label = "gpu"}).nobody;
  BOOST_REQUIRE(why.has_value());
  BOOST_TEST((why->code() == errc::worker_lost));
  for (const char* part : {"`gpu`", "`research`", "`a` has no such label",
                           "`b` has another graph of that name", "`c` drains"})
    BOOST_TEST(why->message().find(part) != std::string::npos, part << " in " << why->message());
}

BOOST_AUTO_TEST_CASE(a_graph_that_no_worker_has_is_unknown) {
  auto why = ask({make("a", 4, 0, {}, {}), make("b", 4, 0, {}, {older})}).nobody;
  BOOST_REQUIRE(why.has_value());
  BOOST_TEST((why->code() == errc::unknown_graph));
  BOOST_TEST(why->message().find("`a` has no such graph") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(without_workers_the_error_says_so) {
  auto why = ask({}).nobody;
  BOOST_REQUIRE(why.has_value());
  BOOST_TEST((why->code() == errc::worker_lost));
  BOOST_TEST(why->message().find("no worker has joined") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_error_of_many_workers_is_short) {
  std::vector<worker_view> many(500, make("a", 4));
  auto why = ask(many, {.label = "gpu"}).nobody;
  BOOST_REQUIRE(why.has_value());
  BOOST_TEST(why->message().size() < 1000u);
  BOOST_TEST(why->message().find("492 more") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(tasks_wait_in_order_within_a_run_and_runs_take_turns) {
  fair_queue q;
  for (task_number t : {1, 2, 3})
    q.push(7, t);
  q.push(8, 4);
  q.push(8, 5);
  std::vector<task_number> out;
  for (; out.size() < 3; out.push_back(q.pop())) {}
  q.push(7, 1); // it comes back: before those that came later
  for (; !q.empty(); out.push_back(q.pop())) {}
  std::vector<task_number> expected{1, 4, 2, 5, 1, 3};
  BOOST_TEST(out == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_task_leaves_the_queue_once) {
  fair_queue q;
  q.push(1, 1);
  q.push(1, 1);
  BOOST_TEST(q.size() == 1u);
  BOOST_TEST(!q.erase(2, 1));
  BOOST_TEST(q.erase(1, 1));
  BOOST_TEST(!q.erase(1, 1));
  BOOST_TEST(q.empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
