// The bytes of a connection to a server: requests after requests, read by the rules for heads and
// by the parser as http/connection.cpp does. Where a request ends must not depend on the parser, on
// the split into reads, or on what follows: else a request hides in another one.
#include "tests/fuzz_bytes/target.hpp"

#include "http/request_head.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace troupe::fuzz_bytes {

namespace {

namespace http = boost::beast::http;
using parser = http::request_parser<http::string_body>;

constexpr std::size_t body_bytes_max = 4096;

enum class outcome { whole, unfinished, refused };

struct reading {
  outcome is = outcome::refused;
  std::size_t bytes = 0; // of the request's body with its framing
  std::string body = {};
};

// ---- by the letter of RFC 9112 ----------------------------------------------------------------

std::string lower(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return c < 0x80 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c);
  });
  return out;
}

// The text of a field, without blanks around it.
std::optional<std::string> field_of(std::string_view head, std::string_view name) {
  for (auto at = head.find("\r\n"); at != head.npos; at = head.find("\r\n", at + 2)) {
    auto line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    auto colon = line.find(':');
    if (colon == line.npos || lower(line.substr(0, colon)) != name)
      continue;
    auto text = line.substr(colon + 1);
    auto first = text.find_first_not_of(" \t");
    return first == text.npos
             ? std::string{}
             : std::string{text.substr(first, text.find_last_not_of(" \t") - first + 1)};
  }
  return std::nullopt;
}

reading read_sized(std::string_view rest, const std::string& digits) {
  std::size_t size = 0;
  for (auto c : digits)
    size = std::min<std::size_t>(size * 10 + static_cast<std::size_t>(c - '0'), 1u << 30);
  if (size > body_bytes_max)
    return {};
  return {rest.size() < size ? outcome::unfinished : outcome::whole, size,
          std::string{rest.substr(0, size)}};
}

reading read_chunks(std::string_view rest) {
  reading out;
  auto take_line = [&]() -> std::optional<std::string_view> {
    auto end = rest.find("\r\n", out.bytes);
    if (end == rest.npos)
      return std::nullopt;
    auto line = rest.substr(out.bytes, end - out.bytes);
    out.bytes = end + 2;
    return line;
  };
  for (;;) {
    auto line = take_line();
    if (!line)
      return {outcome::unfinished};
    auto digits = line->substr(0, line->find_first_not_of("0123456789abcdefABCDEF"));
    if (digits.empty())
      return {};
    std::size_t size = 0;
    for (auto c : digits)
      size = std::min<std::size_t>(
        size * 16 + static_cast<std::size_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10), 1u << 30);
    if (size == 0)
      break;
    if (out.body.size() + size > body_bytes_max)
      return {};
    if (rest.size() < out.bytes + size + 2)
      return {outcome::unfinished};
    out.body += rest.substr(out.bytes, size);
    out.bytes += size;
    if (rest.substr(out.bytes, 2) != "\r\n")
      return {};
    out.bytes += 2;
  }
  for (;;) { // the trailer
    auto line = take_line();
    if (!line)
      return {outcome::unfinished};
    if (line->empty())
      break;
  }
  out.is = outcome::whole;
  return out;
}

reading read_by_rules(std::string_view head, std::string_view rest) {
  if (auto digits = field_of(head, "content-length"))
    return read_sized(rest, *digits);
  if (field_of(head, "transfer-encoding"))
    return read_chunks(rest);
  return {outcome::whole};
}

// ---- by the parser ----------------------------------------------------------------------------

// The body comes in pieces of `piece` bytes. nullopt: the head is refused.
std::optional<reading> read_by_parser(std::string_view head, std::string_view rest,
                                      std::size_t piece) {
  parser read;
  boost::system::error_code failed;
  read.header_limit(static_cast<std::uint32_t>(head.size()));
  read.body_limit(body_bytes_max);
  auto used = read.put(boost::asio::buffer(head.data(), head.size()), failed);
  if (failed || !read.is_header_done())
    return std::nullopt;
  require(used == head.size(), "a head is read whole");
  auto target = std::string{read.get().target()};
  require(target.find_first_of(std::string_view{" \r\n\t\0", 5}) == target.npos,
          "a target is one word");
  reading out{outcome::unfinished};
  const std::size_t least = read.chunked() ? 5 : 0; // see http_connection::take_chunks
  read.eager(true);
  for (std::size_t seen = 0; !read.is_done();) {
    if (seen == rest.size() && out.bytes == seen)
      return out;
    seen = std::min(rest.size(), seen + piece);
    auto more = rest.substr(out.bytes, seen - out.bytes);
    if (more.size() < least && seen < rest.size())
      continue;
    if (more.size() < least)
      return out;
    out.bytes += read.put(boost::asio::buffer(more.data(), more.size()), failed);
    if (failed == http::error::need_more && seen < rest.size())
      continue;
    if (failed == http::error::need_more)
      return reading{outcome::unfinished};
    if (failed)
      return reading{};
  }
  out.is = outcome::whole;
  out.body = read.get().body();
  return out;
}

// A request at the beginning of the bytes. Returns its size; 0 when it ends the connection.
std::size_t try_request(std::string_view bytes) {
  auto size = size_of_head(bytes);
  for (std::size_t known = 0; known < std::min<std::size_t>(bytes.size(), 40); ++known)
    if (size_of_head(bytes.substr(0, known)) == 0)
      require(size_of_head(bytes, known) == size, "a head ends where it ends");
  auto head = bytes.substr(0, size);
  if (size == 0 || !is_unambiguous_head(head))
    return 0;
  auto rest = bytes.substr(size);
  auto whole = read_by_parser(head, rest, rest.size() + 1);
  auto split = read_by_parser(head, rest, 1 + rest.size() % 3);
  require(whole.has_value() == split.has_value(), "a head has one reading");
  if (!whole)
    return 0;
  require((whole->is == outcome::whole) == (split->is == outcome::whole),
          "pieces make no difference");
  if (whole->is != outcome::whole)
    return 0;
  require(whole->body == split->body && whole->bytes == split->bytes, "pieces do not move the end");
  auto ruled = read_by_rules(head, rest);
  require(ruled.is == outcome::whole && ruled.bytes == whole->bytes && ruled.body == whole->body,
          "a request ends where the rules say");
  auto alone = read_by_parser(head, rest.substr(0, whole->bytes), rest.size() + 1);
  require(alone && alone->is == outcome::whole && alone->body == whole->body,
          "what follows makes no difference");
  return size + whole->bytes;
}

} // namespace

void try_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    if (bytes.starts_with("\r\n")) {
      bytes.remove_prefix(2);
      continue;
    }
    auto used = may_begin_request(bytes) ? try_request(bytes) : 0;
    if (used == 0)
      return;
    bytes.remove_prefix(used);
  }
}

std::vector<std::string> seeds() {
  return {"GET /ok?x=1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /t HTTP/1.1\r\nHost: a\r\nContent-Length: "
          "3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n",
          "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\nA\r\n0123456789\r\n"
          "0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\n\r\n",
          "POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
          "POST / HTTP/1.1\r\nContent-Length : 4\r\n\r\nabcd",
          "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF1\r\na",
          "\r\nGET http://a/b HTTP/1.1\r\nExpect: 100-continue\r\nX:\ty \r\n\r\n"};
}

} // namespace troupe::fuzz_bytes
