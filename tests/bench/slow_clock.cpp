// Preloaded (LD_PRELOAD) while valgrind counts instructions. A program takes some 50 times as long
// then, so nodes would count as long and run on other threads, which wait for each other for a
// time. The steady clock is so slow here that the program runs as it does without valgrind.
#include <dlfcn.h>

#include <cstdint>
#include <ctime>

namespace {

constexpr std::int64_t factor = 200;
constexpr std::int64_t second_ns = 1'000'000'000;

using clock_function = int (*)(clockid_t, timespec*);

clock_function real_clock() noexcept {
  static const auto found = reinterpret_cast<clock_function>(::dlsym(RTLD_NEXT, "clock_gettime"));
  return found;
}

std::int64_t real_ns() noexcept {
  timespec now{};
  real_clock()(CLOCK_MONOTONIC, &now);
  return now.tv_sec * second_ns + now.tv_nsec;
}

} // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* at) noexcept {
  if (clock != CLOCK_MONOTONIC)
    return real_clock()(clock, at);
  static const auto begin = real_ns();
  auto now = begin + (real_ns() - begin) / factor;
  at->tv_sec = now / second_ns;
  at->tv_nsec = now % second_ns;
  return 0;
}
