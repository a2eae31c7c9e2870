// secret_file: reading it.
#include "server/auth/secret_file.hpp"

#include "persistence/crypt/private_file.hpp"

#include <troupe/server/limits.hpp>

namespace troupe::server {

result<std::string> read_secret_file(const std::filesystem::path& file) {
  wiped_text text;
  if (auto problem = text.read(file, limits::server_secret_bytes_max, true); !problem.empty())
    return error{errc::invalid_config, "read a secret: " + file.string() + ": " + problem};
  auto secret = text.view();
  while (secret.ends_with('\n') || secret.ends_with('\r'))
    secret.remove_suffix(1);
  return std::string{secret};
}

} // namespace troupe::server
