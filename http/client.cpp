// http client: waiting for transfers.
#include "http/client.hpp"

#include <troupe/completion.hpp>

#include <future>

namespace troupe {

namespace {

http_response response_of(http_transfer& transfer) {
  bool had_to_wait = false;
  http_response out;
  out.head = transfer.head();
  for (auto piece = transfer.take(had_to_wait); !piece.empty(); piece = transfer.take(had_to_wait))
    out.body = out.body.empty() ? std::move(piece) : out.body + piece;
  return out;
}

void wait_for_sign(http_transfer& transfer, http_sign sign) {
  auto there = std::make_shared<std::promise<void>>();
  transfer.when(sign, [there] { there->set_value(); });
  there->get_future().wait();
}

// Suspends the body until `sign`; the transfer is given up together with the body.
coro<void> http_sign_of(const context& ctx, std::shared_ptr<http_loop> loop,
                        http_transfer_ptr transfer, http_sign sign) {
  auto there = ctx.completion<void>();
  auto done = there.completer();
  done.when_left([loop, transfer] { loop->cancel(transfer); });
  transfer->when(sign, [done] { done.set(); });
  co_await there;
}

} // namespace

http_call::http_call(const context* ctx, http_request request)
  : ctx_{ctx},
    loop_{http_loop::shared()} {
  check_request(request);
  transfer_ = std::make_shared<http_transfer>(std::move(request), false);
  loop_->start(transfer_);
}

http_call::~http_call() {
  if (transfer_)
    loop_->cancel(transfer_);
}

coro<void> http_call::until(http_sign sign) {
  return http_sign_of(*ctx_, loop_, transfer_, sign);
}

coro<http_head> http_call::head() {
  if (ctx_) {
    auto there = until(http_sign::head);
    co_await there;
  } else {
    wait_for_sign(*transfer_, http_sign::head);
  }
  co_return transfer_->head();
}

coro<std::string> http_call::more() {
  bool had_to_wait = false;
  if (ctx_) {
    auto there = until(http_sign::data);
    co_await there;
  } else {
    wait_for_sign(*transfer_, http_sign::data);
  }
  auto piece = transfer_->take(had_to_wait);
  if (had_to_wait)
    loop_->go_on(transfer_);
  co_return piece;
}

void http_call::expect(std::chrono::milliseconds within, std::string what) {
  loop_->expect(transfer_, http_loop::clock::now() + within, std::move(what));
}

void http_call::expect_nothing() {
  loop_->expect(transfer_, std::nullopt, {});
}

void http_call::let_end(std::chrono::milliseconds within) {
  expect(within, "the rest of the response took too long");
  transfer_.reset();
}

coro<http_response> http_fetch(const context* ctx, http_request request) {
  check_request(request);
  auto loop = http_loop::shared();
  auto transfer = std::make_shared<http_transfer>(std::move(request), true);
  loop->start(transfer);
  if (ctx) {
    auto ended = http_sign_of(*ctx, loop, transfer, http_sign::end);
    co_await ended;
  } else {
    wait_for_sign(*transfer, http_sign::end);
  }
  co_return response_of(*transfer);
}

http_response http_fetch_and_wait(http_request request) {
  check_request(request);
  auto loop = http_loop::shared();
  auto transfer = std::make_shared<http_transfer>(std::move(request), true);
  loop->start(transfer);
  wait_for_sign(*transfer, http_sign::end);
  return response_of(*transfer);
}

} // namespace troupe
