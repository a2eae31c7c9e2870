// tls_context: loading certificates and keys.
#include "http/tls_context.hpp"

#include <boost/asio/buffer.hpp>

#include <utility>

namespace troupe {
namespace {

namespace ssl = boost::asio::ssl;

error wrong_tls_file(const std::filesystem::path& file, const std::string& why) {
  return {errc::invalid_config, "serve TLS: " + file.string() + ": " + why};
}

std::shared_ptr<ssl::context> load_served_tls(const http_tls_files& files) {
  auto out = std::make_shared<ssl::context>(ssl::context::tls_server);
  ::SSL_CTX_set_min_proto_version(out->native_handle(), TLS1_2_VERSION);
  ::SSL_CTX_set_options(out->native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION
                                                | SSL_OP_CIPHER_SERVER_PREFERENCE);
  boost::system::error_code failed;
  // Never asks at the terminal.
  failed = out->set_password_callback([](auto, auto) { return std::string{}; }, failed);
  failed = out->use_certificate_chain_file(files.certificate.string(), failed);
  if (failed)
    throw wrong_tls_file(files.certificate, failed.message());
  failed = out->use_private_key_file(files.key.string(), ssl::context::pem, failed);
  if (failed)
    throw wrong_tls_file(files.key, failed.message());
  if (::SSL_CTX_check_private_key(out->native_handle()) != 1)
    throw wrong_tls_file(files.key, "not the key of the certificate");
  return out;
}

} // namespace

tls_context::tls_context(http_tls_files files)
  : files_{std::move(files)},
    stamp_{stamp_of_files()},
    context_{load_served_tls(files_)} {}

tls_context::stamp tls_context::stamp_of_files() const {
  auto of = [](const std::filesystem::path& file) {
    std::error_code missing;
    auto time = std::filesystem::last_write_time(file, missing);
    auto size = std::filesystem::file_size(file, missing);
    return std::pair{time, size};
  };
  return {of(files_.certificate), of(files_.key)};
}

std::shared_ptr<ssl::context>
tls_context::get(clock::time_point now, const std::function<void(const std::string&)>& report) {
  if (now - looked_ >= limits::http_tls_check) {
    looked_ = now;
    look(report);
  }
  return context_;
}

void tls_context::look(const std::function<void(const std::string&)>& report) {
  auto stamp = stamp_of_files();
  if (stamp == stamp_)
    return;
  stamp_ = stamp; // files that do not fit are reported once
  try {
    context_ = load_served_tls(files_);
  } catch (const error& e) {
    if (report)
      report(e.message() + "; the certificate before stays");
  }
}

} // namespace troupe
