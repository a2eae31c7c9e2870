#include "tests/fuzz/report.hpp"

#include <iostream>

namespace troupe::fuzz {
namespace {

const char* name_of(pace p) {
  constexpr const char* names[] = {"plain", "blocking", "coroutine", "delayed"};
  return names[static_cast<std::size_t>(p)];
}

} // namespace

bool print_trial(const plan& p) {
  std::cout << show(*p.graph) << (p.kept == keeper::lmdb ? "LMDB" : "memory") << ", "
            << name_of(p.pace) << " bodies" << std::endl;
  std::string log;
  auto found = try_apart(p, &log);
  if (log.empty()) // troupe did not live to tell
    for (const auto& c : p.calls)
      log += show(c) + "\n";
  std::cout << log;
  if (found)
    std::cout << "call " << found->call << ": " << found->what << std::endl;
  else
    std::cout << "no difference" << std::endl;
  return found.has_value();
}

void print_smaller(const plan& p) {
  auto small = shrink(p);
  std::cout << "made smaller:\n";
  print_trial(small);
}

} // namespace troupe::fuzz
