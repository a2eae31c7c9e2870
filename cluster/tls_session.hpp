// One end of a TLS connection, over a socket that does not block.
#pragma once

#include "cluster/tls_links.hpp"

#include <caf/io/network/native_socket.hpp>
#include <caf/io/network/rw_state.hpp>
#include <openssl/ssl.h>

#include <list>
#include <mutex>

namespace troupe::cluster {

/// The sockets whose handshakes are not done, the oldest first. Threads may share it.
class open_handshakes {
public:
  /// Shuts the oldest one down when there are too many.
  void begin(int fd);
  /// Also for one that is not there. Comes before the socket is closed, so that a number that is
  /// used again is never shut down.
  void end(int fd);

private:
  std::mutex mutex_;
  std::list<int> fds_;
};

class tls_context {
public:
  explicit tls_context(SSL_CTX* context) : context_{context} {}
  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;
  ~tls_context() { SSL_CTX_free(context_); }

  SSL_CTX* get() const noexcept { return context_; }
  open_handshakes& handshakes() noexcept { return handshakes_; }

private:
  SSL_CTX* context_;
  open_handshakes handshakes_;
};

/// What CAF calls a policy: reads and writes for a stream.
class tls_session {
public:
  using state = caf::io::network::rw_state;
  enum class side { dialer, acceptor };

  /// Nothing when OpenSSL is out of memory.
  static std::unique_ptr<tls_session> make(std::shared_ptr<tls_context> context, int fd, side here);
  tls_session(const tls_session&) = delete;
  tls_session& operator=(const tls_session&) = delete;
  ~tls_session();

  state read(std::size_t& taken, void* to, std::size_t size);
  state write(std::size_t& taken, const void* from, std::size_t size);
  bool has_more_than(std::size_t size) const;

private:
  tls_session(std::shared_ptr<tls_context> context, SSL* ssl, int fd);

  enum class step { done, wants_read, wants_write, failed };
  step handshake();
  step step_of(int returned) const;
  bool write_early();

  std::shared_ptr<tls_context> context_;
  SSL* ssl_;
  int fd_;
  bool is_open_ = false; // the handshake is done
  std::string early_;    // to be written when it is
};

} // namespace troupe::cluster
