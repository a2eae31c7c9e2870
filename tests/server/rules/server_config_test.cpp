// The configuration file: each of its keys, unknown ones, and members of another kind.
#include "server/rules/server_config.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>

namespace troupe::server::test {
namespace {

namespace data = boost::unit_test::data;
using namespace std::chrono_literals;
using pairs = std::vector<std::pair<std::string, std::string>>;
using text_list = std::vector<std::string>;

variable_lookup no_variables() {
  return [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
}

server_config config_of(std::string_view json) {
  return read_server_config(json, no_variables()).value();
}

std::string message_of(std::string_view json) {
  auto read = read_server_config(json, no_variables());
  BOOST_REQUIRE(!read);
  BOOST_TEST((read.error().code() == errc::invalid_config));
  return read.error().text();
}

struct wrong_config {
  const char* json;
  const char* message; // a part of it
};

std::ostream& operator<<(std::ostream& to, const wrong_config& one) {
  return to << one.json;
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_server_config)

BOOST_AUTO_TEST_CASE(an_empty_file_gives_the_default_options) {
  auto read = config_of("{}");
  BOOST_TEST(read.graphs.empty());
  BOOST_TEST(read.env.empty());
  BOOST_TEST(read.env_file == "");
  BOOST_TEST(read.embed == "");
  BOOST_TEST(!read.options.tokens.has_value());
  BOOST_TEST(!read.options.store.index.has_value());
  BOOST_TEST((read.options.cors.origins == text_list{"*"}));
  BOOST_TEST(read.options.webhooks.require_https);
  BOOST_TEST(!read.options.expiry.minutes.has_value());
}

BOOST_AUTO_TEST_CASE(graphs_are_names_with_places) {
  auto read = config_of(R"({"graphs":{"agent":"build/libagent.so:agent","hello":"hello"}})");
  BOOST_TEST((read.graphs == pairs{{"agent", "build/libagent.so:agent"}, {"hello", "hello"}}));
}

BOOST_AUTO_TEST_CASE(variables_are_a_map_or_a_file) {
  BOOST_TEST((config_of(R"({"env":{"A":"1","B":""}})").env == pairs{{"A", "1"}, {"B", ""}}));
  BOOST_TEST(config_of(R"({"env":".env"})").env_file == ".env");
  BOOST_TEST(env_file_of(R"({"env":".env"})").value() == ".env");
  BOOST_TEST(env_file_of(R"({"env":{"A":"1"}})").value() == "");
  BOOST_TEST(!env_file_of(R"({"env":7})"));
}

BOOST_AUTO_TEST_CASE(pages_that_may_ask) {
  auto read = config_of(R"({"http":{"cors":{"allow_origins":["https://a.example"],
    "allow_methods":["GET"],"allow_headers":["x-api-key"],"allow_credentials":true,
    "expose_headers":["location"],"max_age":60}}})");
  const auto& cors = read.options.cors;
  BOOST_TEST((cors.origins == text_list{"https://a.example"}));
  BOOST_TEST((cors.methods == text_list{"GET"}));
  BOOST_TEST((cors.headers == text_list{"x-api-key"}));
  BOOST_TEST((cors.exposed == text_list{"location"}));
  BOOST_TEST(cors.credentials);
  BOOST_TEST((cors.max_age == 60s));
  // All headers: those that a page asks for.
  BOOST_TEST(
    config_of(R"({"http":{"cors":{"allow_headers":["*"]}}})").options.cors.headers.empty());
}

BOOST_AUTO_TEST_CASE(paths_are_switched_off_by_group) {
  auto all = config_of(R"({"http":{"disable_assistants":true,"disable_threads":true,
    "disable_runs":true,"disable_store":true,"disable_mcp":true,"disable_a2a":true,
    "disable_meta":true,"disable_webhooks":true}})");
  BOOST_TEST(all.options.webhooks.is_off);
  auto off = all.options.disabled;
  for (bool one : {off.assistants, off.threads, off.runs, off.store, off.mcp, off.a2a, off.meta})
    BOOST_TEST(one);
  auto on = config_of(R"({"http":{"disable_mcp":false}})").options.disabled;
  for (bool one : {on.assistants, on.threads, on.runs, on.store, on.mcp, on.a2a, on.meta})
    BOOST_TEST(!one);
}

BOOST_AUTO_TEST_CASE(callers_have_keys_or_tokens) {
  auto read = config_of(R"({"auth":{"api_keys":"keys","jwt":{"jwks":"https://a.example/jwks",
    "allow_private_jwks":true,"issuer":"me","audience":"here","identity":"email",
    "permissions":"roles"}}})");
  BOOST_TEST(read.options.api_keys == "keys");
  const auto& tokens = read.options.tokens.value();
  BOOST_TEST(tokens.jwks == "https://a.example/jwks");
  BOOST_TEST(tokens.allow_private_jwks);
  BOOST_TEST(tokens.issuer == "me");
  BOOST_TEST((tokens.audiences == text_list{"here"}));
  BOOST_TEST(tokens.identity == "email");
  BOOST_TEST(tokens.permissions == "roles");
  auto secret = config_of(R"({"auth":{"jwt":{"secret_file":"s","audience":["a","b"]}}})");
  BOOST_TEST(secret.options.tokens->secret_file == "s");
  BOOST_TEST((secret.options.tokens->audiences == text_list{"a", "b"}));
}

BOOST_AUTO_TEST_CASE(webhooks_have_the_rules_of_the_reference) {
  auto local =
    config_of(R"({"webhooks":{"url":{"disable_loopback":false,"require_https":false}}})");
  BOOST_TEST(!local.options.webhooks.require_https);
  BOOST_TEST(local.options.webhooks.allow_loopback);
  BOOST_TEST(!local.options.webhooks.allow_private);
  auto read = config_of(R"({"env":{"HOOK_KEY":"k"},"webhooks":{"env_prefix":"HOOK_",
    "headers":{"x-key":"${{ env.HOOK_KEY }}"},"url":{"allowed_domains":["*.example"],
    "allowed_ports":[443],"max_url_length":100,"disable_private":false}}})");
  const auto& hooks = read.options.webhooks;
  BOOST_TEST(hooks.allow_private);
  BOOST_TEST((hooks.allowed_domains == text_list{"*.example"}));
  BOOST_TEST((hooks.allowed_ports == std::vector<std::uint16_t>{443}));
  BOOST_TEST(hooks.url_bytes_max == 100u);
  BOOST_TEST((hooks.headers == pairs{{"x-key", "k"}}));
}

BOOST_AUTO_TEST_CASE(a_variable_of_the_environment_is_stronger_than_the_file) {
  auto read = read_server_config(
    R"({"env":{"LG_WEBHOOK_K":"file"},"webhooks":{"headers":{"x":"${{ env.LG_WEBHOOK_K }}"}}})",
    [](const std::string&) { return std::optional<std::string>{"outside"}; });
  BOOST_TEST((read.value().options.webhooks.headers == pairs{{"x", "outside"}}));
}

BOOST_AUTO_TEST_CASE(the_store_has_an_index_and_times_to_live) {
  auto read = config_of(R"({"store":{"index":{"dims":8,"embed":"openai:small","fields":["text"]},
    "ttl":{"refresh_on_read":false,"default_ttl":1.5,"sweep_interval_minutes":2}}})");
  BOOST_TEST(read.embed == "openai:small");
  const auto& store = read.options.store;
  BOOST_TEST(store.index->dims == 8u);
  BOOST_TEST((store.index->fields == text_list{"text"}));
  BOOST_TEST(!store.ttl.refresh_on_read);
  BOOST_TEST((store.ttl.default_ttl == 90s));
  BOOST_TEST((store.ttl.sweep_interval == 2min));
}

BOOST_AUTO_TEST_CASE(threads_have_a_time_to_live) {
  auto expiry = config_of(R"({"checkpointer":{"ttl":{"strategy":"keep_latest","default_ttl":43200,
    "sweep_interval_minutes":0.5}}})")
                  .options.expiry;
  BOOST_TEST(expiry.minutes.value() == 43200);
  BOOST_TEST(expiry.strategy == "keep_latest");
  BOOST_TEST((expiry.sweep_interval == 30s));
}

BOOST_AUTO_TEST_CASE(a_member_that_is_null_counts_as_absent) {
  auto read = config_of(R"({"env":null,"auth":{"jwt":null},"http":null,
    "checkpointer":{"ttl":{"default_ttl":null}}})");
  BOOST_TEST(!read.options.tokens.has_value());
  BOOST_TEST(!read.options.expiry.minutes.has_value());
}

constexpr std::array unknown_keys{
  wrong_config{R"({"grphs":{}})", "unknown key `grphs`: did you mean graphs?"},
  wrong_config{R"({"dependencies":["."]})",
               "unknown key `dependencies`: known ones are graphs, env, http, auth, webhooks, "
               "store, checkpointer"},
  wrong_config{R"({"http":{"app":"x"}})", "unknown key `http.app`: known ones are cors"},
  wrong_config{R"({"http":{"disable_mpc":true}})", "did you mean disable_mcp?"},
  wrong_config{R"({"http":{"cors":{"allow_origin":["*"]}}})",
               "unknown key `http.cors.allow_origin`: did you mean allow_origins?"},
  wrong_config{R"({"auth":{"path":"auth.py:auth"}})", "unknown key `auth.path`"},
  wrong_config{R"({"auth":{"jwt":{"jwks":"a","isuer":"b"}}})", "did you mean issuer?"},
  wrong_config{R"({"webhooks":{"urls":{}}})", "unknown key `webhooks.urls`: did you mean url?"},
  wrong_config{R"({"webhooks":{"url":{"require_http":true}}})", "did you mean require_https?"},
  wrong_config{R"({"store":{"index":{"dims":1,"embed":"a:b","field":[]}}})",
               "did you mean fields?"},
  wrong_config{R"({"store":{"tll":{}}})", "unknown key `store.tll`: did you mean ttl?"},
  wrong_config{R"({"checkpointer":{"ttl":{"sweep_limit":5}}})",
               "unknown key `checkpointer.ttl.sweep_limit`"},
  wrong_config{R"({"checkpointer":{"serde":{}}})", "unknown key `checkpointer.serde`"},
};

BOOST_DATA_TEST_CASE(an_unknown_key_is_named_with_the_nearest_one, data::make(unknown_keys)) {
  auto message = message_of(sample.json);
  BOOST_TEST(message.find(sample.message) != message.npos, message);
}

constexpr std::array wrong_members{
  wrong_config{"", ""},
  wrong_config{"[]", "it is not an object"},
  wrong_config{R"({"graphs":["a"]})", "graphs is not an object"},
  wrong_config{R"({"graphs":{"a":7}})", "graphs.a is not a text"},
  wrong_config{R"({"graphs":{"a":""}})", "graphs.a is empty"},
  wrong_config{R"({"env":7})", "env is not an object"},
  wrong_config{R"({"env":{"A":7}})", "env.A is not a text"},
  wrong_config{R"({"http":[]})", "http is not an object"},
  wrong_config{R"({"http":{"disable_runs":1}})", "http.disable_runs is not true or false"},
  wrong_config{R"({"http":{"cors":{"allow_origins":"*"}}})",
               "http.cors.allow_origins is not a list of texts"},
  wrong_config{R"({"http":{"cors":{"allow_origins":[7]}}})", "is not a list of texts"},
  wrong_config{R"({"http":{"cors":{"max_age":-1}}})", "http.cors.max_age is not a whole number"},
  wrong_config{R"({"http":{"cors":{"max_age":1.5}}})", "http.cors.max_age is not a whole number"},
  wrong_config{R"({"http":{"cors":{"allow_credentials":true}}})", "needs allow_origins by name"},
  wrong_config{R"({"auth":{"api_keys":["a"]}})", "auth.api_keys is not a text"},
  wrong_config{R"({"auth":{"jwt":{"issuer":"a"}}})", "auth.jwt.jwks is missing"},
  wrong_config{R"({"auth":{"jwt":{"jwks":"a","secret_file":"b"}}})", "excludes secret_file"},
  wrong_config{R"({"auth":{"jwt":{"jwks":"a","audience":7}}})", "auth.jwt.audience is not a list"},
  wrong_config{R"({"webhooks":{"url":{"require_https":"no"}}})", "`require_https`"},
  wrong_config{R"({"webhooks":{"url":{"allowed_ports":[0]}}})", "`allowed_ports`"},
  wrong_config{R"({"webhooks":{"headers":{"x":"${{ env.LG_WEBHOOK_X }}"}}})", "LG_WEBHOOK_X"},
  wrong_config{R"({"store":{"index":{"embed":"a:b"}}})", "store.index.dims is missing"},
  wrong_config{R"({"store":{"index":{"dims":4}}})", "store.index.embed is missing"},
  wrong_config{R"({"store":{"index":{"dims":0,"embed":"a:b"}}})", "store.index.dims"},
  wrong_config{R"({"store":{"index":{"dims":4,"embed":"embed.py"}}})", "store.index.embed"},
  wrong_config{R"({"store":{"ttl":{"default_ttl":0}}})", "store.ttl.default_ttl"},
  wrong_config{R"({"store":{"ttl":{"sweep_interval_minutes":0.001}}})", "is below a second"},
  wrong_config{R"({"checkpointer":{"ttl":{"strategy":"archive"}}})",
               "checkpointer.ttl.strategy is not delete or keep_latest"},
  wrong_config{R"({"checkpointer":{"ttl":{"default_ttl":"7"}}})",
               "checkpointer.ttl.default_ttl is not a number"},
  wrong_config{R"({"checkpointer":{"ttl":{"default_ttl":1e12}}})",
               "checkpointer.ttl.default_ttl is not a number"},
};

BOOST_DATA_TEST_CASE(a_wrong_member_is_named_by_its_path, data::make(wrong_members)) {
  auto message = message_of(sample.json);
  BOOST_TEST(message.find(sample.message) != message.npos, message);
}

BOOST_AUTO_TEST_CASE(lines_of_an_env_file_are_variables) {
  auto read = read_env_lines("# all\n\nA=1\n export B = \"two words\" \r\nC='x=y'\nD=\n").value();
  BOOST_TEST((read == pairs{{"A", "1"}, {"B", "two words"}, {"C", "x=y"}, {"D", ""}}));
  for (const char* wrong : {"A=1\nno secret", "A=1\n=2", "A=1\n7=2", "A=1\nA-B=2"}) {
    auto refused = read_env_lines(wrong);
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().text() == "line 2 is not NAME=VALUE");
  }
}

BOOST_AUTO_TEST_CASE(paths_are_below_the_folder_of_the_file) {
  auto placed = below_folder(
    config_of(R"({"graphs":{"a":"build/liba.so:a","b":"/opt/libb.so:b","hello":"hello"},
      "env":".env","auth":{"api_keys":"../keys","jwt":{"jwks":"jwks.json"}}})"),
    "/srv/app");
  BOOST_TEST(
    (placed.graphs
     == pairs{{"a", "/srv/app/build/liba.so:a"}, {"b", "/opt/libb.so:b"}, {"hello", "hello"}}));
  BOOST_TEST(placed.env_file == "/srv/app/.env");
  BOOST_TEST(placed.options.api_keys == "/srv/keys");
  BOOST_TEST(placed.options.tokens->jwks == "/srv/app/jwks.json");
  auto url = below_folder(config_of(R"({"auth":{"jwt":{"jwks":"https://a.example/jwks"}}})"), "/x");
  BOOST_TEST(url.options.tokens->jwks == "https://a.example/jwks");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
