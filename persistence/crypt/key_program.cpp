// key_program: starting, reading and ending a program of a key provider.
//
// Invariants:
//  - The input is in the pipe before the program starts. So writing neither blocks nor raises
//    SIGPIPE.
//  - The program is killed, with its group, before it is reaped. Until then, no other process can
//    get its number.
#include "persistence/crypt/key_program.hpp"

#include "persistence/crypt/private_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

using program_clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds next_look{20}; // while the program may still write
constexpr std::chrono::milliseconds soon{1};       // after it has closed its output

error program_failed(const std::string& program, std::string_view what) {
  std::string text{"run the key provider's program: "};
  text.append(what).append(": ").append(program);
  return {errc::storage_failed, std::move(text)};
}

std::string errno_text(int number) {
  return std::generic_category().message(number);
}

struct pipe_ends {
  owned_descriptor read{-1};
  owned_descriptor write{-1};
};

std::optional<pipe_ends> make_pipe() {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return std::nullopt;
  return pipe_ends{owned_descriptor{ends[0]}, owned_descriptor{ends[1]}};
}

// A process group of its own, default signals, and the two pipes.
class start_orders {
public:
  start_orders(int input, int output) {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input, 0);
    ::posix_spawn_file_actions_adddup2(&actions, output, 1);
    ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK
                                              | POSIX_SPAWN_SETSIGDEF);
  }
  ~start_orders() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  start_orders(const start_orders&) = delete;
  start_orders& operator=(const start_orders&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

class started_program {
public:
  explicit started_program(pid_t id) noexcept : id_{id} {}
  started_program(const started_program&) = delete;
  started_program& operator=(const started_program&) = delete;
  ~started_program() {
    ::kill(-id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  /// Its exit code; nullopt while it runs. It is reaped later.
  std::optional<int> exit_code() const {
    siginfo_t how{};
    if (::waitid(P_PID, static_cast<id_t>(id_), &how, WEXITED | WNOHANG | WNOWAIT) != 0
        || how.si_pid == 0)
      return std::nullopt;
    return how.si_code == CLD_EXITED ? how.si_status : 128 + how.si_status;
  }

private:
  pid_t id_;
};

// Reads the available bytes, as many as there is room for. False at the end of the output.
bool read_available(int from, std::string& out, std::size_t bytes_max) {
  std::array<char, 4096> block;
  auto got = ::read(from, block.data(), block.size());
  if (got < 0 && errno == EINTR)
    return true;
  if (got > 0)
    out.append(block.data(), std::min(static_cast<std::size_t>(got), bytes_max - out.size()));
  ::explicit_bzero(block.data(), block.size());
  return got > 0;
}

// Reads until the program has ended and its output was read; nullopt when time is up.
std::optional<int> read_to_end(const started_program& program, int output,
                               program_clock::time_point until, std::string& out,
                               std::size_t bytes_max) {
  for (auto is_open = true;;) {
    auto code = program.exit_code();
    pollfd at{is_open ? output : -1, POLLIN, 0};
    auto wait = code ? std::chrono::milliseconds{0} : is_open ? next_look : soon;
    auto ready = ::poll(&at, 1, static_cast<int>(wait.count()));
    if (ready > 0)
      is_open = read_available(output, out, bytes_max);
    if (code && ready <= 0)
      return code;
    if (program_clock::now() >= until)
      return std::nullopt;
  }
}

} // namespace

result<key_program_end> run_key_program(std::vector<std::string> arguments, std::string_view input,
                                        std::chrono::milliseconds timeout,
                                        std::size_t out_bytes_max) {
  auto until = program_clock::now() + timeout;
  auto name = arguments.front();
  auto in = make_pipe();
  auto out = make_pipe();
  if (!in || !out)
    return program_failed(name, errno_text(errno));
  ::fcntl(in->write.fd(), F_SETFL, O_NONBLOCK);
  if (::write(in->write.fd(), input.data(), input.size()) != static_cast<ssize_t>(input.size()))
    return program_failed(name, "its input does not fit into a pipe");
  std::vector<char*> argv;
  for (auto& word : arguments)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t id = 0;
  {
    start_orders how{in->read.fd(), out->write.fd()};
    if (auto failed = ::posix_spawnp(&id, argv[0], &how.actions, &how.attributes, argv.data(),
                                     environ);
        failed != 0)
      return program_failed(name, "it can't be started: " + errno_text(failed));
  }
  started_program program{id};
  ::close(in->write.take());
  ::close(in->read.take());
  ::close(out->write.take());
  key_program_end end;
  end.out.reserve(out_bytes_max + 1); // a string that grows leaves copies in memory
  auto code = read_to_end(program, out->read.fd(), until, end.out, out_bytes_max + 1);
  if (!code) {
    ::explicit_bzero(end.out.data(), end.out.size());
    return program_failed(name, "it did not end within " + std::to_string(timeout.count()) + " ms");
  }
  end.code = *code;
  return end;
}

} // namespace troupe
