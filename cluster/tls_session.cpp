#include "cluster/tls_session.hpp"

#include "cluster/pem_files.hpp"

#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>

namespace troupe::cluster {

namespace {

// BASP's own handshake; nothing else is written before TLS's is done.
constexpr std::size_t early_bytes_max = 16u << 10;
constexpr long peer_certificates_bytes_max = 32 << 10;

// OpenSSL writes to sockets in a way that a peer who has gone makes a signal of.
void block_broken_pipe_signals() {
  thread_local const bool is_blocked = [] {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    return pthread_sigmask(SIG_BLOCK, &one, nullptr) == 0;
  }();
  static_cast<void>(is_blocked);
}

using context_ptr = std::unique_ptr<SSL_CTX, freed_by<SSL_CTX_free>>;

bool use_files(SSL_CTX* context, const loaded_tls& files) {
  if (SSL_CTX_use_certificate(context, files.own.front().get()) != 1
      || SSL_CTX_use_PrivateKey(context, files.key.get()) != 1)
    return false;
  for (auto one = files.own.begin() + 1; one != files.own.end(); ++one)
    if (SSL_CTX_add1_chain_cert(context, one->get()) != 1)
      return false;
  auto* trusted = SSL_CTX_get_cert_store(context);
  return std::ranges::all_of(files.authorities, [trusted](const certificate_ptr& one) {
    return X509_STORE_add_cert(trusted, one.get()) == 1;
  });
}

} // namespace

// ---- context ------------------------------------------------------------------------------------

result<std::shared_ptr<tls_context>> open_tls_context(const tls_files& files, wall_time now) {
  auto loaded = load_tls_files(files, now);
  if (!loaded)
    return loaded.error();
  context_ptr context{SSL_CTX_new(TLS_method())};
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1
      || !use_files(context.get(), *loaded)) {
    ERR_clear_error();
    return tls_error("set up TLS", files.certificate, "OpenSSL does not take it");
  }
  auto* it = context.get();
  SSL_CTX_set_verify(it, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_max_cert_list(it, peer_certificates_bytes_max);
  // Links last: nothing is resumed, so that each one is authenticated by its certificate.
  SSL_CTX_set_session_cache_mode(it, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(it, 0);
  SSL_CTX_set_mode(it, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
                         | SSL_MODE_RELEASE_BUFFERS);
  return std::make_shared<tls_context>(context.release());
}

void open_handshakes::begin(int fd) {
  std::lock_guard lock{mutex_};
  if (fds_.size() == limits::cluster_handshakes_max) {
    ::shutdown(fds_.front(), SHUT_RDWR); // its owner closes it
    fds_.pop_front();
  }
  fds_.push_back(fd);
}

void open_handshakes::end(int fd) {
  std::lock_guard lock{mutex_};
  fds_.remove(fd);
}

// ---- session ------------------------------------------------------------------------------------

std::unique_ptr<tls_session> tls_session::make(std::shared_ptr<tls_context> context, int fd,
                                               side here) {
  auto* ssl = SSL_new(context->get());
  if (!ssl || SSL_set_fd(ssl, fd) != 1) {
    SSL_free(ssl);
    ERR_clear_error();
    return nullptr;
  }
  here == side::dialer ? SSL_set_connect_state(ssl) : SSL_set_accept_state(ssl);
  return std::unique_ptr<tls_session>{new tls_session{std::move(context), ssl, fd}};
}

tls_session::tls_session(std::shared_ptr<tls_context> context, SSL* ssl, int fd)
  : context_{std::move(context)},
    ssl_{ssl},
    fd_{fd} {
  context_->handshakes().begin(fd_);
}

tls_session::~tls_session() {
  context_->handshakes().end(fd_);
  SSL_free(ssl_);
}

tls_session::step tls_session::step_of(int returned) const {
  switch (SSL_get_error(ssl_, returned)) {
    case SSL_ERROR_NONE: return step::done;
    case SSL_ERROR_WANT_READ: return step::wants_read;
    case SSL_ERROR_WANT_WRITE: return step::wants_write;
    default: return step::failed;
  }
}

tls_session::step tls_session::handshake() {
  block_broken_pipe_signals();
  ERR_clear_error(); // what another connection has left would be taken for this one's
  if (is_open_)
    return step::done;
  auto got = step_of(SSL_do_handshake(ssl_));
  if (got != step::done)
    return got;
  is_open_ = true;
  context_->handshakes().end(fd_);
  return write_early() ? step::done : step::failed;
}

// The socket has just been opened: it takes that much at once.
bool tls_session::write_early() {
  auto text = std::exchange(early_, {});
  std::size_t wrote = 0;
  return text.empty()
         || (SSL_write_ex(ssl_, text.data(), text.size(), &wrote) == 1 && wrote == text.size());
}

tls_session::state tls_session::read(std::size_t& taken, void* to, std::size_t size) {
  taken = 0;
  switch (handshake()) {
    case step::done: break;
    case step::wants_read: return state::success;
    default: return state::failure; // its few packets fit into any socket
  }
  if (size == 0)
    return state::indeterminate;
  auto got = step_of(SSL_read_ex(ssl_, to, size, &taken));
  return got == step::failed ? state::failure : state::success;
}

// CAF asks again and again while something is to be written and the socket could take it. So what
// comes before the handshake is done is kept here, and CAF sees it as written.
tls_session::state tls_session::write(std::size_t& taken, const void* from, std::size_t size) {
  taken = 0;
  switch (handshake()) {
    case step::done: break;
    case step::wants_write: return state::success;
    case step::failed: return state::failure;
    case step::wants_read:
      if (early_.size() + size > early_bytes_max)
        return state::failure;
      early_.append(static_cast<const char*>(from), size);
      taken = size;
      return size == 0 ? state::indeterminate : state::success;
  }
  if (size == 0)
    return state::indeterminate;
  auto got = step_of(SSL_write_ex(ssl_, from, size, &taken));
  return got == step::failed ? state::failure : state::success;
}

bool tls_session::has_more_than(std::size_t size) const {
  return static_cast<std::size_t>(SSL_pending(ssl_)) >= size;
}

} // namespace troupe::cluster
