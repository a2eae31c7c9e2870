// pem_files: reads and writes PEM files and passphrases.
#include "cluster/links/pem_files.hpp"

#include "persistence/crypt/private_file.hpp"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

namespace troupe::cluster {

namespace {

constexpr std::string_view reading_a_passphrase = "read a passphrase";

std::string text_of_errno(int number) {
  return std::generic_category().message(number);
}

// Writes a text and syncs. Returns 0 or an errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    auto wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote < 0)
      return errno;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return fsync(fd) == 0 ? 0 : errno;
}

bio_ptr bio_of(std::string_view text) {
  return bio_ptr{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

struct asked_secret {
  const passphrase* secret;
  bool was_asked = false;
};

// Replaces OpenSSL's own question at the terminal.
int give_passphrase(char* to, int size, int, void* user) {
  auto& asked = *static_cast<asked_secret*>(user);
  asked.was_asked = true;
  if (!asked.secret || asked.secret->view().size() > static_cast<std::size_t>(size))
    return -1;
  std::memcpy(to, asked.secret->view().data(), asked.secret->view().size());
  return static_cast<int>(asked.secret->view().size());
}

} // namespace

error tls_error(std::string_view doing, const std::filesystem::path& place, std::string_view what) {
  std::string text{doing};
  return {errc::invalid_config, text.append(": ").append(place.string()).append(": ").append(what)};
}

// ---- reading ------------------------------------------------------------------------------------

result<std::vector<certificate_ptr>> read_certificates(std::string_view doing,
                                                       const std::filesystem::path& file) {
  wiped_text text;
  if (auto flaw = text.read(file, limits::cluster_pem_bytes_max, false); !flaw.empty())
    return tls_error(doing, file, flaw);
  auto bio = bio_of(text.view());
  std::vector<certificate_ptr> all;
  while (certificate_ptr one{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)})
    all.push_back(std::move(one));
  auto why = ERR_peek_last_error();
  ERR_clear_error();
  auto is_the_end = ERR_GET_LIB(why) == ERR_LIB_PEM && ERR_GET_REASON(why) == PEM_R_NO_START_LINE;
  if (all.empty() && is_the_end)
    return tls_error(doing, file, "the file has no certificate in PEM");
  if (!is_the_end)
    return tls_error(doing, file, "a certificate in the file is damaged");
  return all;
}

result<key_ptr> read_key(std::string_view doing, const std::filesystem::path& file,
                         const passphrase* secret) {
  wiped_text text;
  if (auto flaw = text.read(file, limits::cluster_pem_bytes_max, true); !flaw.empty())
    return tls_error(doing, file, flaw);
  asked_secret asked{secret};
  auto bio = bio_of(text.view());
  key_ptr key{PEM_read_bio_PrivateKey(bio.get(), nullptr, give_passphrase, &asked)};
  ERR_clear_error();
  if (key)
    return key;
  if (!asked.was_asked)
    return tls_error(doing, file, "the file has no private key in PEM");
  return tls_error(doing, file,
                   secret ? "the passphrase does not decrypt the key"
                          : "the key is encrypted, and the passphrase is missing");
}

// ---- writing ------------------------------------------------------------------------------------

result<void> write_new_file(std::string_view doing, const std::filesystem::path& file, BIO& text,
                            bool is_private) {
  char* data = nullptr;
  auto size = BIO_get_mem_data(&text, &data);
  owned_descriptor to{::open(file.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
                             is_private ? mode_t{0600} : mode_t{0644})};
  auto failed = to ? 0 : errno;
  if (failed == EEXIST)
    return tls_error(doing, file, "the file exists already and is not overwritten");
  if (failed == 0) {
    failed = write_all(to.fd(), {data, static_cast<std::size_t>(size)});
    if (failed != 0)
      ::unlink(file.c_str());
  }
  if (failed != 0)
    return troupe::error{errc::storage_failed,
                         std::string{doing} + ": " + file.string() + ": " + text_of_errno(failed)};
  return {};
}

std::string text_of(const ASN1_TIME* time) {
  std::tm at{};
  if (ASN1_TIME_to_tm(time, &at) != 1)
    return "an unknown time";
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &at)};
}

// ---- passphrase ---------------------------------------------------------------------------------

passphrase::passphrase(passphrase&& other) noexcept : text_{std::move(other.text_)} {
  OPENSSL_cleanse(other.text_.data(), other.text_.capacity()); // a short one is copied
}

passphrase& passphrase::operator=(passphrase&& other) noexcept {
  std::swap(text_, other.text_);
  return *this;
}

passphrase::~passphrase() {
  OPENSSL_cleanse(text_.data(), text_.size());
}

result<passphrase> passphrase::from_file(const std::filesystem::path& file) {
  wiped_text text;
  if (auto flaw = text.read(file, limits::cluster_passphrase_bytes_max + 2, true); !flaw.empty())
    return tls_error(reading_a_passphrase, file, flaw);
  auto line = text.view().substr(0, text.view().find('\n'));
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  if (line.empty() || line.size() > limits::cluster_passphrase_bytes_max)
    return tls_error(reading_a_passphrase, file,
                     "its first line must have 1 to "
                       + std::to_string(limits::cluster_passphrase_bytes_max) + " bytes");
  return passphrase{line};
}

result<std::shared_ptr<const passphrase>> passphrase::from_environment(const std::string& name) {
  auto file_name = name + "_FILE";
  const auto* text = std::getenv(name.c_str());      // NOLINT(concurrency-mt-unsafe)
  const auto* file = std::getenv(file_name.c_str()); // NOLINT(concurrency-mt-unsafe)
  if (!text && !file)
    return std::shared_ptr<const passphrase>{};
  if (text && file)
    return tls_error(reading_a_passphrase, file_name, name + " is set as well: choose one");
  if (*(file ? file : text) == '\0')
    return tls_error(reading_a_passphrase, file ? file_name : name,
                     "the variable is set but empty");
  if (text && std::strlen(text) > limits::cluster_passphrase_bytes_max)
    return tls_error(reading_a_passphrase, name,
                     "more than " + std::to_string(limits::cluster_passphrase_bytes_max)
                       + " bytes");
  if (text)
    return std::shared_ptr<const passphrase>{new passphrase{text}};
  auto read = from_file(file);
  if (!read)
    return read.error();
  return std::shared_ptr<const passphrase>{new passphrase{std::move(*read)}};
}

} // namespace troupe::cluster
