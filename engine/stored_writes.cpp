// Reading and writing the stored form of a task's writes.
#include "engine/stored_writes.hpp"

#include "engine/name_places.hpp"
#include "graph/task_id.hpp"
#include "persistence/checkpoint_page.hpp"
#include "persistence/record/refill.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

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

// `restore`: the write in the form that this graph uses.
template <class F>
void add_to(task_record& task, write_kind kind, const value& stored, const F& restore) {
  switch (kind) {
    case write_kind::output: task.output.push_back(restore()); break;
    case write_kind::error:
      if (task.error.is_null())
        task.error = stored;
      break;
    case write_kind::questions: task.questions = read_questions(stored); break;
    case write_kind::answers: task.answers = read_answers(stored); break;
    case write_kind::handed_over: task.handed_over = true;
  }
}

template <class F>
void add_outside(stored_writes& to, write_kind kind, const std::string& task_path,
                 const value& stored, const F& restore) {
  if (kind != write_kind::answers)
    to.outside.push_back(restore());
  else if (task_path != names::taken_path)
    to.answer = stored;
}

// Adds the writes of `from` to those of `to`, which are of the same task.
void add_record(task_record& to, task_record&& from) {
  std::ranges::move(from.output, std::back_inserter(to.output));
  if (!from.answers.empty())
    to.answers = std::move(from.answers);
  if (!from.questions.empty())
    to.questions = std::move(from.questions);
  if (to.error.is_null())
    to.error = std::move(from.error);
  to.handed_over |= from.handed_over;
}

// By id, each once.
void settle(named<task_record>& tasks) {
  auto in_order = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (std::ranges::adjacent_find(tasks, std::not_fn(in_order)) == tasks.end())
    return;
  std::ranges::stable_sort(tasks, in_order);
  auto last = tasks.begin();
  for (auto next = last + 1; next != tasks.end(); ++next)
    if (next->first == last->first)
      add_record(last->second, std::move(next->second));
    else if (++last != next)
      *last = std::move(*next);
  tasks.erase(last + 1, tasks.end());
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

write_kind kind_of_write(std::string_view channel) noexcept {
  if (channel == names::error)
    return write_kind::error;
  if (channel == names::interrupt)
    return write_kind::questions;
  if (channel == names::resume)
    return write_kind::answers;
  return channel == names::error_source ? write_kind::handed_over : write_kind::output;
}

const task_record* stored_writes::find(std::string_view task_id) const {
  auto at = std::ranges::lower_bound(tasks, task_id, {}, &named<task_record>::value_type::first);
  return at == tasks.end() || at->first != task_id ? nullptr : &at->second;
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
  const pending_write* last = nullptr; // of a task
  for (const auto& w : writes) {
    auto kind = kind_of_write(w.channel);
    auto restore = [&] { return restore_write(plan, w.channel, w.value); };
    if (w.task_id == names::null_task_id) {
      add_outside(out, kind, w.task_path, w.value, restore);
      continue;
    }
    if (!last || last->task_id != w.task_id)
      out.tasks.emplace_back(w.task_id, task_record{});
    last = &w;
    add_to(out.tasks.back().second, kind, w.value, restore);
  }
  settle(out.tasks);
  return out;
}

void read_stored(std::span<const numbered_task> tasks, const name_places& places,
                 stored_writes& out) {
  out.outside.clear();
  out.answer.reset();
  {
    refill_named<task_record> records{out.tasks, tasks.size()};
    for (const auto& task : tasks) {
      auto is_outside = task.id == names::null_task_id;
      auto* record = is_outside ? nullptr : &records.add(task.id);
      if (record)
        record->clear();
      for (const auto& w : task.writes) {
        const auto& place = places[w.channel];
        auto restore = [&] {
          return task_write{place.channel, w.value,
                            place.channel == no_index ? places.text(w.channel) : std::string{}};
        };
        if (record)
          add_to(*record, place.kind, w.value, restore);
        else
          add_outside(out, place.kind, w.task_path, w.value, restore);
      }
    }
  }
  settle(out.tasks);
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
