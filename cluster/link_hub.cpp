// The links of an actor to its peers.
#include "cluster/link_hub.hpp"

#include "cluster/link_system.hpp"

#include <caf/actor_system.hpp>
#include <caf/atom.hpp>

#include <algorithm>
#include <charconv>

namespace troupe::cluster {

namespace {

using namespace std::chrono_literals;

// One side has not heard of the stream any more.
constexpr std::uint8_t unknown_stream = 0xff;
constexpr std::size_t batch_bytes = 1u << 20; // a frame is not filled beyond

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

result<endpoint> to_endpoint(const std::string& text) {
  error wrong{errc::invalid_config, "read the address `" + text + "`: HOST:PORT is expected"};
  auto colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0)
    return wrong;
  endpoint out;
  out.host = text.substr(0, colon);
  if (out.host.front() == '[' && out.host.back() == ']')
    out.host = out.host.substr(1, out.host.size() - 2);
  const auto* end = text.data() + text.size();
  auto [rest, failure] = std::from_chars(text.data() + colon + 1, end, out.port);
  if (failure != std::errc{} || rest != end || out.host.empty()
      || out.host.size() > limits::cluster_host_bytes_max)
    return wrong;
  return out;
}

std::string to_text(const endpoint& at) {
  bool six = at.host.find(':') != std::string::npos;
  return (six ? "[" + at.host + "]" : at.host) + ":" + std::to_string(at.port);
}

link_hub::link_hub(caf::event_based_actor& self, link_user& user) : self_{self}, user_{user} {}

instant link_hub::now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

// -- who is to be reached

void link_hub::keep(const endpoint& to) {
  if (places_.try_emplace(to).second)
    dial(to);
}

void link_hub::forget(const endpoint& to) {
  auto at = places_.find(to);
  if (at == places_.end())
    return;
  auto link = at->second.link;
  places_.erase(at);
  if (auto l = links_.find(link); l != links_.end())
    l->second->to.reset();
}

std::vector<endpoint> link_hub::kept() const {
  std::vector<endpoint> out;
  for (const auto& [to, at] : places_)
    out.push_back(to);
  return out;
}

void link_hub::dial(const endpoint& to) {
  auto& at = places_.at(to);
  at.dialling = true;
  auto dialer = link_dialer(self_.system(), to.host);
  if (!dialer)
    return dialled(to, dialer.error());
  self_
    .request(*dialer, limits::link_dial_timeout, caf::connect_atom_v, std::string{to.host}, to.port)
    .then(
      [this, to](caf::node_id&, caf::strong_actor_ptr& peer, std::set<std::string>&) {
        if (peer)
          dialled(to, caf::actor_cast<caf::actor>(peer));
        else
          dialled(to,
                  error{errc::protocol_mismatch, "link to " + to_text(to) + ": it is no troupe"});
      },
      [this, to](caf::error& why) {
        dialled(to, error{errc::worker_lost,
                          "link to " + to_text(to) + ": " + self_.system().render(why)});
      });
}

void link_hub::dialled(const endpoint& to, const result<caf::actor>& peer) {
  auto found = places_.find(to);
  if (found == places_.end())
    return;
  auto& at = found->second;
  at.dialling = false;
  if (!peer)
    return retry(at, {});
  open(at, to, *peer);
  flush();
}

// Doubles from the first pause to the longest, each drawn from its upper half.
void link_hub::retry(place& at, nanoseconds least) {
  at.pause = std::clamp<nanoseconds>(at.pause * 2, limits::link_retry_first,
                                     limits::link_retry_max);
  auto half = at.pause.count() / 2;
  std::uniform_int_distribution<std::int64_t> jitter{half, at.pause.count()};
  at.due = now() + std::max(least, nanoseconds{jitter(random_)});
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

// The answer to a stream that was begun here, and given up since, looks like the beginning of one.
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
  l.opens_until = now() + limits::link_dial_timeout;
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

// -- what comes

void link_hub::took(packet what, const caf::actor& from) {
  auto found = streams_.find(what.stream);
  if (found == streams_.end()) {
    if (what.kind != unknown_stream && from)
      accept(std::move(what), from);
    return;
  }
  auto l = found->second;
  if (what.kind == unknown_stream)
    return lose(l, {errc::worker_lost, "link: the other side has begun anew"});
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
    if (links_.contains(l->number) && !l->ending)
      user_.heard(l->number, std::move(m));
  });
  if (!read && links_.contains(l->number))
    lose(l, read.error());
}

// A dialer hears that a link is open again, an acceptor sees another one come.
void link_hub::opened(live& l, bool newer) {
  bool first = !std::exchange(l.was_open, true);
  bool again = std::exchange(l.broken, false) || newer;
  if (first || again)
    if (auto at = l.to ? places_.find(*l.to) : places_.end(); at != places_.end())
      at->second.pause = {};
  if (!first && again)
    user_.link_restored(l.number);
}

void link_hub::lost(const caf::down_msg& who) {
  for (auto& [number, l] : links_)
    if (l->peer && l->peer.address() == who.source) {
      detach(*l);
      if (l->to)
        if (auto at = places_.find(*l->to); at != places_.end())
          retry(at->second, {});
    }
}

void link_hub::lose(live_ptr l, const error& why) {
  if (!links_.contains(l->number))
    return;
  drop(*l, {});
  user_.link_lost(l->number, why);
}

void link_hub::drop(live& l, nanoseconds pause) {
  auto keep = links_.at(l.number);
  if (l.peer)
    self_.demonitor(l.peer);
  streams_.erase(l.over.number());
  links_.erase(l.number);
  if (!l.to)
    return;
  if (auto at = places_.find(*l.to); at != places_.end() && at->second.link == l.number) {
    at->second.link = 0;
    retry(at->second, pause);
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
  std::vector<live_ptr> silent;
  for (auto& [number, l] : links_)
    if (l->up && !l->over.is_open() && now > l->opens_until)
      silent.push_back(l);
  for (auto& l : silent)
    lose(l, {errc::worker_lost, "link: the other side does not answer"});
  for (auto& [to, at] : places_) {
    auto l = links_.find(at.link);
    bool up = l != links_.end() && l->second->up;
    if (!up && !at.dialling && now >= at.due)
      dial(to);
  }
}

// -- what goes

void link_hub::send(link_number link, message what) {
  auto found = links_.find(link);
  if (found == links_.end() || found->second->ending)
    return;
  auto& l = *found->second;
  l.queued[static_cast<std::size_t>(lane_of(what))].push_back(std::move(what));
  dirty_.push_back(link);
}

void link_hub::flush() {
  while (!dirty_.empty()) { // sending may lose a link, and its user send more
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

// What was queued becomes frames, and those go into the stream, as long as it takes them. False:
// the link was lost.
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
        break; // it is asked again when something was acknowledged
      lose(links_.at(l.number), room.error());
      return false;
    }
  return true;
}

} // namespace troupe::cluster
