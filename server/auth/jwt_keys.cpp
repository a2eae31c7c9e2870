// jwt: keys and signatures, by OpenSSL.
#include "server/auth/jwt.hpp"

#include <troupe/server/limits.hpp>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#include <array>
#include <utility>

namespace troupe::server {
namespace {

constexpr int rsa_bits_min = 2048;
constexpr std::size_t secret_bytes_min = 32;
constexpr std::size_t number_bytes = 32; // of r and s of P-256

template <auto Free> struct freed_with {
  template <class T> void operator()(T* p) const noexcept { Free(p); }
};
template <class T, auto Free> using openssl_ptr = std::unique_ptr<T, freed_with<Free>>;
using number_ptr = openssl_ptr<BIGNUM, BN_free>;

const unsigned char* unsigned_bytes(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}

error wrong_jwt_key(std::string_view why) {
  ::ERR_clear_error(); // another call on this thread must not find it
  return {errc::invalid_config, "read a key of tokens: " + std::string{why}};
}

// The algorithm of a public key; nullopt for one that is too weak, or of another kind.
std::optional<jwt_algorithm> algorithm_of(EVP_PKEY& key) {
  if (::EVP_PKEY_is_a(&key, "RSA") == 1)
    return ::EVP_PKEY_get_bits(&key) >= rsa_bits_min ? std::optional{jwt_algorithm::rs256}
                                                     : std::nullopt;
  std::array<char, 64> group{};
  if (::EVP_PKEY_is_a(&key, "EC") == 1
      && ::EVP_PKEY_get_group_name(&key, group.data(), group.size(), nullptr) == 1
      && std::string_view{group.data()} == SN_X9_62_prime256v1)
    return jwt_algorithm::es256;
  return std::nullopt;
}

std::optional<jwt_key> key_of(EVP_PKEY* made, std::string id) {
  std::shared_ptr<EVP_PKEY> key{made, [](EVP_PKEY* p) { ::EVP_PKEY_free(p); }};
  auto algorithm = key ? algorithm_of(*key) : std::nullopt;
  if (!algorithm)
    return std::nullopt;
  return jwt_key{.algorithm = *algorithm, .id = std::move(id), .open = std::move(key)};
}

EVP_PKEY* key_from(const char* kind, OSSL_PARAM_BLD* parts) {
  openssl_ptr<OSSL_PARAM, OSSL_PARAM_free> parameters{::OSSL_PARAM_BLD_to_param(parts)};
  openssl_ptr<EVP_PKEY_CTX, EVP_PKEY_CTX_free> maker{
    ::EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr)};
  EVP_PKEY* out = nullptr;
  if (parameters && maker && ::EVP_PKEY_fromdata_init(maker.get()) == 1)
    ::EVP_PKEY_fromdata(maker.get(), &out, EVP_PKEY_PUBLIC_KEY, parameters.get());
  return out;
}

std::string member_bytes(const value& key, std::string_view name) {
  const auto& text = key[name];
  return text.is_string() ? from_base64url(text.as_string()).value_or("") : std::string{};
}

EVP_PKEY* rsa_key_of(const value& key) {
  auto modulus = member_bytes(key, "n");
  auto exponent = member_bytes(key, "e");
  if (modulus.empty() || exponent.empty() || modulus.size() > limits::server_jwt_bytes_max)
    return nullptr;
  number_ptr n{::BN_bin2bn(unsigned_bytes(modulus), static_cast<int>(modulus.size()), nullptr)};
  number_ptr e{::BN_bin2bn(unsigned_bytes(exponent), static_cast<int>(exponent.size()), nullptr)};
  openssl_ptr<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> parts{::OSSL_PARAM_BLD_new()};
  if (!n || !e || !parts || ::OSSL_PARAM_BLD_push_BN(parts.get(), "n", n.get()) != 1
      || ::OSSL_PARAM_BLD_push_BN(parts.get(), "e", e.get()) != 1)
    return nullptr;
  return key_from("RSA", parts.get());
}

EVP_PKEY* p256_key_of(const value& key) {
  auto point = "\x04" + member_bytes(key, "x") + member_bytes(key, "y");
  if (key["crv"] != value("P-256") || point.size() != 1 + 2 * number_bytes)
    return nullptr;
  openssl_ptr<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> parts{::OSSL_PARAM_BLD_new()};
  if (!parts || ::OSSL_PARAM_BLD_push_utf8_string(parts.get(), "group", SN_X9_62_prime256v1, 0) != 1
      || ::OSSL_PARAM_BLD_push_octet_string(parts.get(), "pub", point.data(), point.size()) != 1)
    return nullptr;
  return key_from("EC", parts.get());
}

// A key of a set that can check signatures.
std::optional<jwt_key> read_jwk(const value& key) {
  const auto& use = key["use"];
  const auto& id = key["kid"];
  if (!(use.is_null() || use == value("sig")) || !(id.is_null() || id.is_string()))
    return std::nullopt;
  auto* made = key["kty"] == value("RSA")  ? rsa_key_of(key)
               : key["kty"] == value("EC") ? p256_key_of(key)
                                           : nullptr;
  auto out = key_of(made, id.is_null() ? "" : id.as<std::string>());
  const auto& algorithm = key["alg"];
  if (out && !algorithm.is_null() && algorithm != value(to_string(out->algorithm)))
    return std::nullopt;
  return out;
}

bool fits_digest(EVP_PKEY& key, std::string_view text, std::string_view signature) {
  openssl_ptr<EVP_MD_CTX, EVP_MD_CTX_free> check{::EVP_MD_CTX_new()};
  auto fits = check
              && ::EVP_DigestVerifyInit(check.get(), nullptr, EVP_sha256(), nullptr, &key) == 1
              && ::EVP_DigestVerify(check.get(), unsigned_bytes(signature), signature.size(),
                                    unsigned_bytes(text), text.size())
                   == 1;
  ::ERR_clear_error();
  return fits;
}

} // namespace

result<jwt_key> jwt_secret(std::string secret, std::string id) {
  if (secret.size() < secret_bytes_min)
    return wrong_jwt_key("a secret has at least 32 bytes");
  return jwt_key{.id = std::move(id), .secret = std::move(secret)};
}

result<jwt_key> jwt_public_key(std::string_view pem, std::string id) {
  openssl_ptr<BIO, BIO_free> in{::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
  auto no_question = [](char*, int, int, void*) { return 0; };
  auto out = key_of(in ? ::PEM_read_bio_PUBKEY(in.get(), nullptr, no_question, nullptr) : nullptr,
                    std::move(id));
  if (!out)
    return wrong_jwt_key("not a public key in PEM: RSA of 2048 bits or more, or P-256");
  return std::move(*out);
}

result<std::vector<jwt_key>> read_jwks(std::string_view json) {
  auto set = from_json(json, json_form::plain);
  if (!set || !(*set)["keys"].is_list())
    return wrong_jwt_key("not a JSON Web Key Set");
  auto keys = (*set)["keys"];
  if (keys.size() > limits::server_jwt_keys_max)
    return wrong_jwt_key("the set has too many keys");
  std::vector<jwt_key> out;
  for (const auto& key : keys.items())
    if (auto read = read_jwk(key))
      out.push_back(std::move(*read));
  ::ERR_clear_error();
  if (out.empty())
    return wrong_jwt_key("the set has no key for RS256 or ES256");
  return out;
}

bool fits_hs256(std::string_view secret, std::string_view text, std::string_view signature) {
  std::array<unsigned char, 32> code{};
  unsigned size = 0;
  return signature.size() == code.size()
         && ::HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                   unsigned_bytes(text), text.size(), code.data(), &size)
         && ::CRYPTO_memcmp(code.data(), signature.data(), code.size()) == 0;
}

bool fits_rs256(EVP_PKEY& key, std::string_view text, std::string_view signature) {
  return ::EVP_PKEY_is_a(&key, "RSA") == 1 && fits_digest(key, text, signature);
}

bool fits_es256(EVP_PKEY& key, std::string_view text, std::string_view signature) {
  if (::EVP_PKEY_is_a(&key, "EC") != 1 || signature.size() != 2 * number_bytes)
    return false;
  number_ptr r{::BN_bin2bn(unsigned_bytes(signature), number_bytes, nullptr)};
  number_ptr s{::BN_bin2bn(unsigned_bytes(signature) + number_bytes, number_bytes, nullptr)};
  openssl_ptr<ECDSA_SIG, ECDSA_SIG_free> both{::ECDSA_SIG_new()};
  if (!r || !s || !both || ::ECDSA_SIG_set0(both.get(), r.get(), s.get()) != 1)
    return false;
  static_cast<void>(r.release()), static_cast<void>(s.release()); // `both` owns them now
  unsigned char* bytes = nullptr;
  auto size = ::i2d_ECDSA_SIG(both.get(), &bytes);
  std::string encoded(reinterpret_cast<const char*>(bytes), size > 0 ? std::size_t(size) : 0);
  ::OPENSSL_free(bytes);
  return !encoded.empty() && fits_digest(key, text, encoded);
}

} // namespace troupe::server
