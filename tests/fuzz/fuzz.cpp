// troupe-fuzz: random graphs run by troupe and by a small interpreter of the specification.
// See README.md beside this file.
#include "tests/fuzz/campaign.hpp"
#include "tests/fuzz/report.hpp"

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace troupe::fuzz {
namespace {

constexpr std::uint64_t seeds_of_a_test = 1'000'000; // TROUPE_TEST_SEED 1 and 2 share none

struct options {
  campaign_options campaign;
  std::optional<std::uint64_t> replayed;
  std::optional<std::uint64_t> test_seed;
  bool no_shrink = false;
};

void add_flags(CLI::App& app, options& o) {
  auto* seed = app.add_option("--seed", o.campaign.seed, "The first seed")->capture_default_str();
  app.add_option("--test-seed", o.test_seed, "N stands for seed N * 1000000")
    ->envname("TROUPE_TEST_SEED");
  auto* runs = app.add_option("--runs", o.campaign.runs, "Tries so many seeds");
  app.add_option("--seconds", o.campaign.seconds, "Tries seeds for so long")
    ->capture_default_str()
    ->excludes(runs);
  app
    .add_option("--graphs-min", o.campaign.graphs_min,
                "Goes on until so many graphs were tried; fails when a feature was in none")
    ->capture_default_str()
    ->excludes(runs);
  app.add_option("--graphs-max", o.campaign.graphs_max, "Ends when so many graphs were tried")
    ->excludes(runs);
  app.add_flag("--keep-going", o.campaign.keep_going, "Does not end at the first difference");
  app.add_flag("--no-shrink", o.no_shrink, "Prints no smaller plan");
  app.add_option("--replay", o.replayed, "Prints one seed's graph, calls and both answers")
    ->excludes(seed)
    ->excludes(runs);
}

int replay(std::uint64_t seed, const campaign_options& o) {
  auto p = make_plan(seed);
  if (!print_trial(p))
    return 0;
  if (o.shrink)
    print_smaller(p);
  return 1;
}

int fuzz_main(int argc, char** argv) {
  CLI::App app{"Random graphs run by troupe and by an interpreter of the specification: their "
               "answers must be equal. Ends with 1 when they are not."};
  options o;
  add_flags(app, o);
  CLI11_PARSE(app, argc, argv);
  if (o.test_seed && app.count("--seed") == 0)
    o.campaign.seed = *o.test_seed * seeds_of_a_test;
  o.campaign.shrink = !o.no_shrink;
  o.campaign.replay = std::string{argv[0]} + " --replay";
  return o.replayed ? replay(*o.replayed, o.campaign) : run_campaign(o.campaign) ? 0 : 1;
}

} // namespace
} // namespace troupe::fuzz

int main(int argc, char** argv) {
  try {
    return troupe::fuzz::fuzz_main(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "troupe-fuzz: " << e.what() << std::endl;
    return 3;
  }
}
