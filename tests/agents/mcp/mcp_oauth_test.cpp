// Authorization of MCP clients over HTTP: the whole way with a person, refreshed tokens, and
// servers that cannot be trusted.
#include "agents/mcp/mcp_authorizer.hpp"
#include "agents/mcp/mcp_oauth_rules.hpp"
#include "agents/messages/json_text.hpp"
#include "http/client.hpp"
#include "tests/provider/fake_provider.hpp"

#include <troupe/agents/mcp.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

namespace data = boost::unit_test::data;
using std::chrono::milliseconds;
using oauth_fields = std::vector<std::pair<std::string, std::string>>;

std::string field_in(const oauth_fields& fields, std::string_view name) {
  for (const auto& [key, text] : fields)
    if (key == name)
      return text;
  return {};
}

// An MCP server that asks for a token, and its authorization server, at one address.
class oauth_world {
public:
  oauth_world() {
    provider.always([this](const seen_request& r) { return to_raw(answer(r)); });
  }

  std::string resource() const { return provider.url() + "/mcp"; }
  void revoke() {
    std::scoped_lock lock{mutex_};
    valid_.clear();
  }
  void accept(const std::string& token) {
    std::scoped_lock lock{mutex_};
    valid_.insert("Bearer " + token);
  }
  std::vector<seen_request> to(std::string_view target) const {
    std::vector<seen_request> out;
    for (auto& r : provider.requests())
      if (r.target == target)
        out.push_back(r);
    return out;
  }

  // Settings that a test changes before the first request.
  std::function<void(const seen_request&, http_reply&)> change;
  std::string challenge_scope = "files";
  bool refreshes = true;
  std::string needed_scope; // of calls, once set

  fake_provider provider; // the last member: its thread uses all others

private:
  static http_reply json(int status, const value& body) {
    return {.status = status,
            .headers = {{"Content-Type", "application/json"}},
            .body = {send_bytes{to_json(body)}}};
  }

  http_reply answer(const seen_request& r) {
    auto reply = plain_answer(r);
    if (change)
      change(r, reply);
    return reply;
  }

  http_reply plain_answer(const seen_request& r) {
    auto url = provider.url();
    if (r.target == "/.well-known/oauth-protected-resource/mcp")
      return json(200, {{"resource", resource()},
                        {"authorization_servers", value::list({value(url + "/auth")})}});
    if (r.target == "/.well-known/oauth-authorization-server/auth")
      return json(200, {{"issuer", url + "/auth"},
                        {"authorization_endpoint", url + "/auth/authorize"},
                        {"token_endpoint", url + "/auth/token"},
                        {"registration_endpoint", url + "/auth/register"},
                        {"code_challenge_methods_supported", value::list({value("S256")})}});
    if (r.target == "/auth/register")
      return json(201, {{"client_id", "client 1"}});
    if (r.target == "/auth/token")
      return token_answer(read_query(r.text).value());
    return mcp_answer_to(r);
  }

  http_reply token_answer(const oauth_fields& form) {
    bool is_code = field_in(form, "grant_type") == "authorization_code";
    if (!is_code && !refreshes)
      return json(400, {{"error", "invalid_grant"}});
    auto token = "s3cret-token-" + std::to_string(++issued_);
    accept(token);
    return json(200, {{"access_token", token},
                      {"token_type", "Bearer"},
                      {"refresh_token", "s3cret-refresh"}});
  }

  http_reply mcp_answer_to(const seen_request& r) {
    bool is_known = false;
    {
      std::scoped_lock lock{mutex_};
      is_known = valid_.contains(r.header_of("Authorization"));
    }
    if (!is_known)
      return {.status = 401,
              .headers = {{"WWW-Authenticate", "Bearer scope=\"" + challenge_scope + '"'}}};
    if (!r.body.contains("id"))
      return {.status = 202};
    if (r.body["method"] == value("tools/call") && !needed_scope.empty()) {
      auto scope = std::exchange(needed_scope, "");
      return {.status = 403,
              .headers = {{"WWW-Authenticate",
                           "Bearer error=\"insufficient_scope\", scope=\"" + scope + '"'}}};
    }
    value result = value::map({{"content", value::list({})}});
    if (r.body["method"] == value("initialize"))
      result = value::map({{"protocolVersion", "2025-11-25"}, {"capabilities", value::map()}});
    return json(200, {{"jsonrpc", "2.0"}, {"id", r.body["id"]}, {"result", result}});
  }

  std::mutex mutex_;
  std::set<std::string> valid_;
  int issued_ = 0;
};

// A person with a browser.
struct agreeing_person {
  std::vector<oauth_fields> asked = {};
  std::function<void(oauth_fields& answer)> change = {};

  std::function<void(const std::string&)> opener() {
    return [this](const std::string& url) {
      auto fields = read_query(url.substr(url.find('?') + 1)).value();
      asked.push_back(fields);
      oauth_fields answer{{"code", "s3cret-code"}, {"state", field_in(fields, "state")}};
      if (change)
        change(answer);
      http_request redirect;
      redirect.url = field_in(fields, "redirect_uri") + '?' + form_of(answer);
      http_fetch_and_wait(std::move(redirect));
    };
  }
};

struct kept_credentials final : mcp_credential_store {
  std::optional<mcp_credentials> load(const std::string& resource) override {
    asked_for = resource;
    return kept;
  }
  void save(const std::string&, const mcp_credentials& now) override { kept = now; }
  std::optional<mcp_credentials> kept;
  std::string asked_for;
};

result<mcp_client> authorized_client(oauth_world& world, const mcp_oauth& oauth) {
  return mcp_client::connect(mcp_endpoint{.url = world.resource(), .oauth = oauth}, {.name = "s"});
}

result<value> called_once(const mcp_client& client) {
  return client.call_and_wait("t", value::map());
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_mcp_oauth)

BOOST_AUTO_TEST_CASE(a_client_finds_registers_asks_and_gets_a_token) {
  oauth_world world;
  agreeing_person person;
  auto store = std::make_shared<kept_credentials>();
  auto client = authorized_client(world, {.open = person.opener(), .store = store}).value();
  BOOST_TEST(bool(called_once(client)));

  BOOST_REQUIRE(person.asked.size() == 1u);
  auto asked = [&](const char* name) { return field_in(person.asked[0], name); };
  BOOST_TEST(asked("response_type") == "code");
  BOOST_TEST(asked("client_id") == "client 1");
  BOOST_TEST(asked("code_challenge_method") == "S256");
  BOOST_TEST(asked("resource") == world.resource());
  BOOST_TEST(asked("scope") == "files");
  BOOST_TEST(asked("state").size() >= 32u);
  BOOST_TEST(asked("redirect_uri").starts_with("http://127.0.0.1:"));

  auto registered = world.to("/auth/register").at(0).body;
  BOOST_TEST(registered["redirect_uris"][0] == value(asked("redirect_uri")));
  BOOST_TEST(registered["token_endpoint_auth_method"] == value("none"));
  auto form = read_query(world.to("/auth/token").at(0).text).value();
  BOOST_TEST(field_in(form, "code") == "s3cret-code");
  BOOST_TEST(field_in(form, "redirect_uri") == asked("redirect_uri"));
  BOOST_TEST(field_in(form, "resource") == world.resource());
  BOOST_TEST(pkce_challenge(field_in(form, "code_verifier")) == asked("code_challenge"));

  BOOST_TEST(store->asked_for == world.resource());
  BOOST_TEST(store->kept.value().access_token == "s3cret-token-1");
  BOOST_TEST(store->kept.value().refresh_token == "s3cret-refresh");
}

BOOST_AUTO_TEST_CASE(an_expired_token_is_refreshed_without_a_person) {
  oauth_world world;
  agreeing_person person;
  auto client = authorized_client(world, {.open = person.opener()}).value();
  world.revoke();
  std::vector<std::future<result<value>>> calls; // of which one refreshes
  for (int i = 0; i < 4; ++i)
    calls.push_back(std::async(std::launch::async, [&] { return called_once(client); }));
  for (auto& one : calls)
    BOOST_TEST(bool(one.get()));
  BOOST_TEST(person.asked.size() == 1u);
  auto form = read_query(world.to("/auth/token").at(1).text).value();
  BOOST_TEST(field_in(form, "grant_type") == "refresh_token");
  BOOST_TEST(field_in(form, "refresh_token") == "s3cret-refresh");
  BOOST_TEST(field_in(form, "resource") == world.resource());
  BOOST_TEST(field_in(form, "client_id") == "client 1");
}

BOOST_AUTO_TEST_CASE(a_refresh_token_that_is_refused_leads_to_the_person) {
  oauth_world world;
  agreeing_person person;
  auto client = authorized_client(world, {.open = person.opener()}).value();
  world.refreshes = false;
  world.revoke();
  BOOST_TEST(bool(called_once(client)));
  BOOST_TEST(person.asked.size() == 2u);
}

BOOST_AUTO_TEST_CASE(stored_credentials_need_no_person) {
  oauth_world world;
  world.accept("kept");
  auto store = std::make_shared<kept_credentials>();
  store->kept = mcp_credentials{.client_id = "c", .access_token = "kept"};
  store->kept->token_endpoint = world.provider.url() + "/auth/token";
  BOOST_TEST(bool(authorized_client(world, {.store = store})));
  store->kept->access_token = "bad\r\nHeader: x"; // somebody changed them
  auto refused = authorized_client(world, {.store = store});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().message().find("there is no way to ask") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_call_that_needs_a_wider_scope_asks_the_person_for_it) {
  oauth_world world;
  agreeing_person person;
  auto client = authorized_client(world, {.open = person.opener()}).value();
  world.needed_scope = "files:write";
  BOOST_TEST(bool(called_once(client)));
  BOOST_REQUIRE(person.asked.size() == 2u);
  BOOST_TEST(field_in(person.asked[1], "scope") == "files:write");
}

BOOST_AUTO_TEST_CASE(a_registered_client_uses_its_id_and_secret) {
  oauth_world world;
  agreeing_person person;
  mcp_oauth oauth{.open = person.opener(), .client_id = "mine", .client_secret = "s3cret"};
  BOOST_TEST(bool(authorized_client(world, oauth)));
  BOOST_TEST(world.to("/auth/register").empty());
  auto request = world.to("/auth/token").at(0);
  BOOST_TEST(request.header_of("Authorization") == basic_authorization("mine", "s3cret"));
  BOOST_TEST(request.text.find("s3cret&") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_server_that_refuses_each_token_is_asked_twice) {
  oauth_world world;
  agreeing_person person;
  world.change = [&](const seen_request& r, http_reply& reply) {
    if (r.target == "/mcp")
      reply = {.status = 401};
  };
  auto client = authorized_client(world, {.open = person.opener()});
  BOOST_REQUIRE(!client);
  BOOST_TEST(client.error().text() == "status 401");
  BOOST_TEST(person.asked.size() == 1u);
}

// ---- servers and redirects that cannot be trusted ---------------------------------------------

struct hostile_case {
  const char* target; // of the answer that is replaced
  int status;
  const char* body; // URL stands for the server's address
  const char* why;  // in the error
};
std::ostream& operator<<(std::ostream& out, const hostile_case& c) {
  return out << c.target << ' ' << c.why;
}
constexpr const char* resource_target = "/.well-known/oauth-protected-resource/mcp";
constexpr const char* server_target = "/.well-known/oauth-authorization-server/auth";
const std::vector<hostile_case> hostile_cases{
  {resource_target, 200,
   R"({"resource":"https://bank.example","authorization_servers":["URL/auth"]})",
   "its metadata is of another resource"},
  {resource_target, 200, R"({"resource":"URL/mc","authorization_servers":["URL/auth"]})",
   "its metadata is of another resource"},
  {resource_target, 200, R"({"resource":"URL/mcp"})", "names no authorization server"},
  {resource_target, 200, R"({"resource":"URL/mcp","authorization_servers":["http://x.example"]})",
   "it is not https: http://x.example"},
  {resource_target, 200, R"({"resource":"URL/mcp","authorization_servers":["file:///etc/passwd"]})",
   "read a URL: "},
  {resource_target, 200, "rubbish", "the answer is not a JSON object"},
  {resource_target, 500, "", "status 500"},
  {resource_target, 302, "", "status 302"},
  {server_target, 200, R"({"issuer":"URL/other"})", "its metadata is of another issuer"},
  {server_target, 200, R"({"issuer":"URL/auth"})", "it does not offer PKCE with S256"},
  {server_target, 200, R"({"issuer":"URL/auth","code_challenge_methods_supported":["plain"]})",
   "it does not offer PKCE with S256"},
  {server_target, 200,
   R"({"issuer":"URL/auth","code_challenge_methods_supported":["S256"],)"
   R"("authorization_endpoint":"javascript:x","token_endpoint":"URL/t"})",
   "an endpoint is not valid"},
  {server_target, 200,
   R"({"issuer":"URL/auth","code_challenge_methods_supported":["S256"],)"
   R"("authorization_endpoint":"URL/a","token_endpoint":"http://x.example/t"})",
   "an endpoint is not valid"},
  {server_target, 200,
   R"({"issuer":"URL/auth","code_challenge_methods_supported":["S256"],)"
   R"("authorization_endpoint":"URL/a","token_endpoint":"URL/t"})",
   "the server does not register clients"},
  {server_target, 404, "", "its metadata is missing"},
  {"/auth/register", 201, "{}", "no valid client_id"},
  {"/auth/token", 200, R"({"access_token":"a b","token_type":"bearer"})", "no valid bearer token"},
  {"/auth/token", 200, R"({"access_token":"a\r\nX: y","token_type":"bearer"})",
   "no valid bearer token"},
  {"/auth/token", 200, R"({"access_token":"a","token_type":"mac"})", "no valid bearer token"},
  {"/auth/token", 400, R"({"error":"s3cret-code was wrong"})", "an error without a known form"},
};
BOOST_DATA_TEST_CASE(an_answer_that_cannot_be_trusted_ends_the_authorization,
                     data::make(hostile_cases), c) {
  oauth_world world;
  agreeing_person person;
  world.change = [&](const seen_request& r, http_reply& reply) {
    if (r.target != c.target)
      return;
    std::string body = c.body;
    for (std::size_t at = 0; (at = body.find("URL", at)) != body.npos;)
      body.replace(at, 3, world.provider.url());
    reply = {
      .status = c.status, .headers = {{"Location", "/elsewhere"}}, .body = {send_bytes{body}}};
  };
  auto client = authorized_client(world, {.open = person.opener()});
  BOOST_REQUIRE(!client);
  BOOST_TEST(client.error().type() == "AuthorizationError");
  BOOST_TEST(client.error().message().find(c.why) != std::string::npos, client.error().message());
  BOOST_TEST(client.error().message().find("s3cret") == std::string::npos);
  BOOST_TEST(world.to("/elsewhere").empty());
}

BOOST_AUTO_TEST_CASE(answers_beyond_their_bounds_end_the_authorization) {
  auto why = [](std::string body) {
    oauth_world world;
    world.change = [&](const seen_request& r, http_reply& reply) {
      if (r.target == resource_target)
        reply = {.status = 200, .body = {send_bytes{body}}};
    };
    agreeing_person person;
    return authorized_client(world, {.open = person.opener()}).error().message();
  };
  BOOST_TEST(why(std::string(limits::oauth_reply_bytes_max + 1, ' ')).find("discover the server")
             != std::string::npos);
  auto deep = limits::value_depth_max + 2;
  BOOST_TEST(why(std::string(deep, '[') + std::string(deep, ']')).find("not a JSON object")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(metadata_at_another_origin_is_not_fetched) {
  oauth_world world;
  agreeing_person person;
  world.change = [&](const seen_request& r, http_reply& reply) {
    if (r.target == "/mcp")
      reply = {
        .status = 401,
        .headers = {{"WWW-Authenticate", R"(Bearer resource_metadata="https://other.example/m")"}}};
  };
  auto client = authorized_client(world, {.open = person.opener()});
  BOOST_REQUIRE(!client);
  BOOST_TEST(client.error().text() == "its metadata is at another origin");
}

BOOST_AUTO_TEST_CASE(a_person_may_refuse_and_a_redirect_of_others_does_not_count) {
  auto why = [](auto change) {
    oauth_world world;
    agreeing_person person;
    person.change = change;
    mcp_oauth oauth{.open = person.opener()};
    oauth.person_wait = milliseconds{200};
    auto client = authorized_client(world, oauth);
    return client ? "" : client.error().text();
  };
  BOOST_TEST(why([](oauth_fields& f) {
               f[0] = {"error", "access_denied"};
             })
             == "refused: access_denied");
  BOOST_TEST(why([](oauth_fields& f) { f[1].second = "other"; }) == "nobody agreed in time");
  BOOST_TEST(why([](oauth_fields& f) { f.pop_back(); }) == "nobody agreed in time");
  BOOST_TEST(why([](oauth_fields& f) { f[0].second.clear(); }) == "the redirect has no valid code");
  BOOST_TEST(why([](oauth_fields& f) { f.emplace_back("iss", "https://other.example"); })
             == "the redirect is of another issuer");
}

BOOST_AUTO_TEST_CASE(a_server_that_is_not_on_loopback_must_be_https) {
  auto client = mcp_client::connect(
    mcp_endpoint{.url = "http://mcp.example/mcp", .oauth = mcp_oauth{}}, {.name = "s"});
  BOOST_REQUIRE(!client);
  BOOST_TEST(client.error().type() == "AuthorizationError");
  BOOST_TEST(client.error().text() == "it is not https: http://mcp.example");
}

BOOST_AUTO_TEST_CASE(an_authorization_ends_with_its_client) {
  oauth_world world;
  std::promise<void> opened;
  std::promise<std::string> ended;
  {
    mcp_authorizer authorizer{{.open = [&](const std::string&) { opened.set_value(); }},
                              world.resource()};
    authorizer.renew("", "", [&](const std::optional<error>& failed) {
      ended.set_value(failed ? failed->text() : "");
    });
    opened.get_future().get();
  }
  BOOST_TEST(ended.get_future().get() == "it was given up");
}

// ---- rules ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_challenge_is_read_whatever_its_form) {
  auto read = read_challenge(
    R"(Bearer realm="a, scope=no", resource_metadata="https://x/m\"", scope="a b", error=e)");
  BOOST_TEST(read.resource_metadata == "https://x/m\"");
  BOOST_TEST(read.error == "e");
  BOOST_TEST(read_challenge("").scope.empty());
  BOOST_TEST(read_challenge("Bearer scope").scope.empty());
  BOOST_TEST(read_challenge("Bearer scope=\"open").scope == "open");
}

BOOST_AUTO_TEST_CASE(metadata_is_looked_for_in_the_places_of_the_protocol) {
  auto at = [](const char* issuer) {
    return server_metadata_urls(read_oauth_url(issuer, false).value());
  };
  BOOST_TEST(
    at("https://a.example")
      == (std::vector<std::string>{"https://a.example/.well-known/oauth-authorization-server",
                                   "https://a.example/.well-known/openid-configuration"}),
    boost::test_tools::per_element());
  BOOST_TEST(
    at("https://a.example/t/")
      == (std::vector<std::string>{"https://a.example/.well-known/oauth-authorization-server/t",
                                   "https://a.example/.well-known/openid-configuration/t",
                                   "https://a.example/t/.well-known/openid-configuration"}),
    boost::test_tools::per_element());
  auto resource = resource_metadata_urls("https://a.example/mcp", {}, false).value();
  BOOST_TEST(
    resource
      == (std::vector<std::string>{"https://a.example/.well-known/oauth-protected-resource/mcp",
                                   "https://a.example/.well-known/oauth-protected-resource"}),
    boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_challenge_of_a_verifier_is_that_of_the_standard) {
  BOOST_TEST(pkce_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
             == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"); // RFC 7636, appendix B
}

struct oauth_url_case {
  const char* url;
  bool is_valid;
};
std::ostream& operator<<(std::ostream& out, const oauth_url_case& c) {
  return out << c.url;
}
const std::vector<oauth_url_case> oauth_url_cases{
  {"https://a.example/x?y", true},
  {"http://127.0.0.1:8/x", true},
  {"http://localhost/x", true},
  {"http://[::1]:8/", true},
  {"http://127.0.0.1.evil.example/", false},
  {"http://localhost.evil.example", false},
  {"http://a.example", false},
  {"https://user@a.example", false},
  {"https://a.example/#f", false},
  {"https://", false},
  {"ftp://a.example", false},
  {"https://a b", false},
  {"", false},
  {"a.example", false},
};
BOOST_DATA_TEST_CASE(only_safe_urls_are_taken, data::make(oauth_url_cases), c) {
  BOOST_TEST(bool(read_oauth_url(c.url, true)) == c.is_valid);
  if (std::string_view{c.url}.starts_with("http://"))
    BOOST_TEST(!read_oauth_url(c.url, false));
}

BOOST_AUTO_TEST_CASE(a_query_is_read_or_refused) {
  auto read = read_query("a=1%202&b=x+y&c").value();
  BOOST_TEST(field_in(read, "a") == "1 2");
  BOOST_TEST(field_in(read, "b") == "x y");
  BOOST_TEST(!read_query("a=1&a=2").has_value());
  BOOST_TEST(!read_query("a=%2").has_value());
  BOOST_TEST(!read_query("a=%zz").has_value());
  BOOST_TEST(form_of({{"a", "ü &"}, {"b", ""}}) == "a=%C3%BC%20%26");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
