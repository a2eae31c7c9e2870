// Embedding over HTTP, against a server on the loopback that fails as servers do.
#include "tests/fixtures/savers.hpp"

#include <troupe/agents/embeddings.hpp>
#include <troupe/value.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <thread>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using boost::unit_test::data::make;
using test::require_error;
using texts = std::vector<std::string>;
using vectors = std::vector<std::vector<float>>;

constexpr auto secret = "sk-test-0123456789abcdef";

std::string http(int status, const std::string& body, const std::string& headers = {}) {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: "
         + std::to_string(body.size()) + "\r\nConnection: close\r\n" + headers + "\r\n" + body;
}

// Answers each request with the next of its replies, and with the last one from then on. With an
// empty reply, nothing is sent, and the connection stays open.
class fake_server {
public:
  explicit fake_server(std::deque<std::string> replies) : replies_{std::move(replies)} {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    BOOST_REQUIRE(bind(listener_, plain, size) == 0 && listen(listener_, 16) == 0
                  && getsockname(listener_, plain, &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread{[this] { serve(); }};
  }
  ~fake_server() {
    shutdown(listener_, SHUT_RDWR); // wakes accept()
    thread_.join();
    close(listener_);
    for (auto connection : held_)
      close(connection);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1/"; }
  std::vector<std::string> requests() {
    std::scoped_lock lock{mutex_};
    return requests_;
  }

private:
  void serve() {
    for (;;) {
      auto connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0)
        return;
      auto request = receive(connection);
      std::string reply;
      {
        std::scoped_lock lock{mutex_};
        requests_.push_back(request);
        reply = replies_.front();
        if (replies_.size() > 1)
          replies_.pop_front();
      }
      for (std::size_t sent = 0; sent < reply.size();) {
        auto n = ::send(connection, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
        if (n <= 0)
          break;
        sent += static_cast<std::size_t>(n);
      }
      if (reply.empty())
        held_.push_back(connection);
      else
        close(connection);
    }
  }

  static std::string receive(int connection) {
    std::string request;
    char some[4096];
    for (;;) {
      auto end = request.find("\r\n\r\n");
      if (end != request.npos) {
        auto at = request.find("Content-Length: ");
        auto size = at == request.npos ? 0 : std::stoul(request.substr(at + 16));
        if (request.size() >= end + 4 + size)
          return request;
      }
      auto n = recv(connection, some, sizeof some, 0);
      if (n <= 0)
        return request;
      request.append(some, static_cast<std::size_t>(n));
    }
  }

  std::mutex mutex_;
  std::deque<std::string> replies_;
  std::vector<std::string> requests_;
  std::vector<int> held_;
  int listener_ = -1;
  int port_ = 0;
  std::jthread thread_;
};

struct embeddings_fixture {
  embeddings_fixture() { setenv("TROUPE_TEST_KEY", secret, 1); }
  ~embeddings_fixture() { unsetenv("TROUPE_TEST_KEY"); }

  static embeddings_options at(const fake_server& server) {
    return {.base_url = server.url(),
            .model = "small",
            .api_key_variable = "TROUPE_TEST_KEY",
            .timeout = 10s,
            .retry_first = 1ms,
            .retry_max = 5ms};
  }
  static result<vectors> ask(const embeddings_options& options, const texts& all) {
    return make_embeddings(options).value()(all);
  }
};

const std::string two_vectors = R"({"object": "list", "model": "small", "data": [
  {"index": 1, "embedding": [3, 4.5]}, {"index": 0, "embedding": [1, -2e-3]}]})";
const vectors two{{1, -2e-3f}, {3, 4.5}};

value body_of(const std::string& request) {
  return from_json(request.substr(request.find("\r\n\r\n") + 4)).value();
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(agents_embeddings, embeddings_fixture)

BOOST_AUTO_TEST_CASE(texts_are_posted_with_the_key_and_vectors_come_in_their_order) {
  fake_server server{{http(200, two_vectors)}};
  auto options = at(server);
  options.dims = 2;
  BOOST_TEST((ask(options, {"a", "b\xff\n"}).value() == two));
  auto request = server.requests().at(0);
  BOOST_TEST(request.starts_with("POST /v1/embeddings HTTP/1.1\r\n"));
  BOOST_TEST(request.find("Authorization: Bearer " + std::string{secret} + "\r\n") != request.npos);
  auto body = body_of(request);
  BOOST_TEST(body["model"] == value("small"));
  BOOST_TEST(body["input"]
             == value::list({"a", "b\xef\xbf\xbd\n"})); // bytes that are not UTF-8 are replaced
  BOOST_TEST(body["dimensions"] == value(2));
  BOOST_TEST(body["encoding_format"] == value("float"));
}

BOOST_AUTO_TEST_CASE(without_a_variable_no_key_is_sent) {
  fake_server server{{http(200, two_vectors)}};
  auto options = at(server);
  options.api_key_variable.clear();
  ask(options, {"a", "b"}).value();
  BOOST_TEST(server.requests().at(0).find("Authorization") == std::string::npos);
  BOOST_TEST(!body_of(server.requests().at(0)).contains("dimensions"));
}

BOOST_AUTO_TEST_CASE(many_texts_go_in_several_requests) {
  auto one = [](int n) {
    return http(200, R"({"data": [{"index": 0, "embedding": [)" + std::to_string(n) + "]}]}");
  };
  fake_server server{{one(1), one(2), one(3)}};
  auto options = at(server);
  options.batch_max = 1;
  BOOST_TEST((ask(options, {"a", "b", "c"}).value() == vectors{{1}, {2}, {3}}));
  BOOST_TEST(ask(options, {}).value().empty());
  BOOST_TEST(server.requests().size() == 3u);
}

// ---- failures that may pass ---------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_failure_that_may_pass_is_tried_again,
                     make({http(429, "{}", "Retry-After: 0\r\n"), http(429, "{}"),
                           http(500, "oops"), http(503, "", "Retry-After: 3600\r\n"), http(502, ""),
                           std::string{"HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\ncut"}}),
                     failure) {
  fake_server server{{failure, failure, http(200, two_vectors)}};
  BOOST_TEST((ask(at(server), {"a", "b"}).value() == two));
  BOOST_TEST(server.requests().size() == 3u);
}

BOOST_AUTO_TEST_CASE(what_retry_after_asks_for_is_waited) {
  fake_server server{{http(429, "{}", "Retry-After: 1\r\n"), http(200, two_vectors)}};
  auto options = at(server);
  options.retry_max = 200ms; // not a second, but all that is allowed
  auto begun = std::chrono::steady_clock::now();
  ask(options, {"a", "b"}).value();
  BOOST_TEST((std::chrono::steady_clock::now() - begun >= 200ms));
}

BOOST_AUTO_TEST_CASE(attempts_have_an_end) {
  for (const auto& [status, code] :
       {std::pair{429, errc::overloaded}, std::pair{500, errc::node_failed}}) {
    fake_server server{{http(status, R"({"error": {"message": "busy"}})")}};
    auto options = at(server);
    options.attempts_max = 3;
    auto failed = ask(options, {"a"});
    require_error(failed, code);
    BOOST_TEST(failed.error().message().find("busy") != std::string::npos);
    BOOST_TEST(server.requests().size() == 3u);
  }
}

BOOST_AUTO_TEST_CASE(a_server_that_hangs_is_given_up) {
  fake_server server{{std::string{}}};
  auto options = at(server);
  options.timeout = 50ms;
  options.attempts_max = 2;
  require_error(ask(options, {"a"}), errc::node_timeout);
  BOOST_TEST(server.requests().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_not_there_is_a_failure) {
  auto options = [] {
    fake_server gone{{std::string{}}};
    return at(gone);
  }();
  auto failed = ask(options, {"a"});
  require_error(failed, errc::node_failed);
  BOOST_TEST(failed.error().type() == "EmbeddingsError");
}

// ---- failures that stay -------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_refusal_is_told_at_once_and_never_with_the_key) {
  for (const auto& [status, code] :
       {std::pair{400, errc::invalid_value}, std::pair{401, errc::invalid_config},
        std::pair{403, errc::invalid_config}, std::pair{404, errc::invalid_value},
        std::pair{302, errc::node_failed}}) {
    fake_server server{
      {http(status, std::string{R"({"error": {"message": "key )"} + secret + R"( is bad"}})",
            "Location: http://127.0.0.1:1/\r\n")}};
    auto failed = ask(at(server), {"a"});
    require_error(failed, code);
    BOOST_TEST(failed.error().message().find("sk-test") == std::string::npos);
    BOOST_TEST(server.requests().size() == 1u);
  }
  fake_server server{{http(400, R"({"error": {"message": "too\nlong\u0007"}})")}};
  BOOST_TEST(ask(at(server), {"a"}).error().message().find("too long ") != std::string::npos);
}

BOOST_DATA_TEST_CASE(
  a_reply_that_is_not_as_it_must_be_is_refused,
  make({"", "garbage", "[]", "{}", R"({"data": 1})", R"({"data": []})",
        R"({"data": [{"index": 0, "embedding": [1]}]})",
        R"({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]})",
        R"({"data": [{"index": 0, "embedding": [1]}, {"index": 2, "embedding": [1]}]})",
        R"({"data": [{"index": 0, "embedding": [1]}, {"index": -1, "embedding": [1]}]})",
        R"({"data": [{"index": 0, "embedding": [1]}, {"embedding": [1]}]})",
        R"({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": []}]})",
        R"({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]})",
        R"({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": ["1"]}]})",
        R"({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1e39]}]})",
        R"({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": "AAAA"}]})"}),
  reply) {
  fake_server server{{http(200, reply)}};
  auto failed = ask(at(server), {"a", "b"});
  require_error(failed, errc::node_failed);
  BOOST_TEST(failed.error().type() == "EmbeddingsError");
  BOOST_TEST(server.requests().size() == 1u);
}

BOOST_AUTO_TEST_CASE(vectors_of_other_dims_than_asked_for_are_refused) {
  fake_server server{{http(200, two_vectors)}};
  auto options = at(server);
  options.dims = 3;
  require_error(ask(options, {"a", "b"}), errc::node_failed);
  fake_server deep{{http(200, std::string(100'000, '['))}};
  require_error(ask(at(deep), {"a"}), errc::node_failed);
}

BOOST_AUTO_TEST_CASE(a_reply_that_is_too_large_is_not_read_to_its_end) {
  fake_server server{{http(200, std::string(limits::embedding_reply_bytes_max + 1, ' '))}};
  auto failed = ask(at(server), {"a"});
  require_error(failed, errc::node_failed);
  BOOST_TEST(failed.error().message().find("too large") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_text_that_cannot_be_embedded_is_not_sent) {
  fake_server server{{http(200, two_vectors)}};
  for (const auto& text : {std::string{}, std::string(limits::embedding_text_bytes_max + 1, 'x')})
    require_error(ask(at(server), {"a", text}), errc::invalid_value);
  BOOST_TEST(server.requests().empty());
}

// Sets variables of the environment for a test.
struct with_variables {
  explicit with_variables(std::vector<std::pair<std::string, std::string>> set)
    : names_{std::move(set)} {
    for (const auto& [name, text] : names_)
      setenv(name.c_str(), text.c_str(), 1);
  }
  ~with_variables() {
    for (const auto& [name, text] : names_)
      unsetenv(name.c_str());
  }
  std::vector<std::pair<std::string, std::string>> names_;
};

BOOST_AUTO_TEST_CASE(
  a_model_by_the_name_of_its_provider_is_asked_at_the_address_of_the_environment) {
  fake_server server{{http(200, two_vectors)}};
  with_variables set{{{"OPENAI_BASE_URL", server.url()}}};
  unsetenv("OPENAI_API_KEY");
  auto embed = init_embeddings("openai:tiny").value(); // another address needs no key
  BOOST_TEST(embed({"a", "b"}).value().size() == 2u);
  BOOST_TEST(server.requests().at(0).find(R"("model":"tiny")") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_model_of_an_unknown_provider_or_without_a_name_or_key_is_refused) {
  unsetenv("OPENAI_BASE_URL");
  unsetenv("OPENAI_API_KEY");
  for (const char* name : {"", "tiny", "cohere:embed", "openai", "openai:", "openai:tiny"})
    require_error(init_embeddings(name), errc::invalid_config);
}

BOOST_AUTO_TEST_CASE(options_that_make_no_sense_are_refused) {
  const embeddings_options good{.model = "m", .api_key_variable = ""};
  make_embeddings(good).value();
  auto refused = [&good](auto change) {
    auto options = good;
    change(options);
    require_error(make_embeddings(options), errc::invalid_config);
  };
  refused([](auto& o) { o.model.clear(); });
  for (const auto* url : {"", "ftp://host", "file:///etc/passwd", "http://a b", "http://u:p@host",
                          "http://host\r\nX: 1"})
    refused([url](auto& o) { o.base_url = url; });
  refused([](auto& o) { o.batch_max = 0; });
  refused([](auto& o) { o.batch_max = limits::embedding_batch_max + 1; });
  refused([](auto& o) { o.dims = 0; });
  refused([](auto& o) { o.timeout = 0ms; });
  refused([](auto& o) { o.attempts_max = 0; });
  refused([](auto& o) { o.api_key_variable = "TROUPE_TEST_NO_SUCH_KEY"; });
  setenv("TROUPE_TEST_KEY", "a\r\nX: b", 1);
  refused([](auto& o) { o.api_key_variable = "TROUPE_TEST_KEY"; });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
