// Waiting for a saver's answers, and threads to fill it with.
#include "testing/saver_subject.hpp"

namespace troupe::testing {

submitted::submitted(saver& to, save_request request, save_ack when,
                     std::chrono::milliseconds patience)
  : state_{std::make_shared<state>()},
    patience_{patience} {
  to.submit(std::move(request), when, [shared = state_](result<void> r) {
    std::lock_guard lock{shared->mutex};
    ++shared->answers;
    if (!shared->first)
      shared->first = std::move(r);
    shared->came.notify_all();
  });
}

result<void> submitted::answer() {
  std::unique_lock lock{state_->mutex};
  if (!state_->came.wait_for(lock, patience_, [this] { return state_->first.has_value(); }))
    fail("submit", "an answer within " + std::to_string(patience_.count()) + " ms", "none");
  return *state_->first;
}

int submitted::answers() const {
  std::lock_guard lock{state_->mutex};
  return state_->answers;
}

saver_subject::saver_subject(saver_factory open, conformance_options options)
  : open_{std::move(open)},
    options_{options},
    saver_{open_()} {
  expect("the factory opens a saver", saver_ != nullptr);
}

checkpoint_tuple saver_subject::get(const checkpoint_ref& ref) {
  auto tuple = saver_->get_tuple(ref).value();
  if (!tuple)
    fail("get_tuple of " + shown(ref), "a checkpoint", "nothing");
  return std::move(*tuple);
}

value saver_subject::stored(const checkpoint_ref& ref, const std::string& channel) {
  for (const auto& [name, val] : get(ref).checkpoint.channel_values)
    if (name == channel)
      return val;
  return "absent";
}

texts saver_subject::writes(const checkpoint_ref& ref) {
  texts lines;
  for (const auto& w : get(ref).pending_writes)
    lines.push_back(w.task_path + "/" + w.task_id + "/" + w.channel + "=" + to_json(w.value));
  return lines;
}

texts saver_subject::steps_of(const std::string& thread_id, const std::string& ns) {
  texts steps;
  for (const auto& tuple : all_of(thread_id, ns))
    steps.push_back(to_json(tuple.metadata["step"]));
  return steps;
}

void fill(saver_subject& t) {
  for (const auto* ns : {"", "child:1"})
    for (int i = 1; i <= 3; ++i)
      t.put(at("t", ns),
            make_put("c" + std::to_string(i), i == 1 ? "" : "c" + std::to_string(i - 1), {{"n", i}},
                     value{{"source", i == 1 ? "input" : "loop"}, {"step", i - 2}, {"score", 42}},
                     {static_cast<unsigned>(i), 7}));
  t.put(at("u"), make_put("c2", "", {{"n", 9}}, value{{"source", "input"}, {"step", -1}}));
}

void put_step(saver_subject& t, const checkpoint_place& by, unsigned n, unsigned parent) {
  auto p = make_put(
    checkpoint_id(n), parent == 0 ? "" : checkpoint_id(parent), {{"n", value(n)}, {"s", "same"}},
    value{{"source", "loop"}, {"step", n}, {"run_id", by.run_id}, {"parents", by.parents}}, {n, 7});
  p.checkpoint.ts = "2026-11-21T20:21:07.00000" + std::to_string(n) + "+00:00";
  if (n > 1) {
    p.checkpoint.channel_versions[1].second = {1, 7};
    p.new_versions = {"n"};
  }
  t.store({at(by.thread_id, by.ns), {}, std::move(p)});
  t.store({at(by.thread_id, by.ns, checkpoint_id(n)),
           {{"task", "path", {{"n", value(n)}}}},
           std::nullopt});
}

void put_line(saver_subject& t, const checkpoint_place& by, unsigned count) {
  for (unsigned n = 1; n <= count; ++n)
    put_step(t, by, n, n - 1);
}

} // namespace troupe::testing
