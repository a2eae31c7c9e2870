// See home_flags.hpp.
#include "tools/troupe/home_flags.hpp"

#include <CLI/CLI.hpp>

namespace troupe::cli {

std::shared_ptr<worker_pool> home_flags::workers() const {
  auto o = options;
  if (o.workers.empty() && o.workers_file.empty() && o.listen.empty())
    return nullptr;
  o.tls = peers->tls();
  o.plain = peers->plain;
  return connect_workers(o).value();
}

std::shared_ptr<home_flags> add_home_flags(CLI::App& command) {
  auto out = std::make_shared<home_flags>();
  auto& o = out->options;
  command.add_option("--worker", o.workers, "A worker for nodes with a placement; repeat it")
    ->type_name("HOST:PORT")
    ->allow_extra_args(false);
  command.add_option("--workers-file", o.workers_file, "More of them, one a line")
    ->type_name("FILE");
  command.add_option("--listen", o.listen, "Where workers may join")->type_name("HOST:PORT");
  out->peers = add_peer_flags(command);
  return out;
}

} // namespace troupe::cli
