// The input and output of a node: the state view, updates, and how sends and interrupts become
// values.
#include <troupe/control.hpp>
#include <troupe/state.hpp>

#include <algorithm>

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
  return value::map(
    {{"run_ns", t.run.count()}, {"idle_ns", t.idle.count()}, {"heartbeat_only", t.heartbeat_only}});
}

timeout_policy read_timeout(const value& v) {
  auto span = [&v](std::string_view name) {
    const auto& n = v[name];
    return std::chrono::nanoseconds{n.is_int() && n.as_int() > 0 ? n.as_int() : 0};
  };
  const auto& only = v["heartbeat_only"];
  return {span("run_ns"), span("idle_ns"), only.is_bool() && only.as_bool()};
}

} // namespace

// The third part is troupe's own: the send's time-out, when it has one.
value value_traits<send>::to(const send& s) {
  std::vector<value> parts{value(s.node), s.arg};
  if (s.timeout)
    parts.push_back(timeout_value(*s.timeout));
  return value::extension(value_kind::send, value::list(std::move(parts)));
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
