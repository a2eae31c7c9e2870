// http exchange: checks of requests, and texts of errors.
#include "http/exchange.hpp"

#include <algorithm>
#include <initializer_list>

namespace troupe {

namespace {

errc code_of_fault(http_fault fault) {
  switch (fault) {
    case http_fault::not_sent: return errc::invalid_value;
    case http_fault::timed_out: return errc::node_timeout;
    case http_fault::given_up: return errc::cancelled;
    default: return errc::node_failed;
  }
}

// A token of RFC 9110, 5.6.2.
bool is_http_token(std::string_view text) {
  constexpr std::string_view more = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [more](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
           || more.find(c) != more.npos;
  });
}

bool is_one_line(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  });
}

std::size_t end_of_origin(std::string_view url) {
  auto host = url.find("://");
  auto end = url.find_first_of("/?#", host == url.npos ? 0 : host + 3);
  return std::min(end, url.size());
}

// The mistake in an address; empty when it is valid.
std::string wrong_address(std::string_view url, std::initializer_list<std::string_view> schemes) {
  if (std::ranges::none_of(schemes, [url](auto scheme) { return url.starts_with(scheme); })) {
    std::string known;
    for (auto scheme : schemes)
      known += (known.empty() ? "" : " or ") + std::string{scheme};
    return "must begin with " + known;
  }
  if (url.size() > limits::http_url_bytes_max)
    return "is too long";
  if (std::ranges::any_of(url, [](char c) { return c <= 0x20 || c >= 0x7f; }))
    return "has characters that must be escaped";
  if (url.substr(0, end_of_origin(url)).find('@') != url.npos)
    return "must not have a name or password";
  return {};
}

} // namespace

std::string_view http_head::header(std::string_view name) const noexcept {
  for (const auto& [key, text] : headers)
    if (key == name)
      return text;
  return {};
}

std::string http_origin(std::string_view url) {
  auto origin = url.substr(0, end_of_origin(url));
  return origin.find('@') == origin.npos && is_one_line(origin) ? std::string{origin} : "a URL";
}

http_error::http_error(http_fault fault, std::string_view url, std::string_view what)
  : error{code_of_fault(fault), "ask " + http_origin(url) + ": " + std::string{what}, "HTTPError"},
    fault_{fault} {}

void check_request(const http_request& request) {
  auto refuse = [&request](const std::string& what) {
    throw http_error{http_fault::not_sent, request.url, what};
  };
  if (auto wrong = wrong_address(request.url, {"http://", "https://"}); !wrong.empty())
    refuse("the URL " + wrong);
  if (!request.proxy.empty())
    if (auto wrong = wrong_address(request.proxy,
                                   {"http://", "https://", "socks5://", "socks5h://"});
        !wrong.empty())
      refuse("the proxy's address " + wrong);
  if (!is_http_token(request.method))
    refuse("the method is not an HTTP token");
  for (const auto& [name, text] : request.headers)
    if (!is_http_token(name) || !is_one_line(text))
      refuse("the header `" + (is_http_token(name) ? name : "?") + "` is not a single line");
}

} // namespace troupe
