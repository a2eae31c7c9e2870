// Connections: how many there are, through which proxy, and until when one must be there.
#include "http/client.hpp"
#include "tests/fixtures/full_port.hpp"
#include "tests/fixtures/os_threads.hpp"
#include "tests/provider/fake_provider.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <stdlib.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
namespace data = boost::unit_test::data;
using test::fake_provider;
using test::replies;
using test::send_bytes;

http_request asking(const std::string& url) {
  http_request out;
  out.method = "POST";
  out.url = url;
  out.headers = {{"X-Api-Key", "sk-test-0123456789"}};
  out.body = "{}";
  return out;
}

// A variable of the environment, while this lives.
class variable {
public:
  variable(const char* name, const std::string& text) : name_{name} {
    if (const auto* old = getenv(name))
      before_ = old;
    setenv(name, text.c_str(), 1);
  }
  ~variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;

private:
  const char* name_;
  std::optional<std::string> before_;
};

// A transfer of a loop of one's own.
struct started {
  http_transfer_ptr transfer;
  std::future<void> ended;
};
started start(http_loop& loop, http_request request) {
  auto transfer = std::make_shared<http_transfer>(std::move(request), true);
  auto ended = std::make_shared<std::promise<void>>();
  auto out = started{transfer, ended->get_future()};
  transfer->when(http_sign::end, [ended] { ended->set_value(); });
  loop.start(transfer);
  return out;
}

http_fault fault_when_fetched(http_request request) {
  try {
    http_fetch_and_wait(std::move(request));
  } catch (const http_error& failure) {
    BOOST_TEST(failure.message().find("sk-test") == std::string::npos);
    return failure.fault();
  }
  BOOST_FAIL("no fault");
  throw 0;
}

} // namespace

BOOST_AUTO_TEST_SUITE(http_connections)

// ---- proxies --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_request_goes_through_its_own_proxy_or_the_environment_s) {
  fake_provider proxy;
  proxy.always(replies({.body = {send_bytes{"through"}}}));
  auto request = asking("http://model.invalid/v1/x"); // no name server knows it
  {
    variable from_environment{"http_proxy", proxy.url()};
    variable exceptions{"no_proxy", "127.0.0.1"};
    BOOST_TEST(http_fetch_and_wait(request).body == "through");
  }
  variable other{"http_proxy", "http://127.0.0.1:1"};
  variable exceptions{"no_proxy", "model.invalid"};
  request.proxy = proxy.url(); // counts more than both
  BOOST_TEST(http_fetch_and_wait(request).body == "through");
  for (const auto& seen : proxy.requests())
    BOOST_TEST(seen.target == "http://model.invalid/v1/x");
}

BOOST_AUTO_TEST_CASE(a_host_that_is_excepted_is_asked_itself) {
  fake_provider server;
  server.always(replies({.body = {send_bytes{"itself"}}}));
  variable from_environment{"http_proxy", "http://127.0.0.1:1"};
  variable exceptions{"no_proxy", "127.0.0.1"};
  BOOST_TEST(http_fetch_and_wait(asking(server.url() + "/x")).body == "itself");
  BOOST_TEST(server.requests().at(0).target == "/x");
}

BOOST_AUTO_TEST_CASE(a_proxy_that_makes_no_tunnel_gets_no_key_and_is_told_as_a_fault) {
  fake_provider proxy;
  proxy.always(replies({.status = 403, .body = {send_bytes{"no sk-test here"}}}));
  auto request = asking("https://model.invalid/v1/x");
  request.proxy = proxy.url();
  auto fault = fault_when_fetched(request);
  BOOST_TEST((fault == http_fault::broken || fault == http_fault::no_connection));
  auto seen = proxy.requests().at(0);
  BOOST_TEST(seen.method == "CONNECT");
  BOOST_TEST(seen.target == "model.invalid:443");
  BOOST_TEST(seen.header_of("x-api-key").empty());
}

BOOST_DATA_TEST_CASE(proxies_that_are_none_are_not_asked,
                     data::make({"x", "ftp://127.0.0.1", "http://u:p@127.0.0.1:1", "http://a b",
                                 "http://127.0.0.1\r\nX: y"}),
                     address) {
  auto request = asking("http://127.0.0.1:1/");
  request.proxy = address;
  BOOST_TEST((fault_when_fetched(request) == http_fault::not_sent));
}

// ---- how many -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(so_many_connections_are_open_at_once_and_other_transfers_wait) {
  fake_provider server;
  test::gate all;
  server.always(test::says({.text = "x"}, {.before_head = all}));
  http_loop loop{{.connections_max = 2}};
  std::vector<started> transfers;
  for (int i = 0; i < 5; ++i)
    transfers.push_back(start(loop, asking(server.url())));
  all.wait_for(2);
  all.open();
  for (auto& one : transfers) {
    one.ended.wait();
    BOOST_TEST(one.transfer->head().status == 200);
  }
  BOOST_TEST(server.connections() == 2u); // a third one would have been a third
}

BOOST_AUTO_TEST_CASE(so_many_idle_connections_are_kept_and_no_more) {
  fake_provider server;
  test::gate all;
  server.always(test::says({.text = "x"}, {.before_head = all}));
  http_loop loop{{.idle_connections_max = 1}};
  std::vector<started> transfers;
  for (int i = 0; i < 3; ++i)
    transfers.push_back(start(loop, asking(server.url())));
  all.wait_for(3);
  all.open();
  for (auto& one : transfers)
    one.ended.wait();
  server.wait_for_closed(2);
  start(loop, asking(server.url())).ended.wait();
  BOOST_TEST(server.connections() == 3u);
}

BOOST_AUTO_TEST_CASE(a_name_that_many_ask_for_at_once_takes_one_more_thread) {
  auto loop = http_loop::shared();
  fake_provider server;
  test::gate all;
  server.always(test::says({.text = "x"}, {.before_head = all}));
  auto url = "http://localhost:" + std::to_string(server.port());
  auto before = test::os_threads().size();
  std::vector<started> transfers;
  for (int i = 0; i < 100; ++i)
    transfers.push_back(start(*loop, asking(url)));
  all.wait_for(100);
  BOOST_TEST(test::os_threads().size()
             <= before + 2); // the loop, and a resolver that is not gone yet
  all.open();
  for (auto& one : transfers) {
    one.ended.wait();
    BOOST_TEST(one.transfer->head().status == 200);
  }
}

BOOST_AUTO_TEST_CASE(a_name_that_nobody_knows_fails_for_all_who_asked) {
  http_loop loop;
  std::vector<started> transfers;
  for (int i = 0; i < 3; ++i)
    transfers.push_back(start(loop, asking("http://no.such.name.invalid/")));
  for (auto& one : transfers) {
    one.ended.wait();
    BOOST_CHECK_EXCEPTION(one.transfer->head(), http_error, [](const http_error& failure) {
      return failure.fault() == http_fault::no_connection;
    });
  }
}

// ---- until when -----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_connection_that_is_not_made_in_time_is_given_up) {
  test::full_port nobody;
  auto request = asking(nobody.url());
  request.timeouts = {.connect = 20ms, .response = 0ms};
  try {
    http_fetch_and_wait(request);
    BOOST_FAIL("a connection was made");
  } catch (const http_error& failure) {
    BOOST_TEST((failure.fault() == http_fault::timed_out));
    BOOST_TEST(failure.message().find("no connection in time") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_loop_calls_functions_at_their_times_and_none_after_its_end) {
  std::promise<std::string> called;
  auto order = std::make_shared<std::string>();
  {
    http_loop loop;
    auto now = http_loop::clock::now();
    loop.at(now + std::chrono::hours{1}, [order] { *order += "never"; });
    loop.at(now + std::chrono::milliseconds{20}, [order, &called] {
      *order += "b";
      called.set_value(*order);
    });
    loop.at(now + std::chrono::milliseconds{1}, [order] { *order += "a"; });
    BOOST_TEST(called.get_future().get() == "ab");
  }
  BOOST_TEST(*order == "ab");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
