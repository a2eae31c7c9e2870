// Links that break and come back, between two actors of one system: the network is their mailboxes.
#include "cluster/links/link_hub.hpp"

#include "tests/fixtures/simulated_system.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/send.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <utility>

namespace troupe::cluster {

class hub_actor;
struct hub_job {
  std::function<void(hub_actor&)> what;
};

} // namespace troupe::cluster

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::hub_job)

namespace troupe::cluster {

class hub_actor : public caf::event_based_actor, public link_user {
public:
  explicit hub_actor(caf::actor_config& cfg)
    : caf::event_based_actor(cfg),
      hub{*this,
          *this,
          std::chrono::hours{1},
          {.dial = [this](const endpoint&, auto then) { dialling = std::move(then); },
           .addresses = {}}} {}

  caf::behavior make_behavior() override {
    return {
      [this](packet& what) {
        hub.took(std::move(what), caf::actor_cast<caf::actor>(current_sender()));
        hub.flush();
      },
      [this](const hub_job& job) {
        job.what(*this);
        hub.flush();
      },
    };
  }
  void link_made(link_number link, const endpoint*) override { made.push_back(link); }
  void heard(link_number, message what) override { texts.push_back(std::get<draining>(what).why); }
  void link_broken(link_number) override { ++broken; }
  void link_restored(link_number) override { ++restored; }
  void link_lost(link_number, const error&) override { ++lost; }

  void on_exit() override {
    hub.close();
    dialling = {};
  }
  /// The dial that was asked for comes through.
  void reach(const caf::actor& peer) { std::exchange(dialling, {})(peer); }

  link_ways::then_fn dialling;
  link_hub hub;
  std::vector<link_number> made;
  std::vector<std::string> texts;
  int broken = 0, restored = 0, lost = 0;
};

namespace {

struct two_peers {
  simulated_system all;
  caf::actor a = all.sys.spawn<hub_actor>(), b = all.sys.spawn<hub_actor>();
  // This address is not dialled: the test chooses the answering side.
  const endpoint to_b{"192.0.2.1", 1};

  two_peers() {
    order(a, [this](hub_actor& x) { x.hub.keep(to_b); });
    run();
  }
  ~two_peers() {
    for (const auto& one : {a, b})
      caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
    run();
  }
  static const hub_actor& of(const caf::actor& one) {
    return dynamic_cast<hub_actor&>(*caf::actor_cast<caf::abstract_actor*>(one));
  }
  /// Each order to an actor is carried out in a turn of its own.
  static void order(const caf::actor& one, std::function<void(hub_actor&)> what) {
    caf::anon_send(one, hub_job{std::move(what)});
  }
  void run() { all.run_shuffled(1); }
  void dial() {
    order(a, [this](hub_actor& x) {
      x.hub.tick((std::chrono::steady_clock::now() + std::chrono::minutes{1}).time_since_epoch());
      x.reach(b);
    });
  }
  void cut() {
    order(a, [this](hub_actor& x) { x.hub.lost({b.address(), {}}); });
    order(b, [this](hub_actor& x) { x.hub.lost({a.address(), {}}); });
  }
  void say(const caf::actor& one, const std::string& text) {
    order(one, [text](hub_actor& x) { x.hub.send(x.made.back(), draining{text}); });
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cluster_link_restored, two_peers)

BOOST_AUTO_TEST_CASE(both_sides_learn_that_a_link_is_back_and_nothing_is_lost_or_doubled) {
  dial();
  run();
  for (int times = 1; times <= 3; ++times) {
    cut();
    say(a, "down");
    say(b, "up");
    dial();
    run();
    for (const auto& side : {a, b}) {
      BOOST_TEST(of(side).made.size() == 1u);
      BOOST_TEST(of(side).broken == times);
      BOOST_TEST(of(side).restored == times);
      BOOST_TEST(of(side).texts.size() == static_cast<std::size_t>(times));
    }
  }
  BOOST_TEST(of(a).lost + of(b).lost == 0);
}

BOOST_AUTO_TEST_CASE(the_answer_to_a_stream_that_was_given_up_begins_none) {
  order(a, [this](hub_actor& x) {
    x.reach(b);
    x.hub.end(x.made.back());
  });
  run();
  BOOST_TEST(of(b).made.size() == 1u);
  BOOST_TEST(of(b).lost == 1);
  BOOST_TEST(of(a).made.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
