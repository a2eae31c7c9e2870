// troupe-bench: times workloads and the floors of the machine, one JSON line each.

#include "bench/graphs.hpp"

#include <CLI/CLI.hpp>

#include <exception>
#include <fstream>
#include <iostream>
#include <regex>

namespace {

using namespace std::literals;

troupe::bench::workloads all_workloads() {
  troupe::bench::workloads all;
  troupe::bench::add_engine(all);
  troupe::bench::add_fan_out(all);
  troupe::bench::add_subgraphs(all);
  troupe::bench::add_wide(all);
  troupe::bench::add_react(all);
  troupe::bench::add_durability(all);
  troupe::bench::add_many_runs(all);
  troupe::bench::add_reading(all);
  troupe::bench::add_codec(all);
  troupe::bench::add_process(all);
  troupe::bench::add_endurance(all);
  troupe::bench::add_remote(all);
  troupe::bench::add_models(all);
  troupe::bench::add_machine_floors(all);
  troupe::bench::add_caf_floors(all);
  troupe::bench::add_storage_floors(all);
  return all;
}

void list(const troupe::bench::workloads& chosen) {
  const std::string* last = nullptr; // variants follow one another
  for (const auto& work : chosen) {
    if (!last || *last != work.name)
      std::cout << work.name << '\n';
    last = &work.name;
  }
}

/// The first line of a message, shortened.
std::string first_line(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return text.size() > 300 ? text.substr(0, 300) + "…" : text;
}

/// Runs workloads. True when every result was right.
bool run(const troupe::bench::workloads& chosen, const troupe::bench::sampler& sample,
         std::ostream* copy) {
  bool all_right = true;
  for (const auto& work : chosen) {
    try {
      auto figure = work.run(sample);
      auto line = to_line(work, figure, troupe::bench::take_noted_state());
      std::cout << line << std::endl;
      if (copy)
        *copy << line << std::endl;
    } catch (const std::exception& e) {
      troupe::bench::take_noted_state();
      std::cerr << "troupe-bench: " << work.name << ": " << first_line(e.what()) << std::endl;
      all_right = false;
    }
  }
  return all_right;
}

} // namespace

int main(int argc, char** argv) {
  if (argc == 3 && argv[1] == "--child"sv) // first, since the start of a child is timed
    return troupe::bench::run_child(argv[2]);

  CLI::App arguments{"Times troupe's workloads and the floors of this machine, a JSON line each."};
  bool only_list = false;
  bool long_too = false;
  std::string filter;
  std::string file;
  std::size_t runs_max = troupe::bench::runs_max_default;
  std::size_t iterations = 0;
  std::size_t threads = 0;
  std::string scratch;
  arguments.add_flag("--list", only_list, "Print the names of the workloads and run none");
  arguments.add_flag("--long", long_too, "Workloads that take minutes, too");
  arguments.add_option("--filter", filter,
                       "Only workloads whose name this regular expression finds");
  arguments.add_option("--json", file, "Write the lines to this file, too");
  arguments.add_option("--runs-max", runs_max, "Samples of a workload at most")
    ->check(CLI::Range(std::size_t{1}, troupe::bench::runs_max_default));
  arguments
    .add_option("--iterations", iterations,
                "Exactly so many runs of a workload, without warm-up, for counts of instructions")
    ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}));
  arguments.add_option("--threads", threads,
                       "Scheduler threads of each runtime; 0 is as many as cores");
  arguments
    .add_option("--scratch", scratch,
                "The folder for stores, also one in memory; there a sync costs nothing")
    ->check(CLI::ExistingDirectory);
  CLI11_PARSE(arguments, argc, argv);
  troupe::bench::use_threads(threads);
  troupe::bench::use_scratch(scratch);

  auto chosen = all_workloads();
  try {
    std::regex wanted{filter};
    std::erase_if(chosen, [&wanted, long_too](const troupe::bench::workload& work) {
      return (work.is_long && !long_too) || !std::regex_search(work.name, wanted);
    });
  } catch (const std::regex_error& e) {
    std::cerr << "troupe-bench: --filter: " << e.what() << ": " << filter << '\n';
    return 2;
  }
  if (chosen.empty()) {
    std::cerr << "troupe-bench: --filter: no workload matches: " << filter << '\n';
    return 2;
  }
  if (only_list) {
    list(chosen);
    return 0;
  }

  std::ofstream copy;
  if (!file.empty()) {
    copy.open(file, std::ios::trunc);
    if (!copy) {
      std::cerr << "troupe-bench: --json: can't write to " << file << '\n';
      return 2;
    }
  }
  auto sample = iterations > 0 ? troupe::bench::sampler::counted(iterations)
                               : troupe::bench::sampler{runs_max};
  bool all_right = run(chosen, sample, file.empty() ? nullptr : &copy);
  if (!file.empty() && !copy.flush()) {
    std::cerr << "troupe-bench: --json: can't write to " << file << '\n';
    return 1;
  }
  return all_right ? 0 : 1;
}
