// tls_session: one end of a TLS connection, over a socket that does not block.
#pragma once

#include "cluster/links/first_words.hpp"
#include "cluster/links/tls_links.hpp"
#include "cluster/wire/refusal_log.hpp"

#include <caf/io/network/native_socket.hpp>
#include <caf/io/network/rw_state.hpp>
#include <openssl/ssl.h>

#include <array>
#include <list>
#include <map>
#include <mutex>

namespace troupe::cluster {

/// Sockets that have to do something in time, such as the handshake or a first message; the oldest
/// first.
/// Thread: any.
class patience_list {
public:
  using time_point = std::chrono::steady_clock::time_point;

  patience_list(std::chrono::milliseconds time_max, std::size_t count_max)
    : time_max_{time_max},
      count_max_{count_max} {}
  /// Adds a socket. True: it was one too many, and the oldest was shut down.
  bool begin(int fd, time_point now);
  /// Removes a socket, if it is there. Must come before the socket is closed, so that a reused
  /// number is never shut down.
  void end(int fd);
  /// Shuts down the sockets that take too long. Returns their number.
  std::size_t end_late(time_point now);

private:
  struct entry {
    int fd;
    time_point since;
  };
  std::chrono::milliseconds time_max_;
  std::size_t count_max_;
  std::mutex mutex_;
  std::list<entry> all_;
};

/// The dialled connections, by place.
/// Thread: any.
class dialled_sockets {
public:
  /// Adds a connection, and resets an older one to the same place. BASP knows one connection to a
  /// peer, so both sides would stay with one that the network has lost.
  void replace(const std::string& place, int fd);
  /// Removes a connection. Must come before the socket is closed.
  void end(const std::string& place, int fd);

private:
  std::mutex mutex_;
  std::map<std::string, int> fds_;
};

using ssl_context = std::shared_ptr<SSL_CTX>;

/// State that the connections of a process share: its TLS files, as they are now.
class tls_context {
public:
  /// The result of reading the files.
  struct ready {
    ssl_context context;
    wall_time until;
  };
  static result<ready> read(const tls_files& files, wall_time now);

  tls_context(tls_files files, ready first, const tls_patience& patience);
  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;

  ssl_context current() const;
  /// The end of the certificate.
  wall_time until() const;
  patience_list& handshakes() noexcept { return handshakes_; }
  /// Accepted connections whose handshake is done, and which have sent nothing yet.
  patience_list& mutes() noexcept { return mutes_; }
  /// Shuts down connections that take too long. Returns texts for an operator.
  std::vector<std::string> end_late(std::chrono::steady_clock::time_point now);
  dialled_sockets& dialled() noexcept { return dialled_; }
  refusal_log& refusals() noexcept { return refusals_; }

  /// Takes replaced files when they have not changed since the last look and are valid together.
  /// Returns texts for an operator: new files, faults (once), or the near end of the certificate
  /// (once a day).
  std::vector<std::string> look(wall_time now);

private:
  /// Distinguishes versions of the files.
  struct marks {
    std::array<std::array<std::int64_t, 4>, 3> of{};
    friend bool operator==(const marks&, const marks&) = default;
  };
  static marks marks_of(const tls_files& files);
  void take_replaced(wall_time now, std::vector<std::string>& news);

  tls_files files_;
  mutable std::mutex mutex_; // of `ready_`
  ready ready_;
  marks known_; // in use, or refused
  marks seen_;  // at the last look
  std::optional<wall_time> warned_;
  patience_list handshakes_, mutes_;
  dialled_sockets dialled_;
  refusal_log refusals_;
};

/// The peer of a dialled session.
struct dialled_peer {
  std::string place;
  std::string flaw; // reason of a failed handshake; set before the close
};

/// Reads and writes for a stream; CAF calls it a policy.
class tls_session {
public:
  using state = caf::io::network::rw_state;
  /// A session; null when OpenSSL is out of memory. `to`: null for an accepted connection.
  static std::unique_ptr<tls_session> make(std::shared_ptr<tls_context> context, int fd,
                                           std::shared_ptr<dialled_peer> to);
  tls_session(const tls_session&) = delete;
  tls_session& operator=(const tls_session&) = delete;
  ~tls_session();

  state read(std::size_t& taken, void* to, std::size_t size);
  state write(std::size_t& taken, const void* from, std::size_t size);
  bool has_more_than(std::size_t size) const;
  /// Logs the fault of the bytes that an accepted connection sends.
  void note_garbage(const std::string& flaw);

private:
  tls_session(std::shared_ptr<tls_context> context, SSL* ssl, int fd,
              std::shared_ptr<dialled_peer> to);

  enum class step { done, wants_read, wants_write, failed };
  step handshake();
  step step_of(int returned) const;
  void use_large_records();
  bool write_early();
  void opened();
  bool heard(std::span<const char> bytes);
  void note_flaw();
  void look_for_refusal();

  std::shared_ptr<tls_context> context_;
  SSL* ssl_;
  int fd_;
  std::shared_ptr<dialled_peer> to_;
  first_words words_;    // of an accepted connection
  bool is_open_ = false; // the handshake is done
  bool has_large_records_ = false;
  bool was_heard_ = false; // the peer has sent something after it: it trusts this process
  std::string early_;      // bytes to write after it
};

} // namespace troupe::cluster
