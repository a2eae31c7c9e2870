// Requests that a saver leaves to the thread that waits for their answer.
#include "actors/lent_thread.hpp"
#include "tests/fixtures/forgetful_saver.hpp"
#include "tests/fixtures/small_graphs.hpp"
#include "tests/fixtures/small_job.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Leaves all requests that may be left.
class leaving_saver : public forgetful_saver {
public:
  void submit_lent(save_request, save_ack, std::function<void(result<void>)> done,
                   std::shared_ptr<spent_requests>) override {
    ++submitted;
    done({});
  }
  bool submit_or_leave(save_request, save_ack, std::function<void(result<void>)> done) override {
    left_.push_back(std::move(done));
    return true;
  }
  bool write_left() override {
    ++written;
    writers.push_back(std::this_thread::get_id());
    for (auto& done : std::exchange(left_, {}))
      done({});
    return is_asleep;
  }
  void call_writer() override {
    ++called;
    own_threads_.emplace_back([this, left = std::exchange(left_, {})] {
      for (const auto& done : left)
        done({});
      at_answers();
    });
  }

  int submitted = 0;
  int written = 0; // calls, as `called`
  int called = 0;
  bool is_asleep = true;                    // else its own thread writes
  std::function<void()> at_answers = [] {}; // on its own thread
  std::vector<std::thread::id> writers;

private:
  std::vector<std::function<void(result<void>)>> left_;
  std::vector<std::jthread> own_threads_; // one for each call
};

struct lending_thread {
  caf::actor_system_config config;
  caf::actor_system system{config};
  lent_thread unit{system};
  leaving_saver saver;

  lending_thread() {
    saver.at_answers = [this] { unit.poke(); };
    unit.lend();
  }
  // Called on the unit: what an actor does.
  void push(std::function<void()> body) { unit.exec_later(new small_job{std::move(body)}); }
  void leaves(bool awaited) {
    push([this, awaited] { unit.left_by(saver, awaited); });
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(actors_left_requests, lending_thread)

BOOST_AUTO_TEST_CASE(a_thread_with_nothing_to_do_writes_what_is_awaited) {
  push([this] {
    for (auto awaited : {false, true, false})
      unit.left_by(saver, awaited);
  });
  unit.run_until([this] { return saver.written == 1; });
  BOOST_TEST(saver.called == 0);
  unit.give_back();
  BOOST_TEST(saver.written == 1);
}

BOOST_AUTO_TEST_CASE(the_savers_thread_writes_what_nobody_awaits) {
  leaves(false);
  unit.run_until([this] { return saver.called == 1; });
  BOOST_TEST(saver.written == 0);
  unit.give_back();
}

BOOST_AUTO_TEST_CASE(the_savers_thread_writes_when_another_actor_has_something_to_do) {
  auto called_before = -1;
  leaves(true);
  push([&] { called_before = saver.called; });
  unit.run_until([&] { return called_before >= 0; });
  BOOST_TEST(called_before == 1);
  BOOST_TEST(saver.written == 0);
  unit.give_back();
}

BOOST_AUTO_TEST_CASE(the_savers_thread_writes_when_the_lender_stops_waiting) {
  auto ran = false;
  push([&] {
    unit.left_by(saver, true);
    ran = true;
  });
  unit.run_until([&] { return ran; });
  BOOST_TEST((saver.called == 1 && saver.written == 0));
  auto called_before_the_next = 0;
  leaves(true);
  push([&] { called_before_the_next = saver.called; });
  unit.give_back();
  BOOST_TEST(called_before_the_next == 2);
  BOOST_TEST((saver.called == 2 && saver.written == 0));
}

BOOST_AUTO_TEST_CASE(a_thread_waits_when_the_savers_thread_is_awake) {
  saver.is_asleep = false;
  auto answered = false;
  leaves(true);
  std::jthread saver_thread{[&] { unit.exec_later(new small_job{[&] { answered = true; }}); }};
  unit.run_until([&] { return answered; });
  BOOST_TEST(answered);
  unit.give_back();
}

BOOST_AUTO_TEST_CASE(one_saver_has_requests_left_at_a_time) {
  leaving_saver other;
  push([&] {
    unit.left_by(other, true);
    unit.left_by(saver, true);
  });
  unit.run_until([this] { return saver.written == 1; });
  BOOST_TEST((other.called == 1 && other.written == 0 && saver.called == 0));
  unit.give_back();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(actors_left_requests_of_runs)

namespace {

compiled_graph three_steps() {
  state_graph<> g{{{"n", sum}}};
  const char* last = START;
  for (const char* name : {"a", "b", "c"}) {
    g.add_node(name, [] { return state_update{{"n", 1}}; });
    g.add_edge(last, name);
    last = name;
  }
  return g.compile();
}

} // namespace

BOOST_AUTO_TEST_CASE(with_sync_the_calling_thread_writes_each_step) {
  auto saver = std::make_shared<leaving_saver>();
  runtime rt{{.saver = saver}};
  auto app = rt.load(three_steps());
  app.invoke({{"n", 0}}, {.thread_id = "t", .durability = durability::sync});
  BOOST_TEST(saver->submitted == 0);
  BOOST_TEST(saver->called == 0);
  BOOST_TEST(saver->writers
               == std::vector(4, std::this_thread::get_id()), // the input's, each step's
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(with_async_nothing_is_left_to_the_calling_thread) {
  auto saver = std::make_shared<leaving_saver>();
  runtime rt{{.saver = saver}};
  auto app = rt.load(three_steps());
  app.invoke({{"n", 0}}, {.thread_id = "t", .durability = durability::async});
  BOOST_TEST(saver->submitted > 3);
  BOOST_TEST((saver->written == 0 && saver->called == 0));
}

BOOST_AUTO_TEST_CASE(a_run_on_the_scheduler_leaves_nothing) {
  auto saver = std::make_shared<leaving_saver>();
  runtime rt{{.saver = saver}};
  auto app = rt.load(three_steps());
  app.start({{"n", 0}}, {.thread_id = "t", .durability = durability::sync}).get().value();
  BOOST_TEST(saver->submitted > 3);
  BOOST_TEST((saver->written == 0 && saver->called == 0));
}

BOOST_AUTO_TEST_CASE(the_reader_of_a_stream_writes_unless_a_part_waits_for_it) {
  auto saver = std::make_shared<leaving_saver>();
  runtime rt{{.saver = saver}};
  auto app = rt.load(three_steps());
  auto parts = 0;
  for (auto& part : app.stream({{"n", 0}}, {.thread_id = "t", .durability = durability::sync},
                               {stream_mode::values}))
    parts += part.mode == stream_mode::values;
  BOOST_TEST(parts == 4);
  BOOST_TEST(saver->submitted == 0);
  BOOST_TEST(saver->written + saver->called > 3);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
