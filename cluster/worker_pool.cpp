// worker_pool: starts the links of a home to its workers, and ends them.
#include <troupe/cluster.hpp>

#include "actors/logger_reference.hpp"
#include "actors/task_placer.hpp"
#include "cluster/home_actor.hpp"
#include "cluster/links/link_network.hpp"
#include "cluster/links/workers_file.hpp"
#include "cluster/process_look.hpp"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

namespace troupe {

namespace cluster {

namespace {

class linked_workers : public worker_pool, public task_placer {
public:
  linked_workers(link_network links, dispatcher_options options, std::vector<endpoint> workers,
                 workers_file more, const std::vector<endpoint>& listed)
    : links_{std::move(links)} {
    logger_reference reference;
    home_ = links_.system->spawn<home_actor>(std::move(options), std::move(workers),
                                             std::move(more), listed);
  }
  linked_workers(const linked_workers&) = delete;
  linked_workers& operator=(const linked_workers&) = delete;
  ~linked_workers() override {
    {
      caf::scoped_actor self{*links_.system, true};
      self->request(home_, goodbye_max, say_goodbye{}).receive([] {}, [](const caf::error&) {});
    }
    caf::anon_send_exit(home_, caf::exit_reason::user_shutdown);
    home_ = nullptr;
  }

  result<void> listen(const std::string& at) {
    auto port = listen_on(links_, home_, at);
    if (!port)
      return port.error();
    port_ = *port;
    return {};
  }

  std::uint16_t port() const override { return port_; }
  task_placer& placer() override { return *this; }

  std::function<void()> start(services& home, task_ptr task, std::function<void()> begun,
                              std::function<void()> then) override {
    auto placed = std::make_shared<placed_task>(home, std::move(task), std::move(begun),
                                                std::move(then));
    auto content = placed->encode();
    if (content)
      caf::anon_send(home_, place_task{placed, std::move(*content)});
    else
      placed->fail(content.error());
    // The task keeps this function, and the placed task keeps the task. A weak reference avoids a
    // cycle.
    return [home_actor = home_, weak = std::weak_ptr{placed}] {
      if (auto placed = weak.lock()) {
        placed->give_up();
        caf::anon_send(home_actor, forget_task{placed});
      }
    };
  }

private:
  link_network links_;
  caf::actor home_;
  std::uint16_t port_ = 0;
};

} // namespace

} // namespace cluster

result<std::shared_ptr<worker_pool>> connect_workers(worker_pool_options options) {
  cluster::dispatcher_options how;
  how.incarnation = cluster::new_incarnation();
  how.process = cluster::own_process();
  how.terms = {options.heartbeat, options.lease};
  how.other_builds = options.allow_other_builds;
  if (auto fits = cluster::check_terms(how.terms); !fits)
    return fits.error();
  auto workers = cluster::to_endpoints(options.workers);
  if (!workers)
    return workers.error();
  cluster::workers_file more{options.workers_file};
  auto listed = more.read();
  if (!listed)
    return listed.error();
  auto links = cluster::make_link_network(options.tls, options.plain);
  if (!links)
    return links.error();
  if (auto may = cluster::may_reach(*links, *workers); !may)
    return may.error();
  auto pool = std::make_shared<cluster::linked_workers>(
    std::move(*links), std::move(how), std::move(*workers), std::move(more), *listed);
  if (!options.listen.empty())
    if (auto listens = pool->listen(options.listen); !listens)
      return listens.error();
  return std::shared_ptr<worker_pool>{std::move(pool)};
}

} // namespace troupe
