// Reading and writing the stored form of a task's writes.
#include "engine/stored_writes.hpp"

#include "graph/task_id.hpp"
#include "persistence/record/refill.hpp"

#include <algorithm>
#include <span>

namespace troupe {

namespace {

std::vector<interrupt> read_questions(const value& stored) {
  std::vector<interrupt> out;
  if (stored.is_list())
    for (const auto& q : stored.items())
      out.push_back(q.as<interrupt>());
  else
    out.push_back(stored.as<interrupt>());
  return out;
}

std::vector<value> read_answers(const value& stored) {
  if (!stored.is_list())
    return {stored};
  auto items = stored.items();
  return {items.begin(), items.end()};
}

void add_to(task_record& task, const graph_plan& plan, std::span<const pending_write> writes) {
  task.output.reserve(task.output.size() + writes.size());
  for (const auto& w : writes) {
    if (w.channel == names::error) {
      if (task.error.is_null())
        task.error = w.value;
    } else if (w.channel == names::interrupt) {
      task.questions = read_questions(w.value);
    } else if (w.channel == names::resume) {
      task.answers = read_answers(w.value);
    } else if (w.channel == names::error_source) {
      task.handed_over = true;
    } else {
      task.output.push_back(restore_write(plan, w.channel, w.value));
    }
  }
}

void add_outside(stored_writes& to, const graph_plan& plan, std::span<const pending_write> writes) {
  for (const auto& w : writes)
    if (w.channel != names::resume)
      to.outside.push_back(restore_write(plan, w.channel, w.value));
    else if (w.task_path != names::taken_path)
      to.answer = w.value;
}

// The packet of a send without untracked channels: these are not stored, also not as part of a
// send.
value without_untracked(const graph_plan& plan, const value& packet) {
  if (!packet.is(value_kind::send) || !packet.payload()[1].is_map())
    return packet;
  auto sent = packet.as<send>();
  bool changed = false;
  for (const auto& e : packet.payload()[1].entries())
    if (auto c = plan.find_channel(e.key());
        c != no_index && plan.channels[c].spec.kind == channel_kind::untracked) {
      sent.arg = sent.arg.without(e.key());
      changed = true;
    }
  return changed ? value::of(sent) : packet;
}

} // namespace

const task_record* stored_writes::find(std::string_view task_id) const {
  auto it = tasks.find(task_id);
  return it == tasks.end() ? nullptr : &it->second;
}

std::vector<interrupt> stored_writes::waiting() const {
  std::vector<interrupt> out;
  for (const auto& [id, task] : tasks)
    for (auto& q : task.waiting())
      if (std::none_of(out.begin(), out.end(),
                       [&q](const interrupt& other) { return other.id == q.id; }))
        out.push_back(std::move(q));
  return out;
}

stored_writes read_stored(const graph_plan& plan, const std::vector<pending_write>& writes) {
  stored_writes out;
  for (auto first = writes.begin(); first != writes.end();) {
    const auto& task_id = first->task_id;
    auto last = std::find_if(first, writes.end(),
                             [&task_id](const auto& w) { return w.task_id != task_id; });
    if (task_id == names::null_task_id)
      add_outside(out, plan, {first, last});
    else
      add_to(out.tasks[task_id], plan, {first, last});
    first = last;
  }
  return out;
}

task_write restore_write(const graph_plan& plan, const std::string& channel, value v) {
  auto c = plan.find_channel(channel);
  return {c, std::move(v), c == no_index ? channel : std::string{}};
}

std::vector<std::pair<std::string, value>> store_writes(const graph_plan& plan,
                                                        const task_write_list& writes) {
  std::vector<std::pair<std::string, value>> out;
  store_writes(plan, writes, out);
  return out;
}

void store_writes(const graph_plan& plan, const task_write_list& writes,
                  std::vector<std::pair<std::string, value>>& out) {
  refill_named<value> stored{out, writes.size()};
  for (const auto& w : writes) {
    if (w.channel == no_index || w.channel != plan.tasks) {
      if (w.channel == no_index || plan.channels[w.channel].spec.kind != channel_kind::untracked)
        stored.add(w.target(plan)) = w.val;
    } else {
      stored.add(names::tasks) = without_untracked(plan, w.val);
    }
  }
}

bool is_answer_map(const value& resume) {
  auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return resume.is_map()
         && std::all_of(resume.entries().begin(), resume.entries().end(), [&hex](const auto& e) {
              return e.key().size() == 32 && std::all_of(e.key().begin(), e.key().end(), hex);
            });
}

std::optional<value> find_answer(const value& map, std::string_view task_ns, std::size_t answers) {
  for (auto k : {answers, std::size_t{0}})
    if (auto id = interrupt_id(task_ns, k); map.contains(id))
      return map[id];
  return std::nullopt;
}

} // namespace troupe
