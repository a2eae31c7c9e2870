// http_loop: the thread of all transfers, with libcurl's multi interface on epoll.
//
// Invariants:
//  - only the loop's thread calls libcurl, and never its multi interface from a callback.
//  - while a host's address is not known, libcurl has one of its transfers at a time, since its
//    resolver takes a thread for each. The others wait until the address is known (host_gates).
#include "http/loop.hpp"

#include "http/curl_transfer.hpp"
#include "http/host_gates.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace troupe {

namespace {

// A new thread inherits the mask: signals are for the program's own threads.
class all_signals_blocked {
public:
  all_signals_blocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  all_signals_blocked(const all_signals_blocked&) = delete;
  all_signals_blocked& operator=(const all_signals_blocked&) = delete;
  ~all_signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
  sigset_t before_;
};

class descriptor {
public:
  explicit descriptor(int fd) noexcept : fd_{fd} {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  int get() const noexcept { return fd_; }

private:
  int fd_;
};

http_error loop_error(const http_transfer& transfer, http_fault fault, std::string_view what) {
  return {fault, transfer.request().url, what};
}

http_error was_stopped(const http_transfer& transfer) {
  return loop_error(transfer, http_fault::given_up, "the client was stopped");
}

} // namespace

class http_loop::work : public std::enable_shared_from_this<work> {
public:
  enum class kind : std::uint8_t { start, cancel, go_on, expect, later };
  struct order {
    kind what;
    http_transfer_ptr transfer;
    std::optional<clock::time_point> when = std::nullopt;
    std::string text = {};
    std::function<void()> then = {};
  };

  explicit work(http_loop_bounds bounds) : bounds_{bounds} {}

  void post(order o);
  void stop();
  /// Waits until the thread ended. Not for the thread itself.
  void join();

  /// Whether the last holder let go on the thread itself, so that nobody joined it.
  bool is_left() const { return left_; }

private:
  using deadline_list = std::multimap<clock::time_point, http_transfer*>;
  struct live {
    std::unique_ptr<curl_transfer> curl;
    std::string host;
    bool begun = false; // false: it waits at its host's gate
    std::optional<deadline_list::iterator> armed = std::nullopt;
  };
  struct progress {
    http_transfer* transfer;
    curl_event what;
  };

  void run();
  bool take_orders();
  void carry_out(order& o);
  void admit(const http_transfer_ptr& transfer);
  void begin(live& one);
  void note_progress();
  void leave_gate(const std::string& host, const http_transfer* transfer);
  void disarm(live& one);
  void arm(live& one);
  void end_late_ones();
  void call_due_ones();
  void end_finished();
  void finish(const http_transfer_ptr& transfer, std::optional<http_error> failure);
  int wait_ms() const;
  void serve(const epoll_event& event);
  void watch(curl_socket_t socket, int what);

  static int on_interest(CURL*, curl_socket_t socket, int what, void* self, void*) noexcept;
  static int on_timer(CURLM*, long milliseconds, void* self) noexcept;

  const http_loop_bounds bounds_;

  // shared between threads
  std::mutex mutex_;
  std::vector<order> orders_;
  bool stopped_ = false;
  std::thread thread_;
  std::atomic<bool> left_ = false;

  // of the loop's thread
  descriptor epoll_{epoll_create1(EPOLL_CLOEXEC)};
  descriptor wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::unique_ptr<CURLM, freed_by<curl_multi_cleanup>> multi_;
  std::unordered_map<http_transfer*, live> lives_; // must be destroyed before multi_
  deadline_list deadlines_;
  std::multimap<clock::time_point, std::function<void()>> later_;
  host_gates gates_;
  std::vector<progress> progress_; // noted by callbacks while libcurl ran
  std::optional<clock::time_point> curl_due_;
};

// ---- the end of the process ---------------------------------------------------------------------

namespace {

// The loops whose threads were not joined yet. A process that ends stops and joins them before
// OpenSSL frees what is its own: a thread that runs on would use it, or leak its own part.
class unjoined_loops {
public:
  using loop_work = std::shared_ptr<http_loop::work>;

  // Is never destroyed: a thread may start, or be joined, while the process ends.
  static unjoined_loops& all() {
    static auto* const loops = new unjoined_loops;
    return *loops;
  }

  // Also joins the threads that nobody else joins.
  void add(loop_work loop) {
    std::vector<loop_work> left;
    {
      std::lock_guard lock{mutex_};
      for (const auto& one : loops_)
        if (one->is_left())
          left.push_back(one);
      loops_.push_back(std::move(loop));
      process_ = ::getpid();
    }
    for (const auto& one : left)
      one->join();
  }

  void remove(const http_loop::work* loop) {
    std::lock_guard lock{mutex_};
    std::erase_if(loops_, [loop](const auto& one) { return one.get() == loop; });
  }

  void end_all() {
    std::vector<loop_work> running;
    {
      std::lock_guard lock{mutex_};
      if (process_ != ::getpid())
        return; // a child of fork() has no thread but its own
      running = loops_;
    }
    for (const auto& one : running)
      one->stop();
  }

private:
  std::mutex mutex_;
  std::vector<loop_work> loops_;
  pid_t process_ = 0; // the one that runs them
};

// Handlers of the process's end run in reverse: this one before that of OpenSSL.
bool curl_is_ready() {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK
                            && std::atexit([] { unjoined_loops::all().end_all(); }) == 0;
  return ready;
}

} // namespace

// ---- from other threads -------------------------------------------------------------------------

void http_loop::work::post(order o) {
  std::unique_lock lock{mutex_};
  if (stopped_) {
    lock.unlock();
    if (o.what == kind::start) // the process ends
      o.transfer->end(was_stopped(*o.transfer));
    return;
  }
  bool wakes = orders_.empty();
  orders_.push_back(std::move(o));
  if (!thread_.joinable()) {
    all_signals_blocked quiet;
    thread_ = std::thread{[self = shared_from_this()] { self->run(); }};
  }
  if (wakes)
    eventfd_write(wake_.get(), 1);
}

void http_loop::work::stop() {
  bool is_own_thread;
  {
    std::lock_guard lock{mutex_};
    stopped_ = true;
    is_own_thread = thread_.get_id() == std::this_thread::get_id();
  }
  eventfd_write(wake_.get(), 1);
  if (is_own_thread)
    left_ = true; // a reader's callback dropped the last reference
  else
    join();
}

void http_loop::work::join() {
  std::thread thread;
  {
    std::lock_guard lock{mutex_};
    thread.swap(thread_);
  }
  if (!thread.joinable())
    return;
  thread.join();
  unjoined_loops::all().remove(this);
}

// ---- the thread ---------------------------------------------------------------------------------

void http_loop::work::run() {
  bool is_ready = curl_is_ready();
  unjoined_loops::all().add(shared_from_this());
  if (is_ready)
    multi_.reset(curl_multi_init());
  if (multi_) {
    auto set = [this](auto option, auto v) { curl_multi_setopt(multi_.get(), option, v); };
    set(CURLMOPT_SOCKETFUNCTION, &work::on_interest);
    set(CURLMOPT_SOCKETDATA, static_cast<void*>(this));
    set(CURLMOPT_TIMERFUNCTION, &work::on_timer);
    set(CURLMOPT_TIMERDATA, static_cast<void*>(this));
    set(CURLMOPT_MAX_TOTAL_CONNECTIONS, bounds_.connections_max);
    set(CURLMOPT_MAXCONNECTS, bounds_.idle_connections_max);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = wake_.get();
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
  }
  std::array<epoll_event, 256> events;
  while (take_orders()) {
    int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms());
    for (int i = 0; i < count; ++i)
      serve(events[static_cast<std::size_t>(i)]);
    if (curl_due_ && *curl_due_ <= clock::now()) {
      curl_due_.reset();
      int running = 0;
      curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running);
    }
    end_finished();
    end_late_ones();
    call_due_ones();
    note_progress();
  }
  while (!lives_.empty()) {
    auto transfer = lives_.begin()->second.curl->transfer();
    finish(transfer, was_stopped(*transfer));
  }
  multi_.reset();
}

// False when the thread must stop.
bool http_loop::work::take_orders() {
  for (;;) {
    std::vector<order> orders;
    {
      std::lock_guard lock{mutex_};
      orders.swap(orders_);
      if (orders.empty())
        return !stopped_;
    }
    for (auto& o : orders)
      carry_out(o);
    note_progress();
  }
}

void http_loop::work::carry_out(order& o) {
  if (o.what == kind::start)
    return admit(o.transfer);
  if (o.what == kind::later) {
    later_.emplace(*o.when, std::move(o.then));
    return;
  }
  auto it = lives_.find(o.transfer.get());
  if (it == lives_.end())
    return;
  if (o.what == kind::cancel)
    return finish(o.transfer,
                  loop_error(*o.transfer, http_fault::given_up, "the request was given up"));
  if (o.what == kind::go_on)
    it->second.curl->go_on();
  else
    it->second.curl->expect(o.when, std::move(o.text));
  arm(it->second);
}

void http_loop::work::serve(const epoll_event& event) {
  if (event.data.fd == wake_.get()) {
    eventfd_t count = 0;
    eventfd_read(wake_.get(), &count);
    return;
  }
  int mask = 0;
  if (event.events & (EPOLLIN | EPOLLHUP))
    mask |= CURL_CSELECT_IN;
  if (event.events & EPOLLOUT)
    mask |= CURL_CSELECT_OUT;
  if (event.events & EPOLLERR)
    mask |= CURL_CSELECT_ERR;
  int running = 0;
  curl_multi_socket_action(multi_.get(), event.data.fd, mask, &running);
}

int http_loop::work::wait_ms() const {
  auto next = curl_due_;
  if (!deadlines_.empty() && (!next || deadlines_.begin()->first < *next))
    next = deadlines_.begin()->first;
  if (!later_.empty() && (!next || later_.begin()->first < *next))
    next = later_.begin()->first;
  if (!next)
    return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

// ---- beginning ----------------------------------------------------------------------------------

void http_loop::work::admit(const http_transfer_ptr& transfer) {
  if (!multi_ || epoll_.get() < 0 || wake_.get() < 0)
    return transfer->end(
      loop_error(*transfer, http_fault::not_sent, "this process cannot create an event loop"));
  const auto& request = transfer->request();
  auto host = http_origin(request.proxy.empty() ? request.url : request.proxy);
  std::unique_ptr<curl_transfer> curl;
  try {
    curl = std::make_unique<curl_transfer>(transfer, [this, t = transfer.get()](curl_event what) {
      progress_.push_back({t, what});
    });
  } catch (const http_error& failure) {
    return transfer->end(failure);
  }
  auto& one = lives_[transfer.get()];
  one.curl = std::move(curl);
  one.host = host;
  arm(one);
  if (gates_.enter(host, transfer.get(), clock::now()))
    begin(one);
}

void http_loop::work::begin(live& one) {
  one.begun = true;
  if (curl_multi_add_handle(multi_.get(), one.curl->handle()) == CURLM_OK)
    return;
  auto transfer = one.curl->transfer();
  finish(transfer, loop_error(*transfer, http_fault::not_sent, "libcurl refused the transfer"));
}

// Does the work that callbacks could not do.
void http_loop::work::note_progress() {
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    auto news = progress_[i];
    auto it = lives_.find(news.transfer);
    if (it == lives_.end())
      continue;
    if (news.what == curl_event::answered)
      arm(it->second);
    else if (news.what == curl_event::connected)
      leave_gate(it->second.host, news.transfer);
    else
      for (auto* waiting : gates_.opened(it->second.host, news.transfer, clock::now()))
        begin(lives_.at(waiting));
  }
  progress_.clear();
}

// A transfer that looked up its host's address ended without it: the next one looks it up.
void http_loop::work::leave_gate(const std::string& host, const http_transfer* transfer) {
  if (auto* next = gates_.left(host, transfer, clock::now()))
    begin(lives_.at(next));
}

// ---- ending -------------------------------------------------------------------------------------

void http_loop::work::disarm(live& one) {
  if (one.armed)
    deadlines_.erase(*one.armed);
  one.armed.reset();
}

void http_loop::work::arm(live& one) {
  auto due = one.curl->due();
  if (!due || (one.armed && (*one.armed)->first <= due->when))
    return;
  disarm(one);
  one.armed = deadlines_.emplace(due->when, one.curl->transfer().get());
}

// A deadline that was moved is still in the list at its old time: then it is checked again.
void http_loop::work::end_late_ones() {
  auto now = clock::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    auto& one = lives_.at(deadlines_.begin()->second);
    disarm(one);
    auto due = one.curl->due();
    auto transfer = one.curl->transfer();
    if (due && due->when <= now)
      finish(transfer, loop_error(*transfer, http_fault::timed_out, due->what));
    else
      arm(one);
  }
}

void http_loop::work::call_due_ones() {
  while (!later_.empty() && later_.begin()->first <= clock::now())
    later_.extract(later_.begin()).mapped()();
}

void http_loop::work::end_finished() {
  int left = 0;
  while (auto* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE)
      continue;
    auto code = message->data.result;
    auto& curl = curl_transfer::of(message->easy_handle);
    auto transfer = curl.transfer();
    finish(transfer, curl.outcome(code));
  }
}

void http_loop::work::finish(const http_transfer_ptr& transfer, std::optional<http_error> failure) {
  auto it = lives_.find(transfer.get());
  if (it == lives_.end())
    return;
  auto one = std::move(it->second);
  lives_.erase(it);
  if (one.begun)
    curl_multi_remove_handle(multi_.get(), one.curl->handle());
  disarm(one);
  leave_gate(one.host, transfer.get());
  for (auto& news : progress_) // another transfer may get this address soon
    if (news.transfer == transfer.get())
      news.transfer = nullptr;
  one.curl.reset();
  transfer->end(std::move(failure)); // after this, the reader may do anything
}

// ---- libcurl's wishes ---------------------------------------------------------------------------

int http_loop::work::on_interest(CURL*, curl_socket_t socket, int what, void* self,
                                 void*) noexcept {
  static_cast<work*>(self)->watch(socket, what);
  return 0;
}

void http_loop::work::watch(curl_socket_t socket, int what) {
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr); // the socket may be closed already
    return;
  }
  epoll_event event{};
  if (what & CURL_POLL_IN)
    event.events |= EPOLLIN;
  if (what & CURL_POLL_OUT)
    event.events |= EPOLLOUT;
  event.data.fd = socket;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket, &event) != 0)
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event);
}

int http_loop::work::on_timer(CURLM*, long milliseconds, void* self) noexcept {
  auto& me = *static_cast<work*>(self);
  if (milliseconds < 0)
    me.curl_due_.reset();
  else
    me.curl_due_ = clock::now() + std::chrono::milliseconds{milliseconds};
  return 0;
}

// ---- the loop as others see it ------------------------------------------------------------------

std::shared_ptr<http_loop> http_loop::shared() {
  static std::mutex mutex;
  static std::weak_ptr<http_loop> loop;
  std::lock_guard lock{mutex};
  auto there = loop.lock();
  if (!there) {
    there = std::make_shared<http_loop>();
    loop = there;
  }
  return there;
}

http_loop::http_loop(http_loop_bounds bounds) : work_{std::make_shared<work>(bounds)} {}

http_loop::~http_loop() {
  work_->stop();
}

void http_loop::start(http_transfer_ptr transfer) {
  work_->post({work::kind::start, std::move(transfer)});
}
void http_loop::cancel(const http_transfer_ptr& transfer) {
  work_->post({work::kind::cancel, transfer});
}
void http_loop::go_on(const http_transfer_ptr& transfer) {
  work_->post({work::kind::go_on, transfer});
}
void http_loop::expect(const http_transfer_ptr& transfer, std::optional<clock::time_point> when,
                       std::string what) {
  work_->post({work::kind::expect, transfer, when, std::move(what)});
}
void http_loop::at(clock::time_point when, std::function<void()> then) {
  work_->post({.what = work::kind::later, .transfer = {}, .when = when, .then = std::move(then)});
}

} // namespace troupe
