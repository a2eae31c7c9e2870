// troupe worker: runs nodes and subgraphs for other processes.
#include "tools/troupe/bodies_deadline.hpp"
#include "tools/troupe/cluster/definitions.hpp"
#include "tools/troupe/cluster/drain_flags.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/peer_flags.hpp"
#include "tools/troupe/stop_signals.hpp"

#include <troupe/cluster.hpp>

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

namespace troupe::cli {

namespace {

struct worker_flags {
  std::vector<std::string> graphs;
  worker_options worker;
  std::shared_ptr<double> drain_timeout;
  std::shared_ptr<lease_flags> lease;
};

int run_worker(worker_flags& o, const peer_flags& peers, bool json) {
  stop_signals signals; // before anything that starts threads
  o.worker.tls = peers.tls();
  o.worker.plain = peers.plain;
  o.lease->take_into(o.worker.heartbeat, o.worker.lease);
  std::vector<compiled_graph> graphs;
  for (const auto& name : o.graphs)
    graphs.push_back(find_graph(name));
  auto w = std::make_unique<worker>(o.worker, std::move(graphs));
  signals.watch([&w, patience = milliseconds_of(
                       *o.drain_timeout)] { w->drain("the worker was asked to stop", patience); },
                "stopping: no more tasks are accepted, and running tasks end first");
  if (json)
    print_line(json_line("worker", {{"port", std::to_string(w->port())}}));
  else if (w->port() != 0)
    std::cout << "listening at port " << w->port() << std::endl;
  w->wait();
  signals.watch(std::nullopt); // the worker ends before they do
  bodies_deadline in_time;
  w.reset();
  return exit_done;
}

} // namespace

void define_worker(CLI::App* command, chosen_command& chosen) {
  auto o = std::make_shared<worker_flags>();
  auto& w = o->worker;
  command->add_option("GRAPH", o->graphs, "Built-in graphs, or path/to/lib.so:name")->required();
  command->add_option("--listen", w.listen, "Where homes link to it; port 0: any")
    ->type_name("HOST:PORT")
    ->capture_default_str();
  command->add_option("--join", w.join, "A home that listens; may be repeated")
    ->type_name("HOST:PORT")
    ->allow_extra_args(false);
  command->add_option("--name", w.name, "The name of the worker; default: a random one");
  command
    ->add_option("--label", w.labels, "A label by which nodes choose this worker; may be repeated")
    ->allow_extra_args(false);
  command->add_option("--capacity", w.capacity, "Tasks at a time; 0: four a core")
    ->check(CLI::Range(0u, limits::worker_capacity_max))
    ->capture_default_str();
  o->drain_timeout = add_drain_timeout(*command, "--drain-timeout");
  command->add_flag("--allow-other-builds", w.allow_other_builds,
                    "Also work for homes with another build of a graph's code, if they allow it, "
                    "too; one run may then mix both");
  o->lease = add_lease_flags(*command, "The shortest lease to ask homes for: a shorter silence "
                                       "costs no task; default: the lease of each home");
  auto peers = add_peer_flags(*command);
  command->add_flag("--json", chosen.json, "Print one JSON object when it listens");
  command->callback([&chosen, o, peers] {
    chosen.run = [&chosen, o, peers] { return run_worker(*o, *peers, chosen.json); };
  });
}

} // namespace troupe::cli
