#include "tests/fuzz/trial.hpp"

#include "tests/fuzz/calls.hpp"
#include "tests/fuzz/interpreter.hpp"

#include <algorithm>

namespace troupe::fuzz {
namespace {

constexpr std::uint32_t calls_max = 10;
constexpr std::uint32_t tries_max = 5; // for a call that has an answer

} // namespace

std::string finding::kind() const {
  auto end = what.starts_with("error:") ? what.size() : what.find(": the interpreter says");
  std::string out;
  for (std::size_t i = 0; i < std::min(end, what.size()); ++i)
    if (what.compare(i, 5, "task ") == 0)
      i = std::min(what.find(' ', i + 5), end);
    else if (what[i] < '0' || what[i] > '9')
      out += what[i];
  return out;
}

plan make_plan(std::uint64_t seed) {
  dice d{seed};
  plan out;
  out.seed = seed;
  out.kept = d.chance(25) ? keeper::lmdb : keeper::memory;
  auto n = d.below(100);
  out.pace = n < 45   ? pace::plain
             : n < 60 ? pace::coroutine
             : n < 70 ? pace::blocking
                      : pace::delayed;
  out.graph = make_graph(d);
  call_chooser chooser{*out.graph, d};
  interpreter thread{out.graph};
  auto calls = d.between(1, calls_max);
  for (std::uint32_t tries = 0; out.calls.size() < calls && tries < tries_max;) {
    auto c = chooser.choose(thread);
    auto before = thread;
    try {
      thread.make(c);
      out.calls.push_back(std::move(c));
    } catch (const no_answer&) {
      thread = before;
      ++tries;
    }
  }
  return out;
}

std::optional<finding> try_plan(const plan& p, hosts& on, const trial_report& report) {
  interpreter expected{p.graph};
  subject troupe_side{p, on.get(p.kept)};
  for (std::size_t i = 0; i < p.calls.size(); ++i) {
    const auto& c = p.calls[i];
    if (c.at && *c.at >= expected.checkpoints())
      continue; // a plan that was made smaller
    answer want;
    try {
      want = expected.make(c);
    } catch (const no_answer& e) {
      if (report.log)
        *report.log += "no answer: " + e.why + "\n";
      return std::nullopt;
    }
    if (report.begins)
      report.begins(i);
    auto got = troupe_side.make(c);
    auto what = difference(want, got);
    if (report.log) {
      *report.log += "call " + std::to_string(i) + ": " + show(c) + "\n";
      *report.log += what.empty()
                       ? show(want, false)
                       : "  interpreter\n" + show(want, true) + "  troupe\n" + show(got, true);
    }
    if (!what.empty())
      return finding{i, what};
  }
  if (report.seen) {
    report.seen->saw(coverage_of(p));
    report.seen->saw(expected.seen());
  }
  return std::nullopt;
}

} // namespace troupe::fuzz
