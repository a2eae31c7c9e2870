// The payloads of stream parts.
#include "coordinator/parts.hpp"

#include <algorithm>

namespace troupe {

namespace {

bool among(const std::vector<channel_index>& keys, channel_index c) {
  return c != no_index && std::find(keys.begin(), keys.end(), c) != keys.end();
}

value questions_list(const std::vector<interrupt>& questions) {
  std::vector<value> out;
  for (const auto& q : questions)
    out.push_back(value::of(q));
  return value::list(std::move(out));
}

value config_payload(const std::string& thread_id, const std::string& checkpoint_id) {
  return value::map({{"configurable", value::map({{"thread_id", thread_id},
                                                  {"checkpoint_ns", ""},
                                                  {"checkpoint_id", checkpoint_id}})}});
}

value task_view(const planned_task& task, const checkpoint_view& view) {
  std::vector<value::map_init> out{
    {"id", task.id}, {"name", view.plan->nodes[task.node].name}, {"state", value{}}};
  const auto* record = view.stored ? view.stored->find(task.id) : nullptr;
  if (record && !record->error.is_null()) {
    out.emplace_back("error", record->error);
    return value::map(std::move(out));
  }
  if (record && record->finished())
    if (auto result = result_payload(*view.plan, record->output); !result.empty())
      out.emplace_back("result", std::move(result));
  out.emplace_back("interrupts", record ? questions_list(record->questions) : value::list());
  return value::map(std::move(out));
}

} // namespace

value update_payload(const graph_plan& plan, const task_write_list& writes,
                     const std::vector<channel_index>& keys) {
  std::vector<value::map_init> entries;
  bool twice = false;
  for (const auto& w : writes)
    if (among(keys, w.channel)) {
      const auto& name = plan.channels[w.channel].name;
      twice |= std::any_of(entries.begin(), entries.end(),
                           [&name](const auto& e) { return e.first == name; });
      entries.emplace_back(name, w.val);
    }
  if (entries.empty())
    return {};
  if (plan.single) {
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
  std::vector<value::map_init> out{{node, std::move(update)}};
  if (cached)
    out.emplace_back(names::metadata, value::map({{"cached", true}}));
  return value::map(std::move(out));
}

value interrupts_part(const std::vector<interrupt>& questions) {
  return value::map({{std::string{names::interrupt}, questions_list(questions)}});
}

value result_payload(const graph_plan& plan, const task_write_list& writes) {
  std::vector<std::pair<channel_index, std::vector<value>>> by_channel;
  for (const auto& w : writes) {
    if (!among(plan.stream_keys, w.channel))
      continue;
    auto it = std::find_if(by_channel.begin(), by_channel.end(),
                           [&w](const auto& e) { return e.first == w.channel; });
    if (it == by_channel.end())
      it = by_channel.insert(by_channel.end(), {w.channel, {}});
    it->second.push_back(w.val);
  }
  std::vector<value::map_init> out;
  for (auto& [c, values] : by_channel) {
    auto shown = values.size() == 1 ? values[0]
                                    : value::map({{"$writes", value::list(std::move(values))}});
    if (plan.single)
      return shown;
    out.emplace_back(plan.channels[c].name, std::move(shown));
  }
  return value::map(std::move(out));
}

value task_part(const plan_node& node, const planned_task& task, const value& input,
                const graph_plan& plan) {
  std::vector<value> triggers;
  if (task.push)
    triggers.emplace_back(names::push);
  else
    for (auto c : node.triggers)
      triggers.emplace_back(plan.channels[c].name);
  return value::map({{"id", task.id},
                     {"name", node.name},
                     {"input", input},
                     {"triggers", value::list(std::move(triggers))}});
}

value task_result_part(const plan_node& node, const std::string& id, const value& error,
                       const value& result, const std::vector<interrupt>& questions) {
  return value::map({{"id", id},
                     {"name", node.name},
                     {"error", error},
                     {"result", result},
                     {"interrupts", questions_list(questions)}});
}

value error_value(const error& err) {
  return value::extension(value_kind::error,
                          value::map({{"type", reference_name(err)}, {"message", err.message()}}));
}

value checkpoint_part(const checkpoint_view& view) {
  std::vector<value> next;
  std::vector<value> tasks;
  for (const auto& t : *view.tasks) {
    next.emplace_back(view.plan->nodes[t.node].name);
    tasks.push_back(task_view(t, view));
  }
  return value::map(
    {{"config", config_payload(view.thread_id, view.checkpoint_id)},
     {"parent_config",
      view.parent_id.empty() ? value{} : config_payload(view.thread_id, view.parent_id)},
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
