// The execution units that outlive their runtime.
#include "actors/strand.hpp"
#include "tests/fixtures/small_job.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>

namespace troupe {
BOOST_AUTO_TEST_SUITE(actors_units)

BOOST_AUTO_TEST_CASE(a_strand_that_nobody_owns_any_more_ends_its_queue_first) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  caf::intrusive_ptr<strand> owner{new strand{system}};
  std::promise<void> owned_no_more;
  std::promise<void> second_ran;
  auto* unit = owner.get();
  unit->exec_later(new small_job{[&] { owned_no_more.get_future().wait(); }});
  unit->exec_later(new small_job{[&] { second_ran.set_value(); }});
  owner.reset();
  owned_no_more.set_value();
  auto ran = second_ran.get_future();
  BOOST_TEST((ran.wait_for(std::chrono::minutes{1}) == std::future_status::ready));
}

BOOST_AUTO_TEST_CASE(a_strand_goes_with_the_last_of_its_owners) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  std::promise<void> gone;
  struct watched : strand {
    watched(caf::actor_system& system, std::promise<void>& gone) : strand{system}, gone_{gone} {}
    ~watched() override { gone_.set_value(); }
    std::promise<void>& gone_;
  };
  caf::intrusive_ptr<strand> owner{new watched{system, gone}};
  std::promise<void> ran;
  owner->exec_later(new small_job{[&] { ran.set_value(); }});
  ran.get_future().wait();
  owner.reset();
  auto went = gone.get_future(); // the scheduler's share too
  BOOST_TEST((went.wait_for(std::chrono::minutes{1}) == std::future_status::ready));
}

BOOST_AUTO_TEST_CASE(a_thread_that_takes_the_turn_of_a_strand_resumes_its_jobs) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  caf::intrusive_ptr<strand> unit{new strand{system}};
  BOOST_REQUIRE(unit->take_turn());
  BOOST_TEST(!unit->take_turn()); // it has its turn
  bool ran = false;
  unit->exec_later(new small_job{[&] { ran = true; }});
  BOOST_TEST(!ran);
  BOOST_TEST((unit->resume(nullptr, 1) == caf::resumable::awaiting_message));
  BOOST_TEST(ran);
  unit->hold();
  BOOST_TEST(!unit->take_turn()); // held
  unit->let_go();
  BOOST_TEST(unit->take_turn());
  BOOST_TEST((unit->resume(nullptr, 1) == caf::resumable::awaiting_message));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
