// Authenticators that options ask for.
#include "server/edge/configured_callers.hpp"
#include "tests/fixtures/savers.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>

namespace troupe::server::test {
namespace {

// of the secret below; issuer us, subject ann, until 2100
const std::string token_of_ann =
  "eyJhbGciOiJIUzI1NiJ9."
  "eyJzdWIiOiJhbm4iLCJleHAiOjQxMDI0NDQ4MDAsImlzcyI6InVzIiwic2NvcGUiOiJ0aHJlYWRzOnJlYWQifQ."
  "gmHM7CttPqqv5K3cWGIrKn3hcIwpUv331n-VhaimJSU";

struct secret_place {
  troupe::test::temporary_directory dir;
  std::filesystem::path file = std::filesystem::path{dir.path()} / "secret";
  secret_place() {
    std::ofstream{file} << "0123456789abcdef0123456789abcdef\n";
    std::filesystem::permissions(file, std::filesystem::perms{0600});
  }
};

http_asked asked_with(http_headers headers) {
  return {
    .method = "GET", .target = "/threads/7?x=1", .headers = std::move(headers), .peer = "::1"};
}
http_asked with_token() {
  return asked_with({{"authorization", "Bearer " + token_of_ann}});
}

authenticator authenticator_with(const server_options& options) {
  return authenticator_of(options, [](const std::string&) {});
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_configured_callers)

BOOST_AUTO_TEST_CASE(options_without_callers_have_no_authenticator) {
  BOOST_TEST(!authenticator_with({}));
}

BOOST_AUTO_TEST_CASE(a_secret_of_a_file_knows_the_senders_of_its_tokens) {
  secret_place secret;
  server_options options{.tokens = token_rules{.secret_file = secret.file, .issuer = "us"}};
  auto who = authenticator_with(options)(with_token());
  BOOST_REQUIRE(who.has_value());
  BOOST_TEST(who->identity == "ann");
  BOOST_TEST((who->permissions == std::vector<std::string>{"threads:read"}));
  BOOST_TEST(!authenticator_with(options)(asked_with({})));
  options.tokens->issuer = "them";
  BOOST_TEST(!authenticator_with(options)(with_token()));
  options.tokens->issuer = "us";
  options.tokens->audiences = {"here"};
  BOOST_TEST(!authenticator_with(options)(with_token()));
}

BOOST_AUTO_TEST_CASE(a_function_of_the_program_sees_the_head) {
  server_options options;
  options.authenticate = [](const request_head& head) -> result<caller> {
    BOOST_TEST(head.method == "GET");
    BOOST_TEST(head.path == "/threads/7");
    BOOST_TEST(head.peer == "::1");
    BOOST_TEST(head.header("x-missing") == "");
    if (head.header("x-user").empty())
      return error{errc::invalid_value, "no user"};
    return caller{.identity = std::string{head.header("x-user")}};
  };
  auto who = authenticator_with(options)(asked_with({{"x-user", "bob"}}));
  BOOST_REQUIRE(who.has_value());
  BOOST_TEST(who->identity == "bob");
  BOOST_TEST(who->is_authenticated);
  auto nobody = authenticator_with(options)(asked_with({}));
  BOOST_REQUIRE(!nobody);
  BOOST_TEST(nobody.error().text() == "no user");
}

BOOST_AUTO_TEST_CASE(any_of_several_ways_is_enough) {
  secret_place secret;
  server_options options{.tokens = token_rules{.secret_file = secret.file}};
  options.authenticate = [](const request_head&) -> result<caller> {
    return error{errc::invalid_value, "unknown"};
  };
  BOOST_TEST(authenticator_with(options)(with_token()).has_value());
  BOOST_TEST(!authenticator_with(options)(asked_with({})));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
