// Clients that mean harm, at a server with graphs: they get {"detail": …} with a request id, and
// leave nothing.
#include "tests/server/served_rooms.hpp"

#include <boost/test/data/test_case.hpp>

#include <malloc.h>
#include <sys/resource.h>

#include <memory>
#include <vector>

namespace troupe::server::test {
namespace {

namespace data = boost::unit_test::data;
using troupe::test::raw_client;

struct refused_case {
  const char* name;
  std::string bytes;
  int status;
  const char* detail;
};
std::ostream& operator<<(std::ostream& out, const refused_case& c) {
  return out << c.name;
}
const std::vector<refused_case> refused_early{
  {"two lengths", "POST /threads HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400,
   "Bad Request"},
  {"a body beyond the bound", "POST /threads HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n", 413,
   "Request Entity Too Large"},
  {"headers beyond the bound", "GET /ok HTTP/1.1\r\nX: " + std::string(40'000, 'x'), 431,
   "Request Header Fields Too Large"}};

// A server with one route that forgets its requests.
struct forgetting_server {
  explicit forgetting_server(edge_options options) {
    options.log = [this](const std::string& line) {
      std::scoped_lock lock{mutex};
      log += line;
    };
    router routes;
    routes.add({"GET", "/forgets/{what}", [](const api_call&, const http_responder&) {}});
    edge = std::make_unique<http_edge>(std::move(options), std::move(routes));
  }
  std::mutex mutex;
  std::string log;
  std::unique_ptr<http_edge> edge;
};

// Descriptors for both ends of so many connections; fewer when the system gives no more.
std::size_t connections_allowed(std::size_t wanted) {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0)
    return 100;
  now.rlim_cur = now.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &now);
  return std::min<std::size_t>(wanted, now.rlim_cur / 2 - 100);
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_hostile_clients)

BOOST_DATA_TEST_CASE(what_the_listener_refuses_has_a_detail_and_a_request_id,
                     data::make(refused_early), c) {
  served_rooms server;
  raw_client client{server.edge->port()};
  client.say(c.bytes);
  auto head = client.hear("\r\n\r\n");
  BOOST_TEST(head.starts_with("HTTP/1.1 " + std::to_string(c.status) + ' '), head);
  BOOST_TEST(head.find("x-request-id: ") != head.npos, head);
  BOOST_TEST(client.hear("}") == R"({"detail":")" + std::string{c.detail} + "\"}");
}

BOOST_AUTO_TEST_CASE(a_connection_beyond_the_bound_is_asked_to_come_later) {
  edge_options options;
  options.listen.connections_max = 1;
  forgetting_server server{options};
  raw_client one{server.edge->port()};
  raw_client two{server.edge->port()};
  auto head = two.hear("\r\n\r\n");
  BOOST_TEST(head.starts_with("HTTP/1.1 503 "), head);
  BOOST_TEST(head.find("Retry-After: 1\r\n") != head.npos, head);
  BOOST_TEST(two.hear("}") == R"({"detail":"Service Unavailable"})");
  BOOST_TEST(server.edge->counts().turned_away == 1u);
}

BOOST_AUTO_TEST_CASE(a_request_that_is_not_answered_is_logged_with_its_id) {
  forgetting_server server{edge_options{}};
  raw_client client{server.edge->port()};
  client.say("GET /forgets/it HTTP/1.1\r\nx-request-id: r7\r\nConnection: close\r\n\r\n");
  auto answer = client.hear_all();
  BOOST_TEST(answer.starts_with("HTTP/1.1 500 "), answer);
  BOOST_TEST(answer.find("x-request-id: r7\r\n") != answer.npos, answer);
  BOOST_TEST(answer.ends_with(R"({"detail":"Internal Server Error"})"), answer);
  std::scoped_lock lock{server.mutex};
  BOOST_TEST(server.log == "request r7: GET /forgets/{what}: 500 it was not answered");
}

BOOST_AUTO_TEST_CASE(a_thousand_readers_that_vanish_leave_nothing) {
  served_rooms server;
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  const auto many = connections_allowed(1000);
  auto round = [&] {
    {
      std::vector<std::unique_ptr<raw_client>> readers;
      for (std::size_t i = 0; i < many; ++i) {
        auto& one = *readers.emplace_back(std::make_unique<raw_client>(server.edge->port()));
        if (i % 2)
          one.say("GET /threads/" + thread + "/stream HTTP/1.1\r\n\r\n");
        else
          one.say("POST /threads/" + thread
                  + "/stream/events HTTP/1.1\r\nContent-Length: 23\r\n"
                    "\r\n{\"channels\":[\"values\"]}");
        BOOST_REQUIRE(one.hear("\r\n\r\n").starts_with("HTTP/1.1 200 "));
      }
      BOOST_TEST(server.edge->load().streams == many);
    }
    while (server.edge->load().streams > 0) // a request goes the same way, and takes its time
      server.ask("GET", "/ok");
    return ::mallinfo2().uordblks;
  };
  auto first = round(), second = round(), third = round();
  BOOST_TEST(third <= std::max(first, second) + (256u << 10), first << " " << third);
  auto run = value::map({{"assistant_id", "plain"}, {"input", value::map()}});
  BOOST_TEST(server.post("/threads/" + thread + "/runs/wait", run).status == 200);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
