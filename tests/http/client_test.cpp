// HTTP as a client, against a server on the loopback that answers by a script.
#include "http/client.hpp"
#include "tests/fixtures/coroutine_body.hpp"
#include "tests/fixtures/os_threads.hpp"
#include "tests/provider/fake_provider.hpp"

#include <troupe/when_all.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
namespace data = boost::unit_test::data;
using test::fake_provider;
using test::hang_up;
using test::http_reply;
using test::new_threads_end;
using test::os_threads;
using test::raw;
using test::replies;
using test::send_again;
using test::send_bytes;
using test::try_body;
using test::wait_at;

// A reader and a server may see a test's end before the loop's thread does.
struct held_loop {
  std::shared_ptr<http_loop> loop = http_loop::shared();
};

http_request posting(const fake_provider& server, std::string body = "{}") {
  http_request out;
  out.method = "POST";
  out.url = server.url() + "/v1/x";
  out.headers = {{"Content-Type", "application/json"}, {"X-Empty", ""}};
  out.body = std::move(body);
  return out;
}

coro<value> body_of(context& ctx, http_request request) {
  auto asked = http_fetch(ctx, std::move(request));
  auto response = co_await asked;
  co_return value(response.body);
}

// The fault of a request, as the whole response or piece by piece.
std::optional<http_fault> fault_of(http_request request, bool whole) {
  runtime rt;
  std::optional<http_fault> fault;
  auto how = try_body(rt, [&](context& ctx) -> coro<value> {
    try {
      if (whole) {
        auto asked = http_fetch(ctx, request);
        co_await asked;
      } else {
        http_call call{ctx, request};
        std::string piece = "not yet";
        while (!piece.empty()) {
          auto more = call.more();
          piece = co_await more;
        }
      }
    } catch (const http_error& failure) {
      fault = failure.fault();
      BOOST_TEST(failure.message().find("v1") == std::string::npos);
    }
    co_return value{};
  });
  BOOST_TEST(how.has_value());
  return fault;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(http_client, held_loop)

BOOST_AUTO_TEST_CASE(a_request_arrives_as_it_was_written_and_its_response_whatever_the_status) {
  fake_provider server;
  server.then(
    replies({.status = 404, .headers = {{"X-Kind", "No"}}, .body = {send_bytes{"gone"}}}));
  runtime rt;
  auto answer = try_body(rt, [&](context& ctx) -> coro<value> {
    auto asked = http_fetch(ctx, posting(server, R"({"a": 1})"));
    auto response = co_await asked;
    BOOST_TEST(response.head.status == 404);
    BOOST_TEST(response.head.header("x-kind") == "No");
    BOOST_TEST(response.head.header("none").empty());
    co_return value(response.body);
  });
  BOOST_TEST((answer.value() == value("gone")));
  auto seen = server.requests().at(0);
  BOOST_TEST(seen.method == "POST");
  BOOST_TEST(seen.target == "/v1/x");
  BOOST_TEST(seen.text == R"({"a": 1})");
  BOOST_TEST(seen.header_of("content-type") == "application/json");
  BOOST_TEST(seen.header_of("expect").empty());
}

BOOST_AUTO_TEST_CASE(other_methods_have_no_body_unless_they_are_given_one) {
  fake_provider server;
  server.always(replies({.body = {send_bytes{"ok"}}}));
  for (const auto* method : {"GET", "DELETE"}) {
    auto request = posting(server, "");
    request.method = method;
    BOOST_TEST(http_fetch_and_wait(request).body == "ok");
    BOOST_TEST(server.requests().back().method == method);
    BOOST_TEST(server.requests().back().text.empty());
  }
}

BOOST_AUTO_TEST_CASE(pieces_come_while_the_server_still_speaks) {
  fake_provider server;
  test::gate half;
  server.then(
    replies({.body = {send_bytes{"one"}, wait_at{half}, send_bytes{"two"}}, .chunked = true}));
  runtime rt;
  auto answer = try_body(rt, [&](context& ctx) -> coro<value> {
    http_call call{ctx, posting(server)};
    auto answered = call.head();
    auto head = co_await answered;
    BOOST_TEST(head.status == 200);
    std::string all;
    for (;;) {
      auto more = call.more();
      auto piece = co_await more;
      if (piece.empty())
        break;
      all += "[" + piece + "]";
      half.open();
    }
    co_return value(all);
  });
  BOOST_TEST((answer.value() == value("[one][two]")));
}

BOOST_AUTO_TEST_CASE(a_server_that_is_faster_than_its_reader_waits) {
  const std::string word(1024, 'x');
  const std::size_t words = 64 * 1024; // 64 MiB, more than all buffers on the way hold
  fake_provider server;
  server.then(replies({.body = {send_again{word, words}}, .chunked = true}));
  runtime rt;
  auto request = posting(server);
  request.body_bytes_max = std::size_t{1} << 30;
  auto answer = try_body(rt, [&](context& ctx) -> coro<value> {
    http_call call{ctx, request};
    std::size_t largest = 0;
    std::size_t total = 0;
    for (;;) {
      auto more = call.more();
      auto piece = co_await more;
      if (piece.empty())
        break;
      largest = std::max(largest, piece.size());
      total += piece.size();
    }
    BOOST_TEST(largest <= limits::http_buffer_bytes_max + (16u << 10));
    co_return value(static_cast<std::int64_t>(total));
  });
  BOOST_TEST((answer.value() == value(static_cast<std::int64_t>(word.size() * words))));
}

BOOST_AUTO_TEST_CASE(connections_are_used_again_and_also_when_the_server_closed_one) {
  fake_provider server;
  server.always(test::says({.text = "hello"}));
  http_fetch_and_wait(posting(server));
  http_fetch_and_wait(posting(server));
  BOOST_TEST(server.connections() == 1u);
  server.then(test::says({.text = "bye"}, {.close = true}));
  http_fetch_and_wait(posting(server));
  BOOST_TEST(http_fetch_and_wait(posting(server)).head.status == 200);
  BOOST_TEST(server.connections() == 2u);
}

BOOST_AUTO_TEST_CASE(redirects_are_answers) {
  fake_provider server;
  server.then(replies({.status = 307, .headers = {{"Location", server.url() + "/elsewhere"}}}));
  auto response = http_fetch_and_wait(posting(server));
  BOOST_TEST(response.head.status == 307);
  BOOST_TEST(server.requests().size() == 1u);
}

BOOST_AUTO_TEST_CASE(interim_responses_are_skipped_and_trailers_are_no_headers) {
  fake_provider server;
  server.then(raw({send_bytes{"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
                              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                              "2\r\nok\r\n0\r\nX-Late: 1\r\n\r\n"}}));
  auto response = http_fetch_and_wait(posting(server));
  BOOST_TEST(response.head.status == 200);
  BOOST_TEST(response.head.header("link").empty());
  BOOST_TEST(response.head.header("x-late").empty());
  BOOST_TEST(response.body == "ok");
}

// ---- limits and faults ----------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_response_that_is_too_large_is_not_read_to_its_end, data::make({true, false}),
                     whole) {
  fake_provider server;
  server.always(replies({.body = {send_again{std::string(1000, 'x')}}, .chunked = true}));
  auto request = posting(server);
  request.body_bytes_max = 100'000;
  BOOST_TEST((fault_of(request, whole) == http_fault::too_large));
  server.wait_for_closed(1);
}

BOOST_AUTO_TEST_CASE(a_body_of_exactly_the_bound_is_taken) {
  fake_provider server;
  server.always(replies({.body = {send_bytes{std::string(1000, 'x')}}}));
  auto request = posting(server);
  request.body_bytes_max = 1000;
  BOOST_TEST(!fault_of(request, true));
  request.body_bytes_max = 999;
  BOOST_TEST((fault_of(request, true) == http_fault::too_large));
}

BOOST_AUTO_TEST_CASE(headers_are_bounded_in_number_and_in_size) {
  fake_provider server;
  auto with = [](std::size_t count, std::size_t size) {
    std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
    for (std::size_t i = 0; i < count; ++i)
      head += "X: " + std::string(size, 'x') + "\r\n";
    return raw({send_bytes{head + "\r\n"}});
  };
  server.then(with(limits::http_headers_max - 3, 1)); // the status, the length, the empty line
  BOOST_TEST(!fault_of(posting(server), true));
  server.then(with(limits::http_headers_max - 2, 1));
  BOOST_TEST((fault_of(posting(server), true) == http_fault::too_large));
  server.then(with(1, limits::http_header_bytes_max));
  BOOST_TEST((fault_of(posting(server), true) == http_fault::too_large));
  server.then(raw({send_bytes{"HTTP/1.1 200 OK\r\n"}, send_again{"X: y\r\n"}}));
  BOOST_TEST((fault_of(posting(server), true) == http_fault::too_large));
}

BOOST_DATA_TEST_CASE(a_connection_that_ends_too_early_is_broken, data::make({true, false}), whole) {
  fake_provider server;
  auto cut = [](bool reset) {
    return raw({send_bytes{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"}, hang_up{reset}});
  };
  server.then(cut(false));
  BOOST_TEST((fault_of(posting(server), whole) == http_fault::broken));
  server.then(cut(true));
  BOOST_TEST((fault_of(posting(server), whole) == http_fault::broken));
  server.then(raw({hang_up{}}));
  BOOST_TEST((fault_of(posting(server), whole) == http_fault::broken));
  server.then(raw({send_bytes{"SSH-2.0-hello\r\n"}, hang_up{}}));
  BOOST_TEST((fault_of(posting(server), whole) == http_fault::broken));
}

BOOST_AUTO_TEST_CASE(what_came_before_a_cut_is_given_before_the_failure) {
  fake_provider server;
  server.then(raw({send_bytes{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"}, hang_up{true}}));
  runtime rt;
  auto answer = try_body(rt, [&](context& ctx) -> coro<value> {
    http_call call{ctx, posting(server)};
    auto more = call.more();
    auto piece = co_await more;
    bool broke = false;
    try {
      auto rest = call.more();
      co_await rest;
    } catch (const http_error&) {
      broke = true;
    }
    co_return value(piece + (broke ? " and no more" : ""));
  });
  BOOST_TEST((answer.value() == value("abc and no more")));
}

BOOST_AUTO_TEST_CASE(nobody_there_is_no_connection) {
  auto request = [] {
    fake_provider gone;
    return posting(gone);
  }();
  BOOST_TEST((fault_of(request, true) == http_fault::no_connection));
  BOOST_TEST((fault_of(request, false) == http_fault::no_connection));
}

BOOST_DATA_TEST_CASE(requests_that_would_be_something_else_are_not_sent,
                     data::make({"ftp://127.0.0.1/", "file:///etc/passwd", "", "http://a b/",
                                 "http://u:p@127.0.0.1/", "http://127.0.0.1/\r\nX: y", "//x"}),
                     url) {
  http_request request;
  request.url = url;
  BOOST_TEST((fault_of(request, true) == http_fault::not_sent));
}

BOOST_AUTO_TEST_CASE(headers_and_methods_of_more_than_one_line_are_not_sent) {
  fake_provider server;
  auto refused = [&server](auto change) {
    auto request = posting(server);
    change(request);
    return fault_of(request, true) == http_fault::not_sent;
  };
  BOOST_TEST(refused([](auto& r) { r.headers = {{"X", "a\r\nY: b"}}; }));
  BOOST_TEST(refused([](auto& r) { r.headers = {{"X: a\r\nY", "b"}}; }));
  BOOST_TEST(refused([](auto& r) { r.headers = {{"", "b"}}; }));
  BOOST_TEST(refused([](auto& r) { r.headers = {{"X", std::string("a\0b", 3)}}; }));
  BOOST_TEST(refused([](auto& r) { r.method = "GET / HTTP/1.1\r\nX: y"; }));
  BOOST_TEST(refused([](auto& r) { r.url += std::string(limits::http_url_bytes_max, 'x'); }));
  BOOST_TEST(server.requests().empty());
}

// ---- time and giving up ---------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(each_wait_has_its_bound) {
  fake_provider server;
  test::gate never;
  auto out_of_time = [&](auto change, std::vector<test::server_step> steps) {
    server.then(raw(std::move(steps)));
    auto request = posting(server);
    request.timeouts = {};
    change(request.timeouts);
    return fault_of(request, false) == http_fault::timed_out;
  };
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
  BOOST_TEST(out_of_time([](auto& t) { t.response = 10ms; }, {wait_at{never}}));
  BOOST_TEST(
    out_of_time([](auto& t) { t.idle = 10ms; }, {send_bytes{head + "abc"}, wait_at{never}}));
  BOOST_TEST(out_of_time([](auto& t) { t.total = 10ms; },
                         {send_bytes{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"},
                          send_again{"1\r\nx\r\n"}}));
}

BOOST_AUTO_TEST_CASE(a_reader_says_itself_until_when_something_must_have_come) {
  fake_provider server;
  test::gate never;
  server.always(
    raw({send_bytes{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"}, wait_at{never}}));
  runtime rt;
  auto how = try_body(rt, [&](context& ctx) -> coro<value> {
    http_call call{ctx, posting(server)};
    call.expect(1h, "never said");
    call.expect_nothing();
    auto more = call.more();
    co_await more;
    call.expect(5ms, "the word did not come");
    auto rest = call.more();
    co_await rest;
    co_return value{};
  });
  BOOST_TEST((how.error().code() == errc::node_timeout));
  BOOST_TEST(how.error().message().find("the word did not come") != std::string::npos);
}

BOOST_DATA_TEST_CASE(a_call_ends_with_its_body, data::make({true, false}), by_time) {
  fake_provider server;
  test::gate never;
  server.always(raw({wait_at{never}}));
  runtime rt;
  run_control control;
  run_config config;
  config.control = control;
  node_options options;
  if (by_time)
    options.timeout = timeout_policy{20ms};
  std::thread canceller{[&] {
    server.wait_for_requests(1);
    if (!by_time)
      control.cancel();
  }};
  auto how = try_body(
    rt, [&](context& ctx) { return body_of(ctx, posting(server)); }, config, options);
  canceller.join();
  BOOST_TEST((how.error().code() == (by_time ? errc::node_timeout : errc::cancelled)));
  server.wait_for_closed(1);
}

BOOST_AUTO_TEST_CASE(a_call_ends_when_it_is_destroyed) {
  fake_provider server;
  server.always(test::never_ends());
  runtime rt;
  auto how = try_body(rt, [&](context& ctx) -> coro<value> {
    http_call call{ctx, posting(server, R"({"stream": true})")};
    auto more = call.more();
    co_await more;
    co_return value("enough");
  });
  BOOST_TEST((how.value() == value("enough")));
  server.wait_for_closed(1);
}

BOOST_AUTO_TEST_CASE(a_hundred_calls_take_one_thread) {
  fake_provider server;
  test::gate all;
  server.always(test::says({.text = "x"}, {.before_head = all}));
  all.let_pass();
  http_fetch_and_wait(posting(server)); // the loop's thread is there
  runtime rt;
  auto before = os_threads().size();
  std::size_t during = 0;
  std::thread watcher{[&] {
    all.wait_for(100);
    during = os_threads().size();
    all.open();
  }};
  auto answer = try_body(rt, [&](context& ctx) -> coro<value> {
    std::vector<coro<value>> calls;
    for (int i = 0; i < 100; ++i)
      calls.push_back(body_of(ctx, posting(server)));
    auto both = when_all(std::move(calls));
    auto bodies = co_await both;
    co_return value(static_cast<std::int64_t>(bodies.size()));
  });
  watcher.join();
  BOOST_TEST((answer.value() == value(100)));
  BOOST_TEST(during <= before + 2); // the watcher; a thread of the runtime
}

BOOST_AUTO_TEST_CASE(a_loop_that_nobody_holds_ends_its_thread_and_a_new_one_begins) {
  loop.reset();
  fake_provider server;
  server.always(replies({.body = {send_bytes{"ok"}}}));
  auto before = os_threads();
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(http_fetch_and_wait(posting(server)).body == "ok");
  BOOST_TEST(new_threads_end(before));
  BOOST_TEST(server.connections() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
