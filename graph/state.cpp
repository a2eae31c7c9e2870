// The input and output of runs and nodes: the state view, updates, destinations, and how sends and
// interrupts become values.
#include <troupe/control.hpp>
#include <troupe/node_body.hpp>
#include <troupe/run_input.hpp>
#include <troupe/state.hpp>

#include "graph/value_node.hpp"

#include <algorithm>
#include <iterator>

namespace troupe {
namespace {

constexpr const char* root_channel = "__root__"; // the channel of a graph whose whole state is one
                                                 // value

constinit const value no_entry;

const value& unwrapped(const value& v, value_kind kind) {
  return v.is(kind) ? v.payload() : v;
}

} // namespace

// ---- the state a node reads -----------------------------------------------------------------

const value& state_view::operator[](std::string_view name) const noexcept {
  if (!fields_)
    return whole_[name];
  auto at = std::ranges::find(entries_, name, &entry::name);
  return at == entries_.end() ? no_entry : at->val;
}

bool state_view::contains(std::string_view name) const noexcept {
  return fields_ ? std::ranges::find(entries_, name, &entry::name) != entries_.end()
                 : whole_.contains(name);
}

value state_view::to_value() const {
  if (!fields_)
    return whole_;
  std::vector<value::map_init> members;
  members.reserve(entries_.size());
  for (const auto& e : entries_)
    members.emplace_back(e.name, e.val);
  return value::map(std::move(members));
}

state_update state_view::to_update() const {
  if (!fields_)
    return state_update{whole_};
  state_update out;
  for (const auto& e : entries_)
    out.set(std::string{e.name}, e.val);
  return out;
}

// ---- updates --------------------------------------------------------------------------------

state_update::state_update() noexcept = default;
state_update::state_update(std::initializer_list<entry> entries) : entries_{entries} {}
state_update::state_update(std::vector<entry> entries) noexcept : entries_{std::move(entries)} {}
state_update::state_update(const state_update&) = default;
state_update::state_update(state_update&&) noexcept = default;
state_update& state_update::operator=(const state_update&) = default;
state_update& state_update::operator=(state_update&&) noexcept = default;
state_update::~state_update() = default;

state_update& state_update::set(std::string channel, value v) & {
  entries_.emplace_back(std::move(channel), std::move(v));
  return *this;
}

std::vector<state_update::entry> state_update::entries() && noexcept {
  return std::move(entries_);
}

state_update::state_update(const value& v) {
  if (v.is_null())
    return;
  if (!v.is_map()) {
    entries_.emplace_back(root_channel, v);
    return;
  }
  entries_.reserve(v.size());
  for (const auto& e : v.entries())
    entries_.emplace_back(e.key(), e.val);
}

value state_update::to_value() const {
  return value::map(entries_);
}

// ---- destinations ---------------------------------------------------------------------------

namespace {

template <class T> std::vector<destination> destinations_of(T names_or_sends) {
  std::vector<destination> out;
  out.reserve(names_or_sends.size());
  for (auto& to : names_or_sends)
    out.emplace_back(std::move(to));
  return out;
}

} // namespace

destinations::destinations() noexcept = default;
destinations::destinations(const char* node) {
  list_.emplace_back(std::in_place_type<std::string>, node);
}
destinations::destinations(std::string node) {
  list_.emplace_back(std::move(node));
}
destinations::destinations(send s) {
  list_.emplace_back(std::move(s));
}
destinations::destinations(std::initializer_list<const char*> nodes)
  : list_{destinations_of(std::vector<std::string>(nodes.begin(), nodes.end()))} {}
destinations::destinations(std::vector<std::string> nodes)
  : list_{destinations_of(std::move(nodes))} {}
destinations::destinations(std::vector<send> sends) : list_{destinations_of(std::move(sends))} {}
destinations::destinations(std::vector<destination> list) noexcept : list_{std::move(list)} {}
destinations::destinations(const destinations&) = default;
destinations::destinations(destinations&&) noexcept = default;
destinations& destinations::operator=(const destinations&) = default;
destinations& destinations::operator=(destinations&&) noexcept = default;
destinations::~destinations() = default;

void destinations::add(destination d) {
  list_.push_back(std::move(d));
}

bool destinations::empty() const noexcept {
  return list_.empty();
}

std::vector<destination> destinations::take() noexcept {
  return std::exchange(list_, {});
}

// ---- the input of a run ---------------------------------------------------------------------

run_input::run_input() : rep_{value::map()} {}
run_input::run_input(std::nullptr_t) : rep_{std::monostate{}} {}
run_input::run_input(value v) : rep_{std::move(v)} {}
run_input::run_input(state_update u) : rep_{std::move(u)} {}
run_input::run_input(command c) : rep_{std::move(c)} {}
run_input::run_input(std::initializer_list<value> items) {
  const auto& first = *items.begin();
  bool pair = first.is_list() && first.size() == 2;
  if (items.size() > 1 || pair)
    rep_ = value(items);
  else if (!first.is_null())
    rep_ = first;
}
run_input::run_input(const run_input&) = default;
run_input::run_input(run_input&&) noexcept = default;
run_input& run_input::operator=(const run_input&) = default;
run_input& run_input::operator=(run_input&&) noexcept = default;
run_input::~run_input() = default;

// ---- the output of a body -------------------------------------------------------------------

node_output::node_output() noexcept = default;
node_output::node_output(const node_output&) = default;
node_output::node_output(node_output&&) noexcept = default;
node_output& node_output::operator=(const node_output&) = default;
node_output& node_output::operator=(node_output&&) noexcept = default;
node_output::~node_output() = default;

void detail::add_part(node_output& out, state_update u) {
  if (!u.empty())
    out.parts.emplace_back(std::move(u));
}
void detail::add_part(node_output& out, const value& v) {
  if (!v.is_null())
    out.parts.emplace_back(state_update{v});
}
void detail::add_part(node_output& out, command c) {
  out.parts.emplace_back(std::move(c));
}
void detail::add_part(node_output& out, send s) {
  out.parts.emplace_back(std::move(s));
}
void detail::add_part(node_output& out, node_output more) {
  for (auto& p : more.parts)
    out.parts.push_back(std::move(p));
}

destinations detail::to_destinations(const char* s) {
  return s;
}
destinations detail::to_destinations(std::string s) {
  return s;
}
destinations detail::to_destinations(send s) {
  return s;
}
destinations detail::to_destinations(destination d) {
  destinations out;
  out.add(std::move(d));
  return out;
}
destinations detail::to_destinations(const destinations& d) {
  return d;
}

// ---- interrupts and sends -------------------------------------------------------------------

value value_traits<interrupt>::to(const interrupt& i) {
  auto members =
    value::map({{"value", i.value}, {"id", i.id}, {"response_schema", i.response_schema}});
  return value::extension(value_kind::interrupt, std::move(members));
}

interrupt value_traits<interrupt>::from(const value& v) {
  const auto& members = unwrapped(v, value_kind::interrupt);
  if (!members.contains("value") || !members["id"].is_string())
    throw error{errc::invalid_value, "read an interrupt: not a map with `value` and a text `id`"};
  return {std::string{members["id"].as_string()}, members["value"], members["response_schema"]};
}

namespace {

value timeout_value(const timeout_policy& t) {
  return value::map({{"run_ns", t.run_timeout.count()},
                     {"idle_ns", t.idle_timeout.count()},
                     {"heartbeat_only", t.refresh_on == refresh_on::heartbeat}});
}

timeout_policy read_timeout(const value& v) {
  auto span = [&v](std::string_view name) {
    const auto& n = v[name];
    return std::chrono::nanoseconds{n.is_int() && n.as_int() > 0 ? n.as_int() : 0};
  };
  const auto& only = v["heartbeat_only"];
  return {span("run_ns"), span("idle_ns"),
          only.is_bool() && only.as_bool() ? refresh_on::heartbeat : refresh_on::auto_};
}

} // namespace

// The third part is troupe's own: the send's time-out, when it has one.
value value_traits<send>::to(const send& s) {
  value parts[] = {value(s.node), s.arg, s.timeout ? timeout_value(*s.timeout) : value{}};
  auto count = std::size(parts) - (s.timeout ? 0 : 1);
  return value::extension(value_kind::send, value_access::list({parts, count}));
}

send value_traits<send>::from(const value& v) {
  const auto& parts = unwrapped(v, value_kind::send);
  if (!parts.is_list() || parts.size() < 2 || !parts[0].is_string())
    throw error{errc::invalid_value, "read a send: not a list [node, arg]"};
  send out{std::string{parts[0].as_string()}, parts[1]};
  if (parts.size() > 2)
    out.timeout = read_timeout(parts[2]);
  return out;
}

} // namespace troupe
