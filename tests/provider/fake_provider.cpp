// The server: one thread, a state machine for each connection. The only file that sees Beast.
//
// Invariants:
//  - Connections and the script's queue are touched by the server's thread alone, or under the
//  lock.
//  - A gate may be opened on any thread, also when the server is gone.
#include "tests/provider/fake_provider.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace troupe::test {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

// ---- gates ----------------------------------------------------------------------------------

struct gate::state {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_open = false;
  std::size_t passes = 0; // let_pass() before anyone came
  std::deque<std::function<void()>> waiting;
};

gate::gate() : state_{std::make_shared<state>()} {}

void gate::open() {
  std::deque<std::function<void()>> released;
  {
    std::scoped_lock lock{state_->mutex};
    state_->is_open = true;
    released.swap(state_->waiting);
  }
  for (auto& pass : released)
    pass();
}

void gate::let_pass(std::size_t n) {
  std::vector<std::function<void()>> released;
  {
    std::scoped_lock lock{state_->mutex};
    for (; n > 0 && !state_->waiting.empty(); --n) {
      released.push_back(std::move(state_->waiting.front()));
      state_->waiting.pop_front();
    }
    state_->passes += n;
  }
  for (auto& pass : released)
    pass();
}

void gate::wait_for(std::size_t n) const {
  std::unique_lock lock{state_->mutex};
  state_->changed.wait(lock, [&] { return state_->waiting.size() >= n; });
}

void gate::enter(std::function<void()> pass) {
  {
    std::scoped_lock lock{state_->mutex};
    if (!state_->is_open && state_->passes == 0) {
      state_->waiting.push_back(std::move(pass));
      state_->changed.notify_all();
      return;
    }
    if (!state_->is_open)
      --state_->passes;
  }
  pass();
}

// ---- the server -----------------------------------------------------------------------------

struct fake_provider::server : std::enable_shared_from_this<server> {
  explicit server(std::uint16_t port)
    : acceptor{io, tcp::endpoint{asio::ip::address_v4::loopback(), port}} {}

  asio::io_context io{1};
  tcp::acceptor acceptor;
  std::thread thread;

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::deque<responder> script;
  responder otherwise = fails(500, "the script of this provider has no answer left");
  bool keeps = true;
  std::vector<seen_request> requests;
  std::size_t came = 0;
  std::size_t opened = 0;
  std::size_t closed = 0;

  class connection;
  std::set<std::shared_ptr<connection>> open;
  void accept();
  /// The answer to this request.
  raw_reply take(seen_request request);
  void count(std::size_t server::*which) {
    std::scoped_lock lock{mutex};
    ++(this->*which);
    changed.notify_all();
  }
  void wait(std::size_t server::*which, std::size_t n) const {
    std::unique_lock lock{mutex};
    changed.wait(lock, [&] { return this->*which >= n; });
  }
};

class fake_provider::server::connection : public std::enable_shared_from_this<connection> {
public:
  connection(server& of, tcp::socket socket, std::size_t number)
    : server_{&of},
      socket_{std::move(socket)},
      timer_{of.io},
      number_{number} {}

  void read_next() {
    parser_.emplace();
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
    parser_->header_limit(std::numeric_limits<std::uint32_t>::max());
    http::async_read(socket_, buffer_, *parser_,
                     [self = shared_from_this()](error_code failed, auto) {
                       failed ? self->peer_gone() : self->answer();
                     });
  }

private:
  void answer() {
    seen_request seen;
    auto& message = parser_->get();
    seen.method = std::string{message.method_string()};
    seen.target = std::string{message.target()};
    for (const auto& field : message)
      seen.headers.emplace_back(std::string{field.name_string()}, std::string{field.value()});
    seen.text = std::move(message.body());
    if (auto body = from_json(seen.text))
      seen.body = *body;
    seen.connection = number_;
    keeps_ = message.keep_alive();
    auto reply = server_->take(std::move(seen));
    steps_.assign(std::make_move_iterator(reply.begin()), std::make_move_iterator(reply.end()));
    watch();
    next();
  }

  // Notices while it sends or waits that the peer is gone.
  void watch() {
    if (std::exchange(is_watched_, true))
      return;
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code failed) {
      self->is_watched_ = false;
      if (failed || !self->socket_.is_open())
        return;
      char byte = 0;
      auto got = ::recv(self->socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN)
        self->watch(); // it was the request, and is read by now
      else if (got <= 0)
        self->peer_gone();
    });
  }

  auto then_next() {
    return [self = shared_from_this()](error_code failed, auto...) {
      failed ? self->peer_gone() : self->next();
    };
  }

  void next() {
    if (!socket_.is_open())
      return;
    if (steps_.empty())
      return keeps_ ? read_next() : close();
    auto step = std::move(steps_.front());
    steps_.pop_front();
    std::visit([this](auto& one) { run(one); }, step);
  }

  void run(send_bytes& step) {
    sent_ = std::move(step.bytes);
    asio::async_write(socket_, asio::buffer(sent_), then_next());
  }
  void run(send_again& step) {
    if (step.times == 0)
      return next();
    sent_ = step.bytes;
    --step.times;
    steps_.emplace_front(std::move(step));
    asio::async_write(socket_, asio::buffer(sent_), then_next());
  }
  void run(wait_at& step) {
    step.at.enter([weak = weak_from_this(), of = server_->weak_from_this()] {
      if (auto alive = of.lock())
        asio::post(alive->io, [weak] {
          if (auto self = weak.lock())
            self->next();
        });
    });
  }
  void run(wait_time& step) {
    timer_.expires_after(step.time);
    timer_.async_wait(then_next());
  }
  void run(hang_up& step) {
    error_code ignored;
    if (step.reset)
      socket_.set_option(asio::socket_base::linger{true, 0}, ignored);
    close();
  }

  void peer_gone() {
    if (socket_.is_open())
      server_->count(&server::closed);
    close();
  }
  void close() {
    error_code ignored;
    timer_.cancel();
    socket_.close(ignored);
    server_->open.erase(shared_from_this());
  }

  server* server_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  std::size_t number_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::deque<server_step> steps_;
  std::string sent_;
  bool keeps_ = true;
  bool is_watched_ = false;
};

void fake_provider::server::accept() {
  acceptor.async_accept([this](error_code failed, tcp::socket socket) {
    if (!failed) {
      error_code ignored;
      socket.set_option(tcp::no_delay{true}, ignored);
      auto one = std::make_shared<connection>(*this, std::move(socket), opened);
      open.insert(one);
      count(&server::opened);
      one->read_next();
    }
    if (acceptor.is_open())
      accept();
  });
}

raw_reply fake_provider::server::take(seen_request request) {
  responder answer;
  {
    std::scoped_lock lock{mutex};
    answer = script.empty() ? otherwise : std::move(script.front());
    if (!script.empty())
      script.pop_front();
    if (keeps)
      requests.push_back(request);
    ++came;
    changed.notify_all();
  }
  return answer(request);
}

namespace {

// A thousand streams need two thousand sockets where client and server are one process.
void allow_many_files() {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) == 0) {
    now.rlim_cur = now.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
}

} // namespace

fake_provider::fake_provider(std::uint16_t port) : server_{std::make_shared<server>(port)} {
  allow_many_files();
  server_->accept();
  server_->thread = std::thread{[of = server_.get()] { of->io.run(); }};
}

fake_provider::~fake_provider() {
  server_->io.stop();
  server_->thread.join();
}

std::uint16_t fake_provider::port() const noexcept {
  error_code failed;
  return server_->acceptor.local_endpoint(failed).port();
}

std::string fake_provider::url() const {
  return "http://127.0.0.1:" + std::to_string(port());
}

void fake_provider::then(responder answer) {
  std::scoped_lock lock{server_->mutex};
  server_->script.push_back(std::move(answer));
}

void fake_provider::always(responder answer) {
  std::scoped_lock lock{server_->mutex};
  server_->otherwise = std::move(answer);
}

void fake_provider::remember(bool is_on) {
  std::scoped_lock lock{server_->mutex};
  server_->keeps = is_on;
}

std::vector<seen_request> fake_provider::requests() const {
  std::scoped_lock lock{server_->mutex};
  return server_->requests;
}

void fake_provider::wait_for_requests(std::size_t n) const {
  server_->wait(&server::came, n);
}
void fake_provider::wait_for_closed(std::size_t n) const {
  server_->wait(&server::closed, n);
}
std::size_t fake_provider::connections() const {
  std::scoped_lock lock{server_->mutex};
  return server_->opened;
}

} // namespace troupe::test
