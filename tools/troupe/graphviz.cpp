// graphviz: running a program, with its input in memory and its outputs in pipes.
#include "tools/troupe/graphviz.hpp"

#include <troupe/error.hpp>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace troupe::cli {
namespace {

constexpr std::size_t picture_bytes_max = 64u << 20;
constexpr std::size_t complaint_bytes_max = 1u << 10;
constexpr std::chrono::milliseconds look_again{20}; // between checks whether it has ended

std::int64_t checked(std::int64_t outcome, const char* what) {
  if (outcome < 0)
    throw std::system_error{errno, std::generic_category(), what};
  return outcome;
}

// An owned descriptor; -1: none.
class open_file {
public:
  explicit open_file(int fd = -1) noexcept : fd_{fd} {}
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() { set(-1); }
  void set(int fd) noexcept {
    if (fd_ >= 0)
      ::close(fd_);
    fd_ = fd;
  }
  int get() const noexcept { return fd_; }

private:
  int fd_;
};

// One output of a program.
struct output_pipe {
  open_file read, write;
  std::string text; // at most one byte more than `most`
  const std::size_t most;

  explicit output_pipe(std::size_t bytes_max) : most{bytes_max} {
    int ends[2];
    checked(::pipe2(ends, O_CLOEXEC), "make a pipe");
    read.set(ends[0]);
    write.set(ends[1]);
  }

  // Reads the available bytes; closes the pipe at its end.
  void take_some() {
    std::array<char, 64u << 10> block;
    auto got = ::read(read.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR)
      return;
    if (got <= 0)
      return read.set(-1);
    text.append(block.data(), std::min(static_cast<std::size_t>(got), most + 1 - text.size()));
  }
};

// A program that was not found on PATH.
struct is_missing {};

// A program while it runs; the destructor ends it. The first argument is its name.
class drawing_program {
public:
  drawing_program(std::vector<std::string> command, int input, int output, int complaints)
    : name_{command.at(0)} {
    std::vector<char*> arguments;
    for (auto& argument : command)
      arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input, 0);
    ::posix_spawn_file_actions_adddup2(&actions, output, 1);
    ::posix_spawn_file_actions_adddup2(&actions, complaints, 2);
    int failed = ::posix_spawnp(&id_, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed == ENOENT)
      throw is_missing{};
    if (failed != 0)
      throw std::system_error{failed, std::generic_category(), "draw: start " + name_};
  }
  drawing_program(const drawing_program&) = delete;
  drawing_program& operator=(const drawing_program&) = delete;
  ~drawing_program() {
    ::kill(id_, SIGKILL); // until it is reaped, no other process can get its number
    ::waitpid(id_, nullptr, 0);
  }

  // Why it failed; empty after a success, nullopt while it runs.
  std::optional<std::string> end() const {
    siginfo_t how{};
    checked(::waitid(P_PID, static_cast<id_t>(id_), &how, WEXITED | WNOHANG | WNOWAIT),
            "wait for a program");
    if (how.si_pid == 0)
      return std::nullopt;
    if (how.si_code != CLD_EXITED)
      return name_ + " was ended by signal " + std::to_string(how.si_status);
    return how.si_status == 0 ? ""
                              : name_ + " failed with exit code " + std::to_string(how.si_status);
  }

private:
  std::string name_;
  pid_t id_ = 0;
};

// Makes `text` the content of an empty file, to be read from the beginning.
void fill(const open_file& file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();)
    done += static_cast<std::size_t>(
      checked(::write(file.get(), text.data() + done, text.size() - done), "write to memory"));
  checked(::lseek(file.get(), 0, SEEK_SET), "rewind a file in memory");
}

// The complaints of a program, to be appended to how it ended.
std::string reason_in(std::string_view complaints) {
  auto size = complaints.find_last_not_of(" \r\n") + 1;
  return size == 0 ? "" : ": " + std::string{complaints.substr(0, size)};
}

// The output of a program that reads the text. Throws is_missing.
std::string picture_by(std::vector<std::string> command, const std::string& dot_text,
                       const std::string& format, std::chrono::milliseconds patience) {
  auto name = command.at(0);
  auto failure = [&format](errc code, const std::string& why) {
    return error{code, "draw " + format + ": " + why};
  };
  auto until = std::chrono::steady_clock::now() + patience;
  open_file input{static_cast<int>(checked(::memfd_create("dot", MFD_CLOEXEC), "make a file"))};
  fill(input, dot_text);
  output_pipe picture{picture_bytes_max};
  output_pipe complaints{complaint_bytes_max};
  drawing_program program{std::move(command), input.get(), picture.write.get(),
                          complaints.write.get()};
  picture.write.set(-1);
  complaints.write.set(-1);
  for (auto end = program.end();; end = program.end()) {
    pollfd what[] = {{picture.read.get(), POLLIN, 0}, {complaints.read.get(), POLLIN, 0}};
    int ready = ::poll(what, 2, end ? 0 : static_cast<int>(look_again.count()));
    if (ready > 0 && what[0].revents != 0)
      picture.take_some();
    if (ready > 0 && what[1].revents != 0)
      complaints.take_some();
    if (picture.text.size() > picture_bytes_max)
      throw failure(errc::overloaded, "the picture has more than 64 MiB");
    if (end && ready == 0) { // no further output can be read
      if (!end->empty())
        throw failure(errc::node_failed, *end + reason_in(complaints.text));
      return std::move(picture.text);
    }
    if (std::chrono::steady_clock::now() >= until)
      throw failure(errc::node_timeout, name + " has not ended in time; --timeout allows more");
  }
}

} // namespace

std::string graphviz_picture(const std::string& dot_text, const std::string& format,
                             std::chrono::milliseconds patience) {
  try {
    return picture_by({"dot", "-T" + format}, dot_text, format, patience);
  } catch (const is_missing&) {
    throw error{errc::invalid_config,
                "draw " + format + ": dot is not on PATH: install graphviz, or use --format dot"};
  }
}

std::optional<std::string> graph_easy_text(const std::string& dot_text,
                                           std::chrono::milliseconds patience) {
  try {
    return picture_by({"graph-easy", "--from=dot", "--as=ascii"}, dot_text, "ascii", patience);
  } catch (const is_missing&) {
    return std::nullopt;
  }
}

} // namespace troupe::cli
