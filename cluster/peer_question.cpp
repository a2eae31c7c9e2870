// peer_question: asks processes of a cluster for their status, and drains a worker.
#include "actors/logger_reference.hpp"
#include "cluster/links/link_network.hpp"
#include "cluster/links/peer_watch.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <cerrno>
#include <future>
#include <system_error>

namespace troupe::cluster {

namespace {

using peer_answers = std::vector<peer_answer>;

struct ask_tick {};
struct ask_peers {
  message what;
  std::string of; // only this address; empty: all addresses
  std::chrono::milliseconds patience;
  std::shared_ptr<std::promise<peer_answers>> answers;
};

} // namespace

} // namespace troupe::cluster

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::ask_tick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::ask_peers)

namespace troupe::cluster {

namespace {

// Links to the peers. Answers one question at a time.
class asker : public caf::event_based_actor, private link_user {
public:
  asker(caf::actor_config& cfg, std::vector<endpoint> peers)
    : caf::event_based_actor(cfg),
      hub_{*this, *this},
      peers_{std::move(peers)} {}

  caf::behavior make_behavior() override {
    set_down_handler([this](const caf::down_msg& down) { hub_.lost(down); });
    for (const auto& peer : peers_)
      hub_.keep(peer);
    delayed_send(this, limits::link_retry_first, ask_tick{});
    return {
      [this](packet& what) {
        hub_.took(std::move(what), caf::actor_cast<caf::actor>(current_sender()));
        hub_.flush();
      },
      [this](ask_peers& question) {
        begin(std::move(question));
        hub_.flush();
      },
      [this](const ask_tick&) {
        hub_.tick(now());
        answer_if_done();
        hub_.flush();
        delayed_send(this, limits::link_retry_first, ask_tick{});
      },
    };
  }

  void on_exit() override { hub_.close(); }

private:
  void link_made(link_number link, const endpoint* to) override {
    if (!to)
      return;
    links_[link] = *to;
    failures_.erase(*to);
    put(link, *to);
  }
  void heard(link_number link, message what) override {
    auto from = links_.find(link);
    auto* reply = std::get_if<status_reply>(&what);
    if (!reply || from == links_.end())
      return;
    heard_.insert_or_assign(from->second, from_json(reply->json));
    answer_if_done();
  }
  void link_broken(link_number) override {}
  void link_restored(link_number) override {}
  void link_lost(link_number link, const error&) override { links_.erase(link); }
  void not_reached(const endpoint& to, const error& why) override { failures_[to] = why.message(); }

  static instant now() { return std::chrono::steady_clock::now().time_since_epoch(); }

  void begin(ask_peers question) {
    question_ = std::move(question);
    until_ = now() + question_->patience;
    heard_.clear();
    for (const auto& [link, to] : links_)
      put(link, to);
  }

  bool is_asked(const endpoint& to) const {
    return question_->of.empty() || question_->of == to_text(to);
  }

  // Sends the question to a peer. A drain is sent only when a single peer is meant.
  void put(link_number link, const endpoint& to) {
    if (!question_ || !is_asked(to) || heard_.contains(to))
      return;
    if (!is_order_to_several())
      hub_.send(link, question_->what);
  }
  bool is_order_to_several() const {
    return std::holds_alternative<drain_request>(question_->what) && question_->of.empty()
           && hub_.addresses().size() > 1;
  }

  void answer_if_done() {
    if (!question_)
      return;
    peer_answers out;
    bool is_done = true, is_refused = is_order_to_several();
    for (const auto& peer : peers_) {
      auto addresses = hub_.addresses_of(peer);
      if (addresses.empty() && question_->of.empty())
        out.push_back({to_text(peer), nobody(peer, hub_.failure_of(peer))});
      for (const auto& at : addresses) {
        if (!is_asked(at))
          continue;
        auto reply = heard_.find(at);
        is_done &= reply != heard_.end();
        if (reply != heard_.end())
          out.push_back({to_text(at), reply->second});
        else
          out.push_back({to_text(at), nobody(at, why(at)), is_refused_by_kernel(at)});
      }
      is_done &= !addresses.empty() || !question_->of.empty();
    }
    if (is_done || is_refused || now() >= until_)
      std::exchange(question_, std::nullopt)->answers->set_value(std::move(out));
  }

  std::string why(const endpoint& at) const {
    auto known = failures_.find(at);
    return known == failures_.end() ? std::string{} : known->second;
  }
  // The dialer passes on the text of an error, not its number.
  bool is_refused_by_kernel(const endpoint& at) const {
    return why(at).find(std::generic_category().message(ECONNREFUSED)) != std::string::npos;
  }
  error nobody(const endpoint& at, const std::string& why) const {
    return {errc::worker_lost, "ask " + to_text(at) + ": no answer in "
                                 + std::to_string(question_->patience.count()) + " ms"
                                 + (why.empty() ? "" : ": " + why)};
  }

  link_hub hub_;
  std::vector<endpoint> peers_;
  std::map<link_number, endpoint> links_;
  std::map<endpoint, std::string> failures_;
  std::optional<ask_peers> question_;
  instant until_{0};
  std::map<endpoint, result<value>> heard_;
};

bool has_worker(const value& status, const value& name) {
  const auto& workers = status["workers"].items();
  return std::ranges::any_of(workers, [&name](const value& w) { return w["name"] == name; });
}

std::string addresses_in(const peer_answers& peers, const char* behind_silent = "") {
  std::string out;
  for (const auto& one : peers)
    out += " " + one.at + (one.status ? "" : behind_silent);
  return out;
}

// The address at which to reach a worker: its own, or else that of a home that has it.
result<std::string> find_worker(const peer_answers& peers, const std::string& name) {
  for (const auto& peer : peers)
    if (peer.status && (*peer.status)["kind"] == value("worker")
        && (*peer.status)["name"] == value(name))
      return peer.at;
  for (const auto& peer : peers)
    if (peer.status && (*peer.status)["kind"] == value("home")
        && has_worker(*peer.status, value(name)))
      return peer.at;
  return error{errc::worker_lost,
               "drain worker `" + name
                 + "`: no worker of this name was found at:" + addresses_in(peers, " (no answer)")};
}

class linked_watch : public peer_watch {
public:
  linked_watch(link_network network, std::vector<endpoint> peers) : network_{std::move(network)} {
    logger_reference reference;
    asker_ = network_.system->spawn<asker>(std::move(peers));
  }
  linked_watch(const linked_watch&) = delete;
  linked_watch& operator=(const linked_watch&) = delete;
  ~linked_watch() override {
    caf::anon_send_exit(asker_, caf::exit_reason::user_shutdown);
    asker_ = nullptr;
  }

  peer_answers ask(std::chrono::milliseconds patience) override {
    return question(status_request{}, {}, patience);
  }

  result<value> drain(drain_request order, std::chrono::milliseconds patience) override {
    auto name = order.worker;
    std::string of;
    if (!name.empty()) {
      auto found = find_worker(ask(patience), name);
      if (!found)
        return found.error();
      of = *found;
    }
    auto told = question(std::move(order), of, patience);
    if (told.size() > 1)
      return error{errc::invalid_config,
                   "drain a worker: several workers answered, name one of them:"
                     + addresses_in(told)};
    auto& [at, status, refused] = told.front();
    if (!status || (*status)["kind"] == value("worker"))
      return std::move(status);
    for (const auto& worker : (*status)["workers"].items())
      if (worker["name"] == value(name))
        return worker;
    return error{errc::invalid_config, "drain a worker: " + at + " is a home, not a worker"};
  }

private:
  peer_answers question(message what, std::string of, std::chrono::milliseconds patience) {
    auto answers = std::make_shared<std::promise<peer_answers>>();
    auto told = answers->get_future();
    caf::anon_send(asker_, ask_peers{std::move(what), std::move(of), patience, std::move(answers)});
    return told.get();
  }

  link_network network_;
  caf::actor asker_;
};

} // namespace

result<std::unique_ptr<peer_watch>> peer_watch::open(const std::vector<std::string>& peers,
                                                     const peer_access& access) {
  auto to = to_endpoints(peers);
  if (!to)
    return to.error();
  auto network = make_link_network(access.tls, access.plain);
  if (!network)
    return network.error();
  if (auto may = may_reach(*network, *to); !may)
    return may.error();
  return std::unique_ptr<peer_watch>{new linked_watch{std::move(*network), std::move(*to)}};
}

} // namespace troupe::cluster

namespace troupe {

result<value> peer_status(const std::string& at, const peer_access& access) {
  auto watch = cluster::peer_watch::open({at}, access);
  if (!watch)
    return watch.error();
  return (*watch)->ask(access.patience).front().status;
}

result<value> drain_worker(const std::string& at, const std::string& why, const peer_access& access,
                           std::chrono::milliseconds patience) {
  auto watch = cluster::peer_watch::open({at}, access);
  if (!watch)
    return watch.error();
  return (*watch)->drain({why, patience}, access.patience);
}

} // namespace troupe
