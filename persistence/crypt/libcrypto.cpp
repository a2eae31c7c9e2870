// libcrypto: looks the functions up by their names.
#include "persistence/crypt/libcrypto.hpp"

#include "graph/shared_library.hpp"

#include <openssl/opensslv.h>

#include <string>

namespace troupe {

namespace {

std::string soname() { // the version whose headers these sources were compiled with
  return "libcrypto.so." + std::to_string(OPENSSL_SHLIB_VERSION);
}

result<libcrypto> find_libcrypto() {
  auto library = load_library(soname());
  if (!library)
    return error{errc::storage_failed, "load OpenSSL: " + library.error().message()};
  libcrypto found{};
  std::string missing;
  auto find = [&library, &missing](const char* name, auto& function) {
    auto* address = find_symbol(*library, name);
    if (!address)
      missing = name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  find("EVP_CIPHER_CTX_new", found.new_cipher);
  find("EVP_CIPHER_CTX_free", found.free_cipher);
  find("EVP_CIPHER_CTX_ctrl", found.control_cipher);
  find("EVP_CipherInit_ex", found.init_cipher);
  find("EVP_CipherUpdate", found.update_cipher);
  find("EVP_CipherFinal_ex", found.finish_cipher);
  find("EVP_aes_256_gcm", found.aes_256_gcm);
  find("RAND_bytes", found.random_bytes);
  find("RAND_priv_bytes", found.random_secret);
  if (!missing.empty())
    return error{errc::storage_failed, "load OpenSSL: " + soname() + " lacks " + missing};
  return found;
}

} // namespace

result<const libcrypto*> load_libcrypto() {
  static const result<libcrypto> found = find_libcrypto();
  if (!found)
    return found.error();
  return &*found;
}

} // namespace troupe
