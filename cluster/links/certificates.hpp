// certificates: a private CA for one cluster, and the check of TLS files before an actor system
// starts. Every process with a certificate of the CA is trusted.
//
// Keys are EC P-256, in PEM, readable by their owner alone. A directory holds ca.pem, ca.key, and
// NAME.pem and NAME.key of each process.
#pragma once

#include <troupe/error.hpp>
#include <troupe/limits.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::cluster {

using wall_time = std::chrono::system_clock::time_point;

/// The passphrase of a key file. Comes from a file or the environment, never from the command line.
/// Appears in no message, and is wiped at the end.
class passphrase {
public:
  passphrase(passphrase&&) noexcept;
  passphrase& operator=(passphrase&&) noexcept;
  ~passphrase();

  /// The first line of a file that only its owner may read.
  /// Errors: invalid_config when the file is missing, the line is empty or too long, or others may
  ///         read it.
  static result<passphrase> from_file(const std::filesystem::path& file);

  /// The value of the environment variable `name`, or the passphrase in the file that NAME_FILE
  /// names; null when neither is set.
  /// Errors: as from_file(); invalid_config when both are set, or one is empty.
  static result<std::shared_ptr<const passphrase>> from_environment(const std::string& name);

  std::string_view view() const noexcept { return text_; }

private:
  explicit passphrase(std::string_view text) : text_{text} {}
  std::string text_;
};

struct ca_order {
  std::string name = "troupe cluster";
  unsigned days = limits::cluster_certificate_days_max;
  std::shared_ptr<const passphrase> secret{}; // of ca.key; null: not encrypted
};

/// Makes ca.pem and ca.key in `dir`, and `dir` itself when it is missing.
/// Errors: invalid_config when `dir` has a CA, since nothing is overwritten; storage_failed. After
///         an error no new file remains.
result<void> init_ca(const std::filesystem::path& dir, const ca_order& order, wall_time now);

struct certificate_order {
  std::string name{};               // names the files, too: letters, digits, `.`, `_`, `-`
  std::vector<std::string> hosts{}; // names and addresses, in addition to `name`
  unsigned days = 365;
  std::shared_ptr<const passphrase> ca_secret{};
  std::shared_ptr<const passphrase> secret{}; // of the new key
};

struct issued_certificate {
  std::filesystem::path certificate;
  std::filesystem::path key;
  wall_time until;
};

/// Makes NAME.pem and NAME.key, signed by the CA of `dir`, for servers and for clients.
/// Errors: invalid_config when the CA is missing, its key does not open, or it ends earlier. The
///         same when the name, a host or the days are bad, or when NAME exists. Otherwise
///         storage_failed. After an error no new file remains.
result<issued_certificate> issue_cert(const std::filesystem::path& dir,
                                      const certificate_order& order, wall_time now);

struct tls_files {
  std::filesystem::path certificate; // may be followed by intermediate certificates
  std::filesystem::path key;
  std::filesystem::path authority;
  std::shared_ptr<const passphrase> secret{}; // of the key
};

/// Checks that a process can work with these files at `now`.
/// Errors: invalid_config, which names the file and its fault.
result<void> check_tls_files(const tls_files& files, wall_time now);

} // namespace troupe::cluster
