// mcp_serve_stdio: serves one client over two descriptors, a line a message.
//
// Invariants:
//  - one thread reads and writes; threads of the runtime only add lines, and wake it.
//  - nothing is read while more than mcp_queue_bytes_max wait to be written.
//  - a write is of PIPE_BUF bytes at most, to a descriptor that poll() reports as writable. So no
//    write blocks, although the descriptors, which other processes share, stay in blocking mode.
#include "agents/mcp/mcp_child.hpp"
#include "agents/mcp/mcp_connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <iostream>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace troupe {
namespace {

using serve_clock = std::chrono::steady_clock;

error not_served(errc code, const std::string& why) {
  return {code, "serve MCP: " + why};
}

// Reserves stdin and stdout for the protocol during its lifetime: descriptor 0 is empty, 1 is
// stderr.
class taken_descriptors {
public:
  taken_descriptors(int in, int out) : in{copy_of(in)}, out{copy_of(out)} {
    std::cout.flush();
    std::fflush(stdout);
    mcp_pipe_end nothing{in == STDIN_FILENO ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : -1};
    takes_in_ = nothing.is_open() && ::dup2(nothing.get(), STDIN_FILENO) >= 0;
    takes_out_ = out == STDOUT_FILENO && ::dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
  }
  taken_descriptors(const taken_descriptors&) = delete;
  taken_descriptors& operator=(const taken_descriptors&) = delete;
  ~taken_descriptors() {
    std::cout.flush();
    std::fflush(stdout);
    if (takes_in_)
      ::dup2(in.get(), STDIN_FILENO);
    if (takes_out_)
      ::dup2(out.get(), STDOUT_FILENO);
  }

  const mcp_pipe_end in;
  const mcp_pipe_end out;

private:
  static mcp_pipe_end copy_of(int fd) {
    mcp_pipe_end copy{::fcntl(fd, F_DUPFD_CLOEXEC, 3)};
    if (!copy.is_open())
      throw not_served(errc::invalid_config,
                       std::string{std::strerror(errno)} + ": descriptor " + std::to_string(fd));
    return copy;
  }
  bool takes_in_ = false;
  bool takes_out_ = false;
};

// Lines on their way out, and the number of lines that will follow.
class line_queue {
public:
  void expect() {
    std::scoped_lock lock{mutex_};
    ++expected_;
  }
  void put(std::string line) {
    std::scoped_lock lock{mutex_};
    --expected_;
    if (!line.empty()) {
      line += '\n';
      bytes_ += line.size();
      lines_.push_back(std::move(line));
    }
    wake();
  }
  /// A line besides answers. It is dropped while too much waits, because nothing bounds the number
  /// of such lines.
  void put_besides(const std::string& line) {
    std::scoped_lock lock{mutex_};
    if (bytes_ > limits::mcp_queue_bytes_max)
      return;
    bytes_ += line.size() + 1;
    lines_.push_back(line + '\n');
    wake();
  }
  std::optional<std::string> take() {
    std::scoped_lock lock{mutex_};
    if (lines_.empty())
      return std::nullopt;
    auto line = std::move(lines_.front());
    lines_.pop_front();
    bytes_ -= line.size();
    return line;
  }
  std::size_t bytes() const {
    std::scoped_lock lock{mutex_};
    return bytes_;
  }
  bool is_done() const {
    std::scoped_lock lock{mutex_};
    return expected_ == 0 && lines_.empty();
  }

  void wake() const {
    std::uint64_t one = 1;
    [[maybe_unused]] auto written = ::write(wake_.get(), &one, sizeof one);
  }
  int wakes() const noexcept { return wake_.get(); }
  void calm() const {
    std::uint64_t woken = 0;
    [[maybe_unused]] auto drained = ::read(wake_.get(), &woken, sizeof woken);
  }

private:
  const mcp_pipe_end wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  mutable std::mutex mutex_;
  std::deque<std::string> lines_;
  std::size_t bytes_ = 0;
  std::size_t expected_ = 0;
};

class stdio_service {
public:
  stdio_service(const mcp_server& server, const taken_descriptors& ends,
                const mcp_stdio_options& options)
    : connection_{std::make_shared<mcp_connection>(server.host())},
      ends_{ends},
      options_{options} {
    connection_->join();
    connection_->speak_by([lines = lines_](const std::string& text) { lines->put_besides(text); });
  }

  result<void> run();

private:
  bool go_round();
  int wait_at_most() const;
  void no_more();
  void read_some();
  void hear_lines();
  void hear(std::string_view line);
  void write_some();

  const std::shared_ptr<line_queue> lines_ = std::make_shared<line_queue>();
  const std::shared_ptr<mcp_connection> connection_;
  const taken_descriptors& ends_;
  const mcp_stdio_options& options_;
  std::string unread_;
  std::size_t searched_ = 0; // this much of it has no line end
  std::string unsent_;
  std::size_t sent_ = 0;
  std::optional<serve_clock::time_point> until_; // set when nothing more is read: the end of the
                                                 // last writes
  bool is_heard_ = true;                         // the reader of the output is still there
  std::optional<error> wrong_;
};

result<void> stdio_service::run() {
  std::stop_callback stopped{options_.stop, [lines = lines_] { lines->wake(); }};
  while (go_round()) {}
  connection_->close();
  return wrong_ ? result<void>{*wrong_} : result<void>{};
}

// Waits for an event and handles it; false: the service ends.
bool stdio_service::go_round() {
  if (options_.stop.stop_requested())
    no_more();
  bool writes = sent_ < unsent_.size() || lines_->bytes() > 0;
  bool is_over = until_ && ((!writes && lines_->is_done()) || serve_clock::now() >= *until_);
  if (is_over || wrong_ || !is_heard_)
    return false;
  bool reads = !until_ && lines_->bytes() <= limits::mcp_queue_bytes_max;
  std::array<pollfd, 3> what{
    {{.fd = lines_->wakes(), .events = POLLIN, .revents = 0},
     {.fd = reads ? ends_.in.get() : -1, .events = POLLIN, .revents = 0},
     {.fd = ends_.out.get(), .events = static_cast<short>(writes ? POLLOUT : 0), .revents = 0}}};
  ::poll(what.data(), what.size(), wait_at_most());
  lines_->calm();
  if ((what[2].revents & POLLOUT) != 0)
    write_some();
  else if (what[2].revents != 0)
    is_heard_ = false;
  if (what[1].revents != 0)
    read_some();
  return true;
}

int stdio_service::wait_at_most() const {
  if (!until_)
    return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(*until_ - serve_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void stdio_service::no_more() {
  if (!until_)
    until_ = serve_clock::now()
             + std::min<std::chrono::milliseconds>(options_.drain_wait, std::chrono::hours{24});
}

void stdio_service::read_some() {
  std::array<char, 64 << 10> buffer;
  auto n = ::read(ends_.in.get(), buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (n > 0)
    unread_.append(buffer.data(), static_cast<std::size_t>(n));
  else if (!unread_.empty())
    unread_ += '\n'; // the last line may lack its end
  hear_lines();
  if (n <= 0)
    no_more();
}

void stdio_service::hear_lines() {
  std::size_t begin = 0;
  for (;;) {
    auto at = unread_.find('\n', std::max(begin, searched_));
    auto length = (at == unread_.npos ? unread_.size() : at) - begin;
    if (length > limits::mcp_message_bytes_max) {
      wrong_ = not_served(errc::invalid_value, "a message of more than "
                                                 + std::to_string(limits::mcp_message_bytes_max)
                                                 + " bytes");
      return;
    }
    if (at == unread_.npos)
      break;
    hear(std::string_view{unread_}.substr(begin, length));
    begin = at + 1;
  }
  unread_.erase(0, begin);
  searched_ = unread_.size();
}

void stdio_service::hear(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == line.npos)
    return;
  lines_->expect();
  connection_->hear(
    line, {.then = [lines = lines_](mcp_reply reply) { lines->put(std::move(reply.text)); },
           .meanwhile = [lines = lines_](const std::string& text) { lines->put_besides(text); }});
}

void stdio_service::write_some() {
  if (sent_ == unsent_.size()) {
    unsent_ = lines_->take().value_or("");
    sent_ = 0;
  }
  auto n = ::write(ends_.out.get(), unsent_.data() + sent_,
                   std::min<std::size_t>(unsent_.size() - sent_, PIPE_BUF));
  if (n > 0)
    sent_ += static_cast<std::size_t>(n);
  else if (n < 0 && errno != EAGAIN && errno != EINTR)
    is_heard_ = false;
}

} // namespace

result<void> serve_stdio(const mcp_server& server, mcp_stdio_options options) {
  try {
    taken_descriptors ends{options.in, options.out};
    stdio_service service{server, ends, options};
    result<void> how;
    std::thread thread{[&] { // a thread of its own, so that the caller's thread gets no SIGPIPE
      sigset_t all;
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
      how = service.run();
    }};
    thread.join();
    return how;
  } catch (const error& e) {
    return e;
  }
}

} // namespace troupe
