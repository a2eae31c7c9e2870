// mcp_child: starting and ending a server's program.
#include "agents/mcp/mcp_child.hpp"

#include "agents/workspace/spawn_orders.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {
namespace {

error not_started(const std::string& file, const std::string& why) {
  return {errc::invalid_config, "start an MCP server: " + why + ": " + file};
}

struct child_pipe {
  mcp_pipe_end read = mcp_pipe_end{};
  mcp_pipe_end write = mcp_pipe_end{};
};

child_pipe make_pipe(const std::string& file) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw not_started(file, std::strerror(errno));
  return {mcp_pipe_end{ends[0]}, mcp_pipe_end{ends[1]}};
}

void set_nonblocking(const mcp_pipe_end& end) {
  ::fcntl(end.get(), F_SETFL, ::fcntl(end.get(), F_GETFL) | O_NONBLOCK);
}

std::vector<std::string> environment_of(const mcp_program& program) {
  std::vector<std::string> out;
  for (const auto& name : program.inherited) {
    bool given = std::ranges::any_of(program.environment,
                                     [&](const auto& one) { return one.first == name; });
    if (const char* inherited = given ? nullptr : std::getenv(name.c_str()))
      out.push_back(name + '=' + inherited);
  }
  for (const auto& [name, text] : program.environment)
    out.push_back(name + '=' + text);
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

void require_plain(const mcp_program& program) {
  auto has_nul = [](const std::string& text) { return text.find('\0') != text.npos; };
  if (program.file.empty())
    throw not_started(program.file, "the name of the program is empty");
  if (has_nul(program.file) || has_nul(program.directory)
      || std::ranges::any_of(program.arguments, has_nul))
    throw not_started(program.file, "its name, folder or arguments contain a NUL");
  for (const auto& [name, text] : program.environment)
    if (name.empty() || name.find('=') != name.npos || has_nul(name) || has_nul(text))
      throw not_started(program.file, "the name or text of an environment variable is not valid");
}

} // namespace

mcp_pipe_end& mcp_pipe_end::operator=(mcp_pipe_end&& other) noexcept {
  close();
  fd_ = other.release();
  return *this;
}

void mcp_pipe_end::close() noexcept {
  if (is_open())
    ::close(release());
}

int mcp_pipe_end::release() noexcept {
  return std::exchange(fd_, -1);
}

mcp_child::mcp_child(const mcp_program& program, bool keeps_log) {
  require_plain(program);
  auto to = make_pipe(program.file);
  auto from = make_pipe(program.file);
  auto said = keeps_log ? make_pipe(program.file) : child_pipe{};
  spawn_orders orders;
  ::posix_spawn_file_actions_adddup2(&orders.actions, to.read.get(), 0);
  ::posix_spawn_file_actions_adddup2(&orders.actions, from.write.get(), 1);
  if (keeps_log)
    ::posix_spawn_file_actions_adddup2(&orders.actions, said.write.get(), 2);
  else
    ::posix_spawn_file_actions_addopen(&orders.actions, 2, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&orders.actions, 3);
  if (!program.directory.empty())
    ::posix_spawn_file_actions_addchdir_np(&orders.actions, program.directory.c_str());
  std::vector<std::string> words{program.file};
  words.insert(words.end(), program.arguments.begin(), program.arguments.end());
  auto settings = environment_of(program);
  if (int failed = ::posix_spawnp(&pid_, program.file.c_str(), &orders.actions, &orders.attributes,
                                  pointers_to(words).data(), pointers_to(settings).data()))
    throw not_started(program.file, std::strerror(failed));
  in = std::move(to.write);
  out = std::move(from.read);
  log = std::move(said.read);
  ends = mcp_pipe_end{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
  set_nonblocking(in);
  set_nonblocking(out);
  if (keeps_log)
    set_nonblocking(log);
}

mcp_child::~mcp_child() {
  // Before the program is reaped, so that its number is still its own.
  signal_group(SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
}

bool mcp_child::wait(std::chrono::milliseconds at_most) {
  auto until = std::chrono::steady_clock::now() + at_most;
  constexpr std::chrono::milliseconds look{10}; // for kernels without a pidfd
  for (;;) {
    siginfo_t state{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &state, WEXITED | WNOHANG | WNOWAIT) == 0
        && state.si_pid != 0)
      return true;
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      until - std::chrono::steady_clock::now());
    if (left.count() <= 0)
      return false;
    pollfd one{.fd = ends.get(), .events = POLLIN, .revents = 0};
    ::poll(&one, 1, static_cast<int>((ends.is_open() ? left : std::min(left, look)).count()));
  }
}

void mcp_child::signal_group(int signal) noexcept {
  ::kill(-pid_, signal);
}

} // namespace troupe
