// wrappers: several wrappers of a call as one: the first of a list is the outermost.
#pragma once

#include <troupe/agents/agent.hpp>

#include <utility>
#include <vector>

namespace troupe {

/// The wrapper `wrapper` of each middleware that has it, around one another.
/// Shape:  empty when none has it. `Call` is the wrapped call, `Executor` the function that
///         continues it.
template <class Call, class Executor, class Wrapper>
Wrapper composed(const std::vector<middleware>& all, Wrapper middleware::*wrapper) {
  Wrapper out;
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const auto& own = (*at).*wrapper;
    if (!own || !out) {
      out = own ? own : std::move(out);
      continue;
    }
    out = [outer = own, inner = std::move(out)](Call call, Executor run) {
      Executor next = [&inner, run = std::move(run)](Call c) { return inner(std::move(c), run); };
      return outer(std::move(call), std::move(next));
    };
  }
  return out;
}

} // namespace troupe
