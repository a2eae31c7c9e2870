// mcp_stdio: a client's connection to an MCP server over stdin and stdout. Each has a thread, which
// alone reads and writes.
//
// Invariants:
//  - each question gets an answer: from the server, by its time-out, or when its program ends.
//    Answers are given without a lock held.
//  - no buffer grows beyond mcp_message_bytes_max and mcp_queue_bytes_max, whatever the server
//    does.
//  - all signals are blocked on the thread: writing to a server that is gone gives EPIPE, not
//    SIGPIPE.
//  - a program that died is started again by the next question, at most restarts_max times in a
//    row. Questions wait for its greeting, and their time passes meanwhile.
#include "agents/mcp/mcp_child.hpp"
#include "agents/mcp/mcp_transport.hpp"
#include "agents/messages/json_text.hpp"

#include <algorithm>
#include <array>
#include <atomic>
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
    : mcp_transport{std::move(options)},
      program_{program},
      child_{std::make_unique<mcp_child>(program_, options_.on_log != nullptr)},
      wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      thread_{[this] { live(); }} {}

  ~mcp_stdio() override {
    stops_ = true;
    wake();
    if (thread_.joinable())
      thread_.join();
  }

  /// Ends a connection without an owner. An answer may have dropped the last reference, on the
  /// connection's own thread. That thread then destroys the connection when it ends.
  static void release(mcp_stdio* one) {
    if (one->thread_.get_id() != std::this_thread::get_id())
      return delete one;
    one->ends_itself_ = true;
    one->stops_ = true;
  }

  std::int64_t ask(std::string method, value params, std::chrono::milliseconds timeout,
                   mcp_session::answer then, std::shared_ptr<mcp_listener> listener) override;
  void cancel(std::int64_t id) override;
  void extend(std::int64_t id, std::chrono::milliseconds within) override;
  void tell(std::string_view method, const value& params, std::function<void()> then) override {
    {
      std::scoped_lock lock{mutex_};
      send(mcp_notification(method, params)); // sent in order: counts as arrived
    }
    then();
  }
  void reply(std::string text) override {
    std::scoped_lock lock{mutex_};
    if (program_state_ == stage::runs)
      send(std::move(text));
  }
  void agree(const value&) override {
    std::scoped_lock lock{mutex_};
    is_agreed_ = true;
  }

private:
  // The program runs and was greeted; it is dead; it was started again and is greeted.
  enum class stage : std::uint8_t { runs, dead, greeted };
  struct deadline {
    stdio_clock::time_point at;
    std::chrono::milliseconds after;
  };
  static stdio_clock::time_point at_most(std::chrono::milliseconds within) {
    return stdio_clock::now() + std::min<std::chrono::milliseconds>(within, for_ever);
  }

  void wake() const {
    std::uint64_t one = 1;
    [[maybe_unused]] auto written = ::write(wake_.get(), &one, sizeof one);
  }
  bool send(std::string line);         // called under the lock
  bool send_or_hold(std::string line); // called under the lock

  // -- on the thread
  void live();
  void run();
  bool go_round();
  int wait_at_most() const;
  void fail_late();
  void write_some();
  enum class read_end : std::uint8_t { some, later, over };
  read_end read_some();
  bool hear_lines();
  void read_log();
  void fail_all(const error& why);
  bool lose(const error& why);
  bool start_again();
  void was_greeted(const result<value>& greeting);
  void stop_program();
  void end(const error& why);

  const mcp_program program_;
  std::unique_ptr<mcp_child> child_; // used by the thread only; null: the program is dead
  mcp_pipe_end wake_;

  // under the lock
  std::map<std::int64_t, deadline> deadlines_;
  std::string unsent_;
  std::size_t sent_ = 0; // this much of it is in the pipe
  std::string held_;     // lines that wait for a program
  stage program_state_ = stage::runs;
  bool is_agreed_ = false; // the first greeting was answered: only then a program is started again
  std::optional<error> ended_;

  std::atomic<bool> stops_ = false;

  // used by the thread only
  bool ends_itself_ = false;
  std::string unread_;
  std::size_t searched_ = 0; // this much of it has no line end
  std::string unread_log_;
  unsigned deaths_ = 0; // in a row
  stdio_clock::time_point started_ = stdio_clock::now();
  stdio_clock::time_point not_before_{}; // of the next start
  std::optional<error> greeting_failed_;

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

// A program that is not there yet gets the line after its greeting.
bool mcp_stdio::send_or_hold(std::string line) {
  if (program_state_ == stage::runs)
    return send(std::move(line));
  if (held_.size() + line.size() > limits::mcp_queue_bytes_max)
    return false;
  if (!line.empty())
    held_ += line + '\n';
  wake();
  return true;
}

std::int64_t mcp_stdio::ask(std::string method, value params, std::chrono::milliseconds timeout,
                            mcp_session::answer then, std::shared_ptr<mcp_listener> listener) {
  std::optional<error> refused;
  std::int64_t id = -1;
  {
    std::scoped_lock lock{mutex_};
    bool listens = listener != nullptr;
    refused = ended_ ? ended_ : session_.refusal(options_.name);
    if (!refused) {
      id = session_.ask(method, then, std::move(listener));
      deadlines_.emplace(id, deadline{at_most(timeout), timeout});
      if (!send_or_hold(question_text(id, method, params, listens))) {
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
    send_or_hold(mcp_cancellation(id));
}

void mcp_stdio::extend(std::int64_t id, std::chrono::milliseconds within) {
  std::scoped_lock lock{mutex_};
  auto found = deadlines_.find(id);
  if (found == deadlines_.end())
    return;
  found->second = {at_most(within), within};
  wake();
}

// ---- the thread -----------------------------------------------------------------------------

void mcp_stdio::live() {
  run();
  if (!ends_itself_)
    return;
  thread_.detach();
  delete this;
}

void mcp_stdio::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (go_round()) {}
  end(ended_ ? mcp_failure("connection", ended_->text()) : closed());
  stop_program();
}

// Waits for an event and handles it; false: the connection ends.
bool mcp_stdio::go_round() {
  std::array<pollfd, 5> what{
    {{.fd = wake_.get(), .events = POLLIN, .revents = 0},
     {.fd = child_ ? child_->out.get() : -1, .events = POLLIN, .revents = 0},
     {.fd = child_ ? child_->log.get() : -1, .events = POLLIN, .revents = 0},
     {.fd = child_ ? child_->ends.get() : -1, .events = POLLIN, .revents = 0},
     {.fd = -1, .events = POLLOUT, .revents = 0}}};
  {
    std::scoped_lock lock{mutex_};
    if (stops_)
      return false;
    if (child_ && !unsent_.empty())
      what[4].fd = child_->in.get();
  }
  ::poll(what.data(), what.size(), wait_at_most());
  std::uint64_t woken = 0;
  [[maybe_unused]] auto drained = ::read(wake_.get(), &woken, sizeof woken);
  if (!child_) {
    fail_late();
    return start_again();
  }
  if (what[4].revents != 0)
    write_some();
  if (what[2].revents != 0)
    read_log();
  bool has_ended = what[3].revents != 0;
  auto read = what[1].revents != 0 || has_ended ? read_some() : read_end::later;
  if (read == read_end::over)
    return child_ == nullptr;               // the program is dead, and the connection is not
  if (read == read_end::later && has_ended) // all output before its end was read
    return lose(mcp_failure("connection", options_.name + ": its program has ended"));
  fail_late();
  if (auto failed = std::exchange(greeting_failed_, std::nullopt))
    return lose(*failed);
  return true;
}

int mcp_stdio::wait_at_most() const {
  std::scoped_lock lock{mutex_};
  auto first = stdio_clock::time_point::max();
  for (const auto& [id, one] : deadlines_)
    first = std::min(first, one.at);
  if (!child_ && !held_.empty())
    first = std::min(first, not_before_);
  if (first == stdio_clock::time_point::max())
    return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(first - stdio_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void mcp_stdio::fail_late() {
  std::vector<std::pair<mcp_session::answer, std::chrono::milliseconds>> passed;
  {
    std::scoped_lock lock{mutex_};
    auto now = stdio_clock::now();
    for (auto at = deadlines_.begin(); at != deadlines_.end();) {
      if (at->second.at > now) {
        ++at;
        continue;
      }
      if (auto then = session_.forget(at->first))
        passed.emplace_back(std::move(*then), at->second.after);
      send_or_hold(mcp_cancellation(at->first));
      at = deadlines_.erase(at);
    }
  }
  for (auto& [then, after] : passed)
    then(late(after));
}

void mcp_stdio::write_some() {
  std::scoped_lock lock{mutex_};
  auto n = ::write(child_->in.get(), unsent_.data() + sent_, unsent_.size() - sent_);
  if (n > 0)
    sent_ += static_cast<std::size_t>(n);
  else if (n < 0 && errno != EAGAIN && errno != EINTR) {
    sent_ = unsent_.size(); // the server has closed its stdin; its further output is still read
    child_->in.close();
  }
  if (sent_ < unsent_.size() / 2)
    return;
  unsent_.erase(0, sent_);
  sent_ = 0;
}

// Reads once a round, so that a server which never stops sending does not block the rest.
mcp_stdio::read_end mcp_stdio::read_some() {
  std::array<char, 64 << 10> buffer;
  auto n = ::read(child_->out.get(), buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return read_end::later;
  if (n <= 0) {
    lose(mcp_failure("connection", options_.name + ": it has closed its stdout"));
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
    carry_out(std::move(heard));
  }
  unread_.erase(0, begin);
  searched_ = unread_.size();
  return true;
}

void mcp_stdio::read_log() {
  std::array<char, 4096> buffer;
  auto n = ::read(child_->log.get(), buffer.data(), buffer.size());
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
    child_->log.close();
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

// ---- a program that has ended -----------------------------------------------------------------

void mcp_stdio::fail_all(const error& why) {
  std::vector<mcp_session::answer> waiting;
  {
    std::scoped_lock lock{mutex_};
    unsent_.clear();
    held_.clear();
    sent_ = 0;
    deadlines_.clear();
    waiting = session_.forget_all();
  }
  for (auto& then : waiting)
    then(why);
}

// Ends the connection: further questions fail with `why`.
void mcp_stdio::end(const error& why) {
  {
    std::scoped_lock lock{mutex_};
    ended_ = why;
  }
  fail_all(why);
}

// The program is of no use any more. Result: whether the next question may start it again.
bool mcp_stdio::lose(const error& why) {
  auto now = stdio_clock::now();
  if (now - started_ > limits::mcp_restart_forgiven)
    deaths_ = 0;
  {
    std::scoped_lock lock{mutex_};
    if (!is_agreed_ || ++deaths_ > program_.restarts_max)
      ended_ = why;
    program_state_ = stage::dead;
  }
  if (ended_) {
    end(why);
    return false;
  }
  stop_program();
  child_.reset();
  unread_.clear();
  searched_ = 0;
  unread_log_.clear();
  std::chrono::milliseconds wait = limits::mcp_restart_first;
  for (unsigned i = 1; i < deaths_ && wait < limits::mcp_restart_wait_max; ++i)
    wait *= 2;
  not_before_ = stdio_clock::now() + std::min(wait, limits::mcp_restart_wait_max);
  fail_all(why);
  return true;
}

// Starts the program when a question waits for it and its time has come.
bool mcp_stdio::start_again() {
  {
    std::scoped_lock lock{mutex_};
    if (held_.empty() || stdio_clock::now() < not_before_)
      return true;
  }
  try {
    child_ = std::make_unique<mcp_child>(program_, options_.on_log != nullptr);
  } catch (const error& why) {
    return lose(why);
  }
  started_ = stdio_clock::now();
  greeting_failed_.reset();
  std::scoped_lock lock{mutex_};
  program_state_ = stage::greeted;
  auto id = session_.ask("initialize", [this](const result<value>& said) { was_greeted(said); });
  deadlines_.emplace(id, deadline{at_most(options_.connect_timeout), options_.connect_timeout});
  send(mcp_request(id, "initialize", mcp_greeting(mcp_abilities_of(options_))));
  return true;
}

void mcp_stdio::was_greeted(const result<value>& greeting) {
  if (!greeting) {
    greeting_failed_ = greeting.error();
    return;
  }
  if (!is_known_mcp_version(text_in((*greeting)["protocolVersion"]))) {
    greeting_failed_ = mcp_failure("initialize", options_.name + ": another protocol version");
    return;
  }
  std::scoped_lock lock{mutex_};
  program_state_ = stage::runs;
  session_.restarted();
  unsent_ += mcp_notification("notifications/initialized", value{}) + '\n' + held_;
  held_.clear();
}

void mcp_stdio::stop_program() {
  if (!child_)
    return;
  child_->in.close();
  child_->out.close();
  child_->log.close();
  if (child_->wait(program_.stop_wait))
    return;
  child_->signal_group(SIGTERM);
  child_->wait(program_.stop_wait);
}

} // namespace

std::shared_ptr<mcp_transport> make_mcp_stdio(const mcp_program& program,
                                              const mcp_options& options) {
  return {new mcp_stdio{program, options}, mcp_stdio::release};
}

} // namespace troupe
