// http_embeddings: embedding over HTTP: attempts, waits between them, and what a failure means.
//
// The key goes into one header and nowhere else: it is cut out of every text of a server.
#include "agents/models/embeddings_reply.hpp"
#include "http/client.hpp"
#include "http/retry.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <thread>

namespace troupe {

namespace {

using std::chrono::milliseconds;

// The outcome of one attempt: a response, or the reason why it is missing.
struct http_reply {
  std::optional<http_error> lost;
  http_response response;

  int status() const noexcept { return response.head.status; }
};

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
    return bad_option("the name of the model is empty");
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
    return bad_option(
      "timeout and attempts_max must be above 0, and times between attempts not negative");
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
    return bad_option(variable + " does not hold a valid key");
  return std::string{key};
}

// ---- one attempt --------------------------------------------------------------------------------

bool may_try_again(const http_reply& reply) {
  if (reply.lost)
    return may_change(reply.lost->fault());
  return reply.status() == 408 || reply.status() == 429 || reply.status() >= 500;
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
    std::vector<std::vector<float>> vectors;
    for (std::size_t at = 0; at < texts.size(); at += options_.batch_max) {
      auto count = std::min(options_.batch_max, texts.size() - at);
      auto some = embed_some(std::span{texts}.subspan(at, count));
      if (!some)
        return some;
      if (!vectors.empty() && vectors.front().size() != some->front().size())
        return failed("vectors of different sizes", options_);
      std::ranges::move(*some, std::back_inserter(vectors));
    }
    return vectors;
  }

private:
  result<std::vector<std::vector<float>>> embed_some(std::span<const std::string> texts) const {
    auto body = embeddings_request(options_, texts);
    auto wait = options_.retry_first;
    for (unsigned attempt = 1;; ++attempt) {
      auto reply = post(body);
      if (!reply.lost && reply.status() == 200)
        return read_embeddings(reply.response.body, texts.size(), options_);
      if (!may_try_again(reply) || attempt == options_.attempts_max)
        return meaning_of(reply);
      auto asked_for = retry_after(reply.response.head, std::chrono::system_clock::now());
      std::this_thread::sleep_for(
        std::min(std::max(wait, asked_for.value_or(milliseconds{0})), options_.retry_max));
      wait = std::min(wait * 2, options_.retry_max);
    }
  }

  http_reply post(const std::string& body) const {
    http_request request;
    request.method = "POST";
    request.url = url_;
    request.headers = {{"Content-Type", "application/json"}};
    if (!key_.empty())
      request.headers.emplace_back("Authorization", "Bearer " + key_);
    request.body = body;
    request.timeouts = {
      .connect = options_.timeout, .response = milliseconds{0}, .total = options_.timeout};
    request.body_bytes_max = limits::embedding_reply_bytes_max;
    http_reply reply;
    try {
      reply.response = http_fetch_and_wait(std::move(request));
    } catch (const http_error& why) {
      reply.lost = why;
    }
    return reply;
  }

  troupe::error meaning_of(const http_reply& reply) const {
    if (reply.lost && reply.lost->fault() == http_fault::timed_out)
      return failed_as(errc::node_timeout, failed("the request took too long", options_));
    if (reply.lost && reply.lost->fault() == http_fault::too_large)
      return failed("the reply is too large", options_);
    if (reply.lost)
      return failed(reply.lost->message(), options_);
    auto status = "status " + std::to_string(reply.status());
    if (reply.status() == 401 || reply.status() == 403)
      return failed_as(errc::invalid_config, failed(status + ", the key is refused", options_));
    if (auto said = without_key(refusal_text(reply.response.body)); !said.empty())
      status.append(", ").append(said);
    auto err = failed(status, options_);
    if (reply.status() == 429)
      return failed_as(errc::overloaded, err);
    return reply.status() >= 400 && reply.status() < 500 ? failed_as(errc::invalid_value, err)
                                                         : err;
  }

  // Removes the key, and also a beginning of it, with which a shortened text may end.
  std::string without_key(std::string text) const {
    auto shown = std::min<std::size_t>(key_.size(), 6);
    if (shown > 0 && text.find(key_.substr(0, shown)) != text.npos)
      return {};
    return text;
  }

  embeddings_options options_;
  std::string key_;
  std::string url_;
  std::shared_ptr<http_loop> loop_ = http_loop::shared(); // keeps connections between requests
};

} // namespace

result<embed_function> make_embeddings(embeddings_options options) {
  if (auto ok = check(options); !ok)
    return ok.error();
  auto key = find_key(options.api_key_variable);
  if (!key)
    return key.error();
  auto client = std::make_shared<const embeddings_client>(std::move(options), std::move(*key));
  return embed_function{
    [client](const std::vector<std::string>& texts) { return client->embed(texts); }};
}

result<embed_function> init_embeddings(std::string_view name, embeddings_options options) {
  auto colon = name.find(':');
  if (name.substr(0, colon) != "openai")
    return bad_option("unknown provider in `" + std::string{name} + "`; known: openai");
  options.model = colon == name.npos ? "" : name.substr(colon + 1);
  const std::string standard = embeddings_options{}.base_url;
  if (const auto* url = std::getenv("OPENAI_BASE_URL"); url && options.base_url == standard)
    options.base_url = url;
  if (options.base_url != standard && !std::getenv(options.api_key_variable.c_str()))
    options.api_key_variable.clear();
  return make_embeddings(std::move(options));
}

} // namespace troupe
