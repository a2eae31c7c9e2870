// The provider that other tests talk to: what it sends, byte by byte.
#include "tests/provider/fake_provider.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

namespace data = boost::unit_test::data;

// A connection that sends the given bytes, and reads as many as wanted.
class peer {
public:
  explicit peer(const fake_provider& provider) : fd_{::socket(AF_INET, SOCK_STREAM, 0)} {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(provider.port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    BOOST_REQUIRE(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  }
  ~peer() { ::close(fd_); }
  peer(const peer&) = delete;
  peer& operator=(const peer&) = delete;

  void post(const std::string& target, const std::string& body) {
    auto text = "POST " + target + " HTTP/1.1\r\nHost: x\r\nX-Kind: Test\r\nContent-Length: "
                + std::to_string(body.size()) + "\r\n\r\n" + body;
    BOOST_REQUIRE(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL)
                  == static_cast<ssize_t>(text.size()));
  }
  // Up to and with `end`, or to the end of the connection.
  std::string read_to(const std::string& end) {
    while (read_.find(end) == std::string::npos && read_more()) {}
    auto at = read_.find(end);
    auto out = read_.substr(0, at == std::string::npos ? at : at + end.size());
    read_.erase(0, out.size());
    return out;
  }
  std::string read_all() {
    while (read_more()) {}
    return std::move(read_);
  }

private:
  bool read_more() {
    char buffer[4096];
    auto n = ::recv(fd_, buffer, sizeof buffer, 0);
    if (n > 0)
      read_.append(buffer, static_cast<std::size_t>(n));
    return n > 0;
  }
  int fd_;
  std::string read_;
};

const std::string chunks_end = "\r\n0\r\n\r\n";

std::string without_chunks(std::string text) {
  text.erase(0, text.find("\r\n\r\n") + 4);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    auto line = text.find("\r\n", at);
    auto size = std::stoul(text.substr(at, line - at), nullptr, 16);
    out += text.substr(line + 2, size);
    at = line + 2 + size + 2;
  }
  return out;
}

const model_answer answer{.text = "Grüße an alle",
                          .calls = {{.id = "c1", .name = "add", .arguments = R"({"a": 1})"}},
                          .thinking = "well then",
                          .signature = "sig"};

} // namespace

BOOST_AUTO_TEST_SUITE(provider_fake_provider)

BOOST_AUTO_TEST_CASE(an_answer_is_whole_or_streamed_in_the_format_of_the_target) {
  fake_provider provider;
  provider.always(says(answer));
  peer p{provider};
  p.post("/v1/messages", "{}");
  BOOST_TEST(
    p.read_to("\r\n\r\n").starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/json"));
  BOOST_TEST(p.read_to(R"("output_tokens":5}})").find(R"("input":{"a":1})") != std::string::npos);
  p.post("/v1/chat/completions", R"({"stream":true})");
  auto streamed = without_chunks(p.read_to(chunks_end));
  BOOST_TEST(streamed.starts_with("data: {\"choices\":"));
  BOOST_TEST(streamed.ends_with("data: [DONE]\n\n"));
  p.post("/v1/messages?beta=true", R"({"stream":true})");
  streamed = without_chunks(p.read_to(chunks_end));
  BOOST_TEST(streamed.starts_with("event: message_start\ndata: {"));
  BOOST_TEST(streamed.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
  BOOST_TEST(provider.connections() == 1u);
  auto seen = provider.requests();
  BOOST_REQUIRE(seen.size() == 3u);
  BOOST_TEST(seen[2].header_of("x-kind") == "Test");
  BOOST_TEST(seen[1].body["stream"].as_bool());
}

BOOST_DATA_TEST_CASE(a_stream_is_the_same_in_pieces_of_any_size, data::make({1, 2, 3, 1000}),
                     bytes) {
  fake_provider provider;
  provider.then(says(answer));
  provider.then(says(answer, {.chunk_bytes = static_cast<std::size_t>(bytes)}));
  peer p{provider};
  p.post("/v1/messages", R"({"stream":true})");
  auto whole = without_chunks(p.read_to(chunks_end));
  p.post("/v1/messages", R"({"stream":true})");
  BOOST_TEST(without_chunks(p.read_to(chunks_end)) == whole);
}

BOOST_AUTO_TEST_CASE(the_script_is_answered_in_order_and_an_empty_one_is_an_error) {
  fake_provider provider;
  provider.then(fails(429, "slow down", {{"Retry-After", "7"}}));
  provider.then(raw({send_bytes{"rubbish"}, hang_up{}}));
  {
    peer p{provider};
    p.post("/v1/messages", "{}");
    auto head = p.read_to("\r\n\r\n");
    BOOST_TEST(head.starts_with("HTTP/1.1 429 "));
    BOOST_TEST(head.find("Retry-After: 7\r\n") != std::string::npos);
    BOOST_TEST(p.read_to("\"error\"}")
               == R"({"error":{"message":"slow down","type":"rate_limit_error"},"type":"error"})");
  }
  peer p{provider};
  p.post("/", "{}");
  BOOST_TEST(p.read_all() == "rubbish");
  peer q{provider};
  q.post("/", "");
  BOOST_TEST(q.read_to("\r\n").starts_with("HTTP/1.1 500 "));
}

BOOST_AUTO_TEST_CASE(an_answer_waits_at_a_gate_before_its_head_and_its_events) {
  fake_provider provider;
  gate head;
  gate events;
  provider.then(
    says({.text = "a b"}, {.before_head = head, .before_event = events, .gated_from = 4}));
  peer p{provider};
  p.post("/v1/messages", R"({"stream":true})");
  head.wait_for();
  head.open();
  BOOST_TEST(p.read_to("\"a \"").find("message_start") != std::string::npos);
  events.wait_for();
  events.let_pass();
  BOOST_TEST(p.read_to("\"b\"").find("text_delta") != std::string::npos);
  events.wait_for();
  events.open();
  BOOST_TEST(p.read_to(chunks_end).ends_with(chunks_end));
}

BOOST_AUTO_TEST_CASE(a_cut_answer_ends_in_the_middle_of_an_event) {
  fake_provider provider;
  provider.then(says({.text = "a b"}, {.cut_after = 9}));
  provider.then(says({.text = "a b"}, {.cut_after = 9, .reset = true}));
  for (int i = 0; i < 2; ++i) {
    peer p{provider};
    p.post("/v1/messages", R"({"stream":true})");
    auto got = p.read_all();
    if (i == 0) // what was sent before a reset may be lost
      BOOST_TEST(got.ends_with("\r\n\r\n9\r\nevent: me\r\n"));
  }
}

BOOST_AUTO_TEST_CASE(keep_alive_can_end_without_a_word) {
  fake_provider provider;
  provider.then(says({.text = "a"}, {.close = true}));
  peer p{provider};
  p.post("/v1/messages", "{}");
  auto got = p.read_all();
  BOOST_TEST(got.find("Connection") == std::string::npos);
  BOOST_TEST(got.ends_with("}"));
}

BOOST_AUTO_TEST_CASE(a_stream_without_an_end_goes_on_until_its_reader_is_gone) {
  fake_provider provider;
  provider.always(never_ends());
  for (const char* target : {"/v1/messages", "/v1/chat/completions"}) {
    peer p{provider};
    p.post(target, R"({"stream":true})");
    for (int i = 0; i < 100; ++i)
      BOOST_REQUIRE(p.read_to("\"on \"").ends_with("\"on \""));
  }
  provider.wait_for_closed(2);
}

BOOST_AUTO_TEST_CASE(a_reader_that_leaves_while_its_answer_waits_is_noticed) {
  fake_provider provider;
  gate never;
  provider.always(says({.text = "a"}, {.before_head = never}));
  {
    peer p{provider};
    p.post("/v1/messages", "{}");
    never.wait_for();
  }
  provider.wait_for_closed(1);
}

BOOST_AUTO_TEST_CASE(a_thousand_streams_are_open_at_once) {
  fake_provider provider;
  gate half;
  provider.always(says({.text = "a b"}, {.before_event = half, .gated_from = 4}));
  std::vector<std::unique_ptr<peer>> peers;
  for (int i = 0; i < 1000; ++i) {
    peers.push_back(std::make_unique<peer>(provider));
    peers.back()->post("/v1/messages", R"({"stream":true})");
  }
  half.wait_for(1000);
  half.open();
  for (auto& p : peers)
    BOOST_REQUIRE(p->read_to(chunks_end).ends_with(chunks_end));
}

BOOST_AUTO_TEST_CASE(a_gate_outlives_the_provider) {
  gate last;
  {
    fake_provider provider;
    provider.then(says({.text = "a"}, {.before_head = last}));
    peer p{provider};
    p.post("/", "{}");
    last.wait_for();
  }
  last.open();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
