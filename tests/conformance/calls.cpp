#include "tests/conformance/calls.hpp"

#include "tests/conformance/call_config.hpp"
#include "tests/conformance/event_order.hpp"
#include "tests/conformance/expr.hpp"
#include "tests/conformance/transcript.hpp"
#include "tests/fixtures/loopback_workers.hpp"

#include <algorithm>
#include <set>

namespace troupe::conformance {
namespace {

answer_json failed(const error& e) {
  return {{"error", reference_name(e)}};
}

run_input input_in(const script_json& call, world& w) {
  scope outside{w};
  return input_of(evaluate(call.at("input"), outside));
}

std::optional<state_update> values_of(const script_json& update, world& w) {
  scope outside{w};
  auto t = evaluate(update.value("values", script_json{}), outside);
  if (t.is_null())
    return std::nullopt;
  if (t.as_command())
    w.refuse("an update that is a command");
  return update_of(t);
}

outside_update update_in(const script_json& update, world& w) {
  return {values_of(update, w), text_member(update, "as_node")};
}

} // namespace

case_run::case_run(const script& s, const case_mode& mode) : script_{s}, world_{s.text()} {
  world_.graphs = &graphs_;
  world_.models = &models_;
  if (mode.seed)
    world_.shuffle.emplace(*mode.seed);
  world_.placed = mode.placed;
}

answer_json case_run::answers() {
  auto out = answer_json::array();
  for (const auto& call : script_.calls) {
    out.push_back(world_.labels.apply(answer(call)));
    world_.check();
  }
  return out;
}

const std::map<std::string_view, case_run::call>& case_run::calls() {
  static const std::map<std::string_view, call> table{
    {"invoke", &case_run::invoke},
    {"stream", &case_run::stream},
    {"state", &case_run::state},
    {"history", &case_run::history},
    {"update", &case_run::update},
    {"bulk_update", &case_run::bulk_update},
    {"checkpoints", &case_run::checkpoints},
    {"delete_thread", &case_run::delete_thread},
    {"store", &case_run::search_store},
    {"namespaces", &case_run::list_namespaces},
    {"clear_cache", &case_run::clear_cache},
    {"draw", &case_run::draw},
    {"compile", &case_run::compile},
  };
  return table;
}

answer_json case_run::answer(const script_json& call) {
  auto name = call.at("do").get<std::string>();
  auto found = calls().find(name);
  if (found == calls().end())
    world_.refuse("call " + name);
  try {
    return (this->*found->second)(call);
  } catch (const error& e) {
    return failed(e);
  }
}

// ---- running --------------------------------------------------------------------------------

answer_json case_run::invoke(const script_json& call) {
  auto app = app_for(call);
  return shown(app.try_invoke(input_in(call, world_), config_of(call, world_)).value());
}

answer_json case_run::stream(const script_json& call) {
  auto events = answer_json::array();
  std::optional<error> failure;
  for (const auto& part : parts_of(call, failure))
    events.push_back(shown(part));
  answer_json out{{"events", std::move(events)}};
  if (failure)
    out.update(failed(*failure));
  return out;
}

std::vector<stream_part> case_run::parts_of(const script_json& call,
                                            std::optional<error>& failure) {
  auto modes = modes_of(call, world_);
  bool debug = std::find(modes.begin(), modes.end(), stream_mode::debug) != modes.end();
  if (world_.shuffle && !debug)
    modes.push_back(stream_mode::debug); // shows the order of tasks
  std::vector<stream_part> out;
  try {
    auto parts = app_for(call).stream(input_in(call, world_), config_of(call, world_), modes);
    while (auto part = parts.next())
      out.push_back(std::move(*part));
  } catch (const error& e) {
    failure = e;
  }
  if (!world_.shuffle)
    return out;
  out = in_task_order(std::move(out), world_.handlers());
  std::erase_if(out, [&](const auto& part) { return !debug && part.mode == stream_mode::debug; });
  return out;
}

// ---- state ----------------------------------------------------------------------------------

answer_json case_run::state(const script_json& call) {
  auto config = config_of(call, world_);
  return shown(app_for(call).get_state(config, config.subgraphs));
}

answer_json case_run::history(const script_json& call) {
  auto snapshots = answer_json::array();
  for (const auto& snapshot :
       app_for(call).get_state_history(config_of(call, world_), history_of(call, world_)))
    snapshots.push_back(shown(snapshot));
  return {{"snapshots", std::move(snapshots)}};
}

answer_json case_run::update(const script_json& call) {
  auto made = app_for(call).update_state(config_of(call, world_), values_of(call, world_),
                                         text_member(call, "as_node"));
  return {{"checkpoint", shown_checkpoint(made.checkpoint_id)}};
}

answer_json case_run::bulk_update(const script_json& call) {
  std::vector<std::vector<outside_update>> supersteps;
  for (const auto& updates : call.at("supersteps")) {
    auto& step = supersteps.emplace_back();
    for (const auto& update : updates)
      step.push_back(update_in(update, world_));
  }
  auto app = app_for(call);
  auto made = app.try_bulk_update_state(config_of(call, world_), supersteps).value();
  return {{"checkpoint", shown_checkpoint(made.checkpoint_id)}};
}

answer_json case_run::checkpoints(const script_json& call) {
  auto config = config_of(call, world_);
  auto stored =
    saver_->list({.thread_id = config.thread_id, .checkpoint_ns = config.checkpoint_ns});
  auto records = answer_json::array();
  for (const auto& tuple : stored.value())
    records.push_back(shown(tuple));
  return {{"checkpoints", std::move(records)}};
}

answer_json case_run::delete_thread(const script_json& call) {
  saver_->delete_thread(text_member(call, "thread")).value();
  return answer_json::object();
}

// ---- the store and the cache ----------------------------------------------------------------

answer_json case_run::search_store(const script_json& call) {
  auto found = store_->search(store_query_of(call));
  auto items = answer_json::array();
  for (const auto& item : found.value())
    items.push_back({item.space, item.key, shown(item.value)});
  return {{"items", std::move(items)}};
}

answer_json case_run::list_namespaces(const script_json& call) {
  return {{"namespaces", store_->list_namespaces(namespace_query_of(call)).value()}};
}

answer_json case_run::clear_cache(const script_json& call) {
  app_for(call).clear_cache(call.value("nodes", std::vector<std::string>{})).value();
  return answer_json::object();
}

// ---- graphs ---------------------------------------------------------------------------------

answer_json case_run::draw(const script_json& call) {
  auto app = app_for(call);
  auto nodes = app.graph().nodes();
  std::set<std::string> names{nodes.begin(), nodes.end()};
  names.insert(START);
  for (auto& handler : handler_nodes(script_.graphs.at(call.value("graph", std::string{"main"}))))
    names.insert(std::move(handler));
  auto edges = answer_json::array();
  for (const auto& edge : app.graph().edges()) {
    auto label = edge.label.empty() ? answer_json{} : answer_json(edge.label);
    edges.push_back(answer_json::array({edge.from, edge.to, label, edge.conditional}));
    names.insert({edge.from, edge.to});
  }
  return {{"nodes", names}, {"edges", std::move(edges)}};
}

answer_json case_run::compile(const script_json& call) {
  app_for(call);
  return answer_json::object();
}

app<> case_run::app_for(const script_json& call) {
  auto name = call.value("graph", std::string{"main"});
  auto found = apps_.find(name);
  if (found == apps_.end()) {
    auto used = services_of(name, script_.graphs.at(name));
    found = apps_.emplace(name, host(used).load(graphs_.graph(name))).first;
  }
  return found->second;
}

runtime& case_run::host(const services& used) {
  auto& found = hosts_[used];
  if (!found)
    found = std::make_unique<runtime>(
      runtime_options{.saver = used.saver ? saver_ : nullptr,
                      .store = used.store ? store_ : nullptr,
                      .workers = world_.placed ? std::make_shared<loopback_workers>() : nullptr});
  return *found;
}

} // namespace troupe::conformance
