// Real sockets on this host: what TLS lets in is nothing that a fake could say.
#include "cluster/link_system.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>
#include <caf/openssl/manager.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <set>

namespace troupe::cluster {

namespace {

namespace fs = std::filesystem;
using config_ptr = std::unique_ptr<caf::actor_system_config>;

constexpr std::chrono::seconds patience{30}; // refusals take milliseconds
constexpr const char* here = "127.0.0.1";

wall_time now() {
  return std::chrono::system_clock::now();
}

caf::behavior adder(caf::event_based_actor*, std::int32_t more) {
  return {[more](std::int32_t n) { return n + more; }};
}

struct node {
  config_ptr config;
  caf::actor_system system;
  caf::actor door;

  explicit node(config_ptr with)
    : config{std::move(with)},
      system{*config},
      door{system.spawn(adder, std::int32_t{1})} {}
  ~node() { caf::anon_send_exit(door, caf::exit_reason::user_shutdown); }

  std::uint16_t open() { return open_door(system, door, here, 0).value(); }

  /// The actor at a port; nothing when the link is refused.
  caf::actor dial(std::uint16_t port) {
    caf::scoped_actor self{system};
    caf::actor peer;
    self
      ->request(link_dialer(system, here).value(), patience, caf::connect_atom_v, std::string{here},
                port)
      .receive([&peer](caf::node_id&, caf::strong_actor_ptr& at,
                       std::set<std::string>&) { peer = caf::actor_cast<caf::actor>(at); },
               [this](caf::error& why) {
                 BOOST_TEST_MESSAGE("refused: " << system.render(why));
                 BOOST_TEST((why != caf::sec::request_timeout));
               });
    return peer;
  }

  bool reaches(std::uint16_t port) {
    auto peer = dial(port);
    if (!peer)
      return false;
    caf::scoped_actor self{system};
    std::int32_t answer = 0;
    self->request(peer, patience, std::int32_t{41})
      .receive([&answer](std::int32_t n) { answer = n; }, [](caf::error&) {});
    return answer == 42;
  }
};

struct authority {
  fs::path dir;
  authority() {
    auto form = (fs::temp_directory_path() / "troupe-links-XXXXXX").string();
    dir = ::mkdtemp(form.data());
    init_ca(dir, {}, now()).value();
  }
  ~authority() { fs::remove_all(dir); }

  tls_files issue(const std::string& name) const {
    auto made = issue_cert(dir, {.name = name}, now()).value();
    return {made.certificate, made.key, dir / "ca.pem", {}};
  }
  config_ptr config(const std::string& name) const {
    return make_link_config({.tls = issue(name)}, now()).value();
  }
};

// As somebody would who does not use make_link_config().
config_ptr hostile_config(const tls_files* files) {
  auto config = std::make_unique<caf::actor_system_config>();
  config->load<caf::io::middleman>();
  config->load<caf::openssl::manager>();
  config->set("scheduler.max-threads", 1u);
  if (!files)
    return config;
  config->set("openssl.certificate", files->certificate.string());
  config->set("openssl.key", files->key.string());
  config->set("openssl.cafile", files->authority.string());
  return config;
}

config_ptr plain_config() {
  return make_link_config({.plain = true}, now()).value();
}

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_link_system)

BOOST_AUTO_TEST_CASE(two_systems_with_certificates_of_one_ca_reach_each_other) {
  authority ca;
  node home{ca.config("home")}, worker{ca.config("worker")};
  BOOST_TEST(worker.reaches(home.open()));
}

BOOST_AUTO_TEST_CASE(an_encrypted_key_opens_with_its_passphrase) {
  authority ca;
  ::setenv("TROUPE_TEST_PASSPHRASE", "open sesame", 1);
  auto secret = passphrase::from_environment("TROUPE_TEST_PASSPHRASE").value();
  ::unsetenv("TROUPE_TEST_PASSPHRASE");
  auto made = issue_cert(ca.dir, {.name = "home", .secret = secret}, now()).value();
  tls_files files{made.certificate, made.key, ca.dir / "ca.pem", secret};
  node home{make_link_config({.tls = files}, now()).value()}, worker{ca.config("worker")};
  BOOST_TEST(worker.reaches(home.open()));
}

BOOST_AUTO_TEST_CASE(whoever_has_no_certificate_of_the_ca_is_refused_and_the_others_are_served) {
  authority ca, other;
  node home{ca.config("home")};
  auto port = home.open();
  {
    node anonymous{hostile_config(nullptr)};
    BOOST_TEST(!anonymous.reaches(port));
  }
  {
    node stranger{other.config("worker")};
    BOOST_TEST(!stranger.reaches(port));
  }
  {
    auto files = other.issue("credulous"); // its own certificate, and trust in our CA
    files.authority = ca.dir / "ca.pem";
    node credulous{hostile_config(&files)};
    BOOST_TEST(!credulous.reaches(port));
  }
  {
    node plain{plain_config()};
    BOOST_TEST(!plain.reaches(port));
  }
  node worker{ca.config("worker")};
  BOOST_TEST(worker.reaches(port));
}

BOOST_AUTO_TEST_CASE(a_worker_refuses_a_home_that_its_ca_does_not_know) {
  authority ca, other;
  node home{other.config("home")}, worker{ca.config("worker")};
  BOOST_TEST(!worker.reaches(home.open()));
}

BOOST_AUTO_TEST_CASE(bad_files_are_refused_before_a_system_starts) {
  authority ca, other;
  auto files = ca.issue("worker");
  files.authority = other.dir / "ca.pem";
  auto config = make_link_config({.tls = files}, now());
  BOOST_REQUIRE(!config);
  BOOST_TEST((config.error().code() == errc::invalid_config));
  BOOST_TEST(config.error().message().find("not signed by this CA") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(links_are_plain_only_when_asked_for) {
  authority ca;
  auto none = make_link_config({}, now());
  BOOST_REQUIRE(!none);
  BOOST_TEST(none.error().message().find("no TLS files") != std::string::npos);
  auto both = make_link_config({.tls = ca.issue("w"), .plain = true}, now());
  BOOST_REQUIRE(!both);
  BOOST_TEST(both.error().message().find("choose one") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(plain_links_stay_on_this_host) {
  node home{plain_config()}, worker{plain_config()};
  for (const auto* host : {"", "0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "example.org"}) {
    auto opened = open_door(home.system, home.door, host, 0);
    BOOST_REQUIRE(!opened);
    BOOST_TEST((opened.error().code() == errc::invalid_config));
    BOOST_TEST(!link_dialer(worker.system, host));
  }
  for (const auto* host : {"127.0.0.1", "127.8.9.10", "::1", "localhost"})
    BOOST_TEST(is_loopback(host));
  BOOST_TEST(worker.reaches(home.open()));
}

BOOST_AUTO_TEST_CASE(a_door_that_can_not_be_opened_is_an_error) {
  node home{plain_config()};
  auto again = open_door(home.system, home.door, here, home.open());
  BOOST_REQUIRE(!again);
  BOOST_TEST(again.error().message().find("open 127.0.0.1:") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
