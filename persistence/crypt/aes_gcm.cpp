// aes_gcm: encrypting and decrypting by OpenSSL's EVP functions.
#include "persistence/crypt/aes_gcm.hpp"

#include "persistence/crypt/libcrypto.hpp"

#include <algorithm>
#include <array>

namespace troupe {

namespace {

// EVP counts in int; longer texts go in pieces.
constexpr std::size_t piece_bytes_max = std::size_t{1} << 30;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(char* text) {
  return reinterpret_cast<unsigned char*>(text);
}

error failed(std::string_view doing) {
  return {errc::storage_failed, std::string{doing} + ": OpenSSL refused"};
}

// Feeds text that is only authenticated (`out` null), or that is written to `out`.
bool feed(const libcrypto& openssl, EVP_CIPHER_CTX* cipher, std::string_view text, char* out) {
  while (!text.empty()) {
    auto piece = text.substr(0, piece_bytes_max);
    int written = 0;
    if (openssl.update_cipher(cipher, out ? bytes_of(out) : nullptr, &written, bytes_of(piece),
                              static_cast<int>(piece.size()))
        != 1)
      return false;
    if (out)
      out += piece.size();
    text.remove_prefix(piece.size());
  }
  return true;
}

bool finish(const libcrypto& openssl, EVP_CIPHER_CTX* cipher) {
  std::array<unsigned char, 16> none;
  int written = 0;
  return openssl.finish_cipher(cipher, none.data(), &written) == 1;
}

} // namespace

void aes_gcm::closer::operator()(evp_cipher_ctx_st* cipher) const noexcept {
  openssl->free_cipher(cipher); // wipes the expanded key
}

result<aes_gcm> aes_gcm::with(const secret_key& key) {
  auto openssl = load_libcrypto();
  if (!openssl)
    return openssl.error();
  aes_gcm made{**openssl};
  if (!made.cipher_
      || made.openssl_->init_cipher(made.cipher_.get(), made.openssl_->aes_256_gcm(), nullptr,
                                    key.data(), nullptr, 1)
           != 1)
    return failed("set up AES-256-GCM");
  return made;
}

aes_gcm::aes_gcm(const libcrypto& openssl)
  : openssl_{&openssl},
    cipher_{openssl.new_cipher(), closer{&openssl}} {}

// The key and the nonce's length, 12 by default, were set by with().
bool aes_gcm::start(std::string_view nonce, const gcm_context& context, bool encrypts) {
  return openssl_->init_cipher(cipher_.get(), nullptr, nullptr, nullptr, bytes_of(nonce),
                               encrypts ? 1 : 0)
           == 1
         && feed(*openssl_, cipher_.get(), context.first, nullptr)
         && feed(*openssl_, cipher_.get(), context.second, nullptr);
}

result<void> aes_gcm::encrypt(std::string_view text, const gcm_context& context, std::string& out) {
  std::array<unsigned char, gcm_nonce_bytes> nonce;
  if (openssl_->random_bytes(nonce.data(), static_cast<int>(nonce.size())) != 1)
    return failed("draw a nonce");
  return encrypt(text, context, {reinterpret_cast<const char*>(nonce.data()), nonce.size()}, out);
}

result<void> aes_gcm::encrypt(std::string_view text, const gcm_context& context,
                              std::string_view nonce, std::string& out) {
  out.append(nonce);
  auto begin = out.size();
  out.resize(begin + text.size() + gcm_tag_bytes);
  auto* tag = out.data() + begin + text.size();
  if (!start(nonce, context, true) || !feed(*openssl_, cipher_.get(), text, out.data() + begin)
      || !finish(*openssl_, cipher_.get())
      || openssl_->control_cipher(cipher_.get(), EVP_CTRL_AEAD_GET_TAG, gcm_tag_bytes, tag) != 1)
    return failed("encrypt");
  return {};
}

bool aes_gcm::decrypt_to(std::string_view bytes, const gcm_context& context, char* out) {
  auto text = bytes.substr(gcm_nonce_bytes, bytes.size() - gcm_overhead_bytes);
  std::array<char, gcm_tag_bytes> tag; // OpenSSL's parameter is not const
  std::copy_n(bytes.end() - gcm_tag_bytes, gcm_tag_bytes, tag.begin());
  return start(bytes.substr(0, gcm_nonce_bytes), context, false)
         && feed(*openssl_, cipher_.get(), text, out)
         && openssl_->control_cipher(cipher_.get(), EVP_CTRL_AEAD_SET_TAG, gcm_tag_bytes,
                                     tag.data())
              == 1
         && finish(*openssl_, cipher_.get());
}

bool aes_gcm::decrypt(std::string_view bytes, const gcm_context& context, std::string& out) {
  out.clear();
  if (bytes.size() < gcm_overhead_bytes)
    return false;
  out.resize(bytes.size() - gcm_overhead_bytes);
  if (decrypt_to(bytes, context, out.data()))
    return true;
  out.clear(); // a text that failed authentication must not be used
  return false;
}

result<void> aes_gcm::wrap(const secret_key& key, const gcm_context& context, std::string& out) {
  return encrypt({reinterpret_cast<const char*>(key.data()), secret_key::size}, context, out);
}

std::optional<secret_key> aes_gcm::unwrap(std::string_view bytes, const gcm_context& context) {
  secret_key key;
  if (bytes.size() != wrapped_key_bytes
      || !decrypt_to(bytes, context, reinterpret_cast<char*>(key.data())))
    return std::nullopt;
  return key;
}

result<secret_key> random_key() {
  auto openssl = load_libcrypto();
  if (!openssl)
    return openssl.error();
  secret_key key;
  if ((*openssl)->random_secret(key.data(), secret_key::size) != 1)
    return failed("draw a key");
  return key;
}

} // namespace troupe
