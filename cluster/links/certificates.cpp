// certificates: makes a CA and the certificates that it signs.
#include "cluster/links/certificates.hpp"

#include "cluster/links/pem_files.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace troupe::cluster {

namespace {

constexpr std::string_view making_a_ca = "make a CA";
constexpr std::string_view issuing = "issue a certificate";
constexpr auto clock_skew = std::chrono::minutes{5}; // certificates are valid this much earlier

using number_ptr = std::unique_ptr<BIGNUM, freed_by<BN_free>>;
using names_ptr = std::unique_ptr<GENERAL_NAMES, freed_by<GENERAL_NAMES_free>>;
using extension_ptr = std::unique_ptr<X509_EXTENSION, freed_by<X509_EXTENSION_free>>;

std::time_t seconds(wall_time at) {
  return std::chrono::system_clock::to_time_t(at);
}

// An error of OpenSSL on checked input, so memory or entropy ran out.
error openssl_error(std::string_view doing) {
  const auto* why = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return {errc::storage_failed,
          std::string{doing} + ": OpenSSL: " + (why ? why : "it gave no reason")};
}

// ---- orders -------------------------------------------------------------------------------------

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_file_name(std::string_view name) {
  auto allowed = [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= limits::cluster_certificate_name_bytes_max
         && is_alphanumeric(name.front()) && std::ranges::all_of(name, allowed);
}

bool is_host_name(std::string_view host) {
  std::size_t label = 0;
  char before = '.';
  for (auto c : host) {
    if (c == '.' ? before == '.' || before == '-' : !is_alphanumeric(c) && c != '-')
      return false;
    if (before == '.' && c == '-')
      return false;
    label = c == '.' ? 0 : label + 1;
    if (label > 63)
      return false;
    before = c;
  }
  return is_alphanumeric(before) && host.size() <= limits::cluster_host_bytes_max;
}

using asn1_string_ptr = std::unique_ptr<ASN1_STRING, freed_by<ASN1_STRING_free>>;

asn1_string_ptr address_of(const std::string& host) {
  asn1_string_ptr address{a2i_IPADDRESS(host.c_str())};
  ERR_clear_error();
  return address;
}

result<void> check_order(const std::filesystem::path& dir, const certificate_order& order) {
  auto bad = [&dir](const std::string& what) { return tls_error(issuing, dir, what); };
  if (!is_file_name(order.name))
    return bad("a name must have 1 to " + std::to_string(limits::cluster_certificate_name_bytes_max)
               + " letters, digits, `.`, `_` or `-`, and begin with a letter or digit");
  if (order.name == "ca")
    return bad("`ca` is the CA's own name");
  if (order.days == 0 || order.days > limits::cluster_certificate_days_max)
    return bad("the number of days must be 1 to "
               + std::to_string(limits::cluster_certificate_days_max));
  if (order.hosts.size() > limits::cluster_hosts_max)
    return bad("more than " + std::to_string(limits::cluster_hosts_max) + " hosts");
  for (const auto& host : order.hosts)
    if (!address_of(host) && !is_host_name(host))
      return bad("`" + host.substr(0, limits::cluster_host_bytes_max)
                 + "` is neither a host name nor an address");
  return {};
}

// ---- pieces of a certificate --------------------------------------------------------------------

bool set_serial(X509* certificate) {
  std::array<unsigned char, 16> random{};
  if (RAND_bytes(random.data(), random.size()) != 1)
    return false;
  random[0] = static_cast<unsigned char>((random[0] & 0x3f) | 0x40); // positive, never short
  number_ptr number{BN_bin2bn(random.data(), random.size(), nullptr)};
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_name(X509* certificate, std::string_view name) {
  return X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                    MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()),
                                    static_cast<int>(name.size()), -1, 0)
         == 1;
}

// `text` must never come from a user, since OpenSSL interprets it.
bool add_extension(X509* certificate, X509* issuer, int nid, const char* text) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  extension_ptr extension{X509V3_EXT_conf_nid(nullptr, &context, nid, text)};
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

asn1_string_ptr name_of(const std::string& host) {
  asn1_string_ptr text{ASN1_IA5STRING_new()};
  if (text && ASN1_STRING_set(text.get(), host.data(), static_cast<int>(host.size())) != 1)
    text.reset();
  return text;
}

bool add_host(GENERAL_NAMES* names, const std::string& host) {
  auto value = address_of(host);
  auto type = value ? GEN_IPADD : GEN_DNS;
  if (!value)
    value = name_of(host);
  auto* name = value ? GENERAL_NAME_new() : nullptr;
  if (!name)
    return false;
  GENERAL_NAME_set0_value(name, type, value.release());
  return sk_GENERAL_NAME_push(names, name) > 0;
}

bool add_hosts(X509* certificate, const certificate_order& order) {
  names_ptr names{GENERAL_NAMES_new()};
  if (!names)
    return false;
  auto hosts = order.hosts;
  if (is_host_name(order.name) && std::ranges::find(hosts, order.name) == hosts.end())
    hosts.insert(hosts.begin(), order.name);
  for (const auto& host : hosts)
    if (!add_host(names.get(), host))
      return false;
  return hosts.empty()
         || X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT)
              == 1;
}

/// The parts that a CA and its certificates share. `issuer`: null for a CA.
certificate_ptr unsigned_certificate(std::string_view name, EVP_PKEY* key, X509* issuer,
                                     wall_time from, wall_time until) {
  certificate_ptr made{X509_new()};
  auto* issued_by = issuer ? issuer : made.get();
  if (!made || X509_set_version(made.get(), X509_VERSION_3) != 1 || !set_serial(made.get())
      || !set_name(made.get(), name)
      || X509_set_issuer_name(made.get(), X509_get_subject_name(issued_by)) != 1
      || !ASN1_TIME_set(X509_getm_notBefore(made.get()), seconds(from))
      || !ASN1_TIME_set(X509_getm_notAfter(made.get()), seconds(until))
      || X509_set_pubkey(made.get(), key) != 1
      || !add_extension(made.get(), issued_by, NID_subject_key_identifier, "hash"))
    return nullptr;
  return made;
}

certificate_ptr ca_certificate(const ca_order& order, EVP_PKEY* key, wall_time now) {
  auto made = unsigned_certificate(order.name, key, nullptr, now - clock_skew,
                                   now + std::chrono::hours{24} * order.days);
  auto* it = made.get();
  if (!made || !add_extension(it, it, NID_basic_constraints, "critical,CA:TRUE,pathlen:0")
      || !add_extension(it, it, NID_key_usage, "critical,keyCertSign,cRLSign")
      || X509_sign(it, key, EVP_sha256()) == 0)
    return nullptr;
  return made;
}

/// An opened CA.
struct authority {
  certificate_ptr certificate;
  key_ptr key;
};

certificate_ptr leaf_certificate(const certificate_order& order, EVP_PKEY* key, const authority& ca,
                                 wall_time now, wall_time until) {
  auto made = unsigned_certificate(order.name, key, ca.certificate.get(), now - clock_skew, until);
  auto* it = made.get();
  auto add = [it, &ca](int nid, const char* text) {
    return add_extension(it, ca.certificate.get(), nid, text);
  };
  if (!made || !add(NID_basic_constraints, "critical,CA:FALSE")
      || !add(NID_key_usage, "critical,digitalSignature")
      || !add(NID_ext_key_usage, "serverAuth,clientAuth")
      || !add(NID_authority_key_identifier, "keyid:always") || !add_hosts(it, order)
      || X509_sign(it, ca.key.get(), EVP_sha256()) == 0)
    return nullptr;
  return made;
}

// ---- files --------------------------------------------------------------------------------------

/// Writes the key first, so that a certificate never exists without its key.
result<void> write_pair(std::string_view doing, const std::filesystem::path& certificate_file,
                        const std::filesystem::path& key_file, X509* certificate, EVP_PKEY* key,
                        const passphrase* secret) {
  bio_ptr key_text{BIO_new(BIO_s_secmem())}; // wiped at the end
  bio_ptr text{BIO_new(BIO_s_mem())};
  auto size = secret ? static_cast<int>(secret->view().size()) : 0;
  if (!key_text || !text || PEM_write_bio_X509(text.get(), certificate) != 1
      || PEM_write_bio_PKCS8PrivateKey(key_text.get(), key, secret ? EVP_aes_256_cbc() : nullptr,
                                       secret ? secret->view().data() : nullptr, size, nullptr,
                                       nullptr)
           != 1)
    return openssl_error(doing);
  std::error_code ignored;
  if (std::filesystem::exists(certificate_file, ignored))
    return tls_error(doing, certificate_file, "the file exists already and is not overwritten");
  if (auto ok = write_new_file(doing, key_file, *key_text, true); !ok)
    return ok;
  auto ok = write_new_file(doing, certificate_file, *text, false);
  if (!ok)
    std::filesystem::remove(key_file, ignored);
  return ok;
}

// True when the directory was made, false when it existed.
result<bool> make_directory(const std::filesystem::path& dir) {
  if (::mkdir(dir.c_str(), 0700) == 0)
    return true;
  auto failed = errno;
  std::error_code ignored;
  if (failed == EEXIST && std::filesystem::is_directory(dir, ignored))
    return false;
  return tls_error(making_a_ca, dir, std::generic_category().message(failed));
}

result<authority> open_authority(const std::filesystem::path& dir, const passphrase* secret) {
  auto file = dir / "ca.pem";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    return tls_error(issuing, file, "the CA is missing: `troupe cluster init-ca` makes one");
  auto certificates = read_certificates(issuing, file);
  if (!certificates)
    return certificates.error();
  auto key = read_key(issuing, dir / "ca.key", secret);
  if (!key)
    return key.error();
  auto& certificate = certificates->front();
  if (X509_check_private_key(certificate.get(), key->get()) != 1) {
    ERR_clear_error();
    return tls_error(issuing, dir / "ca.key", "not the key of ca.pem");
  }
  return authority{std::move(certificate), std::move(*key)};
}

} // namespace

result<void> init_ca(const std::filesystem::path& dir, const ca_order& order, wall_time now) {
  if (order.days == 0 || order.days > limits::cluster_certificate_days_max)
    return tls_error(making_a_ca, dir,
                     "the number of days must be 1 to "
                       + std::to_string(limits::cluster_certificate_days_max));
  if (order.name.empty() || order.name.size() > limits::cluster_certificate_name_bytes_max)
    return tls_error(making_a_ca, dir,
                     "a name must have 1 to "
                       + std::to_string(limits::cluster_certificate_name_bytes_max) + " bytes");
  key_ptr key{EVP_EC_gen("P-256")};
  auto certificate = key ? ca_certificate(order, key.get(), now) : nullptr;
  if (!certificate)
    return openssl_error(making_a_ca);
  auto is_new = make_directory(dir);
  if (!is_new)
    return is_new.error();
  auto ok = write_pair(making_a_ca, dir / "ca.pem", dir / "ca.key", certificate.get(), key.get(),
                       order.secret.get());
  std::error_code ignored;
  if (!ok && *is_new)
    std::filesystem::remove(dir, ignored);
  return ok;
}

result<issued_certificate> issue_cert(const std::filesystem::path& dir,
                                      const certificate_order& order, wall_time now) {
  if (auto ok = check_order(dir, order); !ok)
    return ok.error();
  auto ca = open_authority(dir, order.ca_secret.get());
  if (!ca)
    return ca.error();
  auto until = now + std::chrono::hours{24} * order.days;
  const auto* ca_until = X509_get0_notAfter(ca->certificate.get());
  if (ASN1_TIME_cmp_time_t(ca_until, seconds(until)) < 0)
    return tls_error(issuing, dir / "ca.pem",
                     "the CA expires on " + text_of(ca_until) + ", before the certificate");
  key_ptr key{EVP_EC_gen("P-256")};
  auto certificate = key ? leaf_certificate(order, key.get(), *ca, now, until) : nullptr;
  if (!certificate)
    return openssl_error(issuing);
  issued_certificate issued{dir / (order.name + ".pem"), dir / (order.name + ".key"), until};
  if (auto ok = write_pair(issuing, issued.certificate, issued.key, certificate.get(), key.get(),
                           order.secret.get());
      !ok)
    return ok.error();
  return issued;
}

} // namespace troupe::cluster
