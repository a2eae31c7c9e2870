// Asking a process of the cluster how it is, and telling a worker to drain.
#include <troupe/cluster.hpp>

#include "actors/logger_reference.hpp"
#include "cluster/link_front.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <future>

namespace troupe {

namespace {

using namespace cluster;

struct ask_tick {};

} // namespace

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::ask_tick)

namespace troupe {

namespace {

// Links to one process, says what it has to, and waits for its status.
class asker : public caf::event_based_actor, private link_user {
public:
  asker(caf::actor_config& cfg, endpoint to, std::optional<drain_request> drain,
        std::shared_ptr<std::promise<std::string>> answer)
    : caf::event_based_actor(cfg),
      hub_{*this, *this},
      to_{std::move(to)},
      drain_{std::move(drain)},
      answer_{std::move(answer)} {}

  caf::behavior make_behavior() override {
    set_down_handler([this](const caf::down_msg& down) { hub_.lost(down); });
    hub_.keep(to_);
    delayed_send(this, limits::link_retry_first, ask_tick{});
    return {
      [this](packet& what) {
        hub_.took(std::move(what), caf::actor_cast<caf::actor>(current_sender()));
        hub_.flush();
      },
      [this](const ask_tick&) {
        hub_.tick(std::chrono::steady_clock::now().time_since_epoch());
        hub_.flush();
        delayed_send(this, limits::link_retry_first, ask_tick{});
      },
    };
  }

private:
  void link_made(link_number link, const endpoint*) override {
    hub_.send(link, drain_ ? message{*drain_} : message{status_request{}});
  }
  void heard(link_number, message what) override {
    if (auto* reply = std::get_if<status_reply>(&what); reply && answer_)
      std::exchange(answer_, nullptr)->set_value(std::move(reply->json));
  }
  void link_broken(link_number) override {}
  void link_restored(link_number) override {}
  void link_lost(link_number, const error&) override {}

  link_hub hub_;
  endpoint to_;
  std::optional<drain_request> drain_;
  std::shared_ptr<std::promise<std::string>> answer_;
};

result<value> ask(const std::string& at, const peer_access& access,
                  std::optional<drain_request> drain) {
  auto to = to_endpoint(at);
  if (!to)
    return to.error();
  auto front = make_front(access.tls, access.plain);
  if (!front)
    return front.error();
  auto answer = std::make_shared<std::promise<std::string>>();
  auto told = answer->get_future();
  logger_reference reference;
  auto actor = front->system->spawn<asker>(*to, std::move(drain), std::move(answer));
  bool came = told.wait_for(access.patience) == std::future_status::ready;
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  if (!came)
    return error{errc::worker_lost,
                 "ask " + at + ": no answer in " + std::to_string(access.patience.count()) + " ms"};
  return from_json(told.get());
}

} // namespace

result<value> peer_status(const std::string& at, const peer_access& access) {
  return ask(at, access, std::nullopt);
}

result<value> drain_worker(const std::string& at, const std::string& why, const peer_access& access,
                           std::chrono::milliseconds patience) {
  return ask(at, access, drain_request{why, patience});
}

} // namespace troupe
