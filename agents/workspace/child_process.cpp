// child_process: starting, reading and ending programs.
#include "agents/workspace/child_process.hpp"

#include "agents/workspace/spawn_orders.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

namespace troupe {
namespace {

using child_clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds look_again{20}; // between checks whether it has ended
constexpr std::chrono::milliseconds look_soon{1};   // the same after it has closed its outputs
constexpr std::size_t err_bytes_max = 8u << 10;

[[noreturn]] void throw_errno(int why, const char* what) {
  throw std::system_error{why, std::generic_category(), what};
}

std::vector<char*> pointers_in(child_process::words& of) {
  std::vector<char*> out;
  for (auto& word : of)
    out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// Reads the available bytes of one output; closes it at its end.
void read_some(pipe_end& from, std::string& into, std::size_t most, bool& is_cut) {
  std::array<char, 64u << 10> block;
  auto got = ::read(from.get(), block.data(), block.size());
  if (got < 0 && errno == EINTR)
    return;
  if (got <= 0)
    return from.close();
  auto room = most - std::min(most, into.size());
  auto size = static_cast<std::size_t>(got);
  is_cut |= size > room;
  into.append(block.data(), std::min(size, room));
}

} // namespace

void pipe_end::close() {
  if (fd_ >= 0)
    ::close(fd_);
  fd_ = -1;
}

void pipe_end::set(int fd) {
  close();
  fd_ = fd;
}

both_ends::both_ends() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw_errno(errno, "make a pipe");
  read.set(ends[0]);
  write.set(ends[1]);
}

child_process::child_process(words arguments, words environment, int folder) {
  spawn_orders how;
  ::posix_spawn_file_actions_addopen(&how.actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&how.actions, out.write.get(), 1);
  ::posix_spawn_file_actions_adddup2(&how.actions, err.write.get(), 2);
  if (folder >= 0)
    ::posix_spawn_file_actions_addfchdir_np(&how.actions, folder);
  ::posix_spawn_file_actions_addclosefrom_np(&how.actions, 3);
  auto argv = pointers_in(arguments);
  auto envp = pointers_in(environment);
  int failed = ::posix_spawnp(&id_, argv[0], &how.actions, &how.attributes, argv.data(),
                              envp.data());
  out.write.close();
  err.write.close();
  if (failed != 0)
    throw_errno(failed, "start");
}

child_process::~child_process() {
  ::kill(-id_, SIGKILL);
  ::waitpid(id_, nullptr, 0);
}

std::optional<int> child_process::exit_code() const {
  siginfo_t how{};
  if (::waitid(P_PID, static_cast<id_t>(id_), &how, WEXITED | WNOHANG | WNOWAIT) != 0
      || how.si_pid == 0)
    return std::nullopt;
  return how.si_code == CLD_EXITED ? how.si_status : 128 + how.si_status;
}

std::string path_of_programs() {
  const char* path = std::getenv("PATH");
  return path ? path : "/usr/bin:/bin";
}

program_end run_program(child_process::words arguments, child_process::words environment,
                        const program_bounds& bounds) {
  child_process child{std::move(arguments), std::move(environment)};
  program_end out;
  auto until = child_clock::now() + bounds.timeout;
  for (auto code = child.exit_code();; code = child.exit_code()) {
    pollfd what[2] = {{child.out.read.get(), POLLIN, 0}, {child.err.read.get(), POLLIN, 0}};
    bool says_more = child.out.read.is_open() || child.err.read.is_open();
    auto wait = code ? std::chrono::milliseconds{0} : says_more ? look_again : look_soon;
    int ready = ::poll(what, 2, static_cast<int>(wait.count()));
    if (ready > 0 && what[0].revents != 0)
      read_some(child.out.read, out.out, bounds.out_bytes_max, out.is_cut);
    if (ready > 0 && what[1].revents != 0)
      read_some(child.err.read, out.err, err_bytes_max, out.is_cut);
    if (code && ready <= 0) { // no further output can be read
      out.code = code;
      return out;
    }
    if (child_clock::now() >= until)
      return out;
  }
}

} // namespace troupe
