// process_look: asks the kernel about processes.
#include "cluster/process_look.hpp"

#include "persistence/crypt/private_file.hpp"

#include <troupe/limits.hpp>

#include <sys/stat.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <vector>

namespace troupe::cluster {

namespace {

// Indexes in /proc/PID/stat, counted from the state, which follows the name.
constexpr std::size_t threads_field = 17, started_field = 19;

/// The first 2,048 bytes of a file of /proc, which hold all fields that are used. Empty when the
/// file can't be read.
std::string text_of(const std::string& file) {
  owned_descriptor in{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  std::array<char, 2048> text{};
  auto size = in ? ::read(in.fd(), text.data(), text.size()) : -1;
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

template <class N> bool read_number(std::string_view text, N& out) {
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  return failed == std::errc{} && end == text.data() + text.size();
}

/// Whether /proc belongs to this process's PID namespace.
bool is_proc_ours() {
  std::array<char, 32> target{};
  auto size = ::readlink("/proc/self", target.data(), target.size());
  pid_t there = 0;
  return size > 0 && read_number({target.data(), static_cast<std::size_t>(size)}, there)
         && there == ::getpid();
}

} // namespace

std::optional<process_facts> facts_in(std::string_view stat) {
  auto name_end = stat.rfind(')');
  if (name_end == std::string_view::npos)
    return std::nullopt;
  std::vector<std::string_view> fields;
  for (auto at = name_end + 1; at < stat.size();) {
    auto begin = stat.find_first_not_of(" \n", at);
    if (begin == std::string_view::npos)
      break;
    at = std::min(stat.find_first_of(" \n", begin), stat.size());
    fields.push_back(stat.substr(begin, at - begin));
  }
  process_facts out{.exists = true};
  if (fields.size() <= started_field || fields[0].size() != 1
      || !read_number(fields[threads_field], out.threads)
      || !read_number(fields[started_field], out.started))
    return std::nullopt;
  out.is_zombie = std::string_view{"ZXx"}.find(fields[0]) != std::string_view::npos;
  return out;
}

// A process of another user may be hidden in /proc; signal 0 shows whether it exists.
std::optional<process_facts> look_at_process(std::uint32_t pid) {
  if (pid == 0 || pid > limits::process_id_max)
    return std::nullopt;
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH)
    return process_facts{};
  return facts_in(text_of("/proc/" + std::to_string(pid) + "/stat"));
}

process_identity own_process() {
  process_identity out;
  out.boot = text_of("/proc/sys/kernel/random/boot_id").substr(0, limits::boot_id_bytes);
  struct stat space {};
  if (!is_proc_ours() || ::stat("/proc/self/ns/pid", &space) != 0)
    return {};
  out.pid_space = space.st_ino;
  out.pid = static_cast<std::uint32_t>(::getpid());
  auto seen = look_at_process(out.pid);
  if (!seen)
    return {};
  out.started = seen->started;
  return is_well_formed(out) ? out : process_identity{};
}

} // namespace troupe::cluster
