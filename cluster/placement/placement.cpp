// placement: which workers fit a task, the choice among them, and the reason when none fits.
#include "cluster/placement/placement.hpp"

#include "cluster/wire/status.hpp"

#include <algorithm>
#include <tuple>

namespace troupe::cluster {

namespace {

constexpr std::size_t workers_named_max = 8; // in an error; more are counted

bool has_label(const worker_view& worker, const std::string& label) noexcept {
  return label.empty() || std::binary_search(worker.labels.begin(), worker.labels.end(), label);
}

bool has_build(const worker_view& worker, const graph_offer& graph) noexcept {
  auto [first, last] = std::equal_range(worker.graphs.begin(), worker.graphs.end(), graph, before);
  return std::any_of(first, last, [&](const graph_offer& g) { return g.build == graph.build; });
}

std::uint64_t load(const worker_view& worker) noexcept {
  return std::uint64_t{worker.running} + worker.foreign;
}

bool is_better(const worker_view& a, const worker_view& b, worker_choice how) noexcept {
  bool a_full = load(a) >= a.capacity, b_full = load(b) >= b.capacity;
  if (a_full != b_full)
    return b_full;
  if (how == worker_choice::pack && !a_full)
    return std::pair{load(a), a.last_given} > std::pair{load(b), b.last_given};
  return std::pair{load(a), a.last_given} < std::pair{load(b), b.last_given};
}

std::string reason(const worker_view& worker, const place_request& request) {
  auto name = "`" + worker.name + "` ";
  switch (fitness_of(worker, request)) {
    case fitness::draining: return name + "drains";
    case fitness::no_label: return name + "has no such label";
    case fitness::no_graph: return name + "has no such graph";
    case fitness::other_graph: return name + "has another graph of that name";
    case fitness::other_build: return name + "has another build of that graph (allow_other_builds)";
    case fitness::fits: break;
  }
  return name + "could take it";
}

} // namespace

bool before(const graph_offer& a, const graph_offer& b) noexcept {
  return std::tie(a.name, a.hash) < std::tie(b.name, b.hash);
}

void normalise(worker_view& worker) {
  std::sort(worker.labels.begin(), worker.labels.end());
  std::sort(worker.graphs.begin(), worker.graphs.end(), before);
}

const graph_offer* graph_called(const worker_view& worker, const std::string& name) noexcept {
  auto at = std::lower_bound(worker.graphs.begin(), worker.graphs.end(), name,
                             [](const graph_offer& g, const std::string& n) { return g.name < n; });
  return at != worker.graphs.end() && at->name == name ? &*at : nullptr;
}

std::string build_text(const std::string& hash, const std::string& build,
                       const std::string& version) {
  return (version.empty() ? std::string{} : "version " + readable(version) + ", ") + "build "
         + (build.empty() ? "unknown" : readable(build)) + ", structure " + readable(hash);
}

fitness fitness_of(const worker_view& worker, const place_request& request) noexcept {
  if (!has_label(worker, request.where.label))
    return fitness::no_label;
  if (!std::binary_search(worker.graphs.begin(), worker.graphs.end(), request.graph, before))
    return graph_called(worker, request.graph.name) ? fitness::other_graph : fitness::no_graph;
  if (!worker.any_build && !has_build(worker, request.graph))
    return fitness::other_build;
  return worker.draining ? fitness::draining : fitness::fits;
}

const worker_view* pick(const std::vector<const worker_view*>& able, worker_choice how) noexcept {
  const worker_view* best = nullptr;
  for (const auto* worker : able)
    if (worker->has_room() && (!best || is_better(*worker, *best, how)))
      best = worker;
  return best;
}

const worker_view* pick_ahead(const std::vector<const worker_view*>& able,
                              std::size_t bytes) noexcept {
  auto waiting = [](const worker_view& w) {
    return std::uint64_t{w.running - std::min(w.running, w.capacity)};
  };
  const worker_view* best = nullptr;
  for (const auto* worker : able)
    if (worker->has_room_ahead(bytes)
        && (!best || waiting(*worker) * best->capacity < waiting(*best) * worker->capacity))
      best = worker;
  return best;
}

error why_nobody(const std::vector<const worker_view*>& workers, const place_request& request) {
  std::string text = "place a task of graph `" + request.graph.name + "`";
  if (!request.where.label.empty())
    text += " on a worker with the label `" + request.where.label + "`";
  if (workers.empty())
    return {errc::worker_lost, text + ": no worker has joined"};
  text += ": no worker can take it: ";
  bool label_found = false, graph_found = false;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    auto how = fitness_of(*workers[i], request);
    label_found |= how != fitness::no_label;
    graph_found |= how == fitness::draining || how == fitness::fits;
    if (i < workers_named_max)
      text += (i > 0 ? ", " : "") + reason(*workers[i], request);
  }
  if (workers.size() > workers_named_max)
    text += " and " + std::to_string(workers.size() - workers_named_max) + " more";
  return {label_found && !graph_found ? errc::unknown_graph : errc::worker_lost, text};
}

place_answer place(const std::vector<const worker_view*>& workers, const place_request& request) {
  std::vector<const worker_view*> able;
  for (const auto* worker : workers)
    if (fitness_of(*worker, request) == fitness::fits)
      able.push_back(worker);
  if (able.empty())
    return {.worker = nullptr, .nobody = why_nobody(workers, request)};
  return {.worker = pick(able, request.where.choice), .nobody = std::nullopt};
}

} // namespace troupe::cluster
