// saver_actor: the actor in front of the saver. It hands requests over in the order in which they
// come.
#pragma once

#include "actors/protocol.hpp"
#include "actors/roster.hpp"
#include "tasks/held_claim.hpp"

#include <caf/event_based_actor.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace troupe {

class writer_saver; // persistence/writer_saver.hpp

/// Whether the request puts its thread to rest.
bool puts_to_rest(const save_request& request) noexcept;

/// A claim that hears of the answer to one of its requests.
class saved_claim {
public:
  saved_claim() = default;
  saved_claim(std::shared_ptr<held_claim> claim, const save_request& request)
    : claim_{std::move(claim)},
      rests_{puts_to_rest(request)} {}
  void answered(const result<void>& how);

private:
  std::shared_ptr<held_claim> claim_;
  bool rests_ = false; // the request puts the thread to rest
};

error saver_threw(const std::exception& e);
error taken_over(const save_request& request);

/// Calls `submit` unless another run took over. Returns why the request did not get to the saver.
template <class Fn>
std::optional<error> submit_claimed(const held_claim* claim, const save_request& request,
                                    Fn submit) {
  if (claim && claim->revoked)
    return taken_over(request);
  try {
    submit();
    return std::nullopt;
  } catch (const std::exception& e) { // otherwise all runs would wait forever
    return saver_threw(e);
  }
}

/// Hands a request of a run with this claim (null: none) to the saver. The caller has called the
/// claim's save_begins(). The claim's save_answered() is called right before `done`, from any
/// thread.
/// Errors: given to `done`: as saver::submit; conflict when another run took over; storage_failed
///         for a saver that throws.
void hand_over(saver& to, save_request request, save_ack when, std::shared_ptr<held_claim> claim,
               std::function<void(result<void>)> done);

/// Notes how a request of this claim was answered, for a saver that stores within the call.
void note_stored(held_claim* claim, const save_request& request, const result<void>& how);

/// As hand_over(), for a saver that stores within the call of `store`. Returns what `done` would be
/// given.
template <class Fn>
result<void> store_here(const save_request& request, held_claim* claim, Fn store) {
  result<void> how;
  if (auto failed = submit_claimed(claim, request, [&] { how = store(); }))
    how = std::move(*failed);
  note_stored(claim, request, how);
  return how;
}

/// Tells a run, with a save_done, how the saver answered.
void tell_answer(const caf::actor& run, actor_card& card, caf::execution_unit* home,
                 std::uint64_t ticket, const result<void>& how);

class saver_actor : public caf::event_based_actor {
public:
  /// `writer`: the saver, if it is one that has a thread; else null.
  saver_actor(caf::actor_config& cfg, roster& actors, card_ptr card, std::shared_ptr<saver> saver,
              writer_saver* writer);
  const char* name() const override { return "troupe.saver"; }
  caf::behavior make_behavior() override;
  void on_exit() override;

private:
  roster& actors_;
  card_ptr card_;
  std::shared_ptr<saver> saver_;
  writer_saver* const writer_;
};

} // namespace troupe
