// socket_dialer: one thread that connects sockets, with poll().
#include "cluster/links/socket_dialer.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::cluster {

namespace {

using clock = std::chrono::steady_clock;

// Older sockets have waited twice `again`, so an answer would have come.
constexpr std::size_t sockets_of_a_dial_max = 2;

using addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

addresses parse(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    found = nullptr;
  return {found, &freeaddrinfo};
}

error lost(const std::string& why) {
  return {errc::worker_lost, why};
}
error lost(int number) {
  return lost(std::generic_category().message(number));
}

int wait_of(clock::duration left) {
  auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<std::int64_t>(ms, 0, 60'000));
}

} // namespace

class socket_dialer::loop {
public:
  explicit loop(terms how) : how_{how} {
    if (wake_.fd() < 0)
      throw std::system_error{errno, std::generic_category(), "dial peers"};
    thread_ = std::thread{[this] { run(); }};
  }
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;
  ~loop() {
    {
      std::lock_guard lock{mutex_};
      over_ = true;
    }
    wake();
    thread_.join();
  }

  void add(addresses to, then_fn then) {
    {
      std::lock_guard lock{mutex_};
      ordered_.push_back({std::move(to), std::move(then), clock::now() + how_.patience, {}, {}});
    }
    wake();
  }

private:
  struct dialling {
    addresses to;
    then_fn then;
    clock::time_point until;
    clock::time_point again; // in the past: at once
    std::deque<owned_descriptor> sockets;
  };

  void wake() {
    std::uint64_t one = 1;
    while (::write(wake_.fd(), &one, sizeof one) < 0 && errno == EINTR)
      ;
  }

  void run() {
    while (take_orders()) {
      auto now = clock::now();
      std::erase_if(open_, [this, now](dialling& d) { return is_over(d, now); });
      wait();
      std::erase_if(open_, [](dialling& d) { return has_answer(d); });
    }
  }

  bool take_orders() {
    std::lock_guard lock{mutex_};
    for (auto& one : std::exchange(ordered_, {}))
      open_.push_back(std::move(one));
    return !over_;
  }

  bool is_over(dialling& d, clock::time_point now) {
    if (now >= d.until) {
      d.then(lost("the peer does not answer"));
      return true;
    }
    if (now < d.again)
      return false;
    d.again = now + how_.again;
    if (auto failed = knock(d); failed != 0) {
      d.then(lost(failed));
      return true;
    }
    return false;
  }

  // Opens one more socket to the peer. Returns 0 or an errno.
  static int knock(dialling& d) {
    const auto& to = *d.to;
    owned_descriptor made{::socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (made.fd() < 0)
      return errno;
    if (::connect(made.fd(), to.ai_addr, to.ai_addrlen) != 0 && errno != EINPROGRESS)
      return errno;
    if (d.sockets.size() == sockets_of_a_dial_max)
      d.sockets.pop_front();
    d.sockets.push_back(std::move(made));
    return 0;
  }

  void wait() {
    std::vector<pollfd> all{{wake_.fd(), POLLIN, 0}};
    auto next = clock::now() + std::chrono::minutes{1};
    for (const auto& d : open_) {
      next = std::min({next, d.again, d.until});
      for (const auto& one : d.sockets)
        all.push_back({one.fd(), POLLOUT, 0});
    }
    ::poll(all.data(), all.size(), wait_of(next - clock::now()));
    std::uint64_t woken = 0;
    if ((all[0].revents & POLLIN) != 0)
      static_cast<void>(::read(wake_.fd(), &woken, sizeof woken));
  }

  // The first socket that connects or fails decides.
  static bool has_answer(dialling& d) {
    for (auto& one : d.sockets) {
      pollfd state{one.fd(), POLLOUT, 0};
      if (::poll(&state, 1, 0) != 1)
        continue;
      int failed = 0;
      socklen_t size = sizeof failed;
      if (getsockopt(one.fd(), SOL_SOCKET, SO_ERROR, &failed, &size) != 0)
        failed = errno;
      if (failed == 0)
        d.then(std::make_shared<owned_descriptor>(std::move(one)));
      else
        d.then(lost(failed));
      return true;
    }
    return false;
  }

  terms how_;
  owned_descriptor wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex_;
  std::vector<dialling> ordered_; // new orders for the thread
  bool over_ = false;
  std::vector<dialling> open_; // used by the thread alone
  std::thread thread_;
};

socket_dialer::socket_dialer(terms how) : loop_{std::make_unique<loop>(how)} {}
socket_dialer::~socket_dialer() = default;

void socket_dialer::dial(const std::string& address, std::uint16_t port, then_fn then) {
  auto to = parse(address, port);
  if (!to)
    return then(error{errc::invalid_config, "`" + address + "` is not an address"});
  loop_->add(std::move(to), std::move(then));
}

} // namespace troupe::cluster
