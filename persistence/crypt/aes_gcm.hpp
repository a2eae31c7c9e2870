// AES-256-GCM by OpenSSL: the only file that knows it, but for the wiping of keys.
#pragma once

#include <troupe/keyring.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_cipher_ctx_st;

namespace troupe {

inline constexpr std::size_t gcm_nonce_bytes = 12;
inline constexpr std::size_t gcm_tag_bytes = 16;
/// What encryption adds to a text: the nonce in front, the tag behind.
inline constexpr std::size_t gcm_overhead_bytes = gcm_nonce_bytes + gcm_tag_bytes;
inline constexpr std::size_t wrapped_key_bytes = secret_key::size + gcm_overhead_bytes;

/// What is authenticated beside the text, in two parts because it lies in two places.
struct gcm_context {
  std::string_view first;
  std::string_view second;
};

/// A key, expanded once and used often.
/// Thread: one at a time.
class aes_gcm {
public:
  /// Errors: storage_failed when OpenSSL refuses (no memory, a policy without this cipher).
  static result<aes_gcm> with(const secret_key& key);

  /// Appends a random nonce, the encrypted text and the tag. A key must not encrypt more than 2^32
  /// texts: then the odds that a nonce came twice reach 2^-32.
  /// Errors: storage_failed; `out` is then of no use.
  result<void> encrypt(std::string_view text, const gcm_context& context, std::string& out);

  /// The same under a nonce of the caller's: for known answers.
  result<void> encrypt(std::string_view text, const gcm_context& context, std::string_view nonce,
                       std::string& out);

  /// The text, which replaces what is in `out`. False, and nothing in `out`, when these bytes were
  /// not made by encrypt() of the same key and context.
  bool decrypt(std::string_view bytes, const gcm_context& context, std::string& out);

  /// As encrypt and decrypt, of a key, of which no copy is left anywhere.
  result<void> wrap(const secret_key& key, const gcm_context& context, std::string& out);
  std::optional<secret_key> unwrap(std::string_view bytes, const gcm_context& context);

private:
  struct closer {
    void operator()(evp_cipher_ctx_st* cipher) const noexcept;
  };
  aes_gcm() = default;
  bool start(std::string_view nonce, const gcm_context& context, bool encrypts);
  bool decrypt_to(std::string_view bytes, const gcm_context& context, char* out);

  std::unique_ptr<evp_cipher_ctx_st, closer> cipher_;
};

/// Fills a key with random bytes. Errors: storage_failed.
result<secret_key> random_key();

} // namespace troupe
