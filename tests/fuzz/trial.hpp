// One plan, made and run on both sides.
#pragma once

#include "tests/fuzz/answer.hpp"
#include "tests/fuzz/plan.hpp"
#include "tests/fuzz/subject.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe::fuzz {

/// Where the two sides differ first.
struct finding {
  std::size_t call = 0; // its place in the plan
  std::string what;

  /// What differs, without names and numbers: alike for the same cause, as a rule.
  std::string kind() const;
};

/// The plan of a seed: the graph, then calls chosen one by one where the interpreter stands.
plan make_plan(std::uint64_t seed);

/// Runs the plan on both sides; stops at the first difference.
/// Shape: `log`, if given, gets the calls with both answers as text.
std::optional<finding> try_plan(const plan& p, hosts& on, std::string* log = nullptr);

/// A smaller plan that still shows a difference: fewer calls, nodes, edges, routes, parts.
plan shrink(plan p, hosts& on);

} // namespace troupe::fuzz
