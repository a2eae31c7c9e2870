// served: `troupe serve` as a child of this program, and what it costs.
#include "bench/serving/served.hpp"

#include <troupe/value.hpp>

#include <unistd.h>

#include <csignal>
#include <fstream>

namespace troupe::bench {

namespace {

std::filesystem::path programs() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

std::vector<std::string> command(const std::vector<std::string>& flags) {
  auto library = (programs().parent_path() / "lib/libbench_serving_graphs.so").string();
  std::vector<std::string> words{(programs() / "troupe").string(), "serve"};
  for (const char* graph : {"chain3", "parked", "speaking"})
    words.push_back(library + ':' + graph);
  for (const char* word : {"--listen", "127.0.0.1:0", "--json"})
    words.emplace_back(word);
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

process_costs costs_of(const child& process) {
  auto folder = "/proc/" + std::to_string(process.id());
  std::ifstream stat{folder + "/stat"};
  std::string text{std::istreambuf_iterator<char>{stat}, {}};
  auto rest = text.substr(text.rfind(')') + 2); // the name before may have blanks
  double ticks = 0;
  std::size_t at = 0;
  for (int field = 3; field <= 15; ++field) { // 14 and 15: user and system time
    auto end = rest.find(' ', at);
    if (field >= 14)
      ticks += std::stod(rest.substr(at, end - at));
    at = end + 1;
  }
  std::ifstream memory{folder + "/statm"};
  double pages = 0;
  double shared = 0;
  memory >> pages >> pages >> shared; // the second: resident
  auto page_bytes = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {.cpu_s = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)),
          .resident_bytes = pages * page_bytes,
          .private_bytes = (pages - shared) * page_bytes};
}

} // namespace

served::served(const std::vector<std::string>& flags, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    auto& process = processes_.emplace_back(programs() / "troupe", command(flags));
    auto url = from_json(process.first_line()).value()["url"].as<std::string>();
    ports_.push_back(static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1))));
  }
}

served::~served() {
  for (auto& process : processes_)
    process.end(SIGTERM);
}

process_costs served::costs() const {
  process_costs all;
  for (const auto& process : processes_) {
    auto one = costs_of(process);
    all.cpu_s += one.cpu_s;
    all.resident_bytes += one.resident_bytes;
    all.private_bytes += one.private_bytes;
  }
  return all;
}

} // namespace troupe::bench
