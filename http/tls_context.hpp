// tls_context: the certificate of a listener, read from files, and read again when they change.
#pragma once

#include "http/listener.hpp"

#include <boost/asio/ssl/context.hpp>

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace troupe {

/// Thread: one.
class tls_context {
public:
  using clock = std::chrono::steady_clock;

  /// Errors: throws error{invalid_config} that names the file that does not fit.
  explicit tls_context(http_tls_files files);

  /// The context for a new connection. The files are looked at when `now` is http_tls_check after
  /// the last look.
  /// Shape:  `report` gets a line when changed files do not fit; the context before stays.
  std::shared_ptr<boost::asio::ssl::context>
  get(clock::time_point now, const std::function<void(const std::string&)>& report);
  /// As get(), at once.
  void look(const std::function<void(const std::string&)>& report);

private:
  // Changes with the content of the files: their times and sizes.
  using stamp = std::array<std::pair<std::filesystem::file_time_type, std::uintmax_t>, 2>;
  stamp stamp_of_files() const;

  const http_tls_files files_;
  stamp stamp_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  clock::time_point looked_{};
};

} // namespace troupe
