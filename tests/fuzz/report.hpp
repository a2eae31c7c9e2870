// A plan and both sides' answers, printed for a person.
#pragma once

#include "tests/fuzz/trial.hpp"

#include <string>

namespace troupe::fuzz {

/// Prints the plan with both sides' answers; whether they differ. The caller must be the only
/// thread.
bool print_trial(const plan& p);

/// Makes the plan smaller, and prints that. The caller must be the only thread.
void print_smaller(const plan& p);

} // namespace troupe::fuzz
