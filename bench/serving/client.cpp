// client: a plain HTTP connection to a server on this machine, for many at a time.
#include "bench/serving/client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace troupe::bench {

connection::connection(std::uint16_t port)
  : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int yes = 1;
  if (socket_ < 0 || ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0
      || ::connect(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0)
    throw std::runtime_error{"connect to the server"};
}

connection::connection(connection&& other) noexcept
  : socket_{std::exchange(other.socket_, -1)},
    read_{std::move(other.read_)} {}

connection::~connection() {
  if (socket_ >= 0)
    ::close(socket_);
}

answer connection::ask(std::string_view method, std::string_view target, std::string_view body) {
  send(method, target, body);
  auto top = head();
  answer out{.status = std::stoi(top.substr(9, 3)), .body = {}};
  constexpr std::string_view length = "\r\nContent-Length: ";
  if (auto at = top.find(length); at != top.npos) {
    out.body = taken(std::stoul(top.substr(at + length.size())));
    return out;
  }
  while (top.find("\r\nTransfer-Encoding: chunked") != top.npos) {
    auto size = std::stoul(line(), nullptr, 16);
    out.body += taken(size);
    line();
    if (size == 0)
      break;
  }
  return out;
}

std::string connection::expect(std::string_view method, std::string_view target,
                               std::string_view body) {
  auto got = ask(method, target, body);
  if (got.status / 100 != 2)
    throw std::runtime_error{std::string{method} + ' ' + std::string{target} + ": "
                             + std::to_string(got.status) + ' ' + got.body};
  return std::move(got.body);
}

void connection::open(std::string_view method, std::string_view target, std::string_view body) {
  send(method, target, body);
  if (auto top = head(); top.substr(9, 3) != "200")
    throw std::runtime_error{std::string{target} + ": " + top};
}

std::string connection::line() {
  std::size_t end = 0;
  while ((end = read_.find('\n')) == read_.npos)
    read_some();
  auto out = taken(end + 1);
  out.resize(out.find_last_not_of("\r\n") + 1);
  return out;
}

void connection::send(std::string_view method, std::string_view target, std::string_view body) {
  std::string text{method};
  text.append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n");
  text.append("Content-Type: application/json\r\nContent-Length: ");
  text.append(std::to_string(body.size())).append("\r\n\r\n").append(body);
  for (std::string_view rest = text; !rest.empty();) {
    auto sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0)
      throw std::runtime_error{"send to the server"};
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string connection::head() {
  std::size_t end = 0;
  while ((end = read_.find("\r\n\r\n")) == read_.npos)
    read_some();
  return taken(end + 4);
}

void connection::read_some() {
  char buffer[16384];
  auto got = ::recv(socket_, buffer, sizeof buffer, 0);
  if (got <= 0)
    throw std::runtime_error{"the server closed the connection"};
  read_.append(buffer, static_cast<std::size_t>(got));
}

std::string connection::taken(std::size_t bytes) {
  while (read_.size() < bytes)
    read_some();
  auto out = read_.substr(0, bytes);
  read_.erase(0, bytes);
  return out;
}

} // namespace troupe::bench
