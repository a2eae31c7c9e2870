// Which URLs and addresses the server may call.
#include "server/rules/address_class.hpp"
#include "server/rules/webhook_policy.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::server::test {
namespace {

webhook_policy policy_of(const char* json) {
  auto none = [](const std::string&) { return std::nullopt; };
  return webhook_policy::from(from_json(json, json_form::plain).value(), none).value();
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_webhook_policy)

BOOST_AUTO_TEST_CASE(addresses_have_their_class_in_every_disguise) {
  auto of = [](const char* text) {
    auto is = class_of_address(text);
    return is ? std::string{to_string(*is)} : "none";
  };
  for (const char* one :
       {"127.0.0.1", "127.255.255.255", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "::127.0.0.1",
        "64:ff9b::127.0.0.1", "2002:7f00:1::", "::ffff:0:127.0.0.1"})
    BOOST_TEST(of(one) == "loopback", one);
  for (const char* one : {"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
                          "fc00::1", "fd12::1", "::ffff:10.0.0.1", "fec0::1"})
    BOOST_TEST(of(one) == "private", one);
  for (const char* one : {"169.254.169.254", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254"})
    BOOST_TEST(of(one) == "link-local", one);
  for (const char* one : {"224.0.0.1", "255.255.255.255", "192.0.2.1", "ff02::1", "2001:db8::1"})
    BOOST_TEST(of(one) == "reserved", one);
  for (const char* one :
       {"8.8.8.8", "172.32.0.1", "172.15.0.1", "100.128.0.1", "2606:4700::1", "::ffff:8.8.8.8"})
    BOOST_TEST(of(one) == "open", one);
  for (const char* one :
       {"", "localhost", "127.1", "0x7f000001", "[::1]", "1.2.3.4.5", "1.2.3.256"})
    BOOST_TEST(of(one) == "none", one);
}

BOOST_AUTO_TEST_CASE(by_default_webhooks_are_https_to_other_hosts) {
  webhook_policy policy;
  for (const char* good :
       {"https://example.com/hook?x=1", "https://example.com:8443", "https://8.8.8.8/"})
    BOOST_TEST(webhook_problem(policy, good) == "", good);
  for (const char* loopback :
       {"http://127.0.0.1:2126/hook", "https://127.0.0.1/", "https://127.1/", "https://0x7f.1/",
        "https://2130706433/", "https://0177.0.0.1/", "https://[::1]/",
        "https://[::ffff:127.0.0.1]/", "https://localhost/", "https://LOCALHOST./",
        "https://a.localhost/", "https://0/", "https://%31%32%37.0.0.1/"})
    BOOST_TEST(webhook_problem(policy, loopback) == "Webhook host blocked: loopback IP range",
               loopback);
  BOOST_TEST(webhook_problem(policy, "https://10.0.0.1/")
             == "Webhook host blocked: private IP range");
  BOOST_TEST(webhook_problem(policy, "https://169.254.169.254/latest")
             == "Webhook host blocked: link-local IP range");
  BOOST_TEST(webhook_problem(policy, "http://example.com/") == "Webhook URL must use https");
  for (const char* bad : {"not a url", "", "https://", "https:///x", "example.com\r\nX: y",
                          "https://a@b.example/", "https://a:b@b.example/", "ftp://example.com/",
                          "file:///etc/passwd", "gopher://example.com/", "https://exa mple.com/",
                          "/ok", "//example.com/x", "https://example.com:99999/"})
    BOOST_TEST(webhook_problem(policy, bad) != "", bad);
  BOOST_TEST(webhook_problem(policy, "not a url") == "Invalid webhook hostname ''");
  BOOST_TEST(webhook_problem(policy, "https://example.com/" + std::string(4096, 'x')) != "");
}

BOOST_AUTO_TEST_CASE(the_members_of_the_configuration_count) {
  auto open = policy_of(R"({"url":{"disable_loopback":false,"require_https":false}})");
  for (const char* good : {"http://127.0.0.1:2126/hook", "/ok", "http://localhost/x"})
    BOOST_TEST(webhook_problem(open, good) == "", good);
  BOOST_TEST(webhook_problem(open, "http://192.168.0.1/") != ""); // not said by these members
  BOOST_TEST(webhook_problem(open, "ftp://127.0.0.1/") != "");
  BOOST_TEST(may_call_address(open, "127.0.0.1"));
  BOOST_TEST(!may_call_address(open, "10.0.0.1"));
  auto narrow = policy_of(
    R"({"url":{"allowed_domains":["*.Example.com","hooks.org"],"allowed_ports":[443],"max_url_length":60}})");
  for (const char* good :
       {"https://a.example.com/", "https://a.b.EXAMPLE.com./", "https://hooks.org/"})
    BOOST_TEST(webhook_problem(narrow, good) == "", good);
  for (const char* bad :
       {"https://example.com/", "https://badexample.com/", "https://.example.com/",
        "https://a.hooks.org/", "https://hooks.org.evil.com/", "https://hooks.org:444/"})
    BOOST_TEST(webhook_problem(narrow, bad) != "", bad);
}

BOOST_AUTO_TEST_CASE(an_address_is_checked_again_when_it_is_connected_to) {
  webhook_policy policy;
  BOOST_TEST(may_call_address(policy, "8.8.8.8"));
  for (const char* bad : {"127.0.0.1", "10.0.0.1", "::1", "fe80::1%2", "rubbish", ""})
    BOOST_TEST(!may_call_address(policy, bad), bad);
}

BOOST_AUTO_TEST_CASE(a_wrong_configuration_is_refused_by_its_member) {
  auto problem = [](const char* json) {
    auto variable = [](const std::string& name) {
      return name == "LG_WEBHOOK_KEY" ? std::optional<std::string>{"k1"} : std::nullopt;
    };
    auto read = webhook_policy::from(from_json(json, json_form::plain).value(), variable);
    return read ? "good" + (read->headers.empty() ? "" : " " + read->headers[0].second)
                : read.error().message();
  };
  BOOST_TEST(problem("null") == "good");
  BOOST_TEST(problem(R"({"headers":{"X":"a ${{ env.LG_WEBHOOK_KEY }} b"}})") == "good a k1 b");
  for (const char* bad :
       {R"([])", R"({"urls":{}})", R"({"url":[]})", R"({"url":{"require_https":"no"}})",
        R"({"url":{"allowed_ports":[0]}})", R"({"url":{"allowed_domains":"x"}})",
        R"({"url":{"max_url_length":0}})", R"({"url":{"typo":true}})",
        R"({"headers":{"X":"${{ env.PATH }}"}})", R"({"headers":{"X":"${{ env.LG_WEBHOOK_NO }}"}})",
        R"({"headers":{"X":"${{ broken"}})", R"({"headers":{"X":1}})"})
    BOOST_TEST(problem(bad).starts_with("webhooks"), bad);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
