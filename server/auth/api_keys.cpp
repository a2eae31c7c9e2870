// api_keys: reading, comparing and reloading hashes.
#include "server/auth/api_keys.hpp"

#include <troupe/server/limits.hpp>

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

namespace troupe::server {
namespace {

error wrong_key_line(std::size_t line, const char* why) {
  return {errc::invalid_config, "read API keys: line " + std::to_string(line) + ": " + why};
}

int key_digit_of(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::optional<sha256_hash> read_hash(std::string_view text) {
  constexpr std::string_view scheme = "sha256:";
  sha256_hash out{};
  if (!text.starts_with(scheme) || text.size() != scheme.size() + 2 * out.size())
    return std::nullopt;
  text.remove_prefix(scheme.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto high = key_digit_of(text[2 * i]);
    auto low = key_digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0)
      return std::nullopt;
    out[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return out;
}

std::string hex_of(const sha256_hash& bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (auto byte : bytes) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

} // namespace

sha256_hash sha256_of(std::string_view bytes) {
  sha256_hash out{};
  ::SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data());
  return out;
}

result<std::vector<api_key>> read_api_keys(std::string_view text) {
  std::vector<api_key> out;
  std::istringstream lines{std::string{text}};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words{line};
    std::string hash;
    if (!(words >> hash) || hash.starts_with('#'))
      continue;
    auto read = read_hash(hash);
    if (!read)
      return wrong_key_line(number, "does not begin with sha256: and 64 hex digits");
    if (out.size() >= limits::server_api_keys_max)
      return wrong_key_line(number, "more keys than the server takes");
    api_key one{*read, {.identity = "api-key", .is_authenticated = true}};
    words >> one.who.identity;
    for (std::string permission; words >> permission;)
      one.who.permissions.push_back(permission);
    out.push_back(std::move(one));
  }
  return out;
}

new_api_key make_api_key(std::string_view identity) {
  auto is_visible = [](char c) { return c > ' ' && c != '\x7f'; };
  if (identity.empty() || !std::ranges::all_of(identity, is_visible))
    throw error{errc::invalid_config, "make an API key: a name has no blanks, and is not empty"};
  sha256_hash random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    throw error{errc::storage_failed, "make an API key: the system gives no random bytes"};
  auto key = "troupe_" + hex_of(random);
  auto line = "sha256:" + hex_of(sha256_of(key)) + ' ' + std::string{identity};
  return {std::move(key), std::move(line)};
}

std::optional<caller> holder_of(const std::vector<api_key>& keys, std::string_view key) {
  auto hash = sha256_of(key);
  const api_key* found = nullptr;
  for (const auto& one : keys) // to the end in any case: the time must not tell which one it is
    if (::CRYPTO_memcmp(one.hash.data(), hash.data(), hash.size()) == 0)
      found = &one;
  return found && !key.empty() ? std::optional{found->who} : std::nullopt;
}

std::string_view presented_key(std::string_view x_api_key, std::string_view authorization) {
  if (!x_api_key.empty())
    return x_api_key;
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() < scheme.size())
    return {};
  for (std::size_t i = 0; i < scheme.size(); ++i)
    if ((authorization[i] >= 'A' && authorization[i] <= 'Z' ? authorization[i] | 0x20
                                                            : authorization[i])
        != scheme[i])
      return {};
  authorization.remove_prefix(scheme.size());
  while (authorization.starts_with(' '))
    authorization.remove_prefix(1);
  return authorization;
}

api_key_file::api_key_file(std::filesystem::path file,
                           std::function<void(const std::string&)> report)
  : file_{std::move(file)},
    report_{std::move(report)} {
  std::ifstream in{file_, std::ios::binary};
  if (!in)
    throw error{errc::invalid_config, "read API keys: " + file_.string() + ": cannot be read"};
  std::ostringstream text;
  text << in.rdbuf();
  auto read = read_api_keys(text.str());
  if (!read)
    throw error{errc::invalid_config, read.error().text() + ": " + file_.string()};
  keys_ = std::move(*read);
  std::error_code missing;
  stamp_ = {std::filesystem::last_write_time(file_, missing),
            std::filesystem::file_size(file_, missing)};
}

void api_key_file::look() {
  std::error_code missing;
  auto time = std::filesystem::last_write_time(file_, missing);
  auto size = std::filesystem::file_size(file_, missing);
  if (missing) {
    if (!keys_.empty() && report_)
      report_("read API keys: " + file_.string() + " is gone: nobody has a key");
    keys_.clear();
    stamp_ = {};
    return;
  }
  if (stamp_ == std::pair{time, size})
    return;
  stamp_ = {time, size}; // a file that does not fit is reported once
  std::ifstream in{file_, std::ios::binary};
  std::ostringstream text;
  text << in.rdbuf();
  auto read = read_api_keys(text.str());
  if (in && read)
    keys_ = std::move(*read);
  else if (report_)
    report_((read ? "read API keys: cannot be read: " : read.error().message() + ": ")
            + file_.string() + "; the keys before stay");
}

std::optional<caller> api_key_file::holder(std::string_view key, clock::time_point now) {
  std::scoped_lock lock{mutex_};
  if (now - looked_ >= limits::server_key_file_check) {
    looked_ = now;
    look();
  }
  return holder_of(keys_, key);
}

} // namespace troupe::server
