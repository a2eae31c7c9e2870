// The actor in front of the saver: hands requests over in the order they come.
#pragma once

#include "actors/messages.hpp"
#include "actors/roster.hpp"

#include <caf/event_based_actor.hpp>

namespace troupe {

class saver_actor : public caf::event_based_actor {
public:
  saver_actor(caf::actor_config& cfg, roster& actors, card_ptr card, std::shared_ptr<saver> saver);
  const char* name() const override { return "troupe.saver"; }
  caf::behavior make_behavior() override;
  void on_exit() override;

private:
  roster& actors_;
  card_ptr card_;
  std::shared_ptr<saver> saver_;
};

} // namespace troupe
