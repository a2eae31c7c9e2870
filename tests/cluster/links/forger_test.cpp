// A peer with a certificate of the cluster that sends any messages.
#include "tests/cluster/placed_graphs.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include "cluster/links/certificates.hpp"
#include "cluster/links/link_hub.hpp"
#include "cluster/links/link_network.hpp"

#include <troupe/cluster.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/send.hpp>

#include <filesystem>
#include <future>

namespace troupe::cluster {
namespace {

constexpr issue_number forged_up_to = 20;

/// Links to a home, and sends the messages of its kind.
class visitor : public caf::event_based_actor, protected link_user {
public:
  visitor(caf::actor_config& cfg, const endpoint& home)
    : caf::event_based_actor(cfg),
      hub_{*this, *this} {
    hub_.keep(home);
  }
  caf::behavior make_behavior() override {
    set_down_handler([this](const caf::down_msg& down) { hub_.lost(down); });
    send(this, caf::tick_atom_v);
    return {[this](packet& what) {
              hub_.took(std::move(what), caf::actor_cast<caf::actor>(current_sender()));
              hub_.flush();
            },
            [this](caf::tick_atom) { // the hub dials
              hub_.tick(std::chrono::steady_clock::now().time_since_epoch());
              hub_.flush();
              delayed_send(this, std::chrono::milliseconds{10}, caf::tick_atom_v);
            }};
  }
  void on_exit() override { hub_.close(); }

protected:
  void link_broken(link_number) override {}
  void link_restored(link_number) override {}
  void link_lost(link_number, const error&) override {}

  link_hub hub_;
};

/// Joins a home as a worker that gets no tasks, then answers for all that there could be, twice;
/// and then asks the home how it is.
class forger : public visitor {
public:
  forger(caf::actor_config& cfg, const endpoint& home, std::promise<value>* told)
    : visitor(cfg, home),
      told_{told} {}

private:
  void link_made(link_number link, const endpoint*) override {
    hub_.send(
      link,
      hello{.name = "forger", .incarnation = "f.1", .labels = {}, .capacity = 1, .graphs = {}});
  }
  void heard(link_number link, message what) override {
    if (std::holds_alternative<welcome>(what)) {
      hub_.send(link, heartbeat{.number = 1});
      for (int twice = 0; twice < 2; ++twice)
        for (issue_number issue = 0; issue <= forged_up_to; ++issue) {
          hub_.send(link, task_outcome{.issue = issue, .outcome = {0xc0}});
          hub_.send(link, task_refused{.issue = issue, .code = errc::invalid_value, .why = "no"});
          hub_.send(link,
                    save_order{.issue = issue, .ticket = 1, .durable = false, .request = {0xc0}});
          hub_.send(link, task_kept{issue});
        }
      hub_.send(link, task_outcome{.issue = ~issue_number{0}});
      hub_.send(link, draining{"to have a word behind those"});
    } else if (auto* beat = std::get_if<heartbeat>(&what); beat && !asked_) {
      asked_ = true;
      hub_.send(link, status_request{});
    } else if (auto* reply = std::get_if<status_reply>(&what)) {
      auto status = from_json(reply->json).value();
      if (status["stale"].as_int() > 8 * static_cast<std::int64_t>(forged_up_to))
        told_->set_value(std::move(status));
      else
        hub_.send(link, status_request{}); // control goes before the rest
    }
  }

  std::promise<value>* told_;
  bool asked_ = false;
};

/// Joins as a worker that was built later.
class newcomer : public visitor {
public:
  newcomer(caf::actor_config& cfg, const endpoint& home, std::promise<error>* refused)
    : visitor(cfg, home),
      refused_{refused} {}

private:
  void link_made(link_number link, const endpoint*) override {
    hub_.send(link, hello{.protocol = protocol_version + 1,
                          .name = "newcomer",
                          .incarnation = "n.1",
                          .labels = {},
                          .capacity = 1,
                          .graphs = {}});
  }
  void heard(link_number link, message what) override {
    if (auto* no = std::get_if<refusal>(&what); no && refused_) {
      std::exchange(refused_, nullptr)->set_value({no->code, no->why});
      hub_.end(link);
    }
  }

  std::promise<error>* refused_;
};

/// A CA, and what it issues.
class temporary_ca {
public:
  temporary_ca() {
    auto form = (std::filesystem::temp_directory_path() / "troupe-forger-XXXXXX").string();
    dir_ = ::mkdtemp(form.data());
    init_ca(dir_, {}, std::chrono::system_clock::now()).value();
  }
  temporary_ca(const temporary_ca&) = delete;
  temporary_ca& operator=(const temporary_ca&) = delete;
  ~temporary_ca() { std::filesystem::remove_all(dir_); }

  link_certificates issue(const std::string& name) const {
    auto made = issue_cert(dir_, {.name = name}, std::chrono::system_clock::now()).value();
    return {made.certificate, made.key, dir_ / "ca.pem"};
  }

private:
  std::filesystem::path dir_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_forger)

BOOST_AUTO_TEST_CASE(a_peer_that_answers_for_others_changes_nothing_and_is_counted) {
  temporary_ca ca;
  gate body;
  auto graph = [&body] {
    state_graph<> g{placed_numbers};
    g.add_node("far",
               [&body](const state_view& argument) {
                 body.pass();
                 return value{{"log", value::list({argument["x"]})}};
               },
               {.lane = troupe::lane::blocking, .placement = on_worker{}});
    g.add_conditional_edges(START, [](const state_view&) {
      return std::vector<destination>{send{"far", value{{"x", 1}}}, send{"far", value{{"x", 2}}}};
    });
    return g.compile();
  };
  auto pool = connect_workers({.listen = "127.0.0.1:0", .tls = ca.issue("home")}).value();
  auto at = "127.0.0.1:" + std::to_string(pool->port());
  worker honest{{.name = "honest", .listen = "", .join = {at}, .tls = ca.issue("worker")},
                {graph()}};
  runtime rt{{.saver = make_memory_saver(), .workers = pool}};
  auto app = rt.load(graph());
  auto result = std::async(std::launch::async, [&] {
    return app.invoke(value{{"x", 0}}, {.thread_id = "t"});
  });
  body.wait_for(2); // both are under way
  std::promise<value> told;
  auto network = make_link_network(ca.issue("forger"), false).value();
  auto who = network.system->spawn<forger>(to_endpoints({at}).value().front(), &told);
  auto status = told.get_future().get();
  caf::anon_send_exit(who, caf::exit_reason::user_shutdown);
  BOOST_TEST(status["misbehaved"].as_int() > 8 * static_cast<std::int64_t>(forged_up_to));
  BOOST_TEST(status["accepted"].as_int() == 0);
  BOOST_TEST(status["failed"].as_int() == 0);
  body.open();
  BOOST_TEST(to_json(result.get().value()["log"]) == "[1,2]");
}

BOOST_AUTO_TEST_CASE(a_peer_of_another_version_is_told_so_and_the_others_work) {
  temporary_ca ca;
  auto pool = connect_workers({.listen = "127.0.0.1:0", .tls = ca.issue("home")}).value();
  auto at = "127.0.0.1:" + std::to_string(pool->port());
  worker honest{{.name = "honest", .listen = "", .join = {at}, .tls = ca.issue("worker")},
                {outer_asking_graph()}};
  std::promise<error> told;
  auto network = make_link_network(ca.issue("newcomer"), false).value();
  auto who = network.system->spawn<newcomer>(to_endpoints({at}).value().front(), &told);
  auto refused = told.get_future().get();
  BOOST_TEST((refused.code() == errc::protocol_mismatch));
  BOOST_TEST(refused.message().find("update the older one") != std::string::npos);
  runtime rt{{.saver = make_memory_saver(), .workers = pool}};
  auto asked = rt.load(outer_asking_graph()).invoke(value{{"x", 1}}, {.thread_id = "t"});
  BOOST_TEST(asked.interrupts().size() == 1U);
  auto status = peer_status(at, {.tls = ca.issue("operator")}).value();
  BOOST_TEST(status["hellos_refused"].as_int() == 1); // it waits before it comes again
  caf::anon_send_exit(who, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
