// See home_flags.hpp.
#include "tools/troupe/home_flags.hpp"

#include "tools/troupe/parts.hpp"

#include <CLI/CLI.hpp>

namespace troupe::cli {

std::shared_ptr<worker_pool> home_flags::workers() const {
  auto o = options;
  if (o.workers.empty() && o.workers_file.empty() && o.listen.empty())
    return nullptr;
  o.tls = peers->tls();
  o.plain = peers->plain;
  lease->take_into(o.heartbeat, o.lease);
  return load_cluster().connect_workers(o).value();
}

std::shared_ptr<home_flags> add_home_flags(CLI::App& command) {
  auto out = std::make_shared<home_flags>();
  auto& o = out->options;
  command.add_option("--worker", o.workers, "A worker for nodes with a placement; may be repeated")
    ->type_name("HOST:PORT")
    ->allow_extra_args(false);
  command.add_option("--workers-file", o.workers_file, "A file with more workers, one a line")
    ->type_name("FILE");
  command.add_option("--listen", o.listen, "The address at which workers may join")
    ->type_name("HOST:PORT");
  command.add_flag("--allow-other-builds", o.allow_other_builds,
                   "Also give tasks to workers with another build of the graph's code, if they "
                   "allow it, too; one run may then mix both");
  out->lease =
    add_lease_flags(command, "How long a worker may be silent before it loses its tasks, default: "
                             "2.5 s; a longer lease that a worker asks for takes precedence");
  out->peers = add_peer_flags(command);
  return out;
}

} // namespace troupe::cli
