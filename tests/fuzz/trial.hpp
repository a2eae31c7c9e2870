// One plan, made and run on both sides.
#pragma once

#include "tests/fuzz/answer.hpp"
#include "tests/fuzz/plan.hpp"
#include "tests/fuzz/subject.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe::fuzz {

/// Where the two sides differ first.
struct finding {
  std::size_t call = 0; // its place in the plan
  std::string what;

  /// The kind of a difference, without names and numbers: alike for the same cause, as a rule.
  std::string kind() const;
};

/// The plan of a seed: the graph, then calls chosen one by one where the interpreter stands.
plan make_plan(std::uint64_t seed);

/// The reports of a trial besides its finding.
/// Shape: `log` gets the calls with both answers as text; `seen`, the features they used; `begins`
/// gets the place of each call before it is made.
struct trial_report {
  std::string* log = nullptr;
  coverage* seen = nullptr;
  std::function<void(std::size_t)> begins = {};
};

/// Runs the plan on both sides; stops at the first difference.
std::optional<finding> try_plan(const plan& p, hosts& on, const trial_report& report = {});

/// How a child process ended that should have ended well, by its wait status; empty: it did.
std::string unexpected_end(int status);

/// The same in a process of its own, so that a crash and a hang are findings too. The caller must
/// be the only thread.
std::optional<finding> try_apart(const plan& p, std::string* log = nullptr);

/// A smaller plan that still shows a difference of this kind: fewer calls, nodes, edges, routes,
/// parts. The caller must be the only thread.
plan shrink(plan p);

} // namespace troupe::fuzz
