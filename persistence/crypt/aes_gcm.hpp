// aes_gcm: AES-256-GCM by OpenSSL. Only this file uses OpenSSL's ciphers.
#pragma once

#include <troupe/keyring.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_cipher_ctx_st;

namespace troupe {

struct libcrypto;

inline constexpr std::size_t gcm_nonce_bytes = 12;
inline constexpr std::size_t gcm_tag_bytes = 16;
/// The bytes that encryption adds to a text: the nonce in front, the tag at the end.
inline constexpr std::size_t gcm_overhead_bytes = gcm_nonce_bytes + gcm_tag_bytes;
inline constexpr std::size_t wrapped_key_bytes = secret_key::size + gcm_overhead_bytes;

/// The bytes that are authenticated beside the text; two parts, because they lie in two places.
struct gcm_context {
  std::string_view first;
  std::string_view second;
};

/// A key that is expanded once and used often.
/// Thread: one at a time.
class aes_gcm {
public:
  /// Errors: storage_failed when OpenSSL can't be loaded, or refuses (no memory, or a policy
  ///         without this cipher).
  static result<aes_gcm> with(const secret_key& key);

  /// Appends a random nonce, the encrypted text and the tag. A key must not encrypt more than 2^32
  /// texts: at that number the probability of a repeated nonce reaches 2^-32.
  /// Errors: storage_failed; `out` must not be used then.
  result<void> encrypt(std::string_view text, const gcm_context& context, std::string& out);

  /// The same with a nonce from the caller, for tests with known answers.
  result<void> encrypt(std::string_view text, const gcm_context& context, std::string_view nonce,
                       std::string& out);

  /// Decrypts into `out`, which it replaces. False, with `out` empty, when encrypt() did not make
  /// these bytes with the same key and context.
  bool decrypt(std::string_view bytes, const gcm_context& context, std::string& out);

  /// As encrypt and decrypt, for a key; no copy of it is left in memory.
  result<void> wrap(const secret_key& key, const gcm_context& context, std::string& out);
  std::optional<secret_key> unwrap(std::string_view bytes, const gcm_context& context);

private:
  struct closer {
    const libcrypto* openssl;
    void operator()(evp_cipher_ctx_st* cipher) const noexcept;
  };
  explicit aes_gcm(const libcrypto& openssl);
  bool start(std::string_view nonce, const gcm_context& context, bool encrypts);
  bool decrypt_to(std::string_view bytes, const gcm_context& context, char* out);

  const libcrypto* openssl_;
  std::unique_ptr<evp_cipher_ctx_st, closer> cipher_;
};

/// Fills a key with random bytes. Errors: storage_failed.
result<secret_key> random_key();

} // namespace troupe
