#include "tests/fuzz/thread_model.hpp"

#include <algorithm>

namespace troupe::fuzz {

std::vector<question> pending_record::waiting() const {
  std::vector<question> out;
  for (const auto& [id, task] : tasks)
    for (const auto& q : task.waiting())
      if (std::none_of(out.begin(), out.end(), [&q](const auto& o) { return o.id == q.id; }))
        out.push_back(q);
  return out;
}

checkpoint_model* thread_model::find(const std::string& ns, const std::string& id) {
  auto chain = all_.find(ns);
  if (chain == all_.end())
    return nullptr;
  auto at = chain->second.find(id);
  return at == chain->second.end() ? nullptr : &at->second;
}

checkpoint_model* thread_model::latest(const std::string& ns) {
  return latest_before(ns, "~");
}

checkpoint_model* thread_model::latest_before(const std::string& ns, const std::string& bound) {
  auto chain = all_.find(ns);
  if (chain == all_.end())
    return nullptr;
  auto end = chain->second.lower_bound(bound);
  return end == chain->second.begin() ? nullptr : &std::prev(end)->second;
}

std::vector<const checkpoint_model*> thread_model::history(const std::string& ns) const {
  std::vector<const checkpoint_model*> out;
  if (auto chain = all_.find(ns); chain != all_.end())
    for (const auto& [id, c] : chain->second)
      out.insert(out.begin(), &c);
  return out;
}

void thread_model::store(pending_record& where, const std::string& task, const task_record& more,
                         bool from_outside) {
  auto& stored = where.tasks[task];
  auto& taken = stored.positions;
  auto position = more.first;
  for (const auto& w : more.output) {
    auto here = position++;
    if (std::find(taken.begin(), taken.end(), here) != taken.end())
      continue;
    auto at = stored.from_outside;
    if (from_outside)
      ++stored.from_outside;
    else
      at = std::find_if(taken.begin() + at, taken.end(), [here](auto p) { return p > here; })
           - taken.begin();
    taken.insert(taken.begin() + at, here);
    stored.output.insert(stored.output.begin() + at, w);
  }
  if (more.error)
    stored.error = more.error;
  if (!more.questions.empty())
    stored.questions = more.questions;
  if (!more.answers.empty())
    stored.answers = more.answers;
}

} // namespace troupe::fuzz
