// Tokens: good ones, and those of attackers.
#include "server/auth/jwks_cache.hpp"
#include "server/auth/jwt.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

namespace troupe::server::test {
namespace {

namespace data = boost::unit_test::data;
using namespace std::chrono_literals;

constexpr const char* secret = "0123456789abcdef0123456789abcdef";
constexpr std::int64_t now = 1'000'000;

std::string base64url(std::string_view bytes) {
  std::string out(4 * (bytes.size() / 3 + 1) + 1, '\0');
  auto size = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<const unsigned char*>(bytes.data()),
                                static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  while (out.ends_with('='))
    out.pop_back();
  for (auto& c : out)
    c = c == '+' ? '-' : c == '/' ? '_' : c;
  return out;
}

std::string hmac(std::string_view key, std::string_view text) {
  std::string out(32, '\0');
  ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(out.data()), nullptr);
  return out;
}

std::shared_ptr<EVP_PKEY> owned(EVP_PKEY* key) {
  return {key, [](EVP_PKEY* p) { ::EVP_PKEY_free(p); }};
}
const auto rsa = owned(EVP_RSA_gen(2048));
const auto p256 = owned(EVP_EC_gen("P-256"));

std::string public_pem(EVP_PKEY& key) {
  auto* out = ::BIO_new(::BIO_s_mem());
  ::PEM_write_bio_PUBKEY(out, &key);
  char* bytes = nullptr;
  auto size = ::BIO_get_mem_data(out, &bytes);
  std::string text(bytes, static_cast<std::size_t>(size));
  ::BIO_free(out);
  return text;
}

// The signature of a private key, as OpenSSL writes it.
std::string signed_by(EVP_PKEY& key, std::string_view text) {
  auto* context = ::EVP_MD_CTX_new();
  ::EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, &key);
  std::string out(1024, '\0');
  auto size = out.size();
  ::EVP_DigestSign(context, reinterpret_cast<unsigned char*>(out.data()), &size,
                   reinterpret_cast<const unsigned char*>(text.data()), text.size());
  ::EVP_MD_CTX_free(context);
  return out.substr(0, size);
}

std::string raw_signature(const std::string& encoded) {
  const auto* at = reinterpret_cast<const unsigned char*>(encoded.data());
  auto* both = ::d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(encoded.size()));
  std::string out(64, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(out.data());
  ::BN_bn2binpad(::ECDSA_SIG_get0_r(both), bytes, 32);
  ::BN_bn2binpad(::ECDSA_SIG_get0_s(both), bytes + 32, 32);
  ::ECDSA_SIG_free(both);
  return out;
}

std::string unsigned_token(const std::string& header, const std::string& claims) {
  return base64url(header) + "." + base64url(claims);
}
std::string hs256(const std::string& claims, const std::string& header = R"({"alg":"HS256"})",
                  std::string_view key = secret) {
  auto text = unsigned_token(header, claims);
  return text + "." + base64url(hmac(key, text));
}

const char* good_claims = R"({"sub":"ann","exp":1000100,"iss":"us","aud":["a","b"]})";

// The error's text, or "good".
std::string outcome(const std::string& token, const std::vector<jwt_key>& keys,
                    const jwt_rules& rules = {}) {
  auto claims = verified_claims(token, keys, rules, now);
  return claims ? "good" : claims.error().message();
}
std::vector<jwt_key> shared_secret(std::string id = {}) {
  return {jwt_secret(secret, std::move(id)).value()};
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_jwt)

BOOST_AUTO_TEST_CASE(each_algorithm_accepts_what_its_key_signed) {
  BOOST_TEST(outcome(hs256(good_claims), shared_secret()) == "good");
  auto text = unsigned_token(R"({"alg":"RS256"})", good_claims);
  std::vector<jwt_key> keys{jwt_public_key(public_pem(*rsa)).value()};
  auto signature = signed_by(*rsa, text);
  BOOST_TEST(outcome(text + "." + base64url(signature), keys) == "good");
  signature[7] ^= 1;
  BOOST_TEST(outcome(text + "." + base64url(signature), keys) != "good");
  text = unsigned_token(R"({"alg":"ES256"})", good_claims);
  keys = {jwt_public_key(public_pem(*p256)).value()};
  auto encoded = signed_by(*p256, text);
  BOOST_TEST(outcome(text + "." + base64url(raw_signature(encoded)), keys) == "good");
  BOOST_TEST(outcome(text + "." + base64url(encoded), keys) != "good");
  BOOST_TEST(outcome(text + "." + base64url(std::string(64, '\0')), keys) != "good");
}

BOOST_AUTO_TEST_CASE(no_token_chooses_its_algorithm) {
  auto pem = public_pem(*rsa);
  std::vector<jwt_key> keys{jwt_public_key(pem).value()};
  // Signed with the public key as if it were a secret.
  BOOST_TEST(outcome(hs256(good_claims, R"({"alg":"HS256"})", pem), keys) != "good");
  BOOST_TEST(outcome(hs256(good_claims, R"({"alg":"RS256"})", pem), keys) != "good");
  for (const char* none : {R"({"alg":"none"})", R"({"alg":"None"})", R"({"alg":"NONE"})",
                           R"({"alg":""})", R"({"alg":"hs256"})", R"({})", R"({"alg":null})"}) {
    BOOST_TEST(outcome(unsigned_token(none, good_claims) + ".", keys) != "good", none);
    BOOST_TEST(outcome(hs256(good_claims, none), shared_secret()) != "good", none);
  }
}

BOOST_AUTO_TEST_CASE(malformed_tokens_are_refused) {
  auto good = hs256(good_claims);
  auto body = good.substr(0, good.rfind('.'));
  for (const auto& bad :
       {std::string{}, std::string{"."}, std::string{".."}, std::string{"a.b"}, body, body + ".",
        good + ".", good + "=", good + "A", "x" + good, good.substr(0, good.size() - 1),
        hs256("[1]"), hs256("{"),
        hs256(good_claims, R"({"alg":"HS256","crit":["b64"],"b64":false})"),
        hs256(good_claims, R"({"alg":"HS256","kid":7})"), std::string(20'000, 'a') + "." + good})
    BOOST_TEST(outcome(bad, shared_secret()) != "good", bad.substr(0, 100));
  BOOST_TEST(outcome(hs256(good_claims, R"({"alg":"HS256"})", "another secret of the right size!"),
                     shared_secret())
             == "Invalid token: its signature fits no key");
}

struct claims_case {
  const char* claims;
  const char* outcome;
};
std::ostream& operator<<(std::ostream& out, const claims_case& c) {
  return out << c.claims;
}
const std::vector<claims_case> times{
  {R"({"exp":1000001})", "good"},
  {R"({"exp":999971})", "good"}, // within the leeway of 30 s
  {R"({"exp":999970})", "Invalid token: it has expired"},
  {R"({"exp":-1})", "Invalid token: a time in it is not a number of seconds"},
  {R"({"exp":"1000100"})", "Invalid token: a time in it is not a number of seconds"},
  {R"({"exp":1e300})", "Invalid token: a time in it is not a number of seconds"},
  {R"({"exp":null})", "Invalid token: a time in it is not a number of seconds"},
  {R"({})", "Invalid token: it has no expiry"},
  {R"({"exp":1000100,"nbf":1000030})", "good"},
  {R"({"exp":1000100,"nbf":1000031})", "Invalid token: it does not count yet"},
  {R"({"exp":1000100,"iat":1000031})", "Invalid token: it does not count yet"},
};
BOOST_DATA_TEST_CASE(a_token_counts_at_its_time, data::make(times), c) {
  BOOST_TEST(outcome(hs256(c.claims), shared_secret()) == c.outcome);
}

BOOST_AUTO_TEST_CASE(issuer_and_audience_must_fit) {
  auto is_good = [](const char* claims, const jwt_rules& rules) {
    return outcome(hs256(claims), shared_secret(), rules) == "good";
  };
  BOOST_TEST(is_good(good_claims, {.issuer = "us", .audiences = {"b", "c"}}));
  BOOST_TEST(!is_good(good_claims, {.issuer = "them"}));
  BOOST_TEST(!is_good(good_claims, {.audiences = {"c"}}));
  BOOST_TEST(is_good(R"({"exp":1000100,"aud":"c"})", {.audiences = {"c"}}));
  for (const char* claims : {R"({"exp":1000100})", R"({"exp":1000100,"aud":[["c"]]})",
                             R"({"exp":1000100,"aud":{"c":1}})"})
    BOOST_TEST(!is_good(claims, {.issuer = "us", .audiences = {"c"}}), claims);
}

BOOST_AUTO_TEST_CASE(a_key_id_chooses_among_keys) {
  auto with_id = hs256(good_claims, R"({"alg":"HS256","kid":"one"})");
  BOOST_TEST(outcome(with_id, shared_secret("one")) == "good");
  BOOST_TEST(outcome(with_id, shared_secret()) == "good");
  BOOST_TEST(outcome(with_id, shared_secret("two")) != "good");
  BOOST_TEST(outcome(with_id, {}) != "good");
}

BOOST_AUTO_TEST_CASE(weak_and_private_keys_are_not_taken) {
  BOOST_TEST(!jwt_secret(std::string(31, 'x')));
  BOOST_TEST(!jwt_public_key("rubbish"));
  BOOST_TEST(!jwt_public_key(public_pem(*owned(EVP_RSA_gen(1024)))));
  BOOST_TEST(!jwt_public_key(public_pem(*owned(EVP_EC_gen("P-384")))));
}

BOOST_AUTO_TEST_CASE(a_caller_is_read_from_claims) {
  auto claims = from_json(R"({"sub":"ann","name":"Ann","scope":"a  b","n":1})").value();
  auto who = caller_of_claims(claims, {}).value();
  BOOST_TEST(who.identity == "ann");
  BOOST_TEST(who.display_name == "Ann");
  BOOST_TEST((who.permissions == std::vector<std::string>{"a", "b"}));
  BOOST_TEST(who.more["n"] == value(1));
  for (const char* bad : {"{}", R"({"sub":""})", R"({"sub":7})"})
    BOOST_TEST(!caller_of_claims(from_json(bad).value(), {}), bad);
}

BOOST_AUTO_TEST_CASE(a_key_set_has_the_keys_that_check_signatures) {
  auto number = [](EVP_PKEY& key, const char* which) {
    BIGNUM* n = nullptr;
    ::EVP_PKEY_get_bn_param(&key, which, &n);
    std::string out(static_cast<std::size_t>(BN_num_bytes(n)), '\0');
    ::BN_bn2bin(n, reinterpret_cast<unsigned char*>(out.data()));
    ::BN_free(n);
    return out;
  };
  auto padded = [](std::string text) { return std::string(32 - text.size(), '\0') + text; };
  auto rsa_parts = R"("kty":"RSA","n":")" + base64url(number(*rsa, "n")) + R"(","e":"AQAB")";
  auto ec_parts = R"("kty":"EC","crv":"P-256","x":")"
                  + base64url(padded(number(*p256, OSSL_PKEY_PARAM_EC_PUB_X))) + R"(","y":")"
                  + base64url(padded(number(*p256, OSSL_PKEY_PARAM_EC_PUB_Y))) + '"';
  auto keys = read_jwks("{\"keys\":[{" + rsa_parts + ",\"kid\":\"r\"},{" + ec_parts
                        + ",\"kid\":\"e\",\"use\":\"sig\"},{" + rsa_parts + ",\"use\":\"enc\"},{"
                        + rsa_parts + ",\"alg\":\"RS512\"},{\"kty\":\"oct\",\"k\":\"AAAA\"},7]}")
                .value();
  BOOST_REQUIRE(keys.size() == 2u);
  auto text = unsigned_token(R"({"alg":"RS256","kid":"r"})", good_claims);
  BOOST_TEST(outcome(text + "." + base64url(signed_by(*rsa, text)), keys) == "good");
  text = unsigned_token(R"({"alg":"ES256","kid":"e"})", good_claims);
  BOOST_TEST(outcome(text + "." + base64url(raw_signature(signed_by(*p256, text))), keys)
             == "good");
  for (const char* bad : {"", "{}", R"({"keys":[]})", R"({"keys":[{"kty":"oct","k":"AAAA"}]})",
                          R"({"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]})"})
    BOOST_TEST(!read_jwks(bad), bad);
}

BOOST_AUTO_TEST_CASE(a_key_set_is_fetched_when_it_is_old_or_a_key_is_unknown_but_not_too_often) {
  int fetches = 0;
  bool fails = false;
  std::vector<std::string> reports;
  auto point = R"("kty":"RSA","e":"AQAB","kid":"r","n":")" + base64url(std::string(256, '\x91'));
  jwks_cache cache{[&]() -> result<std::string> {
                     ++fetches;
                     if (fails)
                       return error{errc::node_failed, "no answer"};
                     return "{\"keys\":[{" + point + "\"}]}";
                   },
                   [&](const std::string& line) { reports.push_back(line); }};
  jwks_cache::time_point at{1h};
  BOOST_TEST(cache.keys_for("r", at)->size() == 1u);
  cache.keys_for("r", at += 599s);
  BOOST_TEST(fetches == 1);
  cache.keys_for("unknown", at);
  cache.keys_for("unknown", at += 29s);
  BOOST_TEST(fetches == 2);
  fails = true;
  cache.keys_for("unknown", at += 1s);
  BOOST_TEST(fetches == 3);
  BOOST_TEST(reports.size() == 1u);
  BOOST_TEST(cache.keys_for("r", at += 700s)->size() == 1u); // those before stay
  BOOST_TEST(fetches == 4);
}

BOOST_AUTO_TEST_CASE(base64_for_urls_has_one_text_for_each_value) {
  BOOST_TEST(from_base64url("_-8").value() == "\xff\xef");
  BOOST_TEST(from_base64url("").value() == "");
  for (const char* bad : {"_-8=", "_-9", "A", "AAAAA", "+/8", "AA A", "AB"})
    BOOST_TEST(!from_base64url(bad), bad);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
