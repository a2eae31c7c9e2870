// The turns of an actor with links, on CAF's test scheduler.
#include "cluster/linked_actor.hpp"
#include "tests/fixtures/simulated_system.hpp"

#include <caf/io/middleman.hpp>
#include <caf/io/network/multiplexer.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <thread>
#include <vector>

namespace troupe::cluster {

namespace {

// A number is a turn. Notes how many turns there were at each flush.
class turning_actor : public linked_actor {
public:
  turning_actor(caf::actor_config& cfg, std::vector<int>& flushes, std::string& order)
    : linked_actor(cfg, limits::link_quiet_max),
      flushes_{flushes},
      order_{order} {}

  caf::behavior make_behavior() override {
    return {[this](int) {
              ++turns_;
              order_ += "turn ";
              later([this] {
                order_ += "job ";
                later([this] { order_ += "job's-job "; });
              });
              finish_turn();
            },
            [this](caf::get_atom) {
              return std::this_thread::get_id() == system().middleman().backend().thread_id();
            },
            [this](caf::flush_atom) { flush(); }};
  }
  void on_exit() override { hub_.close(); }

private:
  void flush() override {
    linked_actor::flush();
    flushes_.push_back(turns_);
    order_ += "flush ";
  }
  void look_for_ended() override {}
  void link_made(link_number, const endpoint*) override {}
  void heard(link_number, message) override {}
  void link_broken(link_number) override {}
  void link_restored(link_number) override {}

  std::vector<int>& flushes_;
  std::string& order_;
  int turns_ = 0;
};

struct turned {
  std::vector<int> flushes;
  std::string order;
};

turned after_turns(int count) {
  turned out;
  simulated_system simulated;
  auto actor = simulated.sys.spawn<turning_actor>(out.flushes, out.order);
  for (int turn = 0; turn < count; ++turn)
    caf::anon_send(actor, turn);
  simulated.sched.run();
  caf::anon_send_exit(actor, caf::exit_reason::kill);
  simulated.sched.run();
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_linked_actor)

BOOST_AUTO_TEST_CASE(messages_of_turns_in_the_mailbox_leave_together) {
  BOOST_TEST(after_turns(1).flushes == std::vector{1}, boost::test_tools::per_element());
  BOOST_TEST(after_turns(10).flushes == std::vector{10}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_busy_actor_flushes_after_a_number_of_turns) {
  auto flushes = after_turns(2 * turns_together + 1).flushes;
  flushes.resize(2);
  std::vector<int> wanted{turns_together, 2 * turns_together};
  BOOST_TEST(flushes == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(jobs_for_later_run_at_the_end_of_their_turn) {
  BOOST_TEST(after_turns(2).order == "turn job job's-job turn job job's-job flush ");
}

BOOST_AUTO_TEST_CASE(turns_run_on_the_thread_of_the_sockets) {
  turned out;
  caf::actor_system_config config;
  config.load<caf::io::middleman>();
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  auto actor = system.spawn<turning_actor>(out.flushes, out.order);
  bool is_there = false;
  self->request(actor, caf::infinite, caf::get_atom_v)
    .receive([&is_there](bool so) { is_there = so; }, [](caf::error&) {});
  BOOST_TEST(is_there);
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
