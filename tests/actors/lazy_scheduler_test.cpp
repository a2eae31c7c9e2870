// lazy_scheduler: the threads start with the first actor that needs one; an end without threads.
#include "actors/lazy_scheduler.hpp"

#include "tests/fixtures/savers.hpp"

#include <caf/actor_ostream.hpp>
#include <caf/actor_registry.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace troupe {
namespace {

struct lazy_system {
  lazy_system() {
    config.set("scheduler.max-threads", std::size_t{2});
    config.module_factories.push_back(
      [](caf::actor_system& made) { return new lazy_scheduler{made}; });
    system.emplace(config);
    scheduler = static_cast<lazy_scheduler*>(&system->scheduler());
  }
  caf::actor_system_config config;
  std::optional<caf::actor_system> system;
  lazy_scheduler* scheduler = nullptr;
};

using heard = std::promise<std::thread::id>;

// An actor that names the thread that resumes it.
caf::actor listener(caf::actor_system& system, heard& by) {
  return system.spawn<caf::hidden>([&by](caf::event_based_actor* self) -> caf::behavior {
    return {[self, &by](int) {
      by.set_value(std::this_thread::get_id());
      self->quit();
    }};
  });
}

BOOST_AUTO_TEST_SUITE(actors_lazy_scheduler)

BOOST_AUTO_TEST_CASE(a_system_without_messages_starts_no_thread) {
  lazy_system of;
  BOOST_TEST(!of.scheduler->has_threads());
}

BOOST_AUTO_TEST_CASE(a_closed_system_ends_without_threads) {
  lazy_system of;
  BOOST_REQUIRE(of.scheduler->close_without_threads());
  of.system.reset();
}

BOOST_AUTO_TEST_CASE(a_message_starts_the_threads_that_resume_its_receiver) {
  lazy_system of;
  heard by;
  caf::anon_send(listener(*of.system, by), 1);
  BOOST_TEST((by.get_future().get() != std::this_thread::get_id()));
  BOOST_TEST(of.scheduler->has_threads());
  BOOST_TEST(!of.scheduler->close_without_threads());
}

BOOST_AUTO_TEST_CASE(a_delayed_message_arrives) {
  lazy_system of;
  heard by;
  auto to = listener(*of.system, by);
  of.system->spawn<caf::hidden>([to](caf::event_based_actor* self) {
    self->delayed_send(to, std::chrono::milliseconds{1}, 1);
  });
  BOOST_TEST((by.get_future().get() != std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(a_closed_scheduler_resumes_actors_on_the_calling_thread) {
  lazy_system of;
  BOOST_REQUIRE(of.scheduler->close_without_threads());
  heard by;
  auto to = listener(*of.system, by);
  std::thread sender{[&to] { caf::anon_send(to, 1); }}; // while this thread waits, or before
  auto id = by.get_future();
  auto done = [&id] { return id.wait_for(std::chrono::seconds{0}) == std::future_status::ready; };
  of.scheduler->run_here(done);
  sender.join();
  BOOST_TEST((id.get() == std::this_thread::get_id()));
  BOOST_TEST(!of.scheduler->has_threads());
}

BOOST_AUTO_TEST_CASE(actors_that_waited_get_threads_when_the_scheduler_opens_again) {
  lazy_system of;
  BOOST_REQUIRE(of.scheduler->close_without_threads());
  heard by;
  caf::anon_send(listener(*of.system, by), 1);
  BOOST_TEST(!of.scheduler->has_threads());
  of.scheduler->resume_with_threads();
  BOOST_TEST((by.get_future().get() != std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(a_timer_starts_the_threads_of_a_closed_scheduler) {
  lazy_system of;
  BOOST_REQUIRE(of.scheduler->close_without_threads());
  heard by;
  auto to = listener(*of.system, by);
  auto start = of.system->spawn<caf::hidden>([to](caf::event_based_actor* self) {
    self->delayed_send(to, std::chrono::milliseconds{1}, 1);
  });
  of.scheduler->run_here([] { return false; });
  BOOST_TEST(of.scheduler->has_threads());
  BOOST_TEST((by.get_future().get() != std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(lines_of_aout_reach_the_printer_of_caf) {
  test::temporary_directory folder;
  auto file = folder.path() / "lines";
  {
    lazy_system of;
    caf::scoped_actor self{*of.system};
    caf::actor_ostream::redirect_all(*of.system, file.string());
    caf::aout(self) << "first" << std::endl << "second" << std::endl;
  }
  std::ifstream lines{file};
  std::string text{std::istreambuf_iterator<char>{lines}, {}};
  BOOST_TEST(text == "first\nsecond\n");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe
