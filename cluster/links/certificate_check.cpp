// certificate_check: finds faults in the TLS files of a process.
#include "cluster/links/pem_files.hpp"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

namespace troupe::cluster {

namespace {

constexpr std::string_view checking = "check TLS files";

using store_ptr = std::unique_ptr<X509_STORE, freed_by<X509_STORE_free>>;
using context_ptr = std::unique_ptr<X509_STORE_CTX, freed_by<X509_STORE_CTX_free>>;

void free_list(STACK_OF(X509) * list) {
  sk_X509_free(list); // keeps the certificates, which have other owners
}
using list_ptr = std::unique_ptr<STACK_OF(X509), freed_by<free_list>>;

std::string explain(X509_STORE_CTX* context) {
  auto is_own = X509_STORE_CTX_get_error_depth(context) == 0;
  std::string whose = is_own ? "the certificate" : "a certificate of the CA";
  const auto* at = X509_STORE_CTX_get_current_cert(context);
  switch (auto why = X509_STORE_CTX_get_error(context)) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return whose + " has expired, on " + text_of(X509_get0_notAfter(at));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return whose + " is not valid before " + text_of(X509_get0_notBefore(at));
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: return "the certificate is not signed by this CA";
    case X509_V_ERR_INVALID_PURPOSE: return whose + " must allow use by servers and by clients";
    default: return X509_verify_cert_error_string(why);
  }
}

// The fault of a certificate chain for one purpose; empty when it is valid. OpenSSL checks one
// purpose at a time, and a process of a cluster is both server and client.
std::string flaw_of(const loaded_tls& chain, int purpose, wall_time now) {
  store_ptr trusted{X509_STORE_new()};
  context_ptr context{X509_STORE_CTX_new()};
  list_ptr between{sk_X509_new_null()};
  if (!trusted || !context || !between)
    return "out of memory";
  for (const auto& one : chain.authorities)
    X509_STORE_add_cert(trusted.get(), one.get());
  for (const auto& one : chain.own)
    sk_X509_push(between.get(), one.get());
  auto* own = chain.own.front().get();
  if (X509_STORE_CTX_init(context.get(), trusted.get(), own, between.get()) != 1)
    return "out of memory";
  auto* parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_purpose(parameters, purpose);
  X509_VERIFY_PARAM_set_time(parameters, std::chrono::system_clock::to_time_t(now));
  auto flaw = X509_verify_cert(context.get()) == 1 ? std::string{} : explain(context.get());
  ERR_clear_error();
  return flaw;
}

} // namespace

result<loaded_tls> load_tls_files(const tls_files& files, wall_time now) {
  auto own = read_certificates(checking, files.certificate);
  if (!own)
    return own.error();
  auto key = read_key(checking, files.key, files.secret.get());
  if (!key)
    return key.error();
  auto authorities = read_certificates(checking, files.authority);
  if (!authorities)
    return authorities.error();
  if (X509_check_private_key(own->front().get(), key->get()) != 1) {
    ERR_clear_error();
    return tls_error(checking, files.key, "not the key of " + files.certificate.string());
  }
  loaded_tls loaded{std::move(*own), std::move(*key), std::move(*authorities)};
  for (auto purpose : {X509_PURPOSE_SSL_SERVER, X509_PURPOSE_SSL_CLIENT})
    if (auto flaw = flaw_of(loaded, purpose, now); !flaw.empty())
      return tls_error(checking, files.certificate, flaw);
  return loaded;
}

result<void> check_tls_files(const tls_files& files, wall_time now) {
  if (auto loaded = load_tls_files(files, now); !loaded)
    return loaded.error();
  return {};
}

} // namespace troupe::cluster
