// curl_transfer: a transfer as a handle of libcurl. It sets up the handle, turns callbacks into a
// response, and knows its deadlines. Used by the loop's thread alone.
#pragma once

#include "http/transfer.hpp"

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

template <auto Free> struct freed_by {
  template <class T> void operator()(T* p) const { Free(p); }
};

/// The progress of a transfer: the host's address is known, a connection is there, the head came.
enum class curl_event : std::uint8_t { looked_up, connected, answered };

class curl_transfer {
public:
  using clock = std::chrono::steady_clock;
  struct deadline {
    clock::time_point when;
    std::string what;
  };

  /// `tell` is called from within libcurl.
  /// Errors: throws http_error not_sent.
  curl_transfer(http_transfer_ptr transfer, std::function<void(curl_event)> tell);
  curl_transfer(const curl_transfer&) = delete;
  curl_transfer& operator=(const curl_transfer&) = delete;

  CURL* handle() const noexcept { return easy_.get(); }
  static curl_transfer& of(CURL* handle);
  const http_transfer_ptr& transfer() const noexcept { return transfer_; }

  void expect(std::optional<clock::time_point> when, std::string what);
  /// The next moment at which the transfer times out.
  std::optional<deadline> due() const;

  /// Lets libcurl deliver the bytes that it had to keep.
  void go_on();
  /// The error that libcurl's code stands for; nullopt when the transfer succeeded.
  std::optional<http_error> outcome(CURLcode code) const;

private:
  void set_up();
  bool take_header(std::string_view line);
  std::size_t take_body(std::string_view piece);
  bool fail(http_fault fault, std::string_view what);
  bool may_connect(const curl_sockaddr& address) noexcept;

  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self) noexcept;
  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self) noexcept;
  static curl_socket_t on_socket(void* self, curlsocktype, curl_sockaddr* address) noexcept;
  static int on_connected(void* self, char*, char*, int, int) noexcept;

  http_transfer_ptr transfer_;
  std::function<void(curl_event)> tell_;
  std::unique_ptr<CURL, freed_by<curl_easy_cleanup>> easy_;
  std::unique_ptr<curl_slist, freed_by<curl_slist_free_all>> headers_;
  std::array<char, CURL_ERROR_SIZE> said_{};
  clock::time_point started_ = clock::now();
  clock::time_point last_piece_{};
  http_head head_;
  std::size_t headers_seen_ = 0;
  std::size_t header_bytes_ = 0;
  std::size_t body_bytes_ = 0;
  bool has_head_ = false;
  bool waits_ = false; // for its reader
  std::optional<deadline> expected_;
  std::optional<http_error> failure_;
  std::string refused_address_;
};

} // namespace troupe
