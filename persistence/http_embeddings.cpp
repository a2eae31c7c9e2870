// Embedding over HTTP: attempts, waits between them, and what a failure means. The only file that
// knows libcurl.
//
// The key goes into one header and nowhere else: it is cut out of whatever a server says.
#include "persistence/embeddings_reply.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <thread>

namespace troupe {

namespace {

using std::chrono::milliseconds;

template <auto Free> struct freed_by {
  template <class T> void operator()(T* p) const { Free(p); }
};
using curl_handle = std::unique_ptr<CURL, freed_by<curl_easy_cleanup>>;
using curl_headers = std::unique_ptr<curl_slist, freed_by<curl_slist_free_all>>;

// One attempt's outcome: a status of 0 stands for no reply at all.
struct http_reply {
  CURLcode code = CURLE_OK;
  long status = 0;
  milliseconds retry_after{0};
  std::string body;
};

std::size_t take_body(char* data, std::size_t, std::size_t size, void* to) {
  auto& body = *static_cast<std::string*>(to);
  if (size > limits::embedding_reply_bytes_max - body.size())
    return 0; // ends the transfer
  try {
    body.append(data, size);
  } catch (...) {
    return 0;
  }
  return size;
}

error failed(std::string_view what, const embeddings_options& options) {
  std::string text{"embed texts: "};
  text.append(what).append(": ").append(options.base_url);
  return {errc::node_failed, std::move(text), "EmbeddingsError"};
}

error failed_as(errc code, const error& err) {
  return {code, err.message(), err.type()};
}

// ---- options ------------------------------------------------------------------------------------

error bad_option(std::string_view what) {
  std::string text{"embed texts: "};
  return {errc::invalid_config, text.append(what)};
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

result<void> check(const embeddings_options& options) {
  const auto& url = options.base_url;
  if (options.model.empty())
    return bad_option("no model is named");
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return bad_option("base_url must begin with http:// or https://");
  if (!is_printable(url) || url.find('@') != url.npos)
    return bad_option("base_url must be printable, without a name or a password");
  if (options.batch_max == 0 || options.batch_max > limits::embedding_batch_max)
    return bad_option("batch_max must be from 1 to " + std::to_string(limits::embedding_batch_max));
  if (options.dims && (*options.dims == 0 || *options.dims > limits::store_vector_dims_max))
    return bad_option("dims must be from 1 to " + std::to_string(limits::store_vector_dims_max));
  if (options.timeout <= milliseconds{0} || options.attempts_max == 0
      || options.retry_first < milliseconds{0} || options.retry_max < milliseconds{0})
    return bad_option("a time is not above 0, or no attempt is allowed");
  return {};
}

result<std::string> find_key(const std::string& variable) {
  if (variable.empty())
    return std::string{};
  const auto* key = std::getenv(variable.c_str());
  if (!key || *key == '\0')
    return bad_option("the environment has no " + variable
                      + ": set it, or let api_key_variable be empty");
  if (!is_printable(key))
    return bad_option("what " + variable + " holds can be no key");
  return std::string{key};
}

// ---- one attempt --------------------------------------------------------------------------------

bool may_try_again(const http_reply& reply) {
  switch (reply.code) {
    case CURLE_OK: return reply.status == 408 || reply.status == 429 || reply.status >= 500;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE: return true;
    default: return false;
  }
}

class embeddings_client {
public:
  embeddings_client(embeddings_options options, std::string key)
    : options_{std::move(options)},
      key_{std::move(key)} {
    while (options_.base_url.ends_with('/'))
      options_.base_url.pop_back();
    url_ = options_.base_url + "/embeddings";
  }

  result<std::vector<std::vector<float>>> embed(const std::vector<std::string>& texts) const {
    for (const auto& text : texts)
      if (text.empty() || text.size() > limits::embedding_text_bytes_max)
        return troupe::error{errc::invalid_value,
                             "embed texts: a text must have from 1 to "
                               + std::to_string(limits::embedding_text_bytes_max) + " bytes, not "
                               + std::to_string(text.size())};
    curl_handle handle{curl_easy_init()};
    if (!handle)
      return failed("libcurl gives no handle", options_);
    std::vector<std::vector<float>> vectors;
    for (std::size_t at = 0; at < texts.size(); at += options_.batch_max) {
      auto count = std::min(options_.batch_max, texts.size() - at);
      auto some = embed_some(handle.get(), std::span{texts}.subspan(at, count));
      if (!some)
        return some;
      if (!vectors.empty() && vectors.front().size() != some->front().size())
        return failed("vectors of different sizes", options_);
      std::ranges::move(*some, std::back_inserter(vectors));
    }
    return vectors;
  }

private:
  result<std::vector<std::vector<float>>> embed_some(CURL* handle,
                                                     std::span<const std::string> texts) const {
    auto body = embeddings_request(options_, texts);
    auto wait = options_.retry_first;
    for (unsigned attempt = 1;; ++attempt) {
      auto reply = post(handle, body);
      if (reply.code == CURLE_OK && reply.status == 200)
        return read_embeddings(reply.body, texts.size(), options_);
      if (!may_try_again(reply) || attempt == options_.attempts_max)
        return meaning_of(reply);
      std::this_thread::sleep_for(std::min(std::max(wait, reply.retry_after), options_.retry_max));
      wait = std::min(wait * 2, options_.retry_max);
    }
  }

  http_reply post(CURL* handle, const std::string& body) const {
    http_reply reply;
    curl_easy_reset(handle);
    curl_headers headers{curl_slist_append(nullptr, "Content-Type: application/json")};
    curl_slist_append(headers.get(), "Expect:"); // a large body does not wait for leave
    if (!key_.empty())
      curl_slist_append(headers.get(), ("Authorization: Bearer " + key_).c_str());
    auto set = [handle](auto option, auto v) { curl_easy_setopt(handle, option, v); };
    set(CURLOPT_URL, url_.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L); // the key goes nowhere else
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout.count()));
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.timeout.count()));
    set(CURLOPT_POSTFIELDS, body.c_str());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    set(CURLOPT_HTTPHEADER, headers.get());
    set(CURLOPT_WRITEFUNCTION, &take_body);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&reply.body));
    reply.code = curl_easy_perform(handle);
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &reply.status);
    curl_off_t seconds = 0;
    curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &seconds);
    auto most = std::chrono::ceil<std::chrono::seconds>(options_.retry_max).count();
    reply.retry_after = std::chrono::seconds{std::clamp<curl_off_t>(seconds, 0, most)};
    return reply;
  }

  troupe::error meaning_of(const http_reply& reply) const {
    if (reply.code == CURLE_OPERATION_TIMEDOUT)
      return failed_as(errc::node_timeout, failed("it took too long", options_));
    if (reply.code == CURLE_WRITE_ERROR)
      return failed("the reply is too large", options_);
    if (reply.code != CURLE_OK)
      return failed(curl_easy_strerror(reply.code), options_);
    auto status = "status " + std::to_string(reply.status);
    if (reply.status == 401 || reply.status == 403)
      return failed_as(errc::invalid_config, failed(status + ", the key is refused", options_));
    if (auto said = without_key(refusal_text(reply.body)); !said.empty())
      status.append(", ").append(said);
    auto err = failed(status, options_);
    if (reply.status == 429)
      return failed_as(errc::overloaded, err);
    return reply.status >= 400 && reply.status < 500 ? failed_as(errc::invalid_value, err) : err;
  }

  // Also a beginning of it, which a cut text may end with.
  std::string without_key(std::string text) const {
    auto shown = std::min<std::size_t>(key_.size(), 6);
    if (shown > 0 && text.find(key_.substr(0, shown)) != text.npos)
      return {};
    return text;
  }

  embeddings_options options_;
  std::string key_;
  std::string url_;
};

} // namespace

result<embed_function> make_embeddings(embeddings_options options) {
  static const auto is_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (!is_ready)
    return failed("libcurl does not start", options);
  if (auto ok = check(options); !ok)
    return ok.error();
  auto key = find_key(options.api_key_variable);
  if (!key)
    return key.error();
  auto client = std::make_shared<const embeddings_client>(std::move(options), std::move(*key));
  return embed_function{
    [client](const std::vector<std::string>& texts) { return client->embed(texts); }};
}

} // namespace troupe
