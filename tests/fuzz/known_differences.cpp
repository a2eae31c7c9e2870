#include "tests/fuzz/known_differences.hpp"

#include <utility>

namespace troupe::fuzz {
namespace {

using member = bool known_differences::*;

const std::vector<std::pair<std::string, member>>& members() {
  using k = known_differences;
  static const std::vector<std::pair<std::string, member>> out{
    {"output_is_the_state_at_the_end", &k::output_is_the_state_at_the_end},
    {"fork_forgets_what_was_updated", &k::fork_forgets_what_was_updated},
    {"fresh_command_goes_nowhere", &k::fresh_command_goes_nowhere},
    {"some_answers_are_used_again", &k::some_answers_are_used_again},
    {"answers_outlive_their_step", &k::answers_outlive_their_step},
    {"second_delta_writes_are_lost", &k::second_delta_writes_are_lost},
    {"end_behind_an_inline_step_crashes", &k::end_behind_an_inline_step_crashes},
    {"strict_at_superseded_checkpoints", &k::strict_at_superseded_checkpoints},
  };
  return out;
}

} // namespace

std::vector<std::string> names_of_known_differences() {
  std::vector<std::string> out;
  for (const auto& [name, at] : members())
    out.push_back(name);
  return out;
}

bool follow_specification(known_differences& known, const std::string& name) {
  for (const auto& [known_name, at] : members())
    if (known_name == name) {
      known.*at = false;
      return true;
    }
  return false;
}

} // namespace troupe::fuzz
