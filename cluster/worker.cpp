// worker: starts a worker process, and ends it in every state.
#include <troupe/cluster.hpp>

#include "actors/logger_reference.hpp"
#include "cluster/links/link_network.hpp"
#include "cluster/process_look.hpp"
#include "cluster/worker_actor.hpp"
#include "coordinator/runtime_core.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace troupe {

namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "worker";
}

// Adds the graph, and those within it, since a home may place the nodes of an inner graph that it
// runs itself.
void shelve(const compiled_graph& graph, cluster::graph_shelf& shelf,
            std::vector<cluster::graph_offer>& offers) {
  auto offer = cluster::offer_of(*graph.plan());
  if (shelf.emplace(offer.hash, graph.plan()).second)
    offers.push_back(std::move(offer));
  for (const auto& [node, inner] : graph.subgraphs())
    shelve(inner, shelf, offers);
}

result<void> check(const worker_options& options, const std::vector<compiled_graph>& graphs) {
  auto wrong = [](const std::string& why) {
    return error{errc::invalid_config, "start a worker: " + why};
  };
  if (graphs.empty())
    return wrong("the list of graphs is empty");
  if (options.listen.empty() && options.join.empty())
    return wrong("give an address to listen at, or a home to join");
  if (options.capacity > limits::worker_capacity_max)
    return wrong("a capacity beyond worker_capacity_max ("
                 + std::to_string(limits::worker_capacity_max) + ")");
  if (options.name.size() > limits::worker_name_bytes_max)
    return wrong("a name longer than worker_name_bytes_max ("
                 + std::to_string(limits::worker_name_bytes_max) + ")");
  if (options.name != cluster::readable(options.name))
    return wrong("its name has control characters");
  if (options.labels.size() > limits::worker_labels_max)
    return wrong("more labels than worker_labels_max (" + std::to_string(limits::worker_labels_max)
                 + ")");
  for (const auto& label : options.labels)
    if (label.empty() || label.size() > limits::worker_label_bytes_max
        || label != cluster::readable(label))
      return wrong("a label must have 1 to worker_label_bytes_max ("
                   + std::to_string(limits::worker_label_bytes_max)
                   + ") bytes, and no control characters");
  if (auto terms = cluster::asked_terms(options.heartbeat, options.lease))
    if (auto fits = cluster::check_terms(*terms); !fits)
      return wrong(fits.error().message());
  if (options.lease.count() == 0 && options.heartbeat.count() != 0)
    return wrong("a heartbeat needs a lease: set worker_options::lease, too");
  return {};
}

} // namespace

class worker::impl {
public:
  impl(worker_options options, const std::vector<compiled_graph>& graphs)
    : runtime_{nullptr, {.worker_threads = options.threads}},
      guests_{runtime_} {
    auto links = cluster::make_link_network(options.tls, options.plain);
    links_ = std::move(links).value();
    cluster::worker_setup setup;
    auto& admission = setup.admission;
    for (const auto& graph : graphs)
      shelve(graph, setup.graphs, admission.graphs);
    if (admission.graphs.size() > limits::worker_graphs_max)
      throw error{errc::invalid_config, "start a worker: with nested graphs it has "
                                          + std::to_string(admission.graphs.size())
                                          + " graphs, more than worker_graphs_max ("
                                          + std::to_string(limits::worker_graphs_max) + ")"};
    admission.name = options.name;
    admission.incarnation = cluster::new_incarnation();
    admission.process = cluster::own_process();
    admission.labels = options.labels;
    admission.other_builds = options.allow_other_builds;
    admission.terms = cluster::asked_terms(options.heartbeat, options.lease);
    auto cores = std::max(1U, std::thread::hardware_concurrency());
    admission.capacity = options.capacity != 0 ? options.capacity : 4 * cores;
    setup.guests = &guests_;
    setup.join = cluster::to_endpoints(options.join).value();
    cluster::may_reach(links_, setup.join).value();
    setup.drained = [this] { set_drained(); };
    begin(std::move(setup), options.listen);
  }
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;
  ~impl() { end(); }

  std::uint16_t port() const { return port_; }

  void drain(std::string why, std::chrono::milliseconds patience) {
    count_caller(1);
    {
      logger_reference reference;
      caf::scoped_actor self{*links_.system, true};
      self->request(actor_, caf::infinite, cluster::drain_worker{std::move(why), patience})
        .receive([] {}, [](const caf::error&) {});
    }
    count_caller(-1);
  }

  void wait() {
    std::unique_lock lock{mutex_};
    // The caller of wait() may destroy this object next, so callers of drain() must have left.
    changed_.wait(lock, [this] { return drained_ && callers_ == 0; });
  }

private:
  void count_caller(int more) {
    std::lock_guard lock{mutex_};
    callers_ += more;
    changed_.notify_all();
  }

  // The name is set before the actor starts, since the actor may get its first message as soon as
  // the port is open.
  void begin(cluster::worker_setup setup, const std::string& listen) {
    logger_reference reference;
    if (setup.admission.name.empty())
      setup.admission.name = host_name() + "-" + setup.admission.incarnation.substr(0, 8);
    actor_ = links_.system->spawn<cluster::worker_actor>(std::move(setup));
    if (listen.empty())
      return;
    auto port = cluster::listen_on(links_, actor_, listen);
    if (!port) {
      end();
      throw port.error();
    }
    port_ = *port;
  }

  void end() {
    if (!actor_)
      return;
    caf::anon_send_exit(actor_, caf::exit_reason::user_shutdown);
    actor_ = nullptr;
    links_.system.reset(); // from here on `guests_` gets no more calls
  }

  void set_drained() {
    std::lock_guard lock{mutex_};
    drained_ = true;
    changed_.notify_all();
  }

  runtime_core runtime_;
  cluster::guest_tasks guests_;
  cluster::link_network links_;
  caf::actor actor_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool drained_ = false;
  int callers_ = 0; // within drain()
};

worker::worker(worker_options options, std::vector<compiled_graph> graphs) {
  check(options, graphs).value();
  impl_ = std::make_unique<impl>(std::move(options), graphs);
}

worker::~worker() = default;

std::uint16_t worker::port() const {
  return impl_->port();
}

void worker::drain(std::string why, std::chrono::milliseconds patience) {
  impl_->drain(std::move(why), patience);
}

void worker::wait() {
  impl_->wait();
}

} // namespace troupe
