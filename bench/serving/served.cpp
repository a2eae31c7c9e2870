// served: `troupe serve` as a child of this program, and what it costs.
#include "bench/serving/served.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <stdexcept>

extern char** environ;

namespace troupe::bench {

namespace {

std::filesystem::path programs() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

/// The first line that a descriptor has.
std::string first_line_of(int descriptor) {
  std::string out;
  char c = 0;
  while (::read(descriptor, &c, 1) == 1 && c != '\n')
    out += c;
  return out;
}

} // namespace

served::served(const std::vector<std::string>& flags) {
  auto library = (programs().parent_path() / "lib/libbench_serving_graphs.so").string();
  std::vector<std::string> words{(programs() / "troupe").string(), "serve"};
  for (const char* graph : {"chain3", "parked", "speaking"})
    words.push_back(library + ':' + graph);
  for (const char* word : {"--listen", "127.0.0.1:0", "--json"})
    words.emplace_back(word);
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char*> arguments;
  for (auto& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw std::runtime_error{"make a pipe"};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  auto failed = ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  auto told = failed == 0 ? first_line_of(ends[0]) : std::string{};
  ::close(ends[0]);
  auto colon = told.rfind(':');
  if (colon == told.npos)
    throw std::runtime_error{"start " + words[0] + " serve"};
  port_ = static_cast<std::uint16_t>(std::stoul(told.substr(colon + 1)));
}

served::~served() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

process_costs served::costs() const {
  auto folder = "/proc/" + std::to_string(pid_);
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
  memory >> pages >> pages; // the second: resident
  return {.cpu_s = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)),
          .resident_bytes = pages * static_cast<double>(::sysconf(_SC_PAGESIZE))};
}

} // namespace troupe::bench
