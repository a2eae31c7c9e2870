// hosted_model: one call as a loop of attempts. The key goes into one header. A provider's text is
// shown only if it repeats neither the key nor the messages.
#include "agents/models/hosted_model.hpp"

#include "agents/messages/json_text.hpp"
#include "agents/messages/message_lists.hpp"
#include "http/client.hpp"
#include "http/retry.hpp"

#include <troupe/message.hpp>

#include <algorithm>
#include <random>

namespace troupe {
namespace {

using std::chrono::milliseconds;
using model_clock = std::chrono::steady_clock;

double drawn_chance() {
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>{0.0, 1.0}(random);
}

bool is_event_stream(const http_head& head) {
  return head.header("content-type").starts_with("text/event-stream");
}

class http_model final : public chat_model {
public:
  http_model(std::string name, std::unique_ptr<model_wire> wire, chat_model_options options,
             std::string key)
    : name_{std::move(name)},
      wire_{std::move(wire)},
      options_{std::move(options)},
      key_{std::move(key)},
      loop_{http_loop::shared()} {}

  std::string name() const override { return name_; }
  value profile() const override { return options_.profile; }
  coro<value> invoke(model_request request, context& ctx) override;

private:
  // One call with all its attempts.
  struct call_state {
    model_clock::time_point until;
    bool given = false; // a reader has got a part
  };

  http_request written(const model_request& asked, bool stream, const call_state& state) const;
  value read(const http_head& head, std::string_view body) const;
  std::optional<milliseconds> wait_before_next(const model_error& failed, unsigned attempt,
                                               const call_state& state) const;
  coro<value> ask_whole(const model_request& asked, context& ctx, call_state& state);
  coro<value> ask_streamed(const model_request& asked, context& ctx, call_state& state);

  std::string name_;
  std::unique_ptr<model_wire> wire_;
  chat_model_options options_;
  std::string key_;
  std::shared_ptr<http_loop> loop_; // keeps connections between calls
};

http_request http_model::written(const model_request& asked, bool stream,
                                 const call_state& state) const {
  http_request out;
  out.method = "POST";
  out.url = wire_->url();
  out.proxy = options_.proxy;
  out.headers = wire_->headers(key_, asked);
  out.headers.emplace_back("Content-Type", "application/json");
  out.headers.emplace_back("Accept", stream ? "text/event-stream" : "application/json");
  out.body = spaced_json(wire_->request(asked, stream));
  out.body_bytes_max = limits::model_answer_bytes_max;
  auto left = std::chrono::ceil<milliseconds>(state.until - model_clock::now());
  out.timeouts = {.connect = options_.connect_timeout,
                  .response = milliseconds{0}, // a whole answer comes only when it is complete
                  .idle = stream ? options_.idle_timeout : milliseconds{0},
                  .total = std::max(left, milliseconds{1})};
  return out;
}

value http_model::read(const http_head& head, std::string_view body) const {
  if (head.status < 200 || head.status >= 300)
    throw refused_by_status(head, body, std::chrono::system_clock::now());
  auto json = from_json(body, json_form::plain);
  if (!json || !json->is_map())
    throw broken_answer("the answer is not a JSON object");
  return wire_->answer(*json, random_id());
}

std::optional<milliseconds> http_model::wait_before_next(const model_error& failed,
                                                         unsigned attempt,
                                                         const call_state& state) const {
  auto asked_for = failed.retry_after().value_or(milliseconds{0});
  if (state.given || !failed.may_try_again() || attempt >= options_.attempts_max
      || asked_for > limits::model_retry_after)
    return std::nullopt;
  auto wait = std::max(asked_for, retry_wait(attempt + 1, options_.retry_first, options_.retry_max,
                                             drawn_chance()));
  if (model_clock::now() + wait >= state.until)
    return std::nullopt;
  return wait;
}

coro<value> http_model::invoke(model_request request, context& ctx) {
  call_state state{.until = model_clock::now() + options_.timeout};
  for (unsigned attempt = 1;; ++attempt) {
    std::optional<model_error> failed;
    try {
      auto asked = request.on_part ? ask_streamed(request, ctx, state)
                                   : ask_whole(request, ctx, state);
      auto answer = co_await asked;
      co_return answer;
    } catch (const model_error& e) {
      failed = e;
    } catch (const http_error& e) {
      failed = lost_connection(e);
    }
    auto wait = wait_before_next(*failed, attempt, state);
    if (!wait || ctx.stop_requested())
      throw told_error(name_, *failed, {key_, request.messages}, wire_->url());
    auto pause = ctx.sleep_for(*wait);
    co_await pause;
  }
}

coro<value> http_model::ask_whole(const model_request& asked, context& ctx, call_state& state) {
  auto fetched = http_fetch(ctx, written(asked, false, state));
  auto response = co_await fetched;
  co_return read(response.head, response.body);
}

coro<value> http_model::ask_streamed(const model_request& asked, context& ctx, call_state& state) {
  http_call call{ctx, written(asked, true, state)};
  call.expect(options_.first_token_timeout, "the answer did not begin in time");
  auto answered = call.head();
  auto head = co_await answered;
  if (head.status != 200 || !is_event_stream(head)) { // an error, or a server that does not stream
    std::string body;
    for (bool more_to_come = true; more_to_come;) {
      auto more = call.more();
      auto piece = co_await more;
      more_to_come = !piece.empty();
      body += piece;
    }
    co_return read(head, body);
  }
  auto reader = wire_->reader(asked, random_id());
  sse_decoder decoder;
  std::vector<sse_event> events;
  auto give_parts = [&] {
    for (const auto& part : reader->take_parts()) {
      state.given = true;
      asked.on_part(part);
    }
  };
  bool has_begun = false;
  auto take = [&](std::string_view piece) {
    events.clear();
    if (auto ok = decoder.feed(piece, events); !ok)
      throw broken_answer(ok.error().message());
    for (const auto& event : events) {
      reader->take(event);
      give_parts();
    }
  };
  while (!reader->is_over()) {
    std::string piece;
    try {
      auto more = call.more();
      piece = co_await more;
    } catch (const http_error&) {
      if (!reader->is_complete()) // otherwise only the end of the stream is missing
        throw;
    }
    if (piece.empty())
      break;
    try {
      take(piece);
    } catch (const model_error& e) {
      if (e.kind() != broken_answer({}).kind() || reader->has_content())
        throw;
      auto known = e.known(); // no content was read: another attempt may succeed
      known.may_try_again = true;
      throw model_error{e.code(), e.message(), e.type(), std::move(known)};
    }
    if (!has_begun && reader->has_content()) {
      has_begun = true;
      call.expect_nothing();
    }
  }
  if (!reader->is_complete())
    throw lost_connection(http_error{http_fault::broken, wire_->url(),
                                     "the stream ended before the end of the answer"});
  call.let_end(std::chrono::seconds{1});
  auto answer = reader->finish();
  give_parts();
  co_return answer;
}

} // namespace

chat_model_ptr hosted_model(std::string name, std::unique_ptr<model_wire> wire,
                            chat_model_options options, std::string key) {
  return std::make_shared<http_model>(std::move(name), std::move(wire), std::move(options),
                                      std::move(key));
}

} // namespace troupe
