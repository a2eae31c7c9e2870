// A placed task at its home: a worker's message is checked before any part of it is used.
#include "cluster/placed_tasks.hpp"
#include "cluster/remote_task.hpp"
#include "cluster/stored_items.hpp"
#include "cluster/wire/fields.hpp"
#include "tests/cluster/placed_graphs.hpp"
#include "tests/fixtures/loopback_workers.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

struct placing_home {
  std::shared_ptr<saver> checkpoints = make_memory_saver();
  services shared{2};
  std::shared_ptr<run_shared> run = std::make_shared<run_shared>();
  task_ptr task = std::make_shared<detail::task_scope>();
  int ends = 0, begun = 0;
  std::shared_ptr<cluster::placed_task> placed;
  std::vector<cluster::message> said;

  placing_home() {
    state_graph<> g{placed_numbers};
    g.add_node("far", [] {}, {.placement = on_worker{}});
    g.add_edge(START, "far");
    run->plan = g.compile().plan();
    run->config.thread_id = "t";
    run->store = checkpoints.get();
    task->run = run;
    task->index = run->plan->find_node("far");
    task->node = &run->plan->nodes[task->index];
    task->identify("1", "far:1");
    placed = std::make_shared<cluster::placed_task>(
      shared, task, [this] { ++begun; }, [this] { ++ends; });
  }
  cluster::placed_task::answer answer() {
    return [this](cluster::message m) { said.push_back(std::move(m)); };
  }
  error refused() const {
    BOOST_TEST_REQUIRE(said.size() == 1U);
    return std::get<cluster::save_answer>(said[0]).failure.value();
  }
  cluster::bytes save_to(const std::string& thread, const std::string& ns) {
    checkpoint_put put;
    put.checkpoint.id = "1ef00000-0000-6000-8000-000000000001";
    put.metadata = value::map();
    return cluster::to_bytes(cluster::to_value(save_request{{thread, ns, ""}, {}, put})).value();
  }
};

BOOST_AUTO_TEST_SUITE(cluster_placed_tasks)

BOOST_FIXTURE_TEST_CASE(a_checkpoint_below_the_task_is_stored, placing_home) {
  placed->save({1, 7, true, save_to("t", "far:1")}, answer());
  BOOST_TEST_REQUIRE(said.size() == 1U);
  const auto& stored = std::get<cluster::save_answer>(said[0]);
  BOOST_TEST(stored.ticket == 7U);
  BOOST_TEST(!stored.failure);
  BOOST_TEST(checkpoints->get_tuple({"t", "far:1", ""}).value().has_value());
}

BOOST_FIXTURE_TEST_CASE(one_of_another_task_or_thread_is_refused, placing_home) {
  for (const auto& [thread, ns] :
       {std::pair{"t", ""}, {"t", "other:1"}, {"t", "farther:1"}, {"u", "far:1"}}) {
    said.clear();
    placed->save({1, 7, true, save_to(thread, ns)}, answer());
    BOOST_TEST((refused().code() == errc::protocol_mismatch));
    BOOST_TEST(!checkpoints->get_tuple({thread, ns, ""}).value().has_value());
  }
}

BOOST_FIXTURE_TEST_CASE(bytes_that_are_no_request_are_refused, placing_home) {
  placed->save({1, 7, true, {0xc1, 0x00}}, answer());
  BOOST_TEST((refused().code() == errc::invalid_value));
}

BOOST_FIXTURE_TEST_CASE(the_first_sign_of_an_order_says_that_it_is_begun, placing_home) {
  placed->sign({1});
  BOOST_TEST(begun == 1);
  placed->sign({1});
  BOOST_TEST(begun == 1);
  placed->sign({2}); // it was handed out again
  BOOST_TEST(begun == 2);
  placed->fail({errc::worker_lost, "gone"});
  placed->sign({3});
  BOOST_TEST(begun == 2);
}

// -- what another worker stored, before somebody reads

/// Holds what only waits for those before it, and notes in which order it was asked what.
class slow_saver : public forwarding_saver {
public:
  using forwarding_saver::forwarding_saver;
  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    if (request.put || !request.writes.empty())
      return forwarding_saver::submit(std::move(request), when, std::move(done));
    flushes.pass();
    note("settled");
    done(std::exchange(how, {})); // one at a time
  }
  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref) override {
    note("read");
    return forwarding_saver::get_tuple(ref);
  }
  std::vector<std::string> noted() {
    std::lock_guard lock{mutex_};
    return notes_;
  }

  gate flushes;
  result<void> how; // of the first

private:
  void note(std::string what) {
    std::lock_guard lock{mutex_};
    notes_.push_back(std::move(what));
  }
  std::mutex mutex_;
  std::vector<std::string> notes_;
};

struct home_with_two_readers : placing_home {
  std::shared_ptr<slow_saver> slow = std::make_shared<slow_saver>(checkpoints);
  meeting_point answers{3};
  std::mutex mutex;
  std::vector<std::optional<error>> failures;

  home_with_two_readers() {
    run->store = slow.get();
    placed->save({1, 7, false, save_to("t", "far:1")}, answer());
  }
  void read() {
    auto call = value::list({value(static_cast<std::int64_t>(cluster::call_kind::get_tuple)),
                             cluster::to_value(checkpoint_ref{"t", "far:1", ""}), value{}});
    placed->call({2, 1, cluster::to_bytes(call).value()}, [this](cluster::message m) {
      {
        std::lock_guard lock{mutex};
        failures.push_back(std::get<cluster::call_answer>(m).failure);
      }
      answers.meet();
    });
  }
};

BOOST_FIXTURE_TEST_CASE(nobody_reads_before_what_another_worker_stored_is_there,
                        home_with_two_readers) {
  read();
  slow->flushes.wait_for(1);
  read(); // the other thread of the lane
  slow->flushes.open();
  answers.meet();
  BOOST_TEST_REQUIRE(slow->noted().size() == 3U);
  BOOST_TEST(slow->noted()[0] == "settled");
}

BOOST_FIXTURE_TEST_CASE(a_failure_of_what_another_worker_stored_is_the_readers,
                        home_with_two_readers) {
  slow->how = error{errc::storage_full, "injected"};
  slow->flushes.open();
  read();
  slow->flushes.wait_for(1);
  read();
  answers.meet();
  BOOST_TEST_REQUIRE(failures.size() == 2U);
  if (!failures[0]) // the other was answered first
    std::swap(failures[0], failures[1]);
  BOOST_TEST_REQUIRE(failures[0].has_value());
  BOOST_TEST((failures[0]->code() == errc::storage_full));
  BOOST_TEST(!failures[1].has_value());
}

BOOST_FIXTURE_TEST_CASE(an_outcome_that_makes_no_sense_fails_the_task, placing_home) {
  placed->finish({0x93, 0x00, 0x01, 0x02}, "w");
  BOOST_TEST(ends == 1);
  BOOST_TEST((task->status == task_status::failed));
  BOOST_TEST((task->failure->code() == errc::invalid_value));
}

BOOST_FIXTURE_TEST_CASE(a_write_to_a_channel_that_the_graph_does_not_have_fails_the_task,
                        placing_home) {
  task->writes = {{static_cast<channel_index>(run->plan->channels.size()), value(1), {}}};
  auto outcome = cluster::encode_outcome(*task).value();
  task->writes.clear();
  placed->finish(outcome, "w");
  BOOST_TEST((task->status == task_status::failed));
  BOOST_TEST(task->writes.empty());
}

BOOST_FIXTURE_TEST_CASE(a_task_ends_once_and_what_is_said_later_is_refused, placing_home) {
  auto outcome = cluster::encode_outcome(*task).value();
  placed->finish(outcome, "w");
  placed->finish(outcome, "w");
  placed->fail({errc::worker_lost, "late"});
  BOOST_TEST(ends == 1);
  BOOST_TEST((task->status == task_status::done));
  placed->save({1, 8, true, save_to("t", "far:1")}, answer());
  BOOST_TEST((refused().code() == errc::cancelled));
}

BOOST_FIXTURE_TEST_CASE(a_task_that_was_given_up_is_not_touched, placing_home) {
  auto outcome = cluster::encode_outcome(*task).value();
  placed->give_up();
  task->status = task_status::failed;
  placed->finish(outcome, "w");
  BOOST_TEST(ends == 0);
  BOOST_TEST((task->status == task_status::failed));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe
