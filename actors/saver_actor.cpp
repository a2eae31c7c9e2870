// The actor in front of the saver.
#include "actors/saver_actor.hpp"

#include "actors/lent_thread.hpp"
#include "actors/tell.hpp"
#include "graph/crash_point.hpp"
#include "persistence/writer_saver.hpp"

namespace troupe {

error taken_over(const save_request& request) {
  return {errc::conflict,
          "store a step of thread `" + request.ref.thread_id + "`: another run has started on it"};
}

error saver_threw(const std::exception& e) {
  return {errc::storage_failed, std::string{"save: the saver threw: "} + e.what()};
}

bool puts_to_rest(const save_request& request) noexcept {
  return request.claim && (request.claim->owner & thread_at_rest) != 0;
}

// `rests`: the request put the thread to rest, and was stored.
static void note_answer(held_claim& claim, bool rests) {
  if (rests)
    claim.rests = true;
  claim.save_answered();
}

void saved_claim::answered(const result<void>& how) {
  if (claim_)
    note_answer(*claim_, rests_ && how);
}

// Calls `submit` with the request and with what gets its answer.
template <class Fn>
static void hand_over_by(Fn submit, save_request request, const std::shared_ptr<held_claim>& claim,
                         std::function<void(result<void>)> done) {
  auto answer = [noted = saved_claim{claim, request},
                 done = std::move(done)](result<void> how) mutable {
    noted.answered(how);
    done(std::move(how));
  };
  auto failed = submit_claimed(claim.get(), request, [&] { submit(std::move(request), answer); });
  if (failed)
    answer(std::move(*failed));
}

void hand_over(saver& to, save_request request, save_ack when, std::shared_ptr<held_claim> claim,
               std::function<void(result<void>)> done) {
  hand_over_by([&](save_request&& given,
                   const auto& answer) { to.submit(std::move(given), when, answer); },
               std::move(request), claim, std::move(done));
}

void note_stored(held_claim* claim, const save_request& request, const result<void>& how) {
  if (claim)
    note_answer(*claim, how && puts_to_rest(request));
}

void tell_answer(const caf::actor& run, actor_card& card, caf::execution_unit* home,
                 std::uint64_t ticket, const result<void>& how) {
  save_done done{ticket, std::nullopt};
  if (!how)
    done.failure = how.error();
  tell(run, card, home, std::move(done));
}

saver_actor::saver_actor(caf::actor_config& cfg, roster& actors, card_ptr card,
                         std::shared_ptr<saver> saver, writer_saver* writer)
  : caf::event_based_actor(cfg),
    actors_{actors},
    card_{std::move(card)},
    saver_{std::move(saver)},
    writer_{writer} {}

caf::behavior saver_actor::make_behavior() {
  return {[this](save_order& order) {
    taken(*card_);
    crash_point("saver.ordered");
    auto answer = [to = order.reply_to, card = order.reply_card, home = order.home,
                   ticket = order.ticket](result<void> how) {
      tell_answer(to, *card, home, ticket, how);
    };
    auto* lender = lent_thread::of_this_thread();
    if (writer_ && lender && lender == order.home)
      return hand_over_by(
        [&](save_request&& given, const auto& answer_with) {
          if (writer_->submit_or_leave(std::move(given), order.when, answer_with))
            lender->left_by(*writer_, order.when == save_ack::durable);
        },
        std::move(*order.request), order.claim, std::move(answer));
    hand_over(*saver_, std::move(*order.request), order.when, order.claim, std::move(answer));
  }};
}

void saver_actor::on_exit() {
  saver_.reset();
  actors_.remove(*card_);
}

} // namespace troupe
