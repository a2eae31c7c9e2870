// Two hubs that reach each other without a network: links that are kept, dropped and forgotten.
#include "cluster/links/link_hub.hpp"
#include "tests/fixtures/simulated_system.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <boost/test/unit_test.hpp>

#include <thread>

namespace troupe::cluster {

namespace {

using namespace std::chrono_literals;

instant now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

const endpoint there{"10.0.0.7", 4242};

class hub_user : public caf::event_based_actor, public link_user {
public:
  explicit hub_user(caf::actor_config& cfg)
    : caf::event_based_actor(cfg),
      hub{
        *this,
        *this,
        10s,
        {.dial = [this](const endpoint& to, auto then) { dials.emplace_back(to, std::move(then)); },
         .addresses = [](const std::string&) { return names; }}} {}
  caf::behavior make_behavior() override {
    set_down_handler([this](const caf::down_msg& down) { hub.lost(down); });
    return {[this](packet& what) {
              hub.took(std::move(what), caf::actor_cast<caf::actor>(current_sender()));
              hub.flush();
            },
            [this](std::int32_t) { // a turn of the actor
              std::exchange(job, nullptr)();
              hub.flush();
            }};
  }
  void on_exit() override {
    hub.close();
    dials.clear();
  }

  void link_made(link_number link, const endpoint*) override { made.push_back(link); }
  void heard(link_number, message) override { ++messages; }
  void link_broken(link_number) override {}
  void link_restored(link_number) override {}
  void link_lost(link_number, const error&) override { ++lost; }
  void not_reached(const endpoint&, const error& why) override {
    unreached.push_back(why.message());
  }

  std::function<void()> job;
  inline static looked_up names = std::vector<std::string>{};
  link_hub hub;
  std::vector<std::pair<endpoint, link_ways::then_fn>> dials;
  std::vector<link_number> made;
  std::vector<std::string> unreached;
  int messages = 0, lost = 0;
};

/// `home` accepts, `worker` dials.
struct two_hubs : simulated_system {
  caf::actor worker_handle = sys.spawn<hub_user>(), home_handle = sys.spawn<hub_user>();
  hub_user& worker = of(worker_handle);
  hub_user& home = of(home_handle);

  two_hubs() { sched.run(); }
  ~two_hubs() {
    for (const auto* one : {&worker_handle, &home_handle})
      caf::anon_send_exit(*one, caf::exit_reason::user_shutdown);
    sched.run();
  }
  static hub_user& of(const caf::actor& handle) {
    return *dynamic_cast<hub_user*>(caf::actor_cast<caf::abstract_actor*>(handle));
  }

  /// A turn of one of them, and what comes of it.
  void in(const caf::actor& one, std::function<void(link_hub&)> what) {
    auto& p = of(one);
    p.job = [&p, what] { what(p.hub); };
    caf::anon_send(one, 0);
    sched.run();
  }
  /// The dial that waits reaches the home.
  void connect() {
    BOOST_TEST_REQUIRE(!worker.dials.empty());
    auto then = std::move(worker.dials.front().second);
    worker.dials.erase(worker.dials.begin());
    in(worker_handle, [&](link_hub&) { then(home_handle); });
  }
  void keep() {
    in(worker_handle, [](link_hub& hub) { hub.keep(there); });
  }
  void forget() {
    in(worker_handle, [](link_hub& hub) { hub.forget(there); });
  }
  void say_something() {
    in(worker_handle, [&](link_hub& hub) { hub.send(worker.made.back(), status_request{}); });
  }
  void pass(const caf::actor& one, instant time) {
    in(one, [time](link_hub& hub) { hub.tick(time); });
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cluster_link_hub, two_hubs)

BOOST_AUTO_TEST_CASE(an_accepted_link_whose_dialer_does_not_come_back_is_dropped) {
  keep();
  connect();
  BOOST_TEST_REQUIRE(home.hub.links() == 1U);
  caf::anon_send_exit(worker_handle, caf::exit_reason::kill);
  sched.run();
  pass(home_handle, now() + 9s);
  BOOST_TEST(home.hub.links() == 1U);
  pass(home_handle, now() + 11s);
  BOOST_TEST(home.hub.links() == 0U);
  BOOST_TEST(home.lost == 0); // nobody waits for it
}

BOOST_AUTO_TEST_CASE(an_accepted_link_on_which_nothing_is_said_is_dropped) {
  keep();
  connect();
  say_something();
  BOOST_TEST(home.messages == 1);
  pass(home_handle, now() + 11s);
  BOOST_TEST(home.hub.links() == 0U);
}

BOOST_AUTO_TEST_CASE(a_link_that_this_side_keeps_is_not_dropped_for_being_quiet) {
  keep();
  connect();
  pass(worker_handle, now() + 1h);
  BOOST_TEST(worker.hub.links() == 1U);
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_forgotten_keeps_its_link_until_it_breaks) {
  keep();
  connect();
  forget();
  BOOST_TEST(worker.hub.kept().empty());
  say_something();
  BOOST_TEST(home.messages == 1);
  caf::anon_send_exit(home_handle, caf::exit_reason::kill);
  sched.run();
  pass(worker_handle, now() + 5s);
  BOOST_TEST(worker.dials.empty());
  pass(worker_handle, now() + 11s);
  BOOST_TEST(worker.hub.links() == 0U);
  keep();
  BOOST_TEST(worker.dials.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_to_be_kept_again_has_the_link_that_it_had) {
  keep();
  connect();
  forget();
  keep();
  pass(worker_handle, now());
  BOOST_TEST(worker.dials.empty());
  BOOST_TEST(worker.hub.links() == 1U);
}

BOOST_AUTO_TEST_CASE(a_name_is_dialled_at_each_of_its_addresses) {
  hub_user::names = std::vector<std::string>{"10.0.0.7", "10.0.0.8"};
  in(worker_handle, [](link_hub& hub) { hub.keep({"workers.internal", 7000}); });
  BOOST_TEST(worker.dials.empty()); // nobody waited for an answer
  for (auto end = now() + 60s; worker.dials.empty() && now() < end; std::this_thread::yield())
    pass(worker_handle, now());
  BOOST_TEST_REQUIRE(worker.dials.size() == 2U);
  BOOST_TEST((worker.dials[0].first == endpoint{"10.0.0.7", 7000}));
  BOOST_TEST((worker.dials[1].first == endpoint{"10.0.0.8", 7000}));
}

// The worker dials; each side refuses in turn.
BOOST_AUTO_TEST_CASE(who_was_refused_and_will_not_change_is_not_dialled_for_a_while) {
  for (bool refused_here : {false, true})
    for (auto [code, pause] : {std::pair{errc::protocol_mismatch, limits::link_retry_refused},
                               std::pair{errc::conflict, limits::link_retry_max}}) {
      two_hubs both;
      both.keep();
      both.connect();
      both.say_something();
      auto& who = refused_here ? both.worker : both.home;
      both.in(refused_here ? both.worker_handle : both.home_handle, [&](link_hub& hub) {
        hub.send(who.made.back(), refusal{.code = code, .why = "no"});
        hub.end(who.made.back());
      });
      if (!refused_here)
        both.in(both.worker_handle, [&](link_hub& hub) { hub.end(both.worker.made.back()); });
      both.pass(both.worker_handle, now() + pause / 2);
      BOOST_TEST(both.worker.dials.empty());
      both.pass(both.worker_handle, now() + pause);
      BOOST_TEST(both.worker.dials.size() == 1U);
    }
}

BOOST_AUTO_TEST_CASE(who_can_not_be_understood_is_told_so) {
  stream mine{stream::side::dialer, 7};
  caf::scoped_actor self{sys};
  std::string told;
  auto talk = [&] {
    while (auto p = mine.next_packet(std::chrono::steady_clock::now()))
      self->send(home_handle, std::move(*p));
    sched.run();
    while (self->has_next_message())
      self->receive([&](packet& p) {
        auto frame = mine.receive(std::move(p), std::chrono::steady_clock::now());
        if (frame && *frame)
          (void)decode_frame((*frame)->data, [&](message&& m) {
            if (auto* no = std::get_if<refusal>(&m))
              told = no->why;
          });
      });
  };
  mine.link_up();
  talk();
  bytes of_another_protocol{0x91, 0x93, 0x00, 0x63, 0xc0}; // a hello of two fields: 99, nil
  BOOST_TEST(mine.send(lane::control, std::move(of_another_protocol)).has_value());
  talk();
  talk();
  BOOST_TEST(told.find("the peer speaks protocol 99") != std::string::npos, told);
  BOOST_TEST(home.lost == 1);
}

BOOST_AUTO_TEST_CASE(why_a_peer_is_not_reached_is_told_once) {
  keep();
  for (const auto* why : {"no route", "no route", "refused"}) {
    auto then = worker.dials.back().second;
    in(worker_handle, [&](link_hub&) { then(error{errc::worker_lost, why}); });
    pass(worker_handle, now() + 5s); // dials again
  }
  BOOST_TEST(worker.unreached == (std::vector<std::string>{"no route", "refused"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
