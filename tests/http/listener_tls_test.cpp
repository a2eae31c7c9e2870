// The listener within TLS: a certificate from files, and a new one while it runs.
#include "http/client.hpp"
#include "http/listener.hpp"
#include "http/tls_context.hpp"
#include "tests/fixtures/raw_client.hpp"

#include <boost/test/unit_test.hpp>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

// A certificate and its key in files, removed at the end.
struct certificate_files {
  std::filesystem::path folder = std::filesystem::temp_directory_path()
                                 / ("troupe-tls-" + std::to_string(::getpid()));
  http_tls_files files{folder / "cert.pem", folder / "key.pem"};

  certificate_files() { std::filesystem::create_directory(folder); }
  ~certificate_files() { std::filesystem::remove_all(folder); }

  void make(const char* name) const {
    auto* key = EVP_EC_gen("P-256");
    auto* certificate = ::X509_new();
    ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate), 1);
    ::X509_gmtime_adj(::X509_getm_notBefore(certificate), -60);
    ::X509_gmtime_adj(::X509_getm_notAfter(certificate), 3600);
    auto* subject = ::X509_get_subject_name(certificate);
    ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
    ::X509_set_issuer_name(certificate, subject);
    ::X509_set_pubkey(certificate, key);
    ::X509_sign(certificate, key, EVP_sha256());
    auto* out = std::fopen(files.key.c_str(), "w");
    ::PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(out);
    out = std::fopen(files.certificate.c_str(), "w");
    ::PEM_write_X509(out, certificate);
    std::fclose(out);
    ::X509_free(certificate);
    ::EVP_PKEY_free(key);
  }
};

// A client of TLS that trusts any certificate.
class tls_client {
public:
  explicit tls_client(std::uint16_t port, int newest = TLS1_3_VERSION)
    : socket_{port},
      context_{::SSL_CTX_new(::TLS_client_method())},
      tls_{::SSL_new(context_)} {
    ::SSL_set_min_proto_version(tls_, TLS1_VERSION);
    ::SSL_set_max_proto_version(tls_, newest);
    ::SSL_set_fd(tls_, socket_.descriptor());
    is_open = ::SSL_connect(tls_) == 1;
    ::ERR_clear_error();
  }
  ~tls_client() {
    ::SSL_free(tls_);
    ::SSL_CTX_free(context_);
  }
  std::string ask(std::string_view request) {
    ::SSL_write(tls_, request.data(), static_cast<int>(request.size()));
    std::string out;
    char buffer[4096];
    for (int n = 0; (n = ::SSL_read(tls_, buffer, sizeof buffer)) > 0;)
      out.append(buffer, static_cast<std::size_t>(n));
    is_ended_well = ::SSL_get_shutdown(tls_) == SSL_RECEIVED_SHUTDOWN;
    return out;
  }
  std::string name() const {
    char out[64] = {};
    auto* certificate = ::SSL_get1_peer_certificate(tls_);
    ::X509_NAME_get_text_by_NID(::X509_get_subject_name(certificate), NID_commonName, out,
                                sizeof out);
    ::X509_free(certificate);
    return out;
  }
  bool is_open = false;
  bool is_ended_well = false;

private:
  raw_client socket_;
  SSL_CTX* context_;
  SSL* tls_;
};

http_handler greeting() {
  return {[](const http_asked&) { return std::nullopt; },
          [](http_asked asked, http_responder to) { to.send({.body = "hello " + asked.body}); }};
}

} // namespace

BOOST_AUTO_TEST_SUITE(http_listener_tls)

BOOST_AUTO_TEST_CASE(requests_are_answered_within_tls) {
  certificate_files made;
  made.make("one");
  http_listener listener{{.body_bytes_max = 1u << 20, .tls = made.files}, greeting()};
  tls_client client{listener.port()};
  BOOST_REQUIRE(client.is_open);
  std::string body(100'000, 'x');
  auto answer =
    client.ask("POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n" + body);
  BOOST_TEST(answer.ends_with("hello " + body));
  BOOST_TEST(client.is_ended_well);
}

BOOST_AUTO_TEST_CASE(plain_bytes_and_old_versions_are_refused) {
  certificate_files made;
  made.make("one");
  http_listener listener{{.tls = made.files}, greeting()};
  raw_client plain{listener.port()};
  plain.say("GET / HTTP/1.1\r\n\r\n");
  BOOST_TEST(plain.hear_all().find("hello") == std::string::npos);
  BOOST_TEST(!tls_client(listener.port(), TLS1_1_VERSION).is_open);
  BOOST_TEST(tls_client(listener.port(), TLS1_2_VERSION).is_open);
}

BOOST_AUTO_TEST_CASE(a_handshake_that_does_not_come_ends) {
  certificate_files made;
  made.make("one");
  http_listener listener{{.read_timeout = std::chrono::milliseconds{20}, .tls = made.files},
                         greeting()};
  raw_client silent{listener.port()};
  BOOST_TEST(silent.hear_all() == "");
}

BOOST_AUTO_TEST_CASE(a_new_certificate_counts_and_a_damaged_one_does_not) {
  certificate_files made;
  made.make("one");
  std::vector<std::string> reports;
  auto report = [&reports](const std::string& line) { reports.push_back(line); };
  tls_context context{made.files};
  tls_context::clock::time_point now{std::chrono::hours{1}};
  auto first = context.get(now, report);
  made.make("a longer name, so the file has another size");
  BOOST_TEST(context.get(now, report) == first); // too soon to look
  now += limits::http_tls_check;
  auto second = context.get(now, report);
  BOOST_TEST(second != first);
  std::ofstream{made.files.certificate} << "damaged";
  now += limits::http_tls_check;
  BOOST_TEST(context.get(now, report) == second);
  now += limits::http_tls_check;
  BOOST_TEST(context.get(now, report) == second);
  BOOST_TEST(reports.size() == 1u);
}

BOOST_AUTO_TEST_CASE(files_that_do_not_fit_are_refused_at_the_start) {
  certificate_files made;
  auto fails = [&made] {
    try {
      http_listener listener{{.tls = made.files}, greeting()};
    } catch (const error& e) {
      return e.code() == errc::invalid_config;
    }
    return false;
  };
  BOOST_TEST(fails()); // missing
  made.make("one");
  auto key = made.folder / "other.pem";
  std::filesystem::copy(made.files.key, key);
  made.make("two");
  std::filesystem::rename(key, made.files.key); // of another certificate
  BOOST_TEST(fails());
}

BOOST_AUTO_TEST_CASE(a_client_connects_to_allowed_addresses_alone) {
  http_listener listener{{.body_bytes_max = 16}, greeting()};
  http_request request;
  request.url = "http://localhost:" + std::to_string(listener.port()) + "/";
  std::vector<std::string> asked;
  request.may_connect = [&asked](const std::string& address) {
    asked.push_back(address);
    return address == "127.0.0.1";
  };
  BOOST_TEST(http_fetch_and_wait(request).body == "hello ");
  request.may_connect = [](const std::string&) { return false; };
  BOOST_CHECK_EXCEPTION(http_fetch_and_wait(request), http_error, [](const http_error& e) {
    return e.fault() == http_fault::not_sent
           && e.message().find("may not be connected to") != std::string::npos;
  });
  request.may_connect = [](const std::string&) -> bool { throw std::runtime_error{"no"}; };
  BOOST_CHECK_THROW(http_fetch_and_wait(request), http_error);
  BOOST_TEST(!asked.empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
