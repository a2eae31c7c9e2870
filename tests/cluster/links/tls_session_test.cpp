// The cost of a connection before it has shown a certificate.
#include "cluster/links/certificates.hpp"
#include "cluster/links/tls_session.hpp"

#include <boost/test/unit_test.hpp>

#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <vector>

namespace troupe::cluster {

BOOST_AUTO_TEST_SUITE(cluster_tls_session)

BOOST_AUTO_TEST_CASE(an_open_handshake_takes_at_most_64_KiB) {
  constexpr std::size_t strangers = 16, bytes_max = 64u << 10;
  auto form = (std::filesystem::temp_directory_path() / "troupe-tls-XXXXXX").string();
  std::filesystem::path dir = ::mkdtemp(form.data());
  auto now = std::chrono::system_clock::now();
  init_ca(dir, {}, now).value();
  auto made = issue_cert(dir, {.name = "home"}, now).value();
  auto context = open_tls_context({made.certificate, made.key, dir / "ca.pem"}, now,
                                  {.handshake = std::chrono::milliseconds{3000}})
                   .value();
  std::string half_a_hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  half_a_hello.append(400, 'x');
  struct connection {
    int ends[2];
    std::unique_ptr<tls_session> session;
  };
  std::vector<connection> all(strangers);
  auto before = ::mallinfo2();
  for (auto& one : all) {
    BOOST_TEST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, one.ends) == 0);
    one.session = tls_session::make(context, one.ends[0], nullptr);
    BOOST_TEST_REQUIRE(one.session != nullptr);
    BOOST_TEST_REQUIRE(::write(one.ends[1], half_a_hello.data(), half_a_hello.size()) > 0);
    char none = 0;
    std::size_t taken = 0;
    BOOST_TEST((one.session->read(taken, &none, 1) == tls_session::state::success));
  }
  auto after = ::mallinfo2(); // under sanitizers it knows nothing
  auto each = (after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) / strangers;
  BOOST_TEST_MESSAGE("an open handshake: " << each << " bytes");
  BOOST_TEST(each <= bytes_max);
  for (auto& one : all) {
    one.session.reset();
    ::close(one.ends[0]);
    ::close(one.ends[1]);
  }
  std::filesystem::remove_all(dir);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
