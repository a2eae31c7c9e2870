// Real sockets on this host: what TLS lets in is nothing that a fake could say.
#include "cluster/links/link_system.hpp"
#include "cluster/links/tls_session.hpp"
#include "tests/cluster/silent_host.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <set>
#include <string_view>

namespace troupe::cluster {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds refusal_patience{30}; // refusals take milliseconds
constexpr const char* here = "127.0.0.1";

wall_time wall_now() {
  return std::chrono::system_clock::now();
}

caf::behavior adder(caf::event_based_actor*, std::int32_t more) {
  return {[more](std::int32_t n) { return n + more; }};
}

struct node {
  std::unique_ptr<caf::actor_system_config> config;
  caf::actor_system system;
  caf::actor door;

  std::string refusal; // of the last dial

  explicit node(const link_options& options, wall_time at = wall_now())
    : config{make_link_config(options, at).value()},
      system{*config},
      door{system.spawn(adder, std::int32_t{1})} {}
  ~node() { caf::anon_send_exit(door, caf::exit_reason::user_shutdown); }

  std::uint16_t open() { return open_door(system, door, here, 0).value(); }

  /// The actor at a port; nothing when the link is refused.
  caf::actor dial(std::uint16_t port) {
    caf::scoped_actor self{system};
    caf::actor peer;
    self
      ->request(link_dialer(system, here).value(), refusal_patience, caf::connect_atom_v,
                std::string{here}, port)
      .receive([&peer](caf::node_id&, caf::strong_actor_ptr& at,
                       std::set<std::string>&) { peer = caf::actor_cast<caf::actor>(at); },
               [this](caf::error& why) {
                 refusal = why_of(system, why);
                 BOOST_TEST((why != caf::sec::request_timeout));
               });
    return peer;
  }

  bool reaches(std::uint16_t port) { return is_answered_by(dial(port)); }

  bool is_answered_by(const caf::actor& peer) {
    if (!peer)
      return false;
    caf::scoped_actor self{system};
    std::int32_t answer = 0;
    self->request(peer, refusal_patience, std::int32_t{41})
      .receive([&answer](std::int32_t n) { answer = n; }, [](caf::error&) {});
    return answer == 42;
  }
};

struct authority {
  fs::path dir;
  authority() {
    auto form = (fs::temp_directory_path() / "troupe-links-XXXXXX").string();
    dir = ::mkdtemp(form.data());
    init_ca(dir, {}, wall_now()).value();
  }
  ~authority() { fs::remove_all(dir); }

  explicit authority(wall_time at) : authority{} {
    fs::remove_all(dir);
    init_ca(dir, {}, at).value();
  }

  tls_files issue(const std::string& name, unsigned days = 365, wall_time at = wall_now()) const {
    auto made = issue_cert(dir, {.name = name, .days = days}, at).value();
    return {made.certificate, made.key, dir / "ca.pem", {}};
  }
  link_options options(const std::string& name) const { return {.tls = issue(name)}; }
};

const link_options plain{.plain = true};

/// Puts `by` in the place of `what`.
void replace(const tls_files& what, const tls_files& by) {
  fs::rename(by.certificate, what.certificate);
  fs::rename(by.key, what.key);
  fs::copy_file(by.authority, what.authority, fs::copy_options::overwrite_existing);
}

bool has(const std::vector<std::string>& news, std::string_view words) {
  return news.size() == 1 && news[0].find(words) != std::string::npos;
}

/// A client of another make, with as much of a handshake as it likes.
class stranger {
public:
  explicit stranger(std::uint16_t port) : fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    timeval limit{refusal_patience.count(), 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    BOOST_REQUIRE(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  }
  stranger(const stranger&) = delete;
  stranger& operator=(const stranger&) = delete;
  ~stranger() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    ::close(fd_);
  }

  bool was_closed() {
    char byte = 0;
    auto got = ::recv(fd_, &byte, 1, 0);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  }
  void say(std::string_view text) { ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL); }
  /// Bytes before the end are ignored.
  bool is_closed_in_the_end() {
    std::array<char, 4096> rest{};
    ssize_t got = 1;
    while (got > 0)
      got = ::recv(fd_, rest.data(), rest.size(), 0);
    return got == 0 || errno == ECONNRESET;
  }
  /// The bytes that an accepted client sends in its handshake.
  std::string bytes_of_a_handshake(const tls_files& files) {
    context_ = SSL_CTX_new(TLS_client_method());
    SSL_CTX_use_certificate_file(context_, files.certificate.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(context_, files.key.c_str(), SSL_FILETYPE_PEM);
    ssl_ = SSL_new(context_);
    auto *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_, in, out); // owns both
    SSL_set_connect_state(ssl_);
    std::string all;
    std::array<char, 4096> part{};
    for (bool done = false; !done;) {
      done = SSL_do_handshake(ssl_) == 1;
      for (int got = 0; (got = BIO_read(out, part.data(), part.size())) > 0;) {
        all.append(part.data(), static_cast<std::size_t>(got));
        say({part.data(), static_cast<std::size_t>(got)});
      }
      if (done)
        break;
      auto got = ::recv(fd_, part.data(), part.size(), 0);
      BOOST_REQUIRE(got > 0);
      BIO_write(in, part.data(), static_cast<int>(got));
    }
    return all;
  }

  /// Whether the other side has said something in TLS, as it does to those that it trusts.
  bool is_let_in(const tls_files* files, int version_max = TLS1_3_VERSION) {
    context_ = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(context_, version_max);
    if (files) {
      SSL_CTX_use_certificate_file(context_, files->certificate.c_str(), SSL_FILETYPE_PEM);
      SSL_CTX_use_PrivateKey_file(context_, files->key.c_str(), SSL_FILETYPE_PEM);
    }
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, fd_);
    char byte = 0;
    return SSL_connect(ssl_) == 1 && SSL_read(ssl_, &byte, 1) == 1;
  }
  /// The header of BASP for a message of so many bytes.
  void say_basp_header(std::uint32_t payload_bytes) {
    std::array<unsigned char, 32> header{1}; // of a client's handshake
    for (int i = 0; i < 4; ++i)
      header[4 + i] = static_cast<unsigned char>(payload_bytes >> (24 - 8 * i));
    BOOST_REQUIRE(SSL_write(ssl_, header.data(), header.size()) == header.size());
  }
  void say_in_tls(std::string_view text) {
    BOOST_REQUIRE(SSL_write(ssl_, text.data(), static_cast<int>(text.size())) > 0);
  }
  /// Sooner than BASP gives a silent peer up.
  bool was_closed_in_tls() {
    timeval limit{std::chrono::duration_cast<std::chrono::seconds>(link_silence_max).count() - 2,
                  0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    std::array<char, 1024> rest{};
    int got = 1;
    while (got > 0)
      got = SSL_read(ssl_, rest.data(), rest.size());
    return SSL_get_error(ssl_, got) != SSL_ERROR_WANT_READ; // it was not the time limit
  }

private:
  int fd_;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
};

void says(const result<std::unique_ptr<caf::actor_system_config>>& opened, std::string_view words) {
  BOOST_REQUIRE(!opened);
  BOOST_TEST((opened.error().code() == errc::invalid_config));
  BOOST_TEST(opened.error().message().find(words) != std::string::npos, opened.error().message());
}

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_link_system)

// ---- who gets in --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(two_systems_with_certificates_of_one_ca_reach_each_other) {
  authority ca;
  node home{ca.options("home")}, worker{ca.options("worker")};
  BOOST_TEST(worker.reaches(home.open()));
}

BOOST_AUTO_TEST_CASE(an_encrypted_key_opens_with_its_passphrase) {
  authority ca;
  ::setenv("TROUPE_TEST_PASSPHRASE", "open sesame", 1);
  auto secret = passphrase::from_environment("TROUPE_TEST_PASSPHRASE").value();
  ::unsetenv("TROUPE_TEST_PASSPHRASE");
  auto made = issue_cert(ca.dir, {.name = "home", .secret = secret}, wall_now()).value();
  tls_files files{made.certificate, made.key, ca.dir / "ca.pem", secret};
  node home{{.tls = files}}, worker{ca.options("worker")};
  BOOST_TEST(worker.reaches(home.open()));
}

BOOST_AUTO_TEST_CASE(whoever_has_no_certificate_of_the_ca_is_refused_and_the_others_are_served) {
  authority ca, other;
  auto good = ca.issue("good"), bad = other.issue("bad");
  node home{ca.options("home")};
  auto port = home.open();
  BOOST_TEST(!stranger{port}.is_let_in(nullptr));
  BOOST_TEST(!stranger{port}.is_let_in(&bad));
  BOOST_TEST(!stranger{port}.is_let_in(&good, TLS1_2_VERSION));
  BOOST_TEST(stranger{port}.is_let_in(&good));
  stranger of_http{port};
  of_http.say("GET / HTTP/1.1\r\n\r\n");
  BOOST_TEST(of_http.was_closed());
  {
    node of_other_ca{other.options("worker")};
    BOOST_TEST(!of_other_ca.reaches(port));
  }
  {
    node without_tls{plain};
    BOOST_TEST(!without_tls.reaches(port));
  }
  node worker{ca.options("worker")};
  BOOST_TEST(worker.reaches(port));
}

BOOST_AUTO_TEST_CASE(a_worker_refuses_a_home_that_its_ca_does_not_know) {
  authority ca, other;
  node home{other.options("home")}, worker{ca.options("worker")};
  BOOST_TEST(!worker.reaches(home.open()));
}

BOOST_AUTO_TEST_CASE(a_megabyte_crosses_in_both_directions) {
  authority ca;
  node home{ca.options("home")}, worker{ca.options("worker")};
  auto echo = home.system.spawn([](caf::event_based_actor*) -> caf::behavior {
    return {[](const std::string& text) { return text; }};
  });
  auto port = open_door(home.system, echo, here, 0).value();
  auto peer = worker.dial(port);
  BOOST_REQUIRE(peer);
  caf::scoped_actor self{worker.system};
  for (std::size_t size : {1u, 40'000u, 1'000'000u}) {
    std::string text(size, 'x'), back;
    self->request(peer, refusal_patience, text)
      .receive([&back](std::string& got) { back = std::move(got); }, [](caf::error&) {});
    BOOST_TEST((back == text));
  }
  caf::anon_send_exit(echo, caf::exit_reason::user_shutdown);
}

// ---- what strangers can do ----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(of_those_who_only_connect_the_oldest_make_room) {
  authority ca;
  auto options = ca.options("home");
  options.handshake_timeout = refusal_patience; // they are to be closed for another reason
  node home{options};
  auto port = home.open();
  std::deque<stranger> silent;
  for (std::size_t i = 0; i < limits::cluster_handshakes_max + 2; ++i)
    silent.emplace_back(port);
  BOOST_TEST(silent[0].was_closed());
  BOOST_TEST(silent[1].was_closed());
  node worker{ca.options("worker")};
  BOOST_TEST(worker.reaches(port)); // it took the place of another one
  BOOST_TEST(silent[2].was_closed());
  auto good = ca.issue("good");
  BOOST_TEST(silent.back().is_let_in(&good)); // it was not too late for it
}

BOOST_AUTO_TEST_CASE(those_who_have_shown_their_certificate_do_not_make_room) {
  authority ca;
  node home{ca.options("home")}, worker{ca.options("worker")};
  auto port = home.open();
  auto peer = worker.dial(port);
  std::deque<stranger> silent;
  for (std::size_t i = 0; i < limits::cluster_handshakes_max + 1; ++i)
    silent.emplace_back(port);
  BOOST_TEST(silent[0].was_closed());
  BOOST_TEST(worker.is_answered_by(peer));
}

BOOST_AUTO_TEST_CASE(a_message_past_the_limit_closes_the_link_before_it_comes) {
  authority ca;
  auto good = ca.issue("good");
  node home{ca.options("home")};
  auto port = home.open();
  stranger client{port};
  BOOST_REQUIRE(client.is_let_in(&good));
  client.say_basp_header(limits::cluster_basp_bytes_max + 1);
  BOOST_TEST(client.was_closed_in_tls());
  node worker{ca.options("worker")};
  BOOST_TEST(worker.reaches(port));
}

BOOST_AUTO_TEST_CASE(whoever_says_nothing_is_closed_in_time) {
  authority ca;
  auto options = ca.options("home");
  options.handshake_timeout = options.look_every = std::chrono::milliseconds{10};
  node home{options};
  auto port = home.open();
  stranger silent{port}, slow{port};
  slow.say("\x16\x03\x01"); // the first bytes of a handshake
  BOOST_TEST(silent.was_closed());
  BOOST_TEST(slow.was_closed());
}

BOOST_AUTO_TEST_CASE(whoever_has_a_certificate_and_says_nothing_is_closed_in_time) {
  authority ca;
  auto options = ca.options("home");
  options.first_word_timeout = options.look_every = std::chrono::milliseconds{10};
  node home{options};
  auto port = home.open();
  auto good = ca.issue("good");
  stranger silent{port};
  BOOST_REQUIRE(silent.is_let_in(&good));
  BOOST_TEST(silent.was_closed_in_tls());
}

BOOST_AUTO_TEST_CASE(of_those_with_a_certificate_who_say_nothing_the_oldest_make_room) {
  patience_list mutes{limits::link_quiet_max, 2};
  patience_list::time_point begin{};
  std::array<std::array<int, 2>, 3> pairs{};
  for (auto& pair : pairs)
    BOOST_TEST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) == 0);
  auto is_shut = [&](std::size_t which) {
    char none = 0;
    return ::recv(pairs[which][1], &none, 1, MSG_DONTWAIT) == 0;
  };
  BOOST_TEST(!mutes.begin(pairs[0][0], begin));
  BOOST_TEST(!mutes.begin(pairs[1][0], begin));
  BOOST_TEST(mutes.begin(pairs[2][0], begin));
  BOOST_TEST(is_shut(0));
  BOOST_TEST(!is_shut(1));
  mutes.end(pairs[1][0]); // it has spoken
  BOOST_TEST(mutes.end_late(begin + limits::link_quiet_max) == 0u);
  BOOST_TEST(mutes.end_late(begin + limits::link_quiet_max + std::chrono::milliseconds{1}) == 1u);
  BOOST_TEST(!is_shut(1));
  BOOST_TEST(is_shut(2));
  for (auto& pair : pairs)
    for (int end : pair)
      ::close(end);
}

BOOST_AUTO_TEST_CASE(garbage_in_tls_closes_the_link_and_is_named) {
  authority ca;
  node home{ca.options("home")};
  auto port = home.open();
  auto good = ca.issue("good");
  stranger client{port};
  BOOST_REQUIRE(client.is_let_in(&good));
  client.say_in_tls(std::string(100, 'x'));
  BOOST_TEST(client.was_closed_in_tls());

  first_words words;
  std::string bytes(first_words::header_bytes, '\0');
  bytes[0] = 1; // a handshake, and 2 bytes with it
  bytes[7] = 2;
  BOOST_TEST((words.take(bytes) == first_words::state::waiting));
  BOOST_TEST((words.take(std::string_view{"ab"}) == first_words::state::waiting));
  std::string half(first_words::header_bytes / 2, '\0');
  BOOST_TEST((words.take(half) == first_words::state::waiting));
  BOOST_TEST((words.take(half) == first_words::state::spoken));
  first_words strange;
  BOOST_TEST((strange.take(std::string(32, 'x')) == first_words::state::wrong));
  BOOST_TEST(strange.flaw() == "the peer sent something that is not a message of troupe");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_handshake_end_their_connection_and_nothing_else) {
  using namespace std::string_view_literals;
  authority ca;
  node home{ca.options("home")}, worker{ca.options("worker")};
  auto port = home.open();
  for (auto bytes : {"\x16\x03\x01\xff\xff"sv,                 // a record of 64 KiB
                     "\x16\x03\x01\x00\x04\x01\xff\xff\xff"sv, // a hello of 16 MiB
                     "\x17\x03\x03\x00\x02hi"sv,               // data before a handshake
                     "\x00\x00\x00\x00\x00\x00\x00\x00"sv, "\xff\xff\xff\xff\xff\xff\xff"sv}) {
    stranger client{port};
    client.say(bytes);
    client.say(std::string(70'000, 'x'));
    BOOST_TEST(client.is_closed_in_the_end());
  }
  BOOST_TEST(worker.reaches(port));
}

BOOST_AUTO_TEST_CASE(the_bytes_of_a_handshake_that_worked_do_not_work_again) {
  authority ca;
  node home{ca.options("home")};
  auto port = home.open();
  auto bytes = stranger{port}.bytes_of_a_handshake(ca.issue("good"));
  BOOST_REQUIRE(bytes.size() > 500U);
  stranger again{port};
  again.say(bytes);
  BOOST_TEST(again.is_closed_in_the_end());
}

BOOST_AUTO_TEST_CASE(each_reason_to_refuse_is_logged_once_in_a_while) {
  refusal_log log;
  refusal_log::time_point begin{};
  BOOST_TEST(log.note("no TLS", "10.0.0.9: no TLS", begin) == "10.0.0.9: no TLS");
  BOOST_TEST(log.note("no TLS", "10.0.0.8: no TLS", begin).empty());
  BOOST_TEST(log.note("expired", "10.0.0.9: expired", begin) == "10.0.0.9: expired");
  auto later = begin + limits::cluster_refusal_log_interval;
  BOOST_TEST(log.note("no TLS", "10.0.0.7: no TLS", later)
             == "10.0.0.7: no TLS (as with 1 before)");
}

BOOST_AUTO_TEST_CASE(of_very_many_reasons_to_refuse_the_oldest_are_forgotten) {
  refusal_log log;
  refusal_log::time_point begin{};
  auto say = [&](std::size_t reason) {
    return !log.note(std::to_string(reason), "no", begin + std::chrono::nanoseconds{reason})
              .empty();
  };
  for (std::size_t i = 0; i <= limits::cluster_links_max; ++i)
    BOOST_TEST_REQUIRE(say(i));
  BOOST_TEST(!say(limits::cluster_links_max));
  BOOST_TEST(say(0));
}

// ---- files that change --------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(files_that_are_gone_are_still_in_use) {
  authority ca;
  auto files = ca.issue("home");
  auto context = open_tls_context(files, wall_now()).value();
  auto before = context->current();
  for (const auto& file : {files.certificate, files.key, files.authority})
    fs::remove(file);
  BOOST_TEST(context->look(wall_now()).empty()); // they may come back
  BOOST_TEST(has(context->look(wall_now()), "No such file"));
  BOOST_TEST(context->look(wall_now()).empty());
  BOOST_TEST((context->current() == before));
}

BOOST_AUTO_TEST_CASE(files_that_were_replaced_are_used_when_all_of_them_are_right) {
  authority ca, other;
  auto files = ca.issue("home"), next = other.issue("home");
  auto context = open_tls_context(files, wall_now()).value();
  auto before = context->current();
  fs::copy_file(next.certificate, files.certificate, fs::copy_options::overwrite_existing);
  context->look(wall_now());
  BOOST_TEST(has(context->look(wall_now()), "not the key of"));
  BOOST_TEST((context->current() == before));
  replace(files, next);
  BOOST_TEST(context->look(wall_now()).empty()); // perhaps not the last of them
  BOOST_TEST(has(context->look(wall_now()), "was replaced"));
  BOOST_TEST((context->current() != before));
  BOOST_TEST(context->look(wall_now()).empty());
}

BOOST_AUTO_TEST_CASE(a_running_system_takes_replaced_files_for_new_links) {
  authority ca, other;
  auto files = ca.issue("home");
  node home{{.tls = files, .look_every = std::chrono::milliseconds{10}}};
  node old{ca.options("old")}, young{other.options("young")};
  auto port = home.open();
  auto link = old.dial(port);
  BOOST_REQUIRE(link);
  BOOST_TEST(!young.reaches(port));
  BOOST_TEST(young.refusal == "its certificate is not signed by the CA of this cluster");
  replace(files, other.issue("home"));
  auto end = wall_now() + refusal_patience;
  bool reached = false;
  while (!reached && wall_now() < end)
    reached = young.reaches(port);
  BOOST_TEST(reached);
  BOOST_TEST(old.is_answered_by(link)); // what is there stays
}

BOOST_AUTO_TEST_CASE(a_certificate_that_ends_soon_is_said_once_a_day) {
  using namespace std::chrono_literals;
  authority ca;
  auto context = open_tls_context(ca.issue("home", 10), wall_now()).value();
  BOOST_TEST(has(context->look(wall_now()), "the certificate ends in 9 days, on "));
  BOOST_TEST(context->look(wall_now() + 23h).empty());
  BOOST_TEST(has(context->look(wall_now() + 25h), "ends in 8 days"));
  BOOST_TEST(has(context->look(wall_now() + 11 * 24h), "has expired"));
  auto long_lived = open_tls_context(ca.issue("other", 15), wall_now()).value();
  BOOST_TEST(long_lived->look(wall_now()).empty());
}

BOOST_AUTO_TEST_CASE(an_expired_certificate_is_named_on_both_sides) {
  auto then = wall_now() - std::chrono::hours{24 * 10};
  authority ca{then};
  auto expired = ca.issue("expired", 5, then);
  says(make_link_config({.tls = expired}, wall_now()), "the certificate has expired, on ");
  node good{ca.options("good")}, late{{.tls = expired}, then};
  BOOST_TEST(!late.reaches(good.open()));
  BOOST_TEST(late.refusal.ends_with("this process's certificate has expired"));
  BOOST_TEST(!good.reaches(late.open()));
  BOOST_TEST(good.refusal == "its certificate has expired");
}

// ---- set-up -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(bad_files_are_refused_before_a_system_starts) {
  authority ca, other;
  auto files = ca.issue("worker");
  files.authority = other.dir / "ca.pem";
  says(make_link_config({.tls = files}, wall_now()), "not signed by this CA");
}

BOOST_AUTO_TEST_CASE(links_are_plain_only_when_asked_for) {
  authority ca;
  says(make_link_config({}, wall_now()), "TLS files are missing");
  says(make_link_config({.tls = ca.issue("w"), .plain = true}, wall_now()), "choose one");
}

BOOST_AUTO_TEST_CASE(plain_links_stay_on_this_host) {
  node home{plain}, worker{plain};
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

BOOST_AUTO_TEST_CASE(a_plain_dial_of_a_silent_host_delays_neither_others_nor_the_end) {
  node home{plain}, worker{plain};
  silent_host silent; // the kernel would wait two minutes for it
  caf::anon_send(link_dialer(worker.system, here).value(), caf::connect_atom_v, std::string{here},
                 silent.port);
  BOOST_TEST(worker.reaches(home.open()));
}

BOOST_AUTO_TEST_CASE(a_door_that_can_not_be_opened_is_an_error) {
  authority ca;
  node home{ca.options("home")};
  auto again = open_door(home.system, home.door, here, home.open());
  BOOST_REQUIRE(!again);
  BOOST_TEST(again.error().message().find("open 127.0.0.1:") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
