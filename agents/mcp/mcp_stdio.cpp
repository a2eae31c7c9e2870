// mcp_stdio: a client's connection to an MCP server over stdin and stdout. Each has a thread, which
// alone reads and writes.
//
// Invariants:
//  - each question gets an answer: from the server, by its time-out, or when the connection ends.
//    Answers are given without a lock held.
//  - no buffer grows beyond mcp_message_bytes_max and mcp_queue_bytes_max, whatever the server
//    does.
//  - all signals are blocked on the thread: writing to a server that is gone gives EPIPE, not
//    SIGPIPE.
#include "agents/mcp/mcp_child.hpp"
#include "agents/mcp/mcp_transport.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace troupe {
namespace {

using stdio_clock = std::chrono::steady_clock;
constexpr std::chrono::hours for_ever{24 * 365}; // small enough for sums with the clock

class mcp_stdio final : public mcp_transport {
public:
  mcp_stdio(const mcp_program& program, mcp_options options)
    : options_{std::move(options)},
      stop_wait_{program.stop_wait},
      child_{program, options_.on_log != nullptr},
      wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      thread_{[this] { run(); }} {}

  ~mcp_stdio() override {
    {
      std::scoped_lock lock{mutex_};
      stops_ = true;
    }
    wake();
    thread_.join();
  }

  std::int64_t ask(std::string method, value params, std::chrono::milliseconds timeout,
                   mcp_session::answer then) override;
  void cancel(std::int64_t id) override;
  void tell(std::string_view method, const value& params, std::function<void()> then) override {
    {
      std::scoped_lock lock{mutex_};
      send(mcp_notification(method, params)); // sent in order: counts as arrived
    }
    then();
  }
  void agree(const std::string&) override {}
  std::uint64_t tool_changes() const override {
    std::scoped_lock lock{mutex_};
    return session_.tool_changes();
  }

private:
  struct deadline {
    stdio_clock::time_point at;
    std::chrono::milliseconds after;
  };

  void wake() const {
    std::uint64_t one = 1;
    [[maybe_unused]] auto written = ::write(wake_.get(), &one, sizeof one);
  }
  bool send(std::string line); // called under the lock
  void log(std::string_view line) const;

  // -- on the thread
  void run();
  bool go_round();
  int wait_at_most() const;
  void fail_late();
  void write_some();
  enum class read_end : std::uint8_t { some, later, over };
  read_end read_some();
  bool hear_lines();
  void read_log();
  void end(const error& why);
  void stop();

  const mcp_options options_;
  const std::chrono::milliseconds stop_wait_;
  mcp_child child_;
  mcp_pipe_end wake_;

  mutable std::mutex mutex_;
  mcp_session session_;
  std::map<std::int64_t, deadline> deadlines_;
  std::string unsent_;
  std::size_t sent_ = 0; // this much of it is in the pipe
  std::optional<error> ended_;
  bool stops_ = false;

  std::string unread_;       // used by the thread only
  std::size_t searched_ = 0; // this much of it has no line end
  std::string unread_log_;

  std::thread thread_; // the last member: it uses all others
};

bool mcp_stdio::send(std::string line) {
  if (line.empty())
    return true;
  if (ended_ || unsent_.size() - sent_ + line.size() > limits::mcp_queue_bytes_max)
    return false;
  unsent_ += line;
  unsent_ += '\n';
  wake();
  return true;
}

void mcp_stdio::log(std::string_view line) const {
  if (options_.on_log && !line.empty())
    options_.on_log(line.substr(0, limits::mcp_log_bytes_max));
}

std::int64_t mcp_stdio::ask(std::string method, value params, std::chrono::milliseconds timeout,
                            mcp_session::answer then) {
  std::optional<error> refused;
  std::int64_t id = 0;
  {
    std::scoped_lock lock{mutex_};
    refused = ended_ ? ended_ : session_.refusal(options_.name);
    if (!refused) {
      id = session_.ask(method, then);
      auto at = stdio_clock::now() + std::min<std::chrono::milliseconds>(timeout, for_ever);
      deadlines_.emplace(id, deadline{at, timeout});
      if (!send(mcp_request(id, method, params))) {
        session_.forget(id);
        deadlines_.erase(id);
        refused = error{errc::overloaded, "ask an MCP server: " + options_.name
                                            + ": the server does not read its input"};
      }
    }
  }
  if (refused)
    then(*refused);
  return id;
}

void mcp_stdio::cancel(std::int64_t id) {
  std::scoped_lock lock{mutex_};
  deadlines_.erase(id);
  if (session_.forget(id))
    send(mcp_cancellation(id));
}

// ---- the thread -----------------------------------------------------------------------------

void mcp_stdio::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (go_round()) {}
  stop();
}

// Waits for an event and handles it; false: the connection ends.
bool mcp_stdio::go_round() {
  std::array<pollfd, 5> what{{{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                              {.fd = child_.out.get(), .events = POLLIN, .revents = 0},
                              {.fd = child_.log.get(), .events = POLLIN, .revents = 0},
                              {.fd = child_.ends.get(), .events = POLLIN, .revents = 0},
                              {.fd = -1, .events = POLLOUT, .revents = 0}}};
  {
    std::scoped_lock lock{mutex_};
    if (stops_)
      return false;
    if (!unsent_.empty())
      what[4].fd = child_.in.get();
  }
  ::poll(what.data(), what.size(), wait_at_most());
  std::uint64_t woken = 0;
  [[maybe_unused]] auto drained = ::read(wake_.get(), &woken, sizeof woken);
  if (what[4].revents != 0)
    write_some();
  if (what[2].revents != 0)
    read_log();
  bool has_ended = what[3].revents != 0;
  auto read = what[1].revents != 0 || has_ended ? read_some() : read_end::later;
  if (read == read_end::later && has_ended) { // all output before its end was read
    end(mcp_failure("connection", options_.name + ": its program has ended"));
    return false;
  }
  if (read == read_end::over)
    return false;
  fail_late();
  return true;
}

int mcp_stdio::wait_at_most() const {
  std::scoped_lock lock{mutex_};
  if (deadlines_.empty())
    return -1;
  auto first = std::ranges::min_element(deadlines_, {}, [](const auto& d) { return d.second.at; });
  auto left = std::chrono::ceil<std::chrono::milliseconds>(first->second.at - stdio_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void mcp_stdio::fail_late() {
  std::vector<std::pair<mcp_session::answer, std::chrono::milliseconds>> late;
  {
    std::scoped_lock lock{mutex_};
    auto now = stdio_clock::now();
    for (auto at = deadlines_.begin(); at != deadlines_.end();) {
      if (at->second.at > now) {
        ++at;
        continue;
      }
      if (auto then = session_.forget(at->first))
        late.emplace_back(std::move(*then), at->second.after);
      send(mcp_cancellation(at->first));
      at = deadlines_.erase(at);
    }
  }
  for (auto& [then, after] : late)
    then(error{errc::node_timeout, "ask an MCP server: " + options_.name + ": no answer within "
                                     + std::to_string(after.count()) + " ms"});
}

void mcp_stdio::write_some() {
  std::scoped_lock lock{mutex_};
  auto n = ::write(child_.in.get(), unsent_.data() + sent_, unsent_.size() - sent_);
  if (n > 0)
    sent_ += static_cast<std::size_t>(n);
  else if (n < 0 && errno != EAGAIN && errno != EINTR) {
    sent_ = unsent_.size(); // the server has closed its stdin; its further output is still read
    child_.in.close();
  }
  if (sent_ < unsent_.size() / 2)
    return;
  unsent_.erase(0, sent_);
  sent_ = 0;
}

// Reads once a round, so that a server which never stops sending does not block the rest.
mcp_stdio::read_end mcp_stdio::read_some() {
  std::array<char, 64 << 10> buffer;
  auto n = ::read(child_.out.get(), buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return read_end::later;
  if (n <= 0) {
    end(mcp_failure("connection", options_.name + ": it has closed its stdout"));
    return read_end::over;
  }
  unread_.append(buffer.data(), static_cast<std::size_t>(n));
  return hear_lines() ? read_end::some : read_end::over;
}

bool mcp_stdio::hear_lines() {
  std::size_t begin = 0;
  for (;;) {
    auto at = unread_.find('\n', std::max(begin, searched_));
    auto length = (at == unread_.npos ? unread_.size() : at) - begin;
    if (length > limits::mcp_message_bytes_max) {
      end(mcp_failure("connection", options_.name + ": a message of more than "
                                      + std::to_string(limits::mcp_message_bytes_max) + " bytes"));
      return false;
    }
    if (at == unread_.npos)
      break;
    auto line = std::string_view{unread_}.substr(begin, length);
    begin = at + 1;
    if (line.find_first_not_of(" \t\r") == line.npos)
      continue;
    mcp_session::heard heard;
    {
      std::scoped_lock lock{mutex_};
      heard = session_.hear(line);
      if (heard.id)
        deadlines_.erase(*heard.id);
      if (!heard.reply.empty())
        send(std::move(heard.reply));
    }
    log(heard.log);
    if (heard.then)
      heard.then(std::move(*heard.with));
  }
  unread_.erase(0, begin);
  searched_ = unread_.size();
  return true;
}

void mcp_stdio::read_log() {
  std::array<char, 4096> buffer;
  auto n = ::read(child_.log.get(), buffer.data(), buffer.size());
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
    child_.log.close();
  if (n <= 0)
    return;
  unread_log_.append(buffer.data(), static_cast<std::size_t>(n));
  for (std::size_t at = 0; (at = unread_log_.find('\n')) != unread_log_.npos;) {
    log(std::string_view{unread_log_}.substr(0, at));
    unread_log_.erase(0, at + 1);
  }
  if (unread_log_.size() > limits::mcp_log_bytes_max)
    unread_log_.resize(limits::mcp_log_bytes_max);
}

void mcp_stdio::end(const error& why) {
  std::vector<mcp_session::answer> waiting;
  {
    std::scoped_lock lock{mutex_};
    ended_ = why;
    unsent_.clear();
    sent_ = 0;
    deadlines_.clear();
    waiting = session_.forget_all();
  }
  for (auto& then : waiting)
    then(why);
}

void mcp_stdio::stop() {
  end(mcp_failure("connection",
                  ended_ ? ended_->text() : options_.name + ": the connection was closed"));
  child_.in.close();
  child_.out.close();
  child_.log.close();
  if (child_.wait(stop_wait_))
    return;
  child_.signal_group(SIGTERM);
  child_.wait(stop_wait_);
}

} // namespace

std::shared_ptr<mcp_transport> make_mcp_stdio(const mcp_program& program,
                                              const mcp_options& options) {
  return std::make_shared<mcp_stdio>(program, options);
}

} // namespace troupe
