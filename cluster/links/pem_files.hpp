// pem_files: certificates and keys in PEM files, and owners of OpenSSL's objects.
#pragma once

#include "cluster/links/certificates.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include <filesystem>

namespace troupe::cluster {

template <auto Free> struct freed_by {
  template <class T> void operator()(T* p) const noexcept { Free(p); }
};
using bio_ptr = std::unique_ptr<BIO, freed_by<BIO_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;

/// "DOING: PLACE: WHAT" as invalid_config.
error tls_error(std::string_view doing, const std::filesystem::path& place, std::string_view what);

/// All certificates of a file, at least one, in their order.
result<std::vector<certificate_ptr>> read_certificates(std::string_view doing,
                                                       const std::filesystem::path& file);

/// The key of a file. Never asks at the terminal for a passphrase.
result<key_ptr> read_key(std::string_view doing, const std::filesystem::path& file,
                         const passphrase* secret);

/// The checked files of a process.
struct loaded_tls {
  std::vector<certificate_ptr> own; // the process's own comes first
  key_ptr key;
  std::vector<certificate_ptr> authorities;
};

/// Reads the files and checks them.
/// Errors: those of check_tls_files().
result<loaded_tls> load_tls_files(const tls_files& files, wall_time now);

/// Writes a new file.
/// Errors: invalid_config when the file exists; storage_failed, and the file is removed again.
result<void> write_new_file(std::string_view doing, const std::filesystem::path& file, BIO& text,
                            bool is_private);

/// "2026-11-22 14:03:07 UTC"
std::string text_of(const ASN1_TIME* time);

} // namespace troupe::cluster
