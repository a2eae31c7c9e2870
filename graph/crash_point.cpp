// The crash points: reading TROUPE_CRASH_AT and TROUPE_MUTATION, and acting on them.
#include "graph/crash_point.hpp"

#ifdef TROUPE_CRASH_POINTS

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

namespace troupe {

namespace {

constexpr std::array<std::string_view, 5> mutation_names{
  "no_sync", "two_transactions", "early_answer", "no_claim", "no_depth_limit"};

std::string_view environment(const char* name) {
  const char* text = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nobody sets it
  return text ? text : "";
}

/// The settings from the environment, read when the process first passes a point.
struct orders {
  std::string_view die_at = environment("TROUPE_CRASH_AT");
  int log = -1;
  std::atomic<long> passings_left = 0;

  orders() {
    if (auto colon = die_at.find(':'); colon != std::string_view::npos) {
      passings_left = std::strtol(die_at.data() + colon + 1, nullptr, 10);
      die_at = die_at.substr(0, colon);
    }
    if (auto file = environment("TROUPE_CRASH_LOG"); !file.empty())
      log = open(file.data(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  }
};

orders& the_orders() {
  static auto& given = *new orders; // never destroyed: the writer thread may pass a point late
  return given;
}

} // namespace

void crash_point(const char* name) noexcept {
  auto& given = the_orders();
  if (given.log >= 0) {
    auto line = std::string{name} + "\n";
    static_cast<void>(!write(given.log, line.data(), line.size()));
  }
  if (given.die_at != name || --given.passings_left != 0)
    return;
  kill(getpid(), SIGKILL);
  for (;;)
    pause();
}

bool mutated(mutation which) noexcept {
  static const auto wanted = environment("TROUPE_MUTATION");
  return wanted == mutation_names[static_cast<std::size_t>(which)];
}

} // namespace troupe

#endif
