// The shape of this file is that of CAF's own libcaf_openssl/src/openssl/middleman_actor.cpp: a
// scribe is a connection, a doorman a port.
#include "cluster/tls_links.hpp"

#include "cluster/tls_session.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/detail/socket_guard.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/middleman_actor_impl.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/doorman_impl.hpp>
#include <caf/io/network/stream_impl.hpp>
#include <caf/io/scribe.hpp>
#include <caf/scoped_actor.hpp>

#include <sys/socket.h>

namespace troupe::cluster {

namespace {

namespace net = caf::io::network;
using multiplexer = net::default_multiplexer;

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

/// A stream that leaves the socket before it closes it.
class tls_stream : public net::stream {
public:
  tls_stream(multiplexer& backend, net::native_socket fd, std::unique_ptr<tls_session> session)
    : net::stream{backend, fd},
      policy_{std::move(session)} {}
  void handle_event(net::operation op) override { handle_event_impl(op, policy_); }

private:
  tls_policy policy_; // gone before the base closes the socket
};

class tls_scribe : public caf::io::scribe {
public:
  tls_scribe(multiplexer& backend, net::native_socket fd, std::unique_ptr<tls_session> session)
    : scribe{net::conn_hdl_from_socket(fd)},
      stream_{backend, fd, std::move(session)} {}

  void configure_read(caf::io::receive_policy::config config) override {
    if (config.second > limits::cluster_basp_bytes_max) {
      ::shutdown(stream_.fd(), SHUT_RDWR); // no honest peer sends that much at once
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
    if (detached()) // closed while the event was on its way
      return false;
    auto fd = acceptor_.accepted_socket();
    caf::detail::socket_guard guard{fd};
    net::nonblocking(fd, true);
    auto session = tls_session::make(context_, fd, tls_session::side::acceptor);
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

class tls_middleman : public caf::io::middleman_actor_impl {
public:
  tls_middleman(caf::actor_config& config, caf::actor broker, std::shared_ptr<tls_context> context)
    : middleman_actor_impl{config, std::move(broker)},
      context_{std::move(context)} {}

  const char* name() const override { return "troupe.tls_middleman"; }

protected:
  caf::expected<caf::io::scribe_ptr> connect(const std::string& host, std::uint16_t port) override {
    auto fd = net::new_tcp_connection(host, port);
    if (!fd)
      return std::move(fd.error());
    caf::detail::socket_guard guard{*fd};
    net::nonblocking(*fd, true);
    auto session = tls_session::make(context_, *fd, tls_session::side::dialer);
    if (!session)
      return caf::sec::cannot_connect_to_node;
    guard.release();
    return caf::make_counted<tls_scribe>(backend(), *fd, std::move(session));
  }

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

/// Owns the actor while the system runs.
class tls_module : public caf::actor_system::module {
public:
  tls_module(caf::actor_system& system, std::shared_ptr<tls_context> context)
    : system_{system},
      context_{std::move(context)} {}

  void start() override {
    auto broker = system_.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
    links_ = system_.spawn<tls_middleman, caf::detached + caf::hidden>(std::move(broker), context_);
  }
  void stop() override {
    caf::scoped_actor self{system_, true};
    self->send_exit(links_, caf::exit_reason::kill);
    self->wait_for(links_);
    links_ = nullptr;
  }
  void init(caf::actor_system_config&) override {}
  id_t id() const override { return openssl_manager; }
  void* subtype_ptr() override { return this; }

  const caf::io::middleman_actor& links() const { return links_; }

private:
  caf::actor_system& system_;
  std::shared_ptr<tls_context> context_;
  caf::io::middleman_actor links_;
};

} // namespace

void load_tls_links(caf::actor_system_config& config, std::shared_ptr<tls_context> context) {
  config.module_factories.push_back([context = std::move(context)](caf::actor_system& system) {
    return static_cast<caf::actor_system::module*>(new tls_module{system, context});
  });
}

bool has_tls_links(const caf::actor_system& system) {
  return system.has_openssl_manager();
}

// CAF keeps modules by number, and gives the one of this number back as what its own would be.
const caf::io::middleman_actor& tls_links_of(const caf::actor_system& system) {
  return reinterpret_cast<const tls_module*>(&system.openssl_manager())->links();
}

} // namespace troupe::cluster
