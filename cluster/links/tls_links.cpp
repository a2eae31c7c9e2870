// tls_links: actors, scribes and doormen for TLS. Follows CAF's own
// libcaf_openssl/src/openssl/middleman_actor.cpp: a scribe is a connection, a doorman a port.
#include "cluster/links/tls_links.hpp"

#include "actors/log.hpp"
#include "cluster/links/socket_dialer.hpp"
#include "cluster/links/tls_session.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/detail/socket_guard.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/middleman_actor_impl.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/doorman_impl.hpp>
#include <caf/io/network/stream_impl.hpp>
#include <caf/io/scribe.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <condition_variable>
#include <map>
#include <thread>
#include <utility>

namespace troupe::cluster {

namespace {

/// The result of a dial.
struct dial_done {
  std::uint64_t number = 0;
  std::shared_ptr<owned_descriptor> socket; // null: `why` names the reason
  std::string why;
};

} // namespace

} // namespace troupe::cluster

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::cluster::dial_done)

namespace troupe::cluster {

namespace {

namespace net = caf::io::network;
using multiplexer = net::default_multiplexer;

// Sets up a socket. Packets of a link are few and small, so lost ones are sent again at a constant
// pace.
void prepare_socket(net::native_socket fd) {
  net::nonblocking(fd, true);
  net::tcp_nodelay(fd, true);
  const int linear = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &linear, sizeof linear);
  const auto patience = static_cast<unsigned>(limits::link_unacknowledged_max.count());
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
}

struct tls_policy {
  std::unique_ptr<tls_session> session;

  explicit tls_policy(std::unique_ptr<tls_session> with) : session{std::move(with)} {}

  net::rw_state read_some(std::size_t& taken, net::native_socket, void* to, std::size_t size) {
    return session->read(taken, to, size);
  }
  net::rw_state write_some(std::size_t& taken, net::native_socket, const void* from,
                           std::size_t size) {
    return session->write(taken, from, size);
  }
  bool must_read_more(net::native_socket, std::size_t threshold) {
    return session->has_more_than(threshold);
  }
};

/// A stream that destroys its session before it closes the socket.
class tls_stream : public net::stream {
public:
  tls_stream(multiplexer& backend, net::native_socket fd, std::unique_ptr<tls_session> session)
    : net::stream{backend, fd},
      policy_{std::move(session)} {}
  void handle_event(net::operation op) override { handle_event_impl(op, policy_); }
  tls_session& session() { return *policy_.session; }

private:
  tls_policy policy_; // destroyed before the base closes the socket
};

class tls_scribe : public caf::io::scribe {
public:
  tls_scribe(multiplexer& backend, net::native_socket fd, std::unique_ptr<tls_session> session)
    : scribe{net::conn_hdl_from_socket(fd)},
      stream_{backend, fd, std::move(session)} {}

  void configure_read(caf::io::receive_policy::config config) override {
    if (config.second > limits::cluster_basp_bytes_max) {
      stream_.session().note_garbage("the peer sent a message of " + std::to_string(config.second)
                                     + " bytes, more than cluster_basp_bytes_max ("
                                     + std::to_string(limits::cluster_basp_bytes_max) + ")");
      ::shutdown(stream_.fd(), SHUT_RDWR); // an honest peer never sends that much at once
      config = caf::io::receive_policy::at_most(1);
    }
    stream_.configure_read(config);
    if (!is_launched_)
      launch();
  }
  void ack_writes(bool enable) override { stream_.ack_writes(enable); }
  std::vector<char>& wr_buf() override { return stream_.wr_buf(); }
  std::vector<char>& rd_buf() override { return stream_.rd_buf(); }
  void graceful_shutdown() override {
    stream_.graceful_shutdown();
    detach(&stream_.backend(), false);
  }
  void flush() override { stream_.flush(this); }
  std::string addr() const override {
    auto at = net::remote_addr_of_fd(stream_.fd());
    return at ? *at : std::string{};
  }
  std::uint16_t port() const override {
    auto at = net::remote_port_of_fd(stream_.fd());
    return at ? *at : std::uint16_t{0};
  }
  void add_to_loop() override { stream_.activate(this); }
  void remove_from_loop() override { stream_.passivate(); }

private:
  void launch() {
    is_launched_ = true;
    stream_.start(this);
    stream_.force_empty_write(this); // begins the handshake
  }

  bool is_launched_ = false;
  tls_stream stream_;
};

class tls_doorman : public net::doorman_impl {
public:
  tls_doorman(multiplexer& backend, net::native_socket fd, std::shared_ptr<tls_context> context)
    : doorman_impl{backend, fd},
      context_{std::move(context)} {}

  bool new_connection() override {
    if (detached()) // closed before the event arrived
      return false;
    auto fd = acceptor_.accepted_socket();
    caf::detail::socket_guard guard{fd};
    prepare_socket(fd);
    auto session = tls_session::make(context_, fd, nullptr);
    if (!session)
      return false;
    auto& backend = acceptor_.backend();
    auto scribe = caf::make_counted<tls_scribe>(backend, fd, std::move(session));
    guard.release(); // the scribe owns it
    auto handle = scribe->hdl();
    parent()->add_scribe(std::move(scribe));
    return doorman::new_connection(&backend, handle);
  }

private:
  std::shared_ptr<tls_context> context_;
};

/// Opens ports.
class tls_middleman : public caf::io::middleman_actor_impl {
public:
  tls_middleman(caf::actor_config& config, caf::actor broker, std::shared_ptr<tls_context> context)
    : middleman_actor_impl{config, std::move(broker)},
      context_{std::move(context)} {}

  const char* name() const override { return "troupe.tls_middleman"; }

protected:
  caf::expected<caf::io::doorman_ptr> open(std::uint16_t port, const char* address,
                                           bool reuse) override {
    auto fd = net::new_tcp_acceptor_impl(port, address, reuse);
    if (!fd)
      return std::move(fd.error());
    return caf::make_counted<tls_doorman>(backend(), *fd, context_);
  }

private:
  multiplexer& backend() { return dynamic_cast<multiplexer&>(system().middleman().backend()); }

  std::shared_ptr<tls_context> context_;
};

/// Dials peers, all at the same time. Serves plain links, too, since CAF's own dialer works on one
/// peer after the other.
class link_dialer_actor : public caf::event_based_actor {
public:
  link_dialer_actor(caf::actor_config& config, caf::actor broker,
                    std::shared_ptr<tls_context> context)
    : caf::event_based_actor{config},
      broker_{std::move(broker)},
      context_{std::move(context)} {}

  const char* name() const override { return "troupe.link_dialer"; }

  caf::behavior make_behavior() override {
    return {
      [this](caf::connect_atom, const std::string& host, std::uint16_t port) {
        return dial(host, port);
      },
      [this](dial_done& done) { hand_on(done); },
    };
  }
  void on_exit() override {
    sockets_.reset(); // here, so that the thread never holds the last reference to this actor
    open_.clear();
    broker_ = nullptr;
  }

private:
  using answer = caf::result<caf::node_id, caf::strong_actor_ptr, std::set<std::string>>;
  struct dialling {
    caf::response_promise promise;
    std::string place;
    std::uint16_t port;
  };

  answer dial(const std::string& host, std::uint16_t port) {
    auto number = ++last_;
    open_.emplace(number,
                  dialling{make_response_promise(), host + " " + std::to_string(port), port});
    auto self = caf::actor_cast<caf::actor_addr>(this); // a weak reference for the thread
    sockets_->dial(host, port, [self, number](result<std::shared_ptr<owned_descriptor>> made) {
      auto to = caf::actor_cast<caf::actor>(self);
      if (to && made)
        caf::anon_send(to, dial_done{number, std::move(*made), {}});
      else if (to)
        caf::anon_send(to, dial_done{number, nullptr, made.error().message()});
    });
    return caf::delegated<caf::node_id, caf::strong_actor_ptr, std::set<std::string>>{};
  }

  void hand_on(dial_done& done) {
    auto of = open_.extract(done.number);
    if (!of)
      return;
    auto promise = std::move(of.mapped().promise);
    if (!done.socket)
      return promise.deliver(unreachable(done.why));
    auto to = std::make_shared<dialled_peer>(dialled_peer{of.mapped().place, {}});
    auto scribe = make_scribe(*done.socket, to);
    if (!scribe)
      return promise.deliver(unreachable("out of memory"));
    request(broker_, caf::infinite, caf::connect_atom_v, std::move(scribe), of.mapped().port)
      .then(
        [promise](caf::node_id& node, caf::strong_actor_ptr& peer,
                  std::set<std::string>& interfaces) mutable {
          promise.deliver(std::move(node), std::move(peer), std::move(interfaces));
        },
        [promise, to](caf::error& why) mutable {
          promise.deliver(to->flaw.empty() ? why : unreachable(to->flaw));
        });
  }

  caf::io::scribe_ptr make_scribe(owned_descriptor& socket,
                                  const std::shared_ptr<dialled_peer>& to) {
    auto& backend = dynamic_cast<multiplexer&>(system().middleman().backend());
    prepare_socket(socket.fd());
    if (!context_)
      return backend.new_scribe(socket.take());
    auto session = tls_session::make(context_, socket.fd(), to);
    if (!session)
      return nullptr;
    return caf::make_counted<tls_scribe>(backend, socket.take(), std::move(session));
  }

  static caf::error unreachable(const std::string& why) {
    return caf::make_error(caf::sec::cannot_connect_to_node, why);
  }

  caf::actor broker_;
  std::shared_ptr<tls_context> context_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, dialling> open_;
  std::optional<socket_dialer> sockets_{std::in_place, socket_dialer::terms{}};
};

/// Owns the actors while the system runs.
class link_module : public caf::actor_system::module {
public:
  link_module(caf::actor_system& system, std::shared_ptr<tls_context> context,
              std::chrono::milliseconds look_every)
    : system_{system},
      context_{std::move(context)},
      look_every_{look_every} {}

  void start() override {
    auto broker = system_.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
    dialer_ = system_.spawn<link_dialer_actor, caf::hidden>(broker, context_);
    if (!context_)
      return;
    ports_ = system_.spawn<tls_middleman, caf::detached + caf::hidden>(broker, context_);
    looks_ = std::jthread{[this](const std::stop_token& over) { look(over); }};
  }
  void stop() override {
    looks_ = {};
    caf::scoped_actor self{system_, true};
    self->send_exit(dialer_, caf::exit_reason::kill);
    self->wait_for(std::exchange(dialer_, nullptr));
    if (!context_)
      return;
    self->send_exit(ports_, caf::exit_reason::kill);
    self->wait_for(std::exchange(ports_, nullptr));
  }
  void init(caf::actor_system_config&) override {}
  id_t id() const override { return openssl_manager; }
  void* subtype_ptr() override { return this; }

  const caf::io::middleman_actor& ports() const { return ports_; }
  const caf::actor& dialer() const { return dialer_; }
  bool has_context() const { return context_ != nullptr; }
  tls_context& context() const { return *context_; }

private:
  void look(const std::stop_token& over) {
    std::mutex mutex;
    std::unique_lock lock{mutex};
    std::condition_variable_any ended;
    do {
      for (const auto& text : context_->look(std::chrono::system_clock::now()))
        log_warning("cluster: " + text);
      for (const auto& text : context_->end_late(std::chrono::steady_clock::now()))
        log_warning("cluster: " + text);
      ended.wait_for(lock, over, look_every_, [] { return false; });
    } while (!over.stop_requested());
  }

  caf::actor_system& system_;
  std::shared_ptr<tls_context> context_;
  std::chrono::milliseconds look_every_;
  caf::io::middleman_actor ports_;
  caf::actor dialer_;
  std::jthread looks_;
};

const link_module& module_of(const caf::actor_system& system) {
  // CAF stores modules by number. The module with this number comes back with the type of CAF's
  // own.
  return *reinterpret_cast<const link_module*>(&system.openssl_manager());
}

} // namespace

void load_links(caf::actor_system_config& config, std::shared_ptr<tls_context> context,
                std::chrono::milliseconds look_every) {
  auto make = [context = std::move(context), look_every](caf::actor_system& system) {
    return static_cast<caf::actor_system::module*>(new link_module{system, context, look_every});
  };
  config.module_factories.push_back(std::move(make));
}

bool has_tls_links(const caf::actor_system& system) {
  return system.has_openssl_manager() && module_of(system).has_context();
}

const caf::io::middleman_actor& tls_ports_of(const caf::actor_system& system) {
  return module_of(system).ports();
}

const caf::actor& dialer_of(const caf::actor_system& system) {
  return module_of(system).dialer();
}

wall_time tls_certificate_end(const caf::actor_system& system) {
  return module_of(system).context().until();
}

} // namespace troupe::cluster
