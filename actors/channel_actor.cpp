// The actor of one state channel: applies writes and answers with the new contents.
#include "actors/channel_actor.hpp"

#include "actors/tell.hpp"
#include "channels/channel.hpp"

namespace troupe {

channel_actor::channel_actor(caf::actor_config& cfg, roster& actors, card_ptr card,
                             std::shared_ptr<const graph_plan> plan, channel_index channel,
                             caf::actor coordinator, card_ptr coordinator_card)
  : caf::event_based_actor(cfg),
    actors_{actors},
    card_{std::move(card)},
    plan_{std::move(plan)},
    channel_{channel},
    coordinator_{std::move(coordinator)},
    coordinator_card_{std::move(coordinator_card)} {}

caf::behavior channel_actor::make_behavior() {
  return {[this](apply_writes& order) { apply(order); }};
}

void channel_actor::apply(apply_writes& order) {
  taken(*card_);
  if (order.base)
    cell_ = std::move(*order.base);
  const auto& channel = plan_->channels[channel_];
  auto began = std::chrono::steady_clock::now();
  auto changed = update_channel(channel.spec, channel.name, cell_, order.writes);
  channel_updated answer{.epoch = order.epoch,
                         .channel = channel_,
                         .cell = cell_,
                         .changed = changed ? *changed : false,
                         .refused = std::nullopt,
                         .took = std::chrono::steady_clock::now() - began};
  if (!changed)
    answer.refused = changed.error();
  tell(coordinator_, *coordinator_card_, context(), std::move(answer));
}

void channel_actor::on_exit() {
  coordinator_ = nullptr;
  actors_.remove(*card_);
}

} // namespace troupe
