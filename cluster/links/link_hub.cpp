// link_hub: the links of an actor to its peers.
#include "cluster/links/link_hub.hpp"

#include "actors/log.hpp"
#include "cluster/links/link_system.hpp"

#include <caf/actor_system.hpp>
#include <caf/atom.hpp>

#include <algorithm>

namespace troupe::cluster {

namespace {

using namespace std::chrono_literals;

// The pause after a refusal, on both sides. Long where the reason will hardly change soon.
nanoseconds pause_after(const refusal& no) {
  switch (no.code) {
    case errc::protocol_mismatch:
    case errc::invalid_value: return limits::link_retry_refused;
    case errc::conflict:
    case errc::overloaded: return limits::link_retry_max;
    default: return {};
  }
}

// A packet kind: its sender does not know the stream, or not any more.
constexpr std::uint8_t unknown_stream = 0xff;
constexpr std::size_t batch_bytes = 1u << 20; // no more messages are added to such a frame

std::size_t payload(const message& m) {
  return std::visit(
    [](const auto& x) {
      std::size_t out = 64;
      auto add = [&out](const bytes& b) { out += b.size(); };
      if constexpr (requires { x.facts; })
        add(x.facts);
      if constexpr (requires { x.task; })
        add(x.task);
      if constexpr (requires { x.outcome; })
        add(x.outcome);
      if constexpr (requires { x.request; })
        add(x.request);
      if constexpr (requires { x.call; })
        add(x.call);
      if constexpr (requires { x.answer; })
        add(x.answer);
      if constexpr (requires { x.part; })
        add(x.part);
      return out;
    },
    m);
}

} // namespace

void link_user::not_reached(const endpoint& to, const error& why) {
  log_info("cluster: link to " + to_text(to) + ": " + why.message());
}

link_ways ways_of(caf::event_based_actor& self) {
  auto dial = [&self](const endpoint& to, link_ways::then_fn then) {
    auto dialer = link_dialer(self.system(), to.host);
    if (!dialer)
      return then(dialer.error());
    constexpr auto patience = limits::link_dial_timeout + limits::cluster_handshake_timeout;
    self.request(*dialer, patience, caf::connect_atom_v, std::string{to.host}, to.port)
      .then(
        [then, here = self.system().node()](const caf::node_id& there, caf::strong_actor_ptr& peer,
                                            std::set<std::string>&) {
          if (peer)
            then(caf::actor_cast<caf::actor>(peer));
          else if (there == here)
            then(error{errc::protocol_mismatch,
                       "the peer is this process, or has the same network cards and process id: "
                       "give containers networks of their own, or an init process"});
          else
            then(error{errc::protocol_mismatch, "the peer is not a troupe process"});
        },
        [&self, then](caf::error& why) {
          then(error{errc::worker_lost, why_of(self.system(), why)});
        });
  };
  return {.dial = dial};
}

link_hub::link_hub(caf::event_based_actor& self, link_user& user, nanoseconds quiet_max,
                   link_ways ways)
  : self_{self},
    user_{user},
    quiet_max_{quiet_max},
    ways_{std::move(ways)},
    lookup_{ways_.addresses} {}

instant link_hub::now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

// -- peers to reach

void link_hub::keep(const endpoint& peer) {
  names_.keep(peer);
  look_up_names(now());
  follow_names();
}

void link_hub::forget(const endpoint& peer) {
  names_.forget(peer);
  follow_names();
}

void link_hub::look_up_names(instant now) {
  for (auto& host : names_.due(now))
    lookup_.ask(std::move(host));
}

void link_hub::follow_names() {
  auto wanted = names_.wanted();
  for (auto at = places_.begin(); at != places_.end();) {
    at->second.kept = wanted.contains(at->first);
    at = at->second.kept || at->second.link != 0 ? std::next(at) : places_.erase(at);
  }
  for (const auto& to : wanted)
    if (places_.try_emplace(to).second)
      dial(to);
}

link_hub::place* link_hub::place_of(const live& l) {
  if (!l.to)
    return nullptr;
  auto at = places_.find(*l.to);
  return at != places_.end() && at->second.kept ? &at->second : nullptr;
}

void link_hub::dial(const endpoint& to) {
  auto& at = places_.at(to);
  at.dialling = true;
  at.dialled = now();
  ways_.dial(to, [this, to](const result<caf::actor>& peer) { dialled(to, peer); });
}

void link_hub::dialled(const endpoint& to, const result<caf::actor>& peer) {
  auto found = places_.find(to);
  if (found == places_.end())
    return;
  auto& at = found->second;
  at.dialling = false;
  if (peer) {
    at.failure.clear();
    open(at, to, *peer);
    return flush();
  }
  retry(at, at.dialled, {}); // the wait for a silent host counts as a pause
  if (std::exchange(at.failure, peer.error().message()) != peer.error().message())
    user_.not_reached(to, peer.error());
}

// Doubles the pause, from the first to the longest. The wait is random, within the pause's upper
// half.
void link_hub::retry(place& at, instant from, nanoseconds least) {
  at.pause = std::clamp<nanoseconds>(at.pause * 2, limits::link_retry_first,
                                     limits::link_retry_max);
  auto half = at.pause.count() / 2;
  std::uniform_int_distribution<std::int64_t> jitter{half, at.pause.count()};
  at.due = from + std::max(least, nanoseconds{jitter(random_)});
}

void link_hub::open(place& at, const endpoint& to, const caf::actor& peer) {
  if (auto old = links_.find(at.link); old != links_.end()) {
    old->second->over.link_up();
    return attach(*old->second, peer);
  }
  auto l = std::make_shared<live>(stream::side::dialer, draw_stream());
  l->number = ++last_;
  l->to = to;
  at.link = l->number;
  links_.emplace(l->number, l);
  streams_.emplace(l->over.number(), l);
  l->over.link_up();
  attach(*l, peer);
  user_.link_made(l->number, &to);
}

std::uint64_t link_hub::draw_stream() {
  return own_streams_ << 32 | (random_() >> 32) | 1;
}

// A late answer to a stream of this side that was given up looks like the beginning of a stream.
void link_hub::accept(packet what, const caf::actor& from) {
  bool begins = what.kind == static_cast<std::uint8_t>(packet_kind::resume) && what.link == 1
                && what.stream != 0 && what.stream >> 32 != own_streams_;
  if (!begins || links_.size() >= limits::cluster_links_max) {
    packet unknown;
    unknown.stream = what.stream;
    unknown.link = what.link;
    unknown.kind = unknown_stream;
    self_.send(from, std::move(unknown));
    return;
  }
  auto l = std::make_shared<live>(stream::side::acceptor, what.stream);
  l->number = ++last_;
  links_.emplace(l->number, l);
  streams_.emplace(what.stream, l);
  attach(*l, from);
  (void)l->over.receive(std::move(what), std::chrono::steady_clock::now());
  l->was_open = true;
  dirty_.push_back(l->number);
  user_.link_made(l->number, nullptr);
}

void link_hub::attach(live& l, const caf::actor& peer) {
  if (l.peer && l.peer != peer)
    self_.demonitor(l.peer);
  if (l.peer != peer)
    self_.monitor(peer);
  l.peer = peer;
  l.up = true;
  l.heard = now();
  l.opens_until = l.heard + limits::link_dial_timeout;
  dirty_.push_back(l.number);
}

void link_hub::detach(live& l) {
  if (l.peer)
    self_.demonitor(l.peer);
  l.peer = nullptr;
  l.over.link_down();
  if (std::exchange(l.up, false)) {
    l.broken = l.was_open;
    user_.link_broken(l.number);
  }
}

// -- incoming packets

void link_hub::took(packet what, const caf::actor& from) {
  auto found = streams_.find(what.stream);
  if (found == streams_.end()) {
    if (what.kind != unknown_stream && from)
      accept(std::move(what), from);
    return;
  }
  auto l = found->second;
  l->heard = now();
  if (what.kind == unknown_stream)
    return lose(l, {errc::worker_lost, "link: the peer has started the link again"});
  bool newer = what.link > l->over.link();
  auto frame = l->over.receive(std::move(what), std::chrono::steady_clock::now());
  if (!frame)
    return lose(l, frame.error());
  if (newer && from) // the dialer has linked again
    attach(*l, from);
  dirty_.push_back(l->number);
  if (l->over.is_open())
    opened(*l, newer);
  if (!*frame)
    return;
  auto read = decode_frame((*frame)->data, [this, &l](message&& m) {
    if (auto* no = std::get_if<refusal>(&m))
      l->pause = pause_after(*no);
    if (links_.contains(l->number) && !l->ending)
      user_.heard(l->number, std::move(m));
  });
  if (!read && links_.contains(l->number))
    refuse(l, read.error());
}

// Notes that a link is open. Its user hears link_restored when the link was broken (dialer), or
// when another one replaced it (acceptor).
void link_hub::opened(live& l, bool newer) {
  bool first = !std::exchange(l.was_open, true);
  bool again = std::exchange(l.broken, false) || newer;
  if (first || again)
    if (auto* at = place_of(l))
      at->pause = {};
  if (!first && again)
    user_.link_restored(l.number);
}

void link_hub::lost(const caf::down_msg& who) {
  for (auto& [number, l] : links_)
    if (l->peer && l->peer.address() == who.source) {
      detach(*l);
      if (auto* at = place_of(*l))
        retry(*at, now(), {});
    }
}

void link_hub::lose(live_ptr l, const error& why) {
  if (!links_.contains(l->number))
    return;
  drop(*l, {});
  user_.link_lost(l->number, why);
}

// The peer's messages can't be read. Sends the reason, so that a peer of any version can log it.
void link_hub::refuse(const live_ptr& l, const error& why) {
  send(l->number, refusal{.code = why.code(), .why = why.message()});
  pump(*l);
  lose(l, why);
}

void link_hub::drop(live& l, nanoseconds pause) {
  auto keep = links_.at(l.number);
  if (l.peer)
    self_.demonitor(l.peer);
  streams_.erase(l.over.number());
  links_.erase(l.number);
  if (auto* at = place_of(l)) {
    at->link = 0;
    retry(*at, now(), std::max(pause, l.pause));
  } else if (l.to) {
    places_.erase(*l.to);
  }
}

void link_hub::end(link_number link, nanoseconds pause) {
  auto found = links_.find(link);
  if (found == links_.end())
    return;
  auto l = found->second;
  l->ending = true;
  pump(*l);
  drop(*l, pause);
}

void link_hub::tick(instant now) {
  std::vector<live_ptr> silent, quiet;
  for (auto& [number, l] : links_)
    if (l->up && !l->over.is_open() && now > l->opens_until)
      silent.push_back(l);
    else if (!place_of(*l) && now > l->heard + std::max(quiet_max_, l->quiet_max))
      quiet.push_back(l);
  for (auto& l : silent)
    lose(l, {errc::worker_lost, "link: the peer does not answer"});
  for (auto& l : quiet)
    drop(*l, {});
  look_up_names(now);
  if (auto answers = lookup_.answers(); !answers.empty()) {
    for (const auto& answer : answers)
      if (auto news = names_.answered(answer.host, answer.addresses, now); !news.empty())
        log_info("cluster: " + news);
    follow_names();
  }
  for (auto& [to, at] : places_) {
    auto l = links_.find(at.link);
    bool up = l != links_.end() && l->second->up;
    if (at.kept && !up && !at.dialling && now >= at.due)
      dial(to);
  }
}

void link_hub::close() {
  for (const auto& [number, l] : std::exchange(links_, {}))
    l->peer = nullptr;
  streams_.clear();
  places_.clear();
}

bool link_hub::is_quiet() const noexcept {
  auto all_empty = [](const auto& lanes) {
    return std::ranges::all_of(lanes, [](const auto& lane) { return lane.empty(); });
  };
  return std::ranges::all_of(links_, [&](const auto& entry) {
    const live& l = *entry.second;
    return !l.up || (all_empty(l.queued) && all_empty(l.frames) && l.over.is_quiet());
  });
}

// -- outgoing messages

void link_hub::send(link_number link, message what) {
  auto found = links_.find(link);
  if (found == links_.end() || found->second->ending)
    return;
  auto& l = *found->second;
  if (auto* no = std::get_if<refusal>(&what))
    l.pause = pause_after(*no);
  l.queued[static_cast<std::size_t>(lane_of(what))].push_back(std::move(what));
  dirty_.push_back(link);
}

void link_hub::may_be_quiet(link_number link, nanoseconds time) {
  if (auto found = links_.find(link); found != links_.end())
    found->second->quiet_max = time;
}

void link_hub::flush() {
  while (!dirty_.empty()) { // a sending may lose a link, and its user may send more
    auto dirty = std::exchange(dirty_, {});
    std::ranges::sort(dirty);
    dirty.erase(std::ranges::unique(dirty).begin(), dirty.end());
    for (auto number : dirty)
      if (auto l = links_.find(number); l != links_.end())
        pump(*l->second);
  }
}

void link_hub::pump(live& l) {
  for (std::size_t lane = 0; lane < l.queued.size(); ++lane)
    if (!write(l, lane))
      return;
  if (!l.peer)
    return;
  while (auto p = l.over.next_packet(std::chrono::steady_clock::now()))
    self_.send(l.peer, std::move(*p));
}

// Encodes queued messages as frames, and gives frames to the stream while it takes them. False: the
// link was lost.
bool link_hub::write(live& l, std::size_t lane) {
  auto messages = std::exchange(l.queued[lane], {});
  for (std::size_t from = 0; from < messages.size();) {
    auto to = from;
    for (std::size_t size = 0; to < messages.size() && (to == from || size < batch_bytes); ++to)
      size += payload(messages[to]);
    auto frame = encode_frame(std::span{messages}.subspan(from, to - from));
    if (!frame) {
      lose(links_.at(l.number), frame.error());
      return false;
    }
    l.frames[lane].push_back(std::move(*frame));
    from = to;
  }
  auto& waiting = l.frames[lane];
  for (; !waiting.empty(); waiting.pop_front())
    if (auto room = l.over.send(static_cast<cluster::lane>(lane), std::move(waiting.front()));
        !room) {
      if (room.error().code() == errc::overloaded)
        break; // tried again after an acknowledgement
      lose(links_.at(l.number), room.error());
      return false;
    }
  return true;
}

} // namespace troupe::cluster
