// The actor in front of the saver.
#include "actors/saver_actor.hpp"

#include "actors/save_lane.hpp"
#include "actors/tell.hpp"
#include "graph/crash_point.hpp"

namespace troupe {

namespace {

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
void note_answer(held_claim& claim, bool rests) {
  if (rests)
    claim.rests = true;
  claim.save_answered();
}

} // namespace

void hand_over(saver& to, save_request request, save_ack when, std::shared_ptr<held_claim> claim,
               std::function<void(result<void>)> done) {
  auto answer = [claim, rests = puts_to_rest(request), done = std::move(done)](result<void> how) {
    if (claim)
      note_answer(*claim, rests && how);
    done(std::move(how));
  };
  if (claim && claim->revoked)
    return answer(taken_over(request));
  try {
    to.submit(std::move(request), when, answer);
  } catch (const std::exception& e) { // otherwise the actor would die, and all runs would wait
                                      // forever
    answer(saver_threw(e));
  }
}

result<void> store_here(prompt_saver& to, const save_request& request, held_claim* claim) {
  auto how = [&]() -> result<void> {
    if (claim && claim->revoked)
      return taken_over(request);
    try {
      return to.store(request);
    } catch (const std::exception& e) {
      return saver_threw(e);
    }
  }();
  if (claim)
    note_answer(*claim, how && puts_to_rest(request));
  return how;
}

saver_actor::saver_actor(caf::actor_config& cfg, roster& actors, card_ptr card,
                         std::shared_ptr<saver> saver)
  : caf::event_based_actor(cfg),
    actors_{actors},
    card_{std::move(card)},
    saver_{std::move(saver)} {}

caf::behavior saver_actor::make_behavior() {
  return {[this](save_order& order) {
    taken(*card_);
    crash_point("saver.ordered");
    auto answer = [to = order.reply_to, card = order.reply_card, home = order.home,
                   ticket = order.ticket](result<void> how) {
      save_done done{ticket, std::nullopt};
      if (!how)
        done.failure = how.error();
      tell(to, *card, home, std::move(done));
    };
    if (order.lane)
      order.lane->enter(*saver_, std::move(*order.request), order.when, order.claim,
                        std::move(answer));
    else
      hand_over(*saver_, std::move(*order.request), order.when, order.claim, std::move(answer));
  }};
}

void saver_actor::on_exit() {
  saver_.reset();
  actors_.remove(*card_);
}

} // namespace troupe
