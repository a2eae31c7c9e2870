// See shell.hpp.
//
// Invariants:
//  - a command's processes are a group of their own, which is killed when the command is over.
//  - `timeout` bounds a command also when this process is killed.
#include "examples/coder/shell.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace coder {

namespace {

using clock = std::chrono::steady_clock;
using words = std::vector<std::string>;

[[noreturn]] void fail(const char* what, int why) {
  throw troupe::node_error{"ToolError", std::string{what} + ": " + std::strerror(why)};
}

std::vector<char*> pointers(words& of) {
  std::vector<char*> out;
  for (auto& word : of)
    out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

words sandbox_of(const project& p) {
  auto folder = p.folder.string();
  words out{"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"};
  if (const char* home = std::getenv("HOME"); home && home[0] == '/' && home[1] != '\0')
    out.insert(out.end(), {"--tmpfs", home});
  out.insert(out.end(),
             {"--bind", folder, folder, "--tmpfs", folder + '/' + own_folder, "--unshare-all",
              "--die-with-parent", "--new-session", "--chdir", folder, "--"});
  return out;
}

words command_line(const project& p, const std::string& command, std::chrono::seconds time_max,
                   bool sandbox) {
  auto out = sandbox ? sandbox_of(p) : words{};
  out.insert(out.end(), {"timeout", "--kill-after=1", std::to_string(time_max.count()), "/bin/sh",
                         "-c", command});
  return out;
}

// Nothing of this process's environment but where programs are.
words environment_of(const project& p) {
  const char* path = std::getenv("PATH");
  return {std::string{"PATH="} + (path ? path : "/usr/bin:/bin"), "HOME=" + p.folder.string(),
          "LANG=C.UTF-8", "TERM=dumb"};
}

class spawned {
public:
  spawned(words arguments, words environment, int folder) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      fail("make a pipe", errno);
    out_ = ends[0];
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    posix_spawn_file_actions_adddup2(&files, ends[1], 2);
    if (folder >= 0)
      posix_spawn_file_actions_addfchdir_np(&files, folder);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    posix_spawnattr_t how;
    posix_spawnattr_init(&how);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK
                                     | POSIX_SPAWN_SETSIGDEF);
    auto argv = pointers(arguments);
    auto envp = pointers(environment);
    int failed = ::posix_spawnp(&id_, argv[0], &files, &how, argv.data(), envp.data());
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    ::close(ends[1]);
    if (failed != 0) {
      ::close(out_);
      fail("start a command", failed);
    }
  }
  spawned(const spawned&) = delete;
  spawned& operator=(const spawned&) = delete;
  ~spawned() {
    ::kill(-id_, SIGKILL);
    if (!status_)
      ::waitpid(id_, nullptr, 0);
    ::close(out_);
  }

  /// How it ended, once it has.
  std::optional<int> status() {
    int status = 0;
    if (!status_ && ::waitpid(id_, &status, WNOHANG) == id_)
      status_ = status;
    return status_;
  }

  /// What it printed meanwhile; false at the end of it.
  bool read(std::chrono::milliseconds patience, std::string& into, std::size_t bytes_max,
            std::size_t& left_out) {
    pollfd what{out_, POLLIN, 0};
    if (::poll(&what, 1, static_cast<int>(patience.count())) <= 0)
      return patience.count() > 0;
    std::array<char, 4096> block;
    auto got = ::read(out_, block.data(), block.size());
    if (got <= 0)
      return got < 0 && errno == EINTR;
    auto size = static_cast<std::size_t>(got);
    auto room = std::min(size, bytes_max - into.size());
    into.append(block.data(), room);
    left_out += size - room;
    return true;
  }

private:
  pid_t id_ = 0;
  int out_ = -1;
  std::optional<int> status_;
};

std::string ending(std::optional<int> status, const shell_limits& limits) {
  if (!status || (WIFEXITED(*status) && WEXITSTATUS(*status) == 124))
    return "[stopped after " + std::to_string(limits.time_max.count()) + " s]";
  if (WIFSIGNALED(*status))
    return "[ended by signal " + std::to_string(WTERMSIG(*status)) + "]";
  return WEXITSTATUS(*status) == 0 ? "" : "[exit " + std::to_string(WEXITSTATUS(*status)) + "]";
}

} // namespace

bool has_sandbox() {
  static const bool works = [] {
    try {
      spawned trial{{"bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"},
                    {"PATH=" + std::string{std::getenv("PATH") ? std::getenv("PATH") : ""}},
                    -1};
      std::string said;
      std::size_t more = 0;
      while (trial.read(std::chrono::milliseconds{50}, said, 0, more) && !trial.status()) {}
      while (!trial.status())
        ::poll(nullptr, 0, 1);
      return *trial.status() == 0;
    } catch (const troupe::node_error&) {
      return false;
    }
  }();
  return works;
}

std::string run_command(const project& p, const std::string& command, const shell_limits& limits,
                        bool sandbox, const std::function<bool()>& stopped) {
  using namespace std::chrono_literals;
  spawned child{command_line(p, command, limits.time_max, sandbox), environment_of(p),
                p.files.descriptor()};
  std::string said;
  std::size_t left_out = 0;
  auto end = clock::now() + limits.time_max + 3s; // `timeout` is to be first
  bool open = true;
  while (!child.status() && clock::now() < end && !stopped())
    if (open)
      open = child.read(50ms, said, limits.output_bytes_max, left_out);
    else
      ::poll(nullptr, 0, 10); // it closed its output and goes on
  while (open && child.read(0ms, said, limits.output_bytes_max, left_out)) {}
  auto out = readable(said);
  if (left_out > 0)
    out += "\n[" + std::to_string(left_out) + " bytes left out]";
  auto how = ending(child.status(), limits);
  if (!how.empty())
    out += (out.empty() || out.ends_with('\n') ? "" : "\n") + how;
  return out.empty() ? "[no output]" : out;
}

troupe::tool shell_tool(project_ptr p, shell_limits limits, bool sandbox) {
  return {"shell", "Runs a command of /bin/sh in the project's folder, and gives what it prints.",
          [p, limits, sandbox](troupe::arg<"command", std::string> command,
                               troupe::tool_runtime& run) {
            return run_command(*p, *command, limits, sandbox,
                               [&run] { return run.info().stop_requested(); });
          }};
}

} // namespace coder
