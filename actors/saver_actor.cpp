// The actor in front of the saver.
#include "actors/saver_actor.hpp"

#include "actors/tell.hpp"
#include "graph/crash_point.hpp"

namespace troupe {

void hand_over(saver& to, save_request request, save_ack when, std::shared_ptr<held_claim> claim,
               std::function<void(result<void>)> done) {
  bool puts_to_rest = request.claim && (request.claim->owner & thread_at_rest) != 0;
  auto answer = [claim, puts_to_rest, done = std::move(done)](result<void> how) {
    if (claim && puts_to_rest && how)
      claim->rests = true;
    if (claim)
      claim->save_answered();
    done(std::move(how));
  };
  if (claim && claim->revoked)
    return answer(error{errc::conflict, "store a step of thread `" + request.ref.thread_id
                                          + "`: another run has started on it"});
  try {
    to.submit(std::move(request), when, answer);
  } catch (const std::exception& e) { // otherwise the actor would die, and all runs would wait
                                      // forever
    answer(error{errc::storage_failed, std::string{"save: the saver threw: "} + e.what()});
  }
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
    hand_over(*saver_, std::move(*order.request), order.when, order.claim, std::move(answer));
  }};
}

void saver_actor::on_exit() {
  saver_.reset();
  actors_.remove(*card_);
}

} // namespace troupe
