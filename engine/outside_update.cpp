// Updates from outside. A superstep of updates is computed first and stored then, so that a refused
// one leaves nothing stored.
#include "engine/outside_update.hpp"
#include "engine/apply.hpp"
#include "engine/checkpoint_metadata.hpp"
#include "engine/delta_book.hpp"
#include "engine/find_checkpoint.hpp"
#include "engine/given_values.hpp"
#include "engine/message_writes.hpp"
#include "engine/outside_writers.hpp"
#include "engine/stored_writes.hpp"
#include "engine/thread_owners.hpp"
#include "engine/update_nodes.hpp"
#include "persistence/record/saver_rules.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace troupe {

namespace {

error refuse(std::string why) {
  return {errc::invalid_update, std::move(why)};
}

struct superstep_base {
  checkpoint_ref at;                     // asked for, or made by the superstep before
  std::optional<checkpoint_tuple> saved; // the checkpoint found there
  bool superseded = false;               // `saved` was addressed by id and is not the newest
  std::uint64_t newest_id = 0;           // id_ticks() of the newest known id
};

/// One superstep of updates, turned into the requests that store it.
class superstep {
public:
  superstep(const std::shared_ptr<const graph_plan>& plan, const run_config& config,
            const update_tools& tools, superstep_base base)
    : plan_{plan},
      config_{config},
      tools_{tools},
      base_{std::move(base)},
      newest_id_{base_.newest_id} {}

  result<std::vector<save_request>> work_out(const std::vector<outside_update>& updates) {
    if (auto loaded = load(); !loaded)
      return loaded.error();
    if (auto done = take(updates); !done)
      return done.error();
    return std::move(requests_);
  }

private:
  result<void> load() {
    step_ = -1;
    deltas_.begin(*plan_, base_.saved ? base_.saved->metadata : value{}, config_.store_history);
    if (!base_.saved) {
      reset_state(state_, plan_, tools_.tag());
      base_id_ = tools_.next_checkpoint_id(-2, 0);
      return {};
    }
    deltas_.force(base_.saved->pending_writes);
    base_id_ = base_.saved->ref.checkpoint_id;
    if (const auto& step = base_.saved->metadata["step"]; step.is_int())
      step_ = step.as_int();
    return load_state(state_, plan_, tools_.tag(), base_.saved->checkpoint);
  }

  result<void> take(const std::vector<outside_update>& updates) {
    const auto& first = updates.front();
    bool alone = updates.size() == 1;
    if (auto checked = check_goto(updates); !checked)
      return checked;
    if (!first.values && first.as_node == names::end)
      return alone ? clear() : refuse("Cannot apply multiple updates when clearing state");
    if (first.as_node == names::input)
      return alone ? give_input(first)
                   : refuse("Cannot apply multiple updates when updating as input");
    if (first.as_node == names::copy)
      return alone ? copy(first) : refuse("Cannot copy checkpoint with multiple updates");
    return act(updates);
  }

  // -- the ways to update

  // All waiting tasks count as run; the writes of finished tasks are kept.
  result<void> clear() {
    auto tasks = pending_tasks();
    auto stored = base_.saved ? read_stored(*plan_, base_.saved->pending_writes) : stored_writes{};
    if (!stored.outside.empty())
      if (auto done = apply({{applied_task::kind::input, no_index, &stored.outside}}); !done)
        return done;
    std::sort(tasks.begin(), tasks.end(),
              [this](const auto& a, const auto& b) { return task_order{}(*plan_, a, b); });
    std::vector<applied_task> cleared;
    for (const auto& t : tasks) {
      const auto* record = stored.find(t.id);
      cleared.push_back({t.push ? applied_task::kind::push : applied_task::kind::pull, t.node,
                         record ? &record->output : nullptr});
    }
    if (auto done = apply(cleared); !done)
      return done;
    put("update", step_ + 1, {}, cleared);
    return {};
  }

  result<void> give_input(const outside_update& update) {
    if (!update.values)
      return refuse("Received no input writes for " + std::string{names::start});
    if (auto checked = check_given(*plan_, *update.values,
                                   {.what = "update_state as input",
                                    .code = errc::invalid_update,
                                    .input = true,
                                    .strict = config_.strict_input});
        !checked)
      return checked;
    const task_write_list writes{{plan_->start, whole_value(*update.values), {}}};
    const std::vector<applied_task> tasks{{applied_task::kind::input, no_index, &writes}};
    if (auto done = apply(tasks); !done)
      return done;
    std::vector<task_writes> kept;
    keep(kept, {uuid5(base_id_, names::input), "", store_writes(*plan_, writes)});
    put("input", base_.saved ? step_ + 1 : -1, std::move(kept), tasks);
    return {};
  }

  // The copy is a sibling of the copied checkpoint, and may get updates of its own at once.
  result<void> copy(const outside_update& update) {
    if (!base_.saved)
      return refuse("Cannot copy a non-existent checkpoint");
    auto twin = *base_.saved;
    twin.ref.checkpoint_id = twin.checkpoint.id = next_id(step_ + 1);
    twin.checkpoint.ts = tools_.timestamp();
    twin.checkpoint.updated_channels.reset();
    twin.metadata = deltas_.counted(metadata("fork", step_ + 1));
    twin.pending_writes.clear();
    checkpoint_put made{twin.parent_id, twin.checkpoint, twin.metadata, {}};
    made.checkpoint.channel_values.clear();
    requests_.push_back({base_.saved->ref, {}, std::move(made)});
    auto updates = updates_of_copy(update);
    if (!updates || updates->empty())
      return updates ? result<void>{} : updates.error();
    auto at = twin.ref;
    superstep on_top{plan_, config_, tools_, {std::move(at), std::move(twin), false, newest_id_}};
    auto more = on_top.work_out(*updates);
    if (!more)
      return more.error();
    std::move(more->begin(), more->end(), std::back_inserter(requests_));
    return {};
  }

  // Updates from a list of [values, as_node]; those of one node are grouped.
  static result<std::vector<outside_update>> updates_of_copy(const outside_update& update) {
    auto list = update.values ? whole_value(*update.values) : value{};
    std::vector<outside_update> out;
    for (const auto& item : list.items()) {
      if (!item.is_list() || item.size() < 2)
        return refuse("Invalid update item: " + to_json(item) + " when copying checkpoint");
      outside_update next;
      if (!item[0].is_null())
        next.values = state_update{item[0]};
      if (item[1].is_string())
        next.as_node = item[1].as_string();
      auto same = std::find_if(out.rbegin(), out.rend(), [&next](const outside_update& u) {
        return u.as_node == next.as_node;
      });
      out.insert(same == out.rend() ? out.end() : same.base(), std::move(next));
    }
    return out;
  }

  result<void> act(const std::vector<outside_update>& updates) {
    auto nodes = update_nodes(state_, updates);
    if (!nodes)
      return nodes.error();
    for (std::size_t i = 0; i < nodes->size(); ++i)
      if (auto checked = check_update((*nodes)[i], updates[i].values); !checked)
        return checked;
    auto ids = task_ids(*nodes, updates);
    if (auto twice = repeated(ids))
      return refuse("update_state: two updates of one super-step for the task " + *twice);
    repeats_ = base_.saved
               && std::ranges::any_of(base_.saved->pending_writes, [&ids](const auto& w) {
                    return write_slot(w.channel, 0) >= 0 // not an error or a question
                           && std::ranges::find(ids, w.task_id) != ids.end();
                  });
    std::vector<task_write_list> writes;
    for (std::size_t i = 0; i < nodes->size(); ++i) {
      auto made = run_writers(state_, config_,
                              {.node = (*nodes)[i],
                               .id = ids[i],
                               .checkpoint_ns = base_.at.checkpoint_ns,
                               .step = step_,
                               .values = &updates[i].values,
                               .goto_ = &updates[i].goto_});
      if (!made)
        return made.error();
      if (deltas_.active())
        if (auto stamped = give_message_ids(*plan_, *made); !stamped)
          return stamped;
      writes.push_back(std::move(*made));
    }
    std::vector<task_writes> kept;
    std::vector<applied_task> tasks;
    for (std::size_t i = 0; i < nodes->size(); ++i) {
      const task_path path{{std::string{names::interrupt}}, {static_cast<std::int64_t>(i)}};
      keep(kept, {ids[i], task_path_str(path), store_writes(*plan_, writes[i])});
      tasks.push_back({applied_task::kind::outside, (*nodes)[i], &writes[i]});
    }
    if (auto done = apply(tasks); !done)
      return done;
    put("update", step_ + 1, std::move(kept), tasks);
    return {};
  }

  // -- parts of them

  // Checked before the writers run, so that the message names the call and not only the node.
  result<void> check_update(node_index node, const std::optional<state_update>& values) const {
    if (!values)
      return {};
    auto what = "update_state as node `" + plan_->nodes[node].name + "`";
    for (const auto& [name, v] : values->entries())
      if (name == names::root && !plan_->single)
        return refuse(what + ": a map of channels is expected: it is " + to_json(v));
    return check_given(
      *plan_, *values,
      {.what = what, .code = errc::invalid_update, .strict = config_.strict_input});
  }

  result<void> check_goto(const std::vector<outside_update>& updates) const {
    for (const auto& one : updates)
      if (!one.goto_.empty()
          && (plan_->functional || one.as_node == names::end || one.as_node == names::input
              || one.as_node == names::copy))
        return refuse("update_state as "
                      + (one.as_node.empty() ? std::string{"a workflow"} : "`" + one.as_node + "`")
                      + ": only a node of a graph goes to nodes");
    return {};
  }

  // An id that sorts after all known ids of the namespace, by whatever clock they were made.
  std::string next_id(std::int64_t step) {
    auto id = tools_.next_checkpoint_id(step, newest_id_);
    newest_id_ = id_ticks(id);
    return id;
  }

  std::vector<planned_task> pending_tasks() const {
    if (!base_.saved)
      return {};
    return plan_next_tasks(
      state_,
      {.checkpoint_id = base_id_, .checkpoint_ns = base_.at.checkpoint_ns, .step = step_ + 1},
      nullptr);
  }

  static std::optional<std::string> repeated(std::vector<std::string> ids) {
    std::ranges::sort(ids);
    auto twice = std::ranges::adjacent_find(ids);
    return twice == ids.end() ? std::nullopt : std::optional{*twice};
  }

  // The ids that the updates name, else those of the node's other waiting tasks, so that history
  // shows their results.
  std::vector<std::string> task_ids(const std::vector<node_index>& nodes,
                                    const std::vector<outside_update>& updates) const {
    auto is_named = [&updates](const std::string& id) {
      return std::ranges::find(updates, id, &outside_update::task_id) != updates.end();
    };
    std::map<node_index, std::deque<std::string>> waiting;
    for (auto& t : pending_tasks())
      if (!is_named(t.id))
        waiting[t.node].push_back(std::move(t.id));
    std::vector<std::string> out;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!updates[i].task_id.empty()) {
        out.push_back(updates[i].task_id);
        continue;
      }
      auto& known = waiting[nodes[i]];
      if (known.empty()) {
        auto name = std::string{names::interrupt};
        out.push_back(uuid5(base_id_, i == 0 ? name : name + ":" + std::to_string(i)));
      } else {
        out.push_back(std::move(known.front()));
        known.pop_front();
      }
    }
    return out;
  }

  // Keeps writes on the checkpoint that is built upon, unless that checkpoint has another child.
  void keep(std::vector<task_writes>& kept, task_writes writes) const {
    if (base_.saved && !base_.superseded && !writes.writes.empty())
      kept.push_back(std::move(writes));
  }

  result<void> apply(const std::vector<applied_task>& tasks) {
    auto updated = apply_here(state_, tasks, true);
    return updated ? result<void>{} : updated.error();
  }

  value metadata(std::string_view source, std::int64_t step) const {
    return checkpoint_metadata(source, step,
                               base_.saved ? base_.saved->metadata["parents"] : value{}, config_);
  }

  // The delta channels whose value the checkpoint holds. On a fresh thread these are all, since
  // their writes are stored nowhere. Otherwise they are those written beside another child, and
  // those of a task that has stored writes already.
  std::vector<channel_index> settle_deltas(const std::vector<applied_task>& tasks) {
    task_write_list written;
    for (const auto& t : tasks)
      if (t.writes)
        written.insert(written.end(), t.writes->begin(), t.writes->end());
    deltas_.force_overwritten(written);
    if (base_.superseded || repeats_)
      deltas_.force(written);
    if (base_.saved)
      deltas_.count(written);
    else
      deltas_.force_all(state_);
    return deltas_.settle(state_);
  }

  void put(std::string_view source, std::int64_t step, std::vector<task_writes> kept,
           const std::vector<applied_task>& tasks) {
    checkpoint_put made;
    std::vector<channel_index> snapshots;
    if (deltas_.active())
      snapshots = settle_deltas(tasks);
    made.parent_id = base_.saved ? base_.saved->ref.checkpoint_id : base_.at.checkpoint_id;
    made.checkpoint = take_checkpoint(state_, nullptr, made.new_versions);
    store_snapshots(state_, snapshots, made.checkpoint);
    made.checkpoint.id = next_id(step);
    made.checkpoint.ts = tools_.timestamp();
    made.metadata = deltas_.counted(metadata(source, step));
    made.drops_older = config_.store_history == store_history::latest_only
                       && deltas_.needs_no_past();
    auto ref = base_.at;
    ref.checkpoint_id = made.parent_id;
    requests_.push_back({std::move(ref), std::move(kept), std::move(made)});
  }

  const std::shared_ptr<const graph_plan>& plan_;
  const run_config& config_;
  const update_tools& tools_;
  superstep_base base_;
  std::uint64_t newest_id_;
  std::string base_id_;
  std::int64_t step_ = -1; // of the checkpoint that is built upon
  thread_state state_;
  delta_book deltas_;
  bool repeats_ = false; // an update acts as a task whose output is stored
  std::vector<save_request> requests_;
};

result<superstep_base> find_base(const graph_plan& plan, saver& store, checkpoint_ref at,
                                 bool first) {
  auto saved = find_checkpoint(plan, store, at);
  if (!saved)
    return saved.error();
  superstep_base out{std::move(at), std::move(*saved)};
  if (out.saved)
    out.newest_id = id_ticks(out.saved->ref.checkpoint_id);
  if (!first || out.at.checkpoint_id.empty() || !out.saved)
    return out;
  auto newest = store.get_tuple({out.at.thread_id, out.at.checkpoint_ns, {}});
  if (!newest)
    return newest.error();
  out.superseded = *newest && (*newest)->ref.checkpoint_id != out.saved->ref.checkpoint_id;
  if (*newest)
    out.newest_id = std::max(out.newest_id, id_ticks((*newest)->ref.checkpoint_id));
  return out;
}

// A copy is a sibling of the copied checkpoint: when the parent of that was pruned, the copy has no
// parent.
result<void> forget_pruned_parent(saver& store, checkpoint_tuple& copied) {
  auto parent = store.get_tuple({copied.ref.thread_id, copied.ref.checkpoint_ns, copied.parent_id});
  if (!parent)
    return parent.error();
  if (!*parent)
    copied.parent_id.clear();
  return {};
}

} // namespace

result<checkpoint_ref> update_thread(const std::shared_ptr<const graph_plan>& plan, saver& store,
                                     const run_config& config,
                                     const std::vector<std::vector<outside_update>>& supersteps,
                                     const update_tools& tools) {
  if (supersteps.empty())
    return error{errc::invalid_config, "No supersteps provided"};
  if (std::any_of(supersteps.begin(), supersteps.end(), [](const auto& s) { return s.empty(); }))
    return error{errc::invalid_config, "No updates provided"};
  checkpoint_ref at{config.thread_id, config.checkpoint_ns, config.checkpoint_id};
  bool goes_on = config.checkpoint_id.empty()
                 && supersteps.front().front().as_node != names::copy; // a copy is a branch
  auto claim = std::make_shared<held_claim>();
  auto entered = enter_thread(store, config.thread_id, *tools.owners, claim,
                              goes_on ? thread_reading::pending : thread_reading::older);
  if (!entered)
    return entered.error();
  bool first = true;
  for (const auto& updates : supersteps) {
    bool is_first = std::exchange(first, false);
    auto base = find_base(*plan, store, at, is_first);
    if (!base)
      return base.error();
    if (auto kept = is_first ? check_kept(config, base->saved.has_value()) : result<void>{}; !kept)
      return kept.error();
    if (updates.front().as_node == names::copy && base->saved && !base->saved->parent_id.empty())
      if (auto ok = forget_pruned_parent(store, *base->saved); !ok)
        return ok.error();
    auto requests = superstep{plan, config, tools, std::move(*base)}.work_out(updates);
    if (!requests)
      return requests.error();
    for (auto& request : *requests) {
      at.checkpoint_id = request.put->checkpoint.id;
      request.claim = claim->at_rest(claim->held); // an update is not a reason to run the thread
      if (auto saved = store_durably(store, std::move(request)); !saved)
        return saved.error();
      claim->held = true;
    }
  }
  return at;
}

} // namespace troupe
