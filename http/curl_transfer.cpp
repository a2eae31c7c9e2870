// curl_transfer: options and callbacks of libcurl's easy interface.
#include "http/curl_transfer.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>

namespace troupe {

namespace {

using std::chrono::milliseconds;

std::string_view trimmed_line(std::string_view line) {
  auto first = line.find_first_not_of(" \t\r\n");
  if (first == line.npos)
    return {};
  return line.substr(first, line.find_last_not_of(" \t\r\n") - first + 1);
}

std::string in_lower_case(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return out;
}

// The status of "HTTP/1.1 200 OK".
int status_in(std::string_view line) {
  int status = 0;
  auto at = line.find(' ');
  if (at != line.npos)
    std::from_chars(line.data() + at + 1, line.data() + line.size(), status);
  return status;
}

http_fault fault_of(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PROXY: return http_fault::no_connection;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS: return http_fault::untrusted;
    case CURLE_OPERATION_TIMEDOUT: return http_fault::timed_out;
    case CURLE_URL_MALFORMAT:
    case CURLE_FAILED_INIT:
    case CURLE_OUT_OF_MEMORY: return http_fault::not_sent;
    default: return http_fault::broken;
  }
}

} // namespace

curl_transfer::curl_transfer(http_transfer_ptr transfer, std::function<void(curl_event)> tell)
  : transfer_{std::move(transfer)},
    tell_{std::move(tell)},
    easy_{curl_easy_init()} {
  if (!easy_)
    throw http_error{http_fault::not_sent, transfer_->request().url, "libcurl returned no handle"};
  set_up();
}

void curl_transfer::set_up() {
  const auto& request = transfer_->request();
  auto set = [this](auto option, auto v) { curl_easy_setopt(easy_.get(), option, v); };
  auto add = [this](const std::string& line) {
    auto* more = curl_slist_append(headers_.get(), line.c_str());
    if (!more)
      throw http_error{http_fault::not_sent, transfer_->request().url, "out of memory"};
    if (!headers_) // the list is the same otherwise
      headers_.reset(more);
  };
  add("Expect:"); // a large body is sent without waiting for permission
  for (const auto& [name, text] : request.headers)
    add(text.empty() ? name + ";" : name + ": " + text);
  set(CURLOPT_PRIVATE, static_cast<void*>(this));
  set(CURLOPT_ERRORBUFFER, said_.data());
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE)); // keys must not reach proxies
  if (request.may_connect) {
    set(CURLOPT_FRESH_CONNECT, 1L); // another request's address was not asked for
    set(CURLOPT_FORBID_REUSE, 1L);
    set(CURLOPT_PROXY, "");
  } else if (!request.proxy.empty()) {
    set(CURLOPT_PROXY, request.proxy.c_str());
    set(CURLOPT_NOPROXY, ""); // also for hosts that the environment excepts
  }
  set(CURLOPT_FOLLOWLOCATION, 0L); // keys must not reach other hosts
  set(CURLOPT_HTTP_VERSION,
      static_cast<long>(CURL_HTTP_VERSION_1_1)); // so a slow reader delays no other
  set(CURLOPT_HTTP09_ALLOWED, 0L);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_DNS_CACHE_TIMEOUT, static_cast<long>(limits::http_lookup_kept.count()));
  set(CURLOPT_CONNECTTIMEOUT_MS,
      request.timeouts.connect.count() > 0
        ? static_cast<long>(request.timeouts.connect.count())
        : static_cast<long>(std::chrono::milliseconds{std::chrono::hours{24 * 7}}.count()));
  set(CURLOPT_HTTPHEADER, headers_.get());
  set(CURLOPT_HEADERFUNCTION, &curl_transfer::on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &curl_transfer::on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_OPENSOCKETFUNCTION, &curl_transfer::on_socket);
  set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
  set(CURLOPT_PREREQFUNCTION, &curl_transfer::on_connected);
  set(CURLOPT_PREREQDATA, static_cast<void*>(this));
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT") {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.data());
  }
  if (request.method == "HEAD")
    set(CURLOPT_NOBODY, 1L);
  else
    set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

curl_transfer& curl_transfer::of(CURL* handle) {
  void* self = nullptr;
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, &self);
  return *static_cast<curl_transfer*>(self);
}

// ---- what arrives -------------------------------------------------------------------------------

bool curl_transfer::fail(http_fault fault, std::string_view what) {
  failure_.emplace(fault, transfer_->request().url, what);
  return false;
}

bool curl_transfer::take_header(std::string_view line) {
  last_piece_ = clock::now();
  header_bytes_ += line.size();
  if (++headers_seen_ > limits::http_headers_max || header_bytes_ > limits::http_header_bytes_max)
    return fail(http_fault::too_large, "the response has too many headers, or too large ones");
  auto text = trimmed_line(line);
  if (has_head_) // a trailer
    return true;
  if (text.empty()) {
    has_head_ = head_.status >= 200; // lower: an interim response
    if (has_head_) {
      transfer_->give_head(head_);
      tell_(curl_event::answered);
    }
    return true;
  }
  if (line.starts_with("HTTP/")) {
    head_ = http_head{};
    head_.status = status_in(text);
    return true;
  }
  if (auto colon = text.find(':'); colon != text.npos)
    head_.headers.emplace_back(in_lower_case(trimmed_line(text.substr(0, colon))),
                               trimmed_line(text.substr(colon + 1)));
  return true;
}

std::size_t curl_transfer::take_body(std::string_view piece) {
  if (piece.size() > transfer_->request().body_bytes_max - body_bytes_)
    return fail(http_fault::too_large, "the response is larger than "
                                         + std::to_string(transfer_->request().body_bytes_max)
                                         + " bytes, too large");
  if (!transfer_->give(piece)) {
    waits_ = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  body_bytes_ += piece.size();
  last_piece_ = clock::now();
  return piece.size();
}

std::size_t curl_transfer::on_header(char* data, std::size_t, std::size_t size,
                                     void* self) noexcept {
  auto& me = *static_cast<curl_transfer*>(self);
  try {
    return me.take_header({data, size}) ? size : 0;
  } catch (...) {
    return 0; // out of memory; libcurl ends the transfer
  }
}

std::size_t curl_transfer::on_body(char* data, std::size_t, std::size_t size, void* self) noexcept {
  auto& me = *static_cast<curl_transfer*>(self);
  try {
    return me.take_body({data, size});
  } catch (...) {
    return 0;
  }
}

bool curl_transfer::may_connect(const curl_sockaddr& address) noexcept {
  const auto& allows = transfer_->request().may_connect;
  if (!allows)
    return true;
  try {
    char text[NI_MAXHOST] = {};
    auto unknown = ::getnameinfo(&address.addr, address.addrlen, text, sizeof text, nullptr, 0,
                                 NI_NUMERICHOST);
    if (unknown == 0 && allows(text))
      return true;
    refused_address_ = text; // another address of the host may be allowed
  } catch (...) {
    return false;
  }
  return false;
}

curl_socket_t curl_transfer::on_socket(void* self, curlsocktype, curl_sockaddr* address) noexcept {
  auto& me = *static_cast<curl_transfer*>(self);
  me.tell_(curl_event::looked_up);
  if (!me.may_connect(*address))
    return CURL_SOCKET_BAD;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int curl_transfer::on_connected(void* self, char*, char*, int, int) noexcept {
  static_cast<curl_transfer*>(self)->tell_(curl_event::connected);
  return CURL_PREREQFUNC_OK;
}

void curl_transfer::go_on() {
  if (!std::exchange(waits_, false))
    return;
  last_piece_ = clock::now(); // the pause was the reader's, not the server's
  curl_easy_pause(easy_.get(), CURLPAUSE_CONT);
}

// ---- time, and the end --------------------------------------------------------------------------

void curl_transfer::expect(std::optional<clock::time_point> when, std::string what) {
  if (when)
    expected_ = deadline{*when, std::move(what)};
  else
    expected_.reset();
}

std::optional<curl_transfer::deadline> curl_transfer::due() const {
  const auto& limit = transfer_->request().timeouts;
  auto first = expected_;
  auto add = [&first](clock::time_point from, milliseconds after, const char* what) {
    if (after.count() > 0 && (!first || from + after < first->when))
      first = deadline{from + after, what};
  };
  add(started_, limit.total, "the whole request took too long");
  if (last_piece_ == clock::time_point{})
    add(started_, limit.response, "no response in time");
  else if (!waits_)
    add(last_piece_, limit.idle, "the response stopped before its end");
  return first;
}

std::optional<http_error> curl_transfer::outcome(CURLcode code) const {
  if (failure_)
    return failure_;
  const auto& url = transfer_->request().url;
  if (code == CURLE_OK) {
    if (has_head_)
      return std::nullopt;
    return http_error{http_fault::broken, url, "no HTTP response"};
  }
  auto fault = fault_of(code);
  if (fault == http_fault::no_connection && !refused_address_.empty())
    return http_error{http_fault::not_sent, url,
                      "the host's address " + refused_address_ + " may not be connected to"};
  if (fault == http_fault::timed_out)
    return http_error{fault, url, "no connection in time"};
  bool detailed = fault == http_fault::no_connection || fault == http_fault::untrusted;
  return http_error{fault, url,
                    detailed && said_[0] != '\0' ? said_.data() : curl_easy_strerror(code)};
}

} // namespace troupe
