// The order of parts, and the room for them, while some wait for the disk.
#include "tasks/part_gate.hpp"

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <map>
#include <thread>

namespace troupe {
namespace {

/// Keeps what leaves the gate.
class kept_parts : public part_sink {
public:
  bool wants(stream_mode mode) const noexcept override { return mode == stream_mode::updates; }
  void emit(stream_part part) override { keep("", part); }
  void emit_custom(stream_part part) override { keep("custom ", part); }

  std::vector<std::string> all() {
    std::lock_guard lock{mutex_};
    return all_;
  }

private:
  void keep(const std::string& how, const stream_part& part) {
    std::lock_guard lock{mutex_};
    all_.push_back(how + to_json(part.data));
  }

  std::mutex mutex_;
  std::vector<std::string> all_;
};

using texts = std::vector<std::string>;

stream_part part_of(value data) {
  stream_part out;
  out.data = std::move(data);
  return out;
}

/// A thread that waits for room.
class waiting_body {
public:
  explicit waiting_body(part_gate& gate)
    : thread_{[this, &gate] {
        id_.set_value(::gettid());
        gate.wait_for_room();
        passed_ = true;
      }} {}

  /// Whether it sleeps in the gate; false when it passed.
  bool waits() {
    auto stat = "/proc/self/task/" + std::to_string(id_.get_future().get()) + "/stat";
    while (!passed_) {
      std::ifstream in{stat};
      std::string number, name, state;
      in >> number >> name >> state; // of a program whose name has no space
      if (state == "S" && !passed_)
        return true;
      std::this_thread::yield();
    }
    return false;
  }
  void join() { thread_.join(); }

private:
  std::promise<pid_t> id_;
  std::atomic<bool> passed_ = false;
  std::thread thread_; // the last member: it uses the others
};

struct gated {
  std::shared_ptr<kept_parts> sink = std::make_shared<kept_parts>();
  part_gate gate{sink};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(tasks_part_gate, gated)

BOOST_AUTO_TEST_CASE(a_part_passes_at_once_while_none_is_held) {
  gate.emit(part_of(1));
  gate.emit_custom(part_of(2));
  BOOST_TEST(sink->all() == (texts{"1", "custom 2"}), boost::test_tools::per_element());
  gate.wait_for_room();
}

BOOST_AUTO_TEST_CASE(the_gate_wants_what_the_sink_wants) {
  BOOST_TEST(gate.wants(stream_mode::updates));
  BOOST_TEST(!gate.wants(stream_mode::values));
}

BOOST_AUTO_TEST_CASE(parts_leave_in_the_order_in_which_they_came_whichever_was_held) {
  auto first = gate.hold(part_of(1));
  gate.emit(part_of(2));
  gate.emit_custom(part_of(3));
  auto fourth = gate.hold(part_of(4));
  gate.emit_custom(part_of(5));
  gate.release(fourth);
  BOOST_TEST(sink->all().empty()); // the first is before it
  gate.release(first);
  BOOST_TEST(sink->all() == (texts{"1", "2", "3", "4", "5"}), boost::test_tools::per_element());
  gate.emit_custom(part_of(6)); // nothing is held any more
  BOOST_TEST(sink->all().back() == "custom 6");
}

BOOST_AUTO_TEST_CASE(a_released_part_takes_along_what_came_before_the_next_held_one) {
  auto first = gate.hold(part_of(1));
  gate.emit(part_of(2));
  auto third = gate.hold(part_of(3));
  gate.emit(part_of(4));
  gate.release(first);
  BOOST_TEST(sink->all() == (texts{"1", "2"}), boost::test_tools::per_element());
  gate.release(third);
  BOOST_TEST(sink->all() == (texts{"1", "2", "3", "4"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_dropped_part_never_leaves_and_keeps_none_back) {
  auto first = gate.hold(part_of(1));
  auto second = gate.hold(part_of(2));
  gate.emit(part_of(3));
  gate.drop(second);
  BOOST_TEST(sink->all().empty());
  gate.drop(first);
  BOOST_TEST(sink->all() == texts{"3"}, boost::test_tools::per_element());
  gate.release(first); // settled before
  BOOST_TEST(sink->all().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_body_has_room_up_to_the_bound_and_waits_beyond_it) {
  auto held = gate.hold(part_of("held"));
  for (std::size_t i = 0; i + 1 < limits::stream_queue_parts_max; ++i)
    gate.emit_custom(part_of("body"));
  for (int i = 0; i < 3; ++i)
    gate.emit(part_of("engine"));
  gate.wait_for_room(); // parts of the engine take none
  gate.emit_custom(part_of("body"));
  waiting_body body{gate};
  BOOST_TEST(body.waits());
  BOOST_TEST(sink->all().empty());
  gate.release(held);
  body.join();
  BOOST_TEST(sink->all().size() == limits::stream_queue_parts_max + 4);
}

BOOST_AUTO_TEST_CASE(a_dropped_part_makes_room_too) {
  auto held = gate.hold(part_of("held"));
  for (std::size_t i = 0; i < limits::stream_queue_parts_max; ++i)
    gate.emit_custom(part_of("body"));
  waiting_body body{gate};
  BOOST_TEST(body.waits());
  gate.drop(held);
  body.join();
  BOOST_TEST(sink->all().size() == limits::stream_queue_parts_max);
}

BOOST_AUTO_TEST_CASE(parts_of_many_threads_are_all_there_and_each_thread_s_in_order) {
  constexpr std::int64_t each = 2000;
  std::vector<std::thread> bodies;
  for (std::int64_t who = 0; who < 4; ++who)
    bodies.emplace_back([this, who] {
      for (std::int64_t i = 0; i < each; ++i)
        gate.emit_custom(part_of(value::list({who, i})));
    });
  for (int i = 0; i < 1000; ++i) {
    auto held = gate.hold(part_of("held"));
    i % 2 == 0 ? gate.release(held) : gate.drop(held);
  }
  for (auto& body : bodies)
    body.join();
  std::map<std::int64_t, std::int64_t> next;
  std::size_t held = 0;
  for (const auto& text : sink->all()) {
    auto at = text.starts_with("custom ") ? std::string_view{text}.substr(7) : text;
    auto data = from_json(at).value();
    if (!data.is_list()) {
      ++held;
      continue;
    }
    BOOST_REQUIRE(data[1].as_int() == next[data[0].as_int()]++);
  }
  BOOST_TEST(held == 500u);
  for (std::int64_t who = 0; who < 4; ++who)
    BOOST_TEST(next[who] == each);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
