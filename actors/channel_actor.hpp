// The actor of one state channel: owns its rule and contents; the only place where they change.
#pragma once

#include "actors/protocol.hpp"
#include "actors/roster.hpp"

#include <caf/event_based_actor.hpp>

namespace troupe {

class channel_actor : public caf::event_based_actor {
public:
  channel_actor(caf::actor_config& cfg, roster& actors, card_ptr card,
                std::shared_ptr<const graph_plan> plan, channel_index channel,
                caf::actor coordinator, card_ptr coordinator_card);
  const char* name() const override { return "troupe.channel"; }
  caf::behavior make_behavior() override;
  void on_exit() override;

private:
  void apply(apply_writes& order);

  roster& actors_;
  card_ptr card_;
  std::shared_ptr<const graph_plan> plan_;
  channel_index channel_;
  caf::actor coordinator_;
  card_ptr coordinator_card_;
  channel_cell cell_;
};

} // namespace troupe
