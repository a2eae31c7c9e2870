// A loaded graph as an actor: start_run in, run_finished out.
#pragma once

#include "actors/roster.hpp"

#include <troupe/actor.hpp>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/response_promise.hpp>

#include <unordered_map>

namespace troupe {

/// Internal: a run this actor started has ended.
struct run_over {
  std::uint64_t id = 0;
};

class graph_actor : public caf::event_based_actor {
public:
  graph_actor(caf::actor_config& cfg, app_core& app, card_ptr card);
  const char* name() const override { return "troupe.graph"; }
  caf::behavior make_behavior() override;
  void on_exit() override;

private:
  struct open_run {
    std::string thread_id;
    std::shared_ptr<pending_run> run;
    caf::response_promise promise;
  };
  caf::result<run_finished> start(const start_run& order);
  void answer(std::uint64_t id);

  app_core& app_;
  roster& actors_;
  card_ptr card_;
  std::uint64_t next_ = 0;
  std::unordered_map<std::uint64_t, open_run> open_;
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::run_over)
