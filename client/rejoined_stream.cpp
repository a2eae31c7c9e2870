// rejoined_stream: connections, and the events that they bring.
#include "client/rejoined_stream.hpp"

#include "client/addresses.hpp"
#include "client/waiting.hpp"
#include "http/retry.hpp"

#include <utility>

namespace troupe {

namespace {

error broken_stream(const std::string& what) {
  return error{errc::node_failed, "read the events of a run: " + what, "StreamError"};
}

} // namespace

rejoined_stream::rejoined_stream(std::shared_ptr<const api_place> place, stream_opening opening)
  : place_{std::move(place)},
    opening_{std::move(opening)},
    lost_{place_->options()},
    last_id_{opening_.last_event_id} {}

coro<std::optional<run_event>> rejoined_stream::next(context* ctx) {
  for (;;) {
    if (!waiting_.empty()) {
      std::optional<run_event> event{std::move(waiting_.front())};
      waiting_.pop_front();
      co_return event;
    }
    if (failure_)
      std::rethrow_exception(std::exchange(failure_, nullptr));
    if (is_over_)
      co_return std::nullopt;
    std::optional<error> lost;
    try {
      auto advanced = advance(ctx);
      lost = co_await step_in(ctx, advanced);
    } catch (const http_error& e) { // after all bytes that came before it
      lost = e;
      if (url_.empty() || !may_change(e.fault()))
        failure_ = std::current_exception();
    } catch (...) { // perhaps after events of the same bytes
      failure_ = std::current_exception();
    }
    if (failure_)
      is_over_ = true;
    if (failure_ || lost)
      call_.reset();
    if (failure_ || !lost)
      continue;
    auto wait = wait_before_next(ctx, *lost);
    co_await step_in(ctx, wait);
  }
}

// One piece of progress. Returns the reason when the connection is lost.
coro<std::optional<error>> rejoined_stream::advance(context* ctx) {
  if (!call_) {
    auto opened = open(ctx);
    auto lost = co_await step_in(ctx, opened);
    co_return lost;
  }
  call_->read_in(ctx);
  auto more = call_->more();
  auto piece = co_await step_in(ctx, more);
  if (piece.empty()) {
    auto end = closed(ctx);
    auto lost = co_await step_in(ctx, end);
    co_return lost;
  }
  std::vector<sse_event> events;
  auto fed = decoder_.feed(piece, events);
  for (const auto& event : events)
    take(event);
  if (!fed)
    throw fed.error();
  co_return std::nullopt;
}

http_request rejoined_stream::next_request() const {
  if (url_.empty())
    return place_->stream_request(opening_.method, opening_.target, opening_.body, last_id_);
  // A run that keeps its events gives all of them to a reader that got none.
  bool from_start = last_id_.empty() && opening_.is_resumable;
  return place_->stream_request("GET", url_, {}, from_start ? "-1" : last_id_);
}

coro<std::optional<error>> rejoined_stream::open(context* ctx) {
  bool is_again = !url_.empty();
  call_.emplace(ctx, next_request());
  decoder_ = sse_decoder{};
  auto answered = call_->head();
  auto head = co_await step_in(ctx, answered);
  if (head.status != 200) {
    auto read = whole_body(ctx);
    auto body = co_await step_in(ctx, read);
    auto refused = place_->refusal(head.status, body);
    if (is_again && may_pass(head.status))
      co_return refused;
    throw refused;
  }
  if (!head.header("content-type").starts_with("text/event-stream")) {
    auto wrong = broken_stream("the server's answer is not a stream of events");
    if (is_again) // perhaps a proxy's page while the server begins
      co_return wrong;
    throw wrong;
  }
  if (!is_again) {
    has_begun_ = true;
    url_ = opening_.rejoin_at.empty() ? place_->joining_url(head, "/stream") : opening_.rejoin_at;
    if (auto run = place_of_run(head.header("content-location")))
      run_ = std::move(*run);
  } else {
    seen_.connected_again();
    may_lack_ = may_lack_ || (last_id_.empty() && !opening_.is_resumable);
  }
  co_return std::nullopt;
}

// The stream ended in good order: its run did, or a proxy or a server that stops cut it.
coro<std::optional<error>> rejoined_stream::closed(context* ctx) {
  call_.reset();
  auto run_url = run_ended_ || url_.empty() ? std::string{} : run_url_of(url_);
  if (!run_url.empty()) {
    auto asked = http_fetch(ctx, place_->request("GET", run_url));
    auto response = co_await step_in(ctx, asked);
    if (may_pass(response.head.status))
      co_return place_->refusal(response.head.status, response.body);
    auto run = from_json(response.body, json_form::plain);
    if (response.head.status == 200 && run)
      if (const auto& status = (*run)["status"];
          status == value("pending") || status == value("running"))
        co_return broken_stream("the stream ended, but its run goes on");
  }
  is_over_ = true;
  co_return std::nullopt;
}

coro<std::string> rejoined_stream::whole_body(context* ctx) {
  std::string body;
  call_->read_in(ctx);
  for (bool has_more = true; has_more && body.size() < limits::client_answer_bytes_max;) {
    auto more = call_->more();
    auto piece = co_await step_in(ctx, more);
    has_more = !piece.empty();
    body += piece;
  }
  co_return body;
}

coro<void> rejoined_stream::wait_before_next(context* ctx, error lost) {
  auto wait = lost_.next(drawn_chance_of_wait());
  if (!wait) {
    is_over_ = true;
    throw error{lost.code(),
                "follow a run: the connection was lost " + std::to_string(lost_.count() + 1)
                  + " times without an event between: " + lost.message(),
                lost.type()};
  }
  auto pause = pause_in(ctx, *wait);
  co_await step_in(ctx, pause);
}

void rejoined_stream::take(const sse_event& event) {
  lost_.progressed();
  run_event out{.event = event.type, .data = {}, .id = event.id};
  if (!event.id.empty())
    last_id_ = event.id;
  if (!event.data.empty()) {
    auto data = from_json(event.data, json_form::plain);
    if (!data)
      throw broken_stream("the data of an event is not JSON: " + data.error().message());
    out.data = std::move(*data);
  }
  if (out.event == "end") { // some servers send it; it has no data
    run_ended_ = true;
    return;
  }
  run_ended_ = run_ended_ || out.mode() == "error";
  if (seen_.is_new(out))
    waiting_.push_back(std::move(out));
}

std::vector<std::string> run_event::ns() const {
  std::vector<std::string> out;
  for (auto at = event.find('|'); at != event.npos;) {
    auto end = event.find('|', at + 1);
    out.push_back(event.substr(at + 1, end == event.npos ? end : end - at - 1));
    at = end;
  }
  return out;
}

run_events::run_events(std::shared_ptr<rejoined_stream> stream) noexcept
  : stream_{std::move(stream)} {}
run_events::run_events(run_events&&) noexcept = default;
run_events& run_events::operator=(run_events&&) noexcept = default;
run_events::~run_events() = default;

std::optional<run_event> run_events::next() {
  return waited(stream_->next(nullptr));
}

result<std::optional<run_event>> run_events::try_next() {
  try {
    return next();
  } catch (const error& failed) {
    return failed;
  }
}

coro<std::optional<run_event>> run_events::next(context& ctx) {
  return stream_->next(&ctx);
}

const std::string& run_events::run_id() const noexcept {
  return stream_->place_of().run_id;
}
const std::string& run_events::thread_id() const noexcept {
  return stream_->place_of().thread_id;
}
const std::string& run_events::last_event_id() const noexcept {
  return stream_->last_event_id();
}
bool run_events::may_lack_events() const noexcept {
  return stream_->may_lack_events();
}

} // namespace troupe
