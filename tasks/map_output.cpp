// map_output: from the output of a body to the writes of its task.
#include "tasks/map_output.hpp"
#include "channels/message_forms.hpp"
#include "channels/typed_write.hpp"
#include "graph/channel_kinds.hpp"
#include "tasks/execute_body.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>

namespace troupe {

namespace {

// Whether a command that a body of this graph returned is for a graph further out. A name that no
// surrounding graph has means this graph, as in the reference.
bool goes_up(const detail::task_scope& task, const command& c) {
  if (c.graph.empty())
    return false;
  if (c.graph == command::PARENT)
    return true;
  if (c.graph == task.run->plan->options.name)
    return false;
  for (auto* r = task.run->above.get(); r; r = r->above.get())
    if (r->plan->options.name == c.graph)
      return true;
  return false;
}

class output_mapper {
public:
  output_mapper(detail::task_scope& task, context& ctx)
    : task_{task},
      ctx_{ctx},
      plan_{*task.run->plan},
      node_{*task.node} {}

  task_write_list map(const node_output& output) {
    writes_ = std::move(task_.writes); // for its memory
    writes_.clear();
    if (task_.call || plan_.functional)
      return map_function(output);
    writes_.reserve(output.parts.size() + node_.writes.size() + node_.routes.size());
    for (const auto& part : output.parts)
      write_state(part);
    for (const auto& part : output.parts)
      write_control(part);
    for (const auto& w : node_.writes)
      write(w.channel, w.val);
    if (!node_.routes.empty())
      settle_messages();
    for (const auto& route : node_.routes)
      follow(route, output);
    return std::move(writes_);
  }

private:
  // The output of a workflow, or of a task of a workflow, by name.
  task_write_list map_function(const node_output& output) {
    for (const auto& part : output.parts) {
      if (auto* c = std::get_if<command>(&part); c && goes_up(task_, *c))
        throw upward_command{{}, *c};
      if (auto* u = std::get_if<state_update>(&part))
        for (const auto& [name, v] : u->entries()) {
          auto c = task_.call ? no_index : plan_.find_channel(name);
          writes_.push_back({c, v, c == no_index ? name : std::string{}});
        }
    }
    return std::move(writes_);
  }

  void write(channel_index channel, value v) {
    auto& w = writes_.emplace_back();
    w.channel = channel;
    w.val = std::move(v);
  }

  bool is_start() const { return &node_ == plan_.nodes.data(); }

  bool may_write(channel_index c) const {
    if (c == no_index || !plan_.channels[c].state || plan_.channels[c].spec.managed())
      return false;
    return !is_start()
           || std::find(plan_.input_keys.begin(), plan_.input_keys.end(), c)
                != plan_.input_keys.end();
  }

  void write_state(const node_output::part& part) {
    if (auto* u = std::get_if<state_update>(&part)) {
      if (plan_.single)
        write_whole(*u);
      else
        write_entries(*u, true);
    } else if (auto* c = std::get_if<command>(&part); c && c->update) {
      if (goes_up(task_, *c))
        return;
      if (plan_.single)
        write_whole(*c->update);
      else
        write_entries(*c->update, false);
    }
  }

  void write_whole(const state_update& update) {
    const auto& list = update.entries();
    bool bare = list.size() == 1 && list[0].first == names::root;
    write(plan_.stream_keys[0], bare ? list[0].second : update.to_value());
  }

  void write_entries(const state_update& update, bool must_be_map) {
    std::size_t first = writes_.size();
    writes_.reserve(first + update.entries().size() + node_.writes.size() + node_.routes.size());
    for (const auto& [name, v] : update.entries()) {
      if (must_be_map && name == names::root)
        throw no_update(v);
      if (auto c = plan_.find_channel(name); may_write(c)) {
        if (auto why = find_misfit(plan_.channels[c].spec, v))
          throw misfit(name, *why);
        write(c, v);
      }
    }
    if (is_start() && writes_.size() - first > 1)
      order_input(first);
  }

  std::string writer() const { return is_start() ? "the input" : "node `" + node_.name + "`"; }

  error misfit(std::string_view name, const std::string& why) const {
    return {is_start() ? errc::invalid_value : errc::invalid_update,
            writer() + ": channel `" + std::string{name} + "`: " + why, "TypeError"};
  }

  error no_update(const value& v) const {
    return {errc::invalid_update,
            is_start()
              ? "the input is " + to_json(v)
                  + ": this graph takes a map of channels, {{\"channel\", value}, …}, or a "
                    "struct with TROUPE_STATE (Expected dict)"
              : writer() + " returned " + to_json(v)
                  + ": a body returns nothing, an update (a map, state_update or set(…)), a "
                    "command, a send, or a list of these (Expected dict)"};
  }

  // A map has no order of its own: its members get the order in which they were given, else the
  // schema's.
  void order_input(std::size_t first) {
    const auto& order = task_.input_order;
    auto rank = [&](const task_write& w) -> std::size_t {
      if (order.empty())
        return w.channel;
      const auto& name = plan_.channels[w.channel].name;
      return static_cast<std::size_t>(std::find(order.begin(), order.end(), name) - order.begin());
    };
    std::stable_sort(writes_.begin() + static_cast<std::ptrdiff_t>(first), writes_.end(),
                     [&rank](const task_write& a, const task_write& b) {
                       return rank(a) < rank(b);
                     });
  }

  void write_control(const node_output::part& part) {
    if (auto* s = std::get_if<send>(&part)) {
      go(destination{*s});
    } else if (auto* c = std::get_if<command>(&part)) {
      if (goes_up(task_, *c))
        throw upward_command{{}, *c};
      for (const auto& d : c->goto_.list())
        go(d);
    }
  }

  void go(const destination& to) {
    if (auto* s = std::get_if<send>(&to)) {
      if (!plan_.leads_to(s->node))
        lost(s->node);
      write(plan_.tasks, value::of(*s));
      return;
    }
    const auto& name = std::get<std::string>(to);
    if (name == END)
      return;
    if (auto n = plan_.find_node(name); n != no_index && n != 0) {
      write(plan_.nodes[n].branch, {});
    } else {
      lost(name);
      writes_.push_back({no_index, {}, std::string{names::branch_prefix} + name});
    }
  }

  void lost(const std::string& target) const {
    if (plan_.options.strict_targets)
      throw unknown_target(plan_, "node `" + node_.name + "`", target);
  }

  // -- routes

  // Routes read messages as they will be stored, so messages without an id get one before.
  void settle_messages() {
    for (auto& w : writes_)
      if (w.channel != no_index && plan_.channels[w.channel].spec.op
          && plan_.channels[w.channel].spec.op->function == add_messages.op->function
          && std::any_of(task_.route_cells.begin(), task_.route_cells.end(),
                         [&w](const auto& cell) { return cell.first == w.channel; }))
        w.val = with_ids(w.val);
  }

  static value with_ids(const value& v) {
    if (v.is(value_kind::message))
      return with_message_id(v);
    auto lacks_id = [](const value& m) { return m.is(value_kind::message) && !has_message_id(m); };
    if (!v.is_list() || std::none_of(v.items().begin(), v.items().end(), lacks_id))
      return v;
    std::vector<value> out;
    out.reserve(v.size());
    for (const auto& m : v.items())
      out.push_back(m.is(value_kind::message) ? with_message_id(m) : m);
    return value::list(std::move(out));
  }

  std::optional<value> managed(channel_index c) const {
    switch (plan_.channels[c].spec.kind) {
      case channel_kind::remaining_steps: return value(task_.stop - task_.step);
      case channel_kind::is_last_step: return value(task_.step == task_.stop - 1);
      default: return std::nullopt;
    }
  }

  // The channel as this task leaves it: with its own writes applied, and no other task's.
  void fresh_read(channel_index c, std::vector<state_view::entry>& out) const {
    const auto& channel = plan_.channels[c];
    if (auto v = managed(c)) {
      out.push_back({channel.name, std::move(*v)});
      return;
    }
    auto it = std::find_if(task_.route_cells.begin(), task_.route_cells.end(),
                           [c](const auto& e) { return e.first == c; });
    if (it == task_.route_cells.end())
      return;
    boost::container::small_vector<value, 4> own;
    for (const auto& w : writes_)
      if (w.channel == c)
        own.push_back(w.val);
    const auto* cell = &it->second;
    channel_cell changed;
    if (!own.empty() || reacts_to_silence(channel.spec)) { // else it is as it was
      changed = *cell;
      cell = &changed;
      if (auto updated = update_channel(channel.spec, channel.name, changed,
                                        {own.data(), own.size()});
          !updated)
        throw updated.error();
    }
    if (channel_available(channel.spec, *cell))
      out.push_back({channel.name, read_channel(channel.spec, *cell)});
  }

  state_view route_view(const plan_route& route, const node_output& output) const {
    const auto& keys = route.reads ? *route.reads : is_start() ? plan_.stream_keys : node_.reads;
    std::vector<state_view::entry> entries;
    entries.reserve(keys.size());
    for (auto c : keys)
      fresh_read(c, entries);
    if (plan_.single && keys.size() == 1)
      return state_view{entries.empty() ? value{} : entries[0].val};
    if (!route.reads && output.parts.size() == 1)
      if (auto* u = std::get_if<state_update>(&output.parts[0]))
        for (const auto& [name, v] : u->entries())
          if (std::none_of(entries.begin(), entries.end(),
                           [&name = name](const auto& e) { return e.name == name; }))
            entries.push_back({name, v});
    return state_view{std::move(entries)};
  }

  void follow(const plan_route& route, const node_output& output) {
    auto view = route_view(route, output);
    for (auto& d : route.body(view, ctx_).take()) {
      if (auto* label = std::get_if<std::string>(&d); label && route.map.given()) {
        const auto& known = route.map.entries();
        auto it = std::find_if(known.begin(), known.end(),
                               [label](const auto& e) { return e.first == *label; });
        if (it == known.end())
          throw error{errc::missing_key, "route `" + route.name + "` of node `" + node_.name
                                           + "`: no such label in its path map: `" + *label + "`"};
        d = it->second;
      }
      check(d);
      go(d);
    }
  }

  static void check(const destination& d) {
    if (auto* name = std::get_if<std::string>(&d); name && (name->empty() || *name == START))
      throw error{errc::invalid_graph, "Branch did not return a valid destination"};
    if (auto* s = std::get_if<send>(&d); s && s->node == END)
      throw error{errc::invalid_update, "Cannot send a packet to the END node"};
  }

  detail::task_scope& task_;
  context& ctx_;
  const graph_plan& plan_;
  const plan_node& node_;
  task_write_list writes_;
};

} // namespace

bool sent_here(const detail::task_scope& task, const command& c) {
  return c.graph == command::PARENT || c.graph == task.run->plan->options.name;
}

task_write_list map_output(detail::task_scope& task, const node_output& output, context& ctx) {
  return output_mapper{task, ctx}.map(output);
}

} // namespace troupe
