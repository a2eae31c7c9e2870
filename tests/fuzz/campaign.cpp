// The parent waits; the child tries plans and counts in memory that both see.
#include "tests/fuzz/campaign.hpp"

#include "tests/fuzz/report.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace troupe::fuzz {
namespace {

constexpr unsigned plan_seconds_max = 120; // then it hangs

// Written by the child, read by the parent when the child has ended.
struct tally {
  std::uint64_t seed = 0; // in hand
  std::uint64_t graphs = 0, calls = 0, without_call = 0;
  std::uint64_t differences = 0, first_difference = 0; // a seed
  std::array<std::uint64_t, feature_count> graphs_with{};
};

class shared_tally {
public:
  shared_tally()
    : at_{
      ::mmap(nullptr, sizeof(tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)} {
    if (at_ == MAP_FAILED)
      throw std::system_error{errno, std::generic_category(), "mmap"};
    new (at_) tally;
  }
  ~shared_tally() { ::munmap(at_, sizeof(tally)); }
  shared_tally(const shared_tally&) = delete;
  shared_tally& operator=(const shared_tally&) = delete;

  tally& get() { return *static_cast<tally*>(at_); }

private:
  void* at_;
};

class campaign {
public:
  campaign(const campaign_options& o, tally& t) : options_{o}, tally_{t} {}

  void run() {
    hosts on;
    for (auto seed = options_.seed; !over(seed); ++seed)
      try_seed(seed, on);
  }

private:
  using clock = std::chrono::steady_clock;

  bool over(std::uint64_t seed) const {
    if (tally_.differences > 0 && !options_.keep_going)
      return true;
    if (options_.runs)
      return seed >= options_.seed + *options_.runs;
    if (options_.graphs_max && tally_.graphs >= *options_.graphs_max)
      return true;
    return tally_.graphs >= options_.graphs_min
           && clock::now() - begin_ >= std::chrono::seconds{options_.seconds};
  }

  void try_seed(std::uint64_t seed, hosts& on) {
    tally_.seed = seed;
    ::alarm(plan_seconds_max);
    auto p = make_plan(seed);
    coverage seen;
    auto found = try_plan(p, on, {.seen = &seen});
    ::alarm(0);
    if (p.calls.empty()) {
      ++tally_.without_call;
      return;
    }
    ++tally_.graphs;
    tally_.calls += p.calls.size();
    for (std::size_t f = 0; f < feature_count; ++f)
      tally_.graphs_with[f] += seen.has(f);
    if (!found)
      return;
    if (tally_.differences++ == 0)
      tally_.first_difference = seed;
    std::cout << "seed " << seed << ", call " << found->call << ": " << found->what << std::endl;
  }

  const campaign_options& options_;
  tally& tally_;
  clock::time_point begin_ = clock::now();
};

// How the child ended; empty: well.
std::string run_child(const campaign_options& o, tally& t) {
  std::cout.flush();
  auto child = ::fork();
  if (child < 0)
    throw std::system_error{errno, std::generic_category(), "fork"};
  if (child == 0) {
    campaign{o, t}.run();
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return unexpected_end(status);
}

void print_tally(const campaign_options& o, const tally& t) {
  std::cout << t.graphs << " graphs from seed " << o.seed << ", " << t.calls << " calls, "
            << t.without_call << " seeds without a call, " << t.differences
            << " differences\ngraphs with\n";
  for (std::size_t f = 0; f < feature_count; ++f)
    std::cout << std::setw(10) << t.graphs_with[f] << " " << name_of(static_cast<feature>(f))
              << "\n";
  std::cout.flush();
}

// The features that a long campaign must have had.
bool has_all(const tally& t) {
  bool all = true;
  for (std::size_t f = 0; f < feature_count; ++f)
    if (t.graphs_with[f] == 0) {
      std::cout << "no graph had: " << name_of(static_cast<feature>(f)) << std::endl;
      all = false;
    }
  return all;
}

void print_finding(const campaign_options& o, std::uint64_t seed) {
  std::cout << "to see it: " << o.replay << " " << seed << std::endl;
  if (o.shrink)
    print_smaller(make_plan(seed));
}

} // namespace

bool run_campaign(const campaign_options& o) {
  shared_tally shared;
  const auto& t = shared.get();
  auto end = run_child(o, shared.get());
  print_tally(o, t);
  if (!end.empty()) {
    std::cout << "seed " << t.seed << ": " << end << std::endl;
    print_finding(o, t.seed);
    return false;
  }
  if (t.differences > 0) {
    if (!o.keep_going)
      print_finding(o, t.first_difference);
    return false;
  }
  return t.graphs > 0 && (o.graphs_min == 0 || has_all(t));
}

} // namespace troupe::fuzz
