// libcrypto: the functions of OpenSSL that encrypt, loaded when a key is first used. A program
// without keys does not load the library, which would cost its start a millisecond.
#pragma once

#include <troupe/error.hpp>

#include <openssl/evp.h>
#include <openssl/rand.h>

namespace troupe {

/// OpenSSL's functions by what they do.
struct libcrypto {
  decltype(&::EVP_CIPHER_CTX_new) new_cipher;
  decltype(&::EVP_CIPHER_CTX_free) free_cipher;
  decltype(&::EVP_CIPHER_CTX_ctrl) control_cipher;
  decltype(&::EVP_CipherInit_ex) init_cipher;
  decltype(&::EVP_CipherUpdate) update_cipher;
  decltype(&::EVP_CipherFinal_ex) finish_cipher;
  decltype(&::EVP_aes_256_gcm) aes_256_gcm;
  decltype(&::RAND_bytes) random_bytes;
  decltype(&::RAND_priv_bytes) random_secret;
};

/// The functions; the library is loaded at the first call and never closed.
/// Blocks: at the first call, on the file system.
/// Errors: storage_failed with the loader's reason.
/// Thread: any.
result<const libcrypto*> load_libcrypto();

} // namespace troupe
