// harness: result lines, directories and figures of this process.
#include "bench/harness.hpp"

#include <sys/vfs.h>

#include <linux/magic.h>
#include <stdlib.h>
#include <time.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace troupe::bench {

namespace {

std::string number(double x, const std::string& unit) {
  char text[48];
  auto digits = unit != "us" ? 0 : x < 1 ? 5 : x < 1000 ? 3 : 1;
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

bool in_memory(const std::filesystem::path& dir) {
  struct statfs about {};
  return statfs(dir.c_str(), &about) != 0 || about.f_type == TMPFS_MAGIC
         || about.f_type == RAMFS_MAGIC;
}

std::filesystem::path& chosen_scratch() {
  static std::filesystem::path dir;
  return dir;
}

std::optional<std::string>& noted_state() {
  static std::optional<std::string> state;
  return state;
}

// Durable writes to a file system in memory would look free.
std::filesystem::path local_disk() {
  if (!chosen_scratch().empty())
    return chosen_scratch();
  for (const auto& dir : {std::filesystem::temp_directory_path(), std::filesystem::path{"/var/tmp"},
                          std::filesystem::current_path()})
    if (!in_memory(dir))
      return dir;
  throw std::runtime_error{"make a directory: no local disk: set TMPDIR to a directory on one"};
}

} // namespace

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  auto half = samples.size() / 2;
  return samples.size() % 2 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
}

double cpu_now_us() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

void note_state(std::string_view state) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : state)
    hash = (hash ^ byte) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  noted_state() = text;
}

std::optional<std::string> take_noted_state() {
  return std::exchange(noted_state(), std::nullopt);
}

std::string to_line(const workload& work, const figure& result,
                    const std::optional<std::string>& state) {
  auto sorted = result.samples;
  std::sort(sorted.begin(), sorted.end());
  const auto& unit = result.unit;
  auto line = R"({"workload": ")" + work.name + R"(", "unit": ")" + unit + R"(", "min": )"
              + number(sorted.front(), unit) + R"(, "median": )" + number(median(sorted), unit)
              + R"(, "max": )" + number(sorted.back(), unit) + R"(, "runs": )"
              + std::to_string(sorted.size());
  for (const auto& [name, what] : result.further)
    line += ", \"" + name + "\": " + number(what, "us");
  if (state)
    line += R"(, "state": ")" + *state + '"';
  if (!work.variant.empty())
    line += R"(, "variant": ")" + work.variant + '"';
  if (!work.name.starts_with("floor_"))
    line += R"(, "runtime": "troupe )" TROUPE_VERSION "\"";
  return line + '}';
}

void use_scratch(std::filesystem::path dir) {
  chosen_scratch() = std::move(dir);
}

scratch_dir::scratch_dir() {
  auto pattern = (local_disk() / "troupe-bench-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    throw std::runtime_error{"make a directory: " + std::string{std::strerror(errno)} + ": "
                             + pattern};
  path_ = pattern;
}

scratch_dir::~scratch_dir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::uintmax_t store_bytes(const std::filesystem::path& dir) {
  std::uintmax_t sum = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{dir}) {
    auto name = entry.path().filename().string();
    if (entry.is_regular_file() && name != "lock.mdb" && !name.ends_with("-lock"))
      sum += entry.file_size();
  }
  return sum;
}

memory_in_use memory_now() {
  std::size_t size = 0;
  std::size_t resident = 0;
  std::size_t shared = 0; // pages of files
  std::ifstream{"/proc/self/statm"} >> size >> resident >> shared;
  auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  return {static_cast<double>(resident) * page, static_cast<double>(resident - shared) * page};
}

} // namespace troupe::bench
