// merge_configs: the config of a call over the defaults of its app.
#include "tasks/task_scope.hpp"

#include <troupe/run_config.hpp>

#include <algorithm>
#include <type_traits>

namespace troupe {

run_config merge_configs(const run_config& defaults, const run_config& call) {
  static const run_config unset;
  auto out = call;
  auto fill = [&](auto run_config::*member) {
    if (call.*member == unset.*member)
      out.*member = defaults.*member;
  };
  fill(&run_config::thread_id);
  fill(&run_config::checkpoint_id);
  fill(&run_config::checkpoint_ns);
  fill(&run_config::durability);
  fill(&run_config::store_history);
  fill(&run_config::multitask);
  fill(&run_config::recursion_limit);
  fill(&run_config::max_concurrency);
  fill(&run_config::step_timeout);
  fill(&run_config::run_timeout);
  fill(&run_config::sibling_timeout);
  fill(&run_config::interrupt_before);
  fill(&run_config::interrupt_after);
  fill(&run_config::output_keys);
  fill(&run_config::output_key);
  fill(&run_config::subgraphs);
  fill(&run_config::print_mode);
  fill(&run_config::strict_resume);
  fill(&run_config::whole_metadata);
  fill(&run_config::strict_input);
  fill(&run_config::run_name);
  fill(&run_config::run_id);
  fill(&run_config::context);
  fill(&run_config::callbacks);
  if (!call.control)
    out.control = defaults.control;
  out.tags = defaults.tags;
  for (const auto& tag : call.tags)
    if (std::ranges::find(out.tags, tag) == out.tags.end())
      out.tags.push_back(tag);
  // A value that is not a map is refused when the run begins.
  auto merge = [&](value run_config::*member) {
    const auto& below = defaults.*member;
    const auto& above = call.*member;
    out.*member = below.is_map() && above.is_map() ? detail::metadata_over(below, above)
                  : above.is_null()                ? below
                                                   : above;
  };
  merge(&run_config::metadata);
  merge(&run_config::configurable);
  return out;
}

} // namespace troupe
