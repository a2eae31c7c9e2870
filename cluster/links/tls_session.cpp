// tls_session: TLS over sockets that do not block, and the context that connections share.
#include "cluster/links/tls_session.hpp"

#include "actors/log.hpp"
#include "cluster/links/pem_files.hpp"

#include <netdb.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <ctime>

namespace troupe::cluster {

namespace {

// Room for BASP's own handshake. BASP writes nothing else before TLS's handshake is done.
constexpr std::size_t early_bytes_max = 16u << 10;
constexpr long peer_certificates_bytes_max = 32 << 10;
// OpenSSL keeps a buffer of this size from the first byte of a handshake.
constexpr unsigned handshake_record_bytes_max = 2u << 10;

// OpenSSL's writes to a socket raise SIGPIPE when the peer has gone.
void block_broken_pipe_signals() {
  thread_local const bool is_blocked = [] {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    return pthread_sigmask(SIG_BLOCK, &one, nullptr) == 0;
  }();
  static_cast<void>(is_blocked);
}

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

wall_time time_of(const ASN1_TIME* time) {
  std::tm at{};
  ASN1_TIME_to_tm(time, &at);
  return std::chrono::system_clock::from_time_t(timegm(&at));
}

std::string text_of(wall_time at) {
  auto seconds = std::chrono::system_clock::to_time_t(at);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d", &utc)};
}

std::string peer_of(int fd) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  std::array<char, NI_MAXHOST> text{};
  auto* address = reinterpret_cast<sockaddr*>(&at);
  if (getpeername(fd, address, &size) != 0
      || getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return "a peer";
  return text.data();
}

// The fault of the peer's certificate, as this side sees it.
std::string flaw_of_certificate(long verified) {
  switch (verified) {
    case X509_V_OK: return {};
    case X509_V_ERR_CERT_HAS_EXPIRED: return "its certificate has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID: return "its certificate is not valid yet";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return "its certificate is not signed by the CA of this cluster";
    default: return std::string{"its certificate: "} + X509_verify_cert_error_string(verified);
  }
}

// The reason why the handshake failed; empty when the peer went away.
std::string flaw_of(SSL* ssl) {
  auto failed = ERR_peek_error();
  auto reason = ERR_GET_LIB(failed) == ERR_LIB_SSL ? ERR_GET_REASON(failed) : 0;
  switch (reason) {
    case 0: return {};
    case SSL_R_UNEXPECTED_EOF_WHILE_READING: return {};
    case SSL_R_CERTIFICATE_VERIFY_FAILED: return flaw_of_certificate(SSL_get_verify_result(ssl));
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return "the peer sent no certificate";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return "the peer reports that this process's certificate has expired";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
      return "the peer does not trust this process's certificate: the peer has another CA";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: return "the peer requires a certificate";
    case SSL_R_HTTP_REQUEST:
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_BAD_RECORD_TYPE: return "the peer does not speak TLS";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION: return "the peer does not speak TLS 1.3";
    default: return ERR_reason_error_string(failed);
  }
}

} // namespace

// ---- context ------------------------------------------------------------------------------------

result<tls_context::ready> tls_context::read(const tls_files& files, wall_time now) {
  auto loaded = load_tls_files(files, now);
  if (!loaded)
    return loaded.error();
  ssl_context context{SSL_CTX_new(TLS_method()), &SSL_CTX_free};
  auto* it = context.get();
  if (!it || SSL_CTX_set_min_proto_version(it, TLS1_3_VERSION) != 1 || !use_files(it, *loaded)) {
    ERR_clear_error();
    return tls_error("set up TLS", files.certificate, "OpenSSL refused the files");
  }
  SSL_CTX_set_verify(it, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_max_cert_list(it, peer_certificates_bytes_max);
  // Links are long, and sessions are never resumed, so that each link is authenticated by its
  // certificate.
  SSL_CTX_set_session_cache_mode(it, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(it, 0);
  SSL_CTX_set_mode(it, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
                         | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_max_send_fragment(it, handshake_record_bytes_max);
  return ready{std::move(context), time_of(X509_get0_notAfter(loaded->own.front().get()))};
}

result<std::shared_ptr<tls_context>> open_tls_context(const tls_files& files, wall_time now,
                                                      const tls_patience& patience) {
  auto first = tls_context::read(files, now);
  if (!first)
    return first.error();
  return std::make_shared<tls_context>(files, std::move(*first), patience);
}

// The marks are older than the reading of the files. So the first looks notice a file that was
// replaced meanwhile.
tls_context::tls_context(tls_files files, ready first, const tls_patience& patience)
  : files_{std::move(files)},
    ready_{std::move(first)},
    known_{marks_of(files_)},
    seen_{known_},
    handshakes_{patience.handshake, limits::cluster_handshakes_max},
    mutes_{patience.first_word, limits::cluster_mute_links_max} {}

ssl_context tls_context::current() const {
  std::lock_guard lock{mutex_};
  return ready_.context;
}

wall_time tls_context::until() const {
  std::lock_guard lock{mutex_};
  return ready_.until;
}

tls_context::marks tls_context::marks_of(const tls_files& files) {
  marks out;
  auto at = out.of.begin();
  for (const auto* file : {&files.certificate, &files.key, &files.authority}) {
    struct stat info {};
    if (::stat(file->c_str(), &info) == 0)
      *at = {static_cast<std::int64_t>(info.st_ino), info.st_size, info.st_mtim.tv_sec,
             info.st_mtim.tv_nsec};
    ++at;
  }
  return out;
}

std::vector<std::string> tls_context::look(wall_time now) {
  std::vector<std::string> news;
  auto marks = marks_of(files_);
  bool stood_still = std::exchange(seen_, marks) == marks; // otherwise a writer may be at work
  if (stood_still && marks != known_) {
    known_ = marks;
    take_replaced(now, news);
  }
  if (until() - now > limits::certificate_warning
      || (warned_ && now - *warned_ < std::chrono::hours{24}))
    return news;
  warned_ = now;
  auto days = std::chrono::floor<std::chrono::days>(until() - now).count();
  news.push_back(files_.certificate.string()
                 + (until() <= now
                      ? ": the certificate has expired, on "
                      : ": the certificate ends in " + std::to_string(days) + " days, on ")
                 + text_of(until()));
  return news;
}

void tls_context::take_replaced(wall_time now, std::vector<std::string>& news) {
  auto taken = read(files_, now);
  if (!taken) {
    news.push_back(taken.error().message() + "; the files that were read before stay in use");
    return;
  }
  news.push_back(files_.certificate.string()
                 + ": the certificate was replaced; new links use the new one, which ends on "
                 + text_of(taken->until));
  warned_.reset();
  std::lock_guard lock{mutex_};
  ready_ = std::move(*taken);
}

std::vector<std::string> tls_context::end_late(std::chrono::steady_clock::time_point now) {
  std::vector<std::string> news;
  auto note = [&](std::size_t ended, const char* reason, const std::string& text) {
    if (ended == 0)
      return;
    if (auto out = refusals_.note(reason, text, now); !out.empty())
      news.push_back("no link with " + out);
  };
  note(handshakes_.end_late(now), "silent", "a peer: silent in the handshake");
  auto mute = mutes_.end_late(now);
  note(mute, "mute",
       std::to_string(mute) + " peers: they have a certificate but were silent for link_quiet_max");
  return news;
}

bool patience_list::begin(int fd, time_point now) {
  std::lock_guard lock{mutex_};
  bool is_full = all_.size() == count_max_;
  if (is_full) {
    ::shutdown(all_.front().fd, SHUT_RDWR); // its owner closes it
    all_.pop_front();
  }
  all_.push_back({fd, now});
  return is_full;
}

void patience_list::end(int fd) {
  std::lock_guard lock{mutex_};
  all_.remove_if([fd](const entry& one) { return one.fd == fd; });
}

std::size_t patience_list::end_late(time_point now) {
  std::lock_guard lock{mutex_};
  std::size_t ended = 0;
  for (; !all_.empty() && now - all_.front().since > time_max_; ++ended) {
    ::shutdown(all_.front().fd, SHUT_RDWR);
    all_.pop_front();
  }
  return ended;
}

void dialled_sockets::replace(const std::string& place, int fd) {
  std::lock_guard lock{mutex_};
  auto [at, is_new] = fds_.try_emplace(place, fd);
  if (is_new)
    return;
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  auto old = std::exchange(at->second, fd);
  if (::connect(old, &nobody, sizeof nobody) != 0) // the peer notices it at once
    ::shutdown(old, SHUT_RDWR);
}

void dialled_sockets::end(const std::string& place, int fd) {
  std::lock_guard lock{mutex_};
  if (auto at = fds_.find(place); at != fds_.end() && at->second == fd)
    fds_.erase(at);
}

// ---- session ------------------------------------------------------------------------------------

std::unique_ptr<tls_session> tls_session::make(std::shared_ptr<tls_context> context, int fd,
                                               std::shared_ptr<dialled_peer> to) {
  auto* ssl = SSL_new(context->current().get()); // SSL_new keeps the context
  if (!ssl || SSL_set_fd(ssl, fd) != 1) {
    SSL_free(ssl);
    ERR_clear_error();
    return nullptr;
  }
  to ? SSL_set_connect_state(ssl) : SSL_set_accept_state(ssl);
  return std::unique_ptr<tls_session>{new tls_session{std::move(context), ssl, fd, std::move(to)}};
}

tls_session::tls_session(std::shared_ptr<tls_context> context, SSL* ssl, int fd,
                         std::shared_ptr<dialled_peer> to)
  : context_{std::move(context)},
    ssl_{ssl},
    fd_{fd},
    to_{std::move(to)} {
  context_->handshakes().begin(fd_, std::chrono::steady_clock::now());
  if (to_)
    context_->dialled().replace(to_->place, fd_);
}

tls_session::~tls_session() {
  context_->handshakes().end(fd_);
  context_->mutes().end(fd_);
  if (to_)
    context_->dialled().end(to_->place, fd_);
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
  ERR_clear_error(); // removes errors that another connection left on this thread
  if (is_open_)
    return step::done;
  auto got = step_of(SSL_do_handshake(ssl_));
  if (got == step::failed)
    note_flaw();
  if (got != step::done)
    return got;
  is_open_ = true;
  opened();
  use_large_records();
  if (write_early())
    return step::done;
  look_for_refusal();
  return step::failed;
}

void tls_session::opened() {
  context_->handshakes().end(fd_);
  auto now = std::chrono::steady_clock::now();
  if (to_ || !context_->mutes().begin(fd_, now))
    return;
  if (auto text =
        context_->refusals().note("many mute",
                                  peer_of(fd_)
                                    + " or the peer that has been silent for longest: more than "
                                      "cluster_mute_links_max ("
                                    + std::to_string(limits::cluster_mute_links_max)
                                    + ") links have a certificate but are silent",
                                  now);
      !text.empty())
    log_warning("cluster: no link with " + text);
}

/// False: the other side is not a peer.
bool tls_session::heard(std::span<const char> bytes) {
  if (to_ || words_.now() == first_words::state::spoken)
    return true;
  auto state = words_.take(bytes);
  if (state == first_words::state::spoken)
    context_->mutes().end(fd_);
  else if (state == first_words::state::wrong)
    note_garbage(words_.flaw());
  return state != first_words::state::wrong;
}

void tls_session::note_garbage(const std::string& flaw) {
  if (auto text = context_->refusals().note("garbage", peer_of(fd_) + ": " + flaw,
                                            std::chrono::steady_clock::now());
      !text.empty())
    log_warning("cluster: no link with " + text);
}

// Refused while OpenSSL has a buffer of the old size.
void tls_session::use_large_records() {
  if (!has_large_records_ && SSL_free_buffers(ssl_) == 1)
    has_large_records_ = SSL_set_max_send_fragment(ssl_, SSL3_RT_MAX_PLAIN_LENGTH) == 1;
}

// A socket that was just opened takes this much at once.
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
    default: return state::failure; // the few packets of a handshake fit into any socket
  }
  if (size == 0)
    return state::indeterminate;
  auto got = step_of(SSL_read_ex(ssl_, to, size, &taken));
  if (got == step::failed && !was_heard_) // in TLS 1.3 a dialer hears of its refusal only here
    note_flaw();
  was_heard_ |= taken > 0;
  bool is_peer = taken == 0 || heard({static_cast<const char*>(to), taken});
  return got == step::failed || !is_peer ? state::failure : state::success;
}

// A connection that takes no more bytes may hold the peer's reason for closing it.
void tls_session::look_for_refusal() {
  ERR_clear_error();
  char none = 0;
  std::size_t taken = 0;
  if (!was_heard_ && step_of(SSL_read_ex(ssl_, &none, 1, &taken)) == step::failed)
    note_flaw();
}

// The dialing side gets the reason as its error. The accepting side logs it for the operator.
void tls_session::note_flaw() {
  auto flaw = flaw_of(ssl_);
  if (to_ && flaw.empty()) { // the reason is lost when the peer closed early
    flaw = "the peer closed the connection in the handshake";
    if (context_->until() <= std::chrono::system_clock::now())
      flaw += ": this process's certificate has expired";
  }
  if (to_)
    to_->flaw = std::move(flaw);
  else if (!flaw.empty())
    if (auto text = context_->refusals().note(flaw, peer_of(fd_) + ": " + flaw,
                                              std::chrono::steady_clock::now());
        !text.empty())
      log_warning("cluster: no link with " + text);
}

// CAF calls again and again while it has bytes and the socket is writable. So bytes before the end
// of the handshake are kept here, and count as written.
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
  use_large_records();
  auto got = step_of(SSL_write_ex(ssl_, from, size, &taken));
  if (got == step::failed)
    look_for_refusal();
  return got == step::failed ? state::failure : state::success;
}

bool tls_session::has_more_than(std::size_t size) const {
  return static_cast<std::size_t>(SSL_pending(ssl_)) >= size;
}

} // namespace troupe::cluster
