// stream_payloads: the payloads of stream parts.
#include "engine/stream_payloads.hpp"

#include "engine/checkpoint_metadata.hpp"
#include "graph/value_node.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace troupe {

namespace {

// The return value of a started task; null without one.
const value* find_returned(const task_write_list& writes) {
  for (const auto& w : writes)
    if (w.channel == no_index && w.name == names::returned)
      return &w.val;
  return nullptr;
}

value questions_list(const std::vector<interrupt>& questions) {
  std::vector<value> out;
  for (const auto& q : questions)
    out.push_back(value::of(q));
  return value::list(std::move(out));
}

// With the run's own members; the reference leaves out those that are its engine's.
value config_payload(const checkpoint_view& view, const std::string& checkpoint_id) {
  auto out = view.configurable.is_map() ? view.configurable : value::map();
  for (const auto& e : view.configurable.entries())
    if (e.key().starts_with("__pregel_"))
      out = out.without(e.key());
  out = out.with("thread_id", value(view.thread_id))
          .with("checkpoint_ns", value(view.checkpoint_ns))
          .with("checkpoint_id", value(checkpoint_id));
  return value::map({{"configurable", std::move(out)}});
}

// The config under which the state of a task that is a graph is found.
value inner_config(const planned_task& task, const checkpoint_view& view) {
  auto ns = subgraph_namespace(*view.plan, view.checkpoint_ns, task);
  if (ns.empty())
    return {};
  return value::map({{"configurable", value::map({{"thread_id", view.thread_id},
                                                  {"checkpoint_ns", std::move(ns)}})}});
}

value task_view(const planned_task& task, const checkpoint_view& view) {
  std::vector<value::map_init> out{{"id", task.id},
                                   {"name", view.plan->nodes[task.node].name},
                                   {"state", inner_config(task, view)}};
  const auto* record = view.stored ? view.stored->find(task.id) : nullptr;
  if (record && !record->error.is_null()) {
    out.emplace_back("error", record->error);
    return value::map(std::move(out));
  }
  if (record && record->finished())
    if (auto result = result_payload(*view.plan, record->output, *view.shown); !result.empty())
      out.emplace_back("result", std::move(result));
  out.emplace_back("interrupts", record ? questions_list(record->questions) : value::list());
  return value::map(std::move(out));
}

} // namespace

std::string subgraph_namespace(const graph_plan& plan, std::string_view checkpoint_ns,
                               const planned_task& task) {
  const auto& node = plan.nodes[task.node];
  const auto* inner = node.body.graph()              ? node.body.graph().get()
                      : node.settings->calls.empty() ? nullptr
                                                     : node.settings->calls.front().plan().get();
  if (!inner || inner->options.checkpointer.mode() == checkpointing::none)
    return {};
  return task_namespace(checkpoint_ns, node.name, task.id);
}

value update_payload(const graph_plan& plan, const task_write_list& writes,
                     const shown_channels& shown) {
  if (const auto* returned = find_returned(writes))
    return *returned;
  std::vector<value::map_init> entries;
  bool twice = false;
  for (const auto& w : writes)
    if (shown.has(w.channel)) {
      const auto& name = plan.channels[w.channel].name;
      twice |= std::any_of(entries.begin(), entries.end(),
                           [&name](const auto& e) { return e.first == name; });
      entries.emplace_back(name, w.val);
    }
  if (entries.empty())
    return {};
  if (shown.bare) {
    if (!twice)
      return entries[0].second;
    std::vector<value> all;
    for (auto& e : entries)
      all.push_back(std::move(e.second));
    return value::list(std::move(all));
  }
  if (!twice)
    return value::map(std::move(entries));
  std::vector<value> each;
  for (auto& e : entries)
    each.push_back(value::map({std::move(e)}));
  return value::list(std::move(each));
}

value updates_part(const std::string& node, value update, bool cached) {
  std::array<value, 4> members{node, std::move(update)}; // key, value, key, value
  if (cached) {
    members[2] = names::metadata;
    members[3] = value::map({{"cached", true}});
  }
  bool duplicates = false;
  return value_access::map({members.data(), cached ? 4u : 2u}, duplicates);
}

value interrupts_part(const std::vector<interrupt>& questions) {
  return value::map({{std::string{names::interrupt}, questions_list(questions)}});
}

value result_map(const graph_plan& plan, const task_write_list& writes,
                 const shown_channels& shown) {
  using boost::container::small_vector;
  small_vector<value, 8> out; // key, value, key, value …
  for (auto w = writes.begin(); w != writes.end(); ++w) {
    if (!shown.has(w->channel) && w->target(plan) != names::returned)
      continue;
    auto is_same = [&w](const task_write& other) {
      return other.channel == w->channel && other.name == w->name;
    };
    if (std::any_of(writes.begin(), w, is_same))
      continue;
    out.emplace_back(w->target(plan));
    if (std::none_of(w + 1, writes.end(), is_same)) {
      out.push_back(w->val);
      continue;
    }
    std::vector<value> all;
    for (const auto& other : writes)
      if (is_same(other))
        all.push_back(other.val);
    out.push_back(value::map({{"$writes", value::list(std::move(all))}}));
  }
  bool duplicates = false; // each channel stands once
  return value_access::map({out.data(), out.size()}, duplicates);
}

value result_payload(const graph_plan& plan, const task_write_list& writes,
                     const shown_channels& shown) {
  auto all = result_map(plan, writes, shown);
  if ((shown.bare || all.contains(names::returned)) && !all.empty())
    return value(all.entries()[0].val);
  return all;
}

value shown_task_metadata(const value& metadata, std::span<const std::string> tags) {
  auto out = metadata;
  for (const auto& e : metadata.entries())
    if (is_place_member(e.key()))
      out = out.without(e.key());
  std::vector<value> shown;
  for (const auto& tag : tags)
    if (!tag.starts_with("seq:step"))
      shown.emplace_back(tag);
  return shown.empty() ? out : out.with("tags", value::list(std::move(shown)));
}

value task_part(const plan_node& node, const planned_task& task, const value& input,
                const graph_plan& plan, const value& metadata) {
  std::vector<value> triggers;
  if (task.push)
    triggers.emplace_back(names::push);
  else
    for (auto c : node.triggers)
      triggers.emplace_back(plan.channels[c].name);
  auto out = value::map({{"id", task.id},
                         {"name", node.name},
                         {"input", input},
                         {"triggers", value::list(std::move(triggers))}});
  return metadata.empty() ? out : out.with("metadata", metadata);
}

value task_result_part(const plan_node& node, const std::string& id, const value& error,
                       const value& result, const std::vector<interrupt>& questions,
                       const std::string& worker) {
  auto out = value::map({{"id", id},
                         {"name", node.name},
                         {"error", error},
                         {"result", result},
                         {"interrupts", questions_list(questions)}});
  return worker.empty() ? out : out.with("worker", value(worker));
}

value error_value(const error& err) {
  return value::extension(value_kind::error,
                          value::map({{"type", reference_name(err)}, {"message", err.text()}}));
}

value checkpoint_part(const checkpoint_view& view) {
  std::vector<value> next;
  std::vector<value> tasks;
  for (const auto& t : *view.tasks) {
    next.emplace_back(view.plan->nodes[t.node].name);
    tasks.push_back(task_view(t, view));
  }
  return value::map(
    {{"config", config_payload(view, view.checkpoint_id)},
     {"parent_config", view.parent_id.empty() ? value{} : config_payload(view, view.parent_id)},
     {"values", view.values},
     {"metadata", view.metadata},
     {"next", value::list(std::move(next))},
     {"tasks", value::list(std::move(tasks))}});
}

value debug_part(std::string_view type, std::int64_t step, const std::string& ts, value payload) {
  return value::map({{"type", std::string{type}},
                     {"step", step},
                     {"timestamp", ts},
                     {"payload", std::move(payload)}});
}

} // namespace troupe
