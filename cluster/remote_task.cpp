// remote_task: a task for a worker as bytes, and its outcome.
#include "cluster/remote_task.hpp"

#include "cluster/wire/fields.hpp"
#include "graph/checkpoint_ns.hpp"

#include <atomic>

namespace troupe::cluster {

namespace {

constexpr auto last_mode = stream_mode::tools;

value count(std::uint64_t n) {
  return value(static_cast<std::int64_t>(n));
}

value of_writes(const task_write_list& writes) {
  return list_of(writes, [](const task_write& w) {
    auto where = w.channel == no_index ? value(w.name) : count(w.channel);
    return value::list({std::move(where), w.val});
  });
}

task_write_list to_writes(fields& in, const graph_plan& plan) {
  return in.each([&plan](const value& v) {
    fields f{v, 2, "a write"};
    task_write out;
    if (v[0].is_string())
      out.name = f.text();
    else
      out.channel = static_cast<channel_index>(f.upto(plan.channels.size() - 1));
    out.val = f.any();
    return out;
  });
}

value of_update(const state_update& update) {
  return list_of(update.entries(), [](const state_update::entry& e) {
    return value::list({value(e.first), e.second});
  });
}

state_update to_update(fields& in) {
  return state_update{in.each([](const value& v) {
    fields f{v, 2, "an update"};
    auto channel = f.text();
    return state_update::entry{std::move(channel), f.any()};
  })};
}

value of_command(const command& c) {
  auto gotos = list_of(c.goto_.list(), [](const destination& to) {
    return std::holds_alternative<send>(to) ? value::of(std::get<send>(to))
                                            : value(std::get<std::string>(to));
  });
  return value::list({c.update ? of_update(*c.update) : value{}, std::move(gotos),
                      value(c.resume.has_value()), c.resume.value_or(value{}), value(c.graph)});
}

command to_command(const value& v) {
  fields in{v, 5, "a command"};
  command out;
  out.update = in.maybe([](fields& f) { return to_update(f); });
  out.goto_ = in.each([](const value& to) {
    return to.is_string() ? destination{std::string{to.as_string()}} : destination{to.as<send>()};
  });
  bool answers = in.flag();
  if (const auto& answer = in.any(); answers)
    out.resume = answer;
  out.graph = in.text();
  return out;
}

// The input by field, in the order of the node's schema; null when it is one value.
value of_input(const state_view& input) {
  return input.by_field() ? of_update(input.to_update()) : value{};
}

std::vector<std::pair<channel_index, channel_cell>> to_cells(fields& in, const graph_plan& plan) {
  return in.each([&plan](const value& v) {
    fields f{v, 4, "a channel"};
    auto channel = static_cast<channel_index>(f.upto(plan.channels.size() - 1));
    channel_cell cell;
    cell.content = f.any();
    cell.set = f.flag();
    cell.finished = f.flag();
    return std::pair{channel, std::move(cell)};
  });
}

// An input by field. Its names are those of the plan, which outlives every task.
state_view view_of(const state_update& update, const graph_plan& plan) {
  std::vector<state_view::entry> entries;
  entries.reserve(update.entries().size());
  for (const auto& [name, v] : update.entries()) {
    auto channel = plan.find_channel(name);
    if (channel == no_index)
      throw error{errc::invalid_value, "read a task: the graph has no channel `" + name + "`"};
    entries.push_back({plan.channels[channel].name, v});
  }
  return state_view{std::move(entries)};
}

std::int64_t since_epoch(std::chrono::system_clock::time_point t) {
  return t.time_since_epoch().count();
}

} // namespace

result<bytes> encode_run(run_shared& run) {
  const auto& config = run.config;
  std::uint32_t modes = 0;
  for (unsigned m = 0; m <= static_cast<unsigned>(last_mode); ++m)
    modes |= run.wants(static_cast<stream_mode>(m)) ? 1U << m : 0U;
  return to_bytes(
    value::list({value(config.thread_id), count(static_cast<std::uint64_t>(config.durability)),
                 count(static_cast<std::uint64_t>(config.store_history)), count(steps_max(config)),
                 count(config.max_concurrency), value(config.subgraphs), config.metadata,
                 config.configurable, value::of(config.tags), value(config.run_name),
                 value(run.run_id()), config.context, value(run.ns), run.parents, run.addressed,
                 run.answers, run.replay ? value(run.replay->before()) : value{},
                 value(run.store != nullptr), count(modes)}));
}

result<remote_run> decode_run(const bytes& facts, std::shared_ptr<const graph_plan> plan) {
  return from_bytes(facts, [&plan](value v) {
    fields in{std::move(v), 19, "a run"};
    remote_run out;
    auto& config = out.config;
    config.thread_id = in.text();
    config.durability = in.one_of(durability::exit);
    config.store_history = in.one_of(store_history::latest_only);
    config.recursion_limit = static_cast<std::uint32_t>(in.upto(0xffff'ffff));
    config.max_concurrency = static_cast<std::uint32_t>(in.upto(0xffff'ffff));
    config.subgraphs = in.flag();
    config.metadata = in.any();
    config.configurable = in.any();
    config.tags = in.each([](const value& tag) { return std::string{tag.as_string()}; });
    config.run_name = in.text();
    config.run_id = in.text();
    config.context = in.any();
    out.ns = in.text();
    out.parents = in.any();
    out.addressed = in.any();
    out.answers = in.any();
    out.replays_before = in.maybe([](fields& f) { return f.text(); });
    out.stored = in.flag();
    out.modes = static_cast<std::uint32_t>(in.upto((2U << static_cast<unsigned>(last_mode)) - 1));
    out.plan = std::move(plan);
    return out;
  });
}

namespace {

// Members that few tasks have; null for a task without any of them.
value of_rest(const detail::task_scope& task, const std::optional<value>& answer) {
  const auto& run = *task.run;
  bool own_ns = task.checkpoint_ns() != run.ns;
  bool own_metadata = task.metadata
                      != detail::task_metadata(run.config.metadata, *run.plan, *task.node);
  auto since = since_epoch(task.first_attempt);
  bool nothing = !own_ns && !own_metadata && task.route_cells.empty() && task.answers.empty()
                 && !task.timeout.given() && task.timeout.refresh_on == refresh_on::auto_
                 && !task.handled && task.previous.is_null() && task.attempt == 1 && since == 0
                 && !answer;
  if (nothing)
    return {};
  auto cells = list_of(task.route_cells, [](const auto& cell) {
    const auto& [channel, c] = cell;
    return value::list({count(channel), c.content, value(c.set), value(c.finished)});
  });
  auto handled = task.handled
                   ? value::list({value(task.handled->node), to_value(task.handled->failure)})
                   : value{};
  return value::list(
    {own_ns ? value(task.checkpoint_ns()) : value{}, std::move(cells), value(own_metadata),
     own_metadata ? task.metadata : value{}, value::list(task.answers),
     value(task.timeout.run_timeout.count()), value(task.timeout.idle_timeout.count()),
     value(task.timeout.refresh_on == refresh_on::heartbeat), std::move(handled), task.previous,
     count(task.attempt), value(since), value(answer.has_value()), answer.value_or(value{})});
}

void take_rest(const value& v, detail::task_scope& task, const graph_plan& plan) {
  fields in{v, 14, "the other facts of a task"};
  if (auto ns = in.maybe([](fields& f) { return f.text(); }))
    task.set_checkpoint_ns(std::move(*ns));
  task.route_cells = to_cells(in, plan);
  bool own_metadata = in.flag();
  if (const auto& metadata = in.any(); own_metadata)
    task.metadata = metadata;
  task.answers = in.each([](const value& answer) { return answer; });
  task.timeout.run_timeout = std::chrono::nanoseconds{in.number()};
  task.timeout.idle_timeout = std::chrono::nanoseconds{in.number()};
  task.timeout.refresh_on = in.flag() ? refresh_on::heartbeat : refresh_on::auto_;
  auto failed = in.maybe([](fields& f) {
    fields inner{f.any(), 2, "a failure"};
    auto name = inner.text();
    return task_failure{std::move(name), to_error(inner.any())};
  });
  if (failed)
    task.handled = std::make_shared<const task_failure>(std::move(*failed));
  task.previous = in.any();
  task.attempt = static_cast<std::uint32_t>(in.upto(0xffff'ffff));
  task.first_attempt =
    std::chrono::system_clock::time_point{std::chrono::system_clock::duration{in.number()}};
  bool offered = in.flag();
  if (const auto& answer = in.any(); offered)
    task.run->give_answer(answer);
}

void take_step(const value& v, detail::task_scope& task, bool again) {
  fields in{v, 5, "a step"};
  auto& run = *task.run;
  auto checkpoint_id = in.text();
  task.step = in.number();
  run.begin_step(task.step, checkpoint_id);
  task.stop = in.number();
  auto resuming = in.maybe([](fields& f) { return f.flag(); });
  // A task that was handed out before has to look for checkpoints of its nested run.
  run.set_resuming(again ? std::optional{true} : resuming);
  run.saw_id(in.upto(id_ticks_max));
}

void take_run(const remote_run& from, run_shared& run) {
  run.plan = from.plan;
  run.config = from.config;
  run.ns = from.ns;
  run.parents = from.parents;
  run.addressed = from.addressed;
  run.answers = from.answers;
  if (from.replays_before)
    run.replay = std::make_shared<replay_bound>(*from.replays_before);
}

} // namespace

result<task_bytes> encode_task(const detail::task_scope& task, const std::optional<value>& answer) {
  auto step = task.run->open_step();
  auto shared = to_bytes(
    value::list({value(step.checkpoint_id), value(task.step), value(task.stop),
                 step.resuming ? value(*step.resuming) : value{}, count(task.run->newest_id())}));
  if (!shared)
    return shared.error();
  bool own_ns = task.ns() != task_namespace(task.run->ns, task.node->name, task.id());
  auto own = to_bytes(
    value::list({own_ns ? value(task.ns()) : value{}, value(task.sent), of_input(task.input),
                 task.input.by_field() ? value{} : task.whole, of_rest(task, answer)}));
  if (!own)
    return own.error();
  return task_bytes{std::move(*own), std::move(*shared)};
}

result<task_ptr> decode_task(const task_order& order, const bytes& step, const remote_run& run,
                             std::shared_ptr<run_shared> shared) {
  auto index = run.plan->find_node(order.node);
  if (index == no_index || index == 0)
    return error{errc::unknown_graph, "run a task: graph `" + run.plan->options.name
                                        + "` has no node `" + order.node + "`"};
  auto task = std::make_shared<detail::task_scope>();
  task->run = shared;
  task->node = &run.plan->nodes[index];
  task->index = index;
  task->epoch = order.issue;
  task->for_home = true;
  take_run(run, *shared);
  auto opened = from_bytes(step, [&](const value& v) {
    take_step(v, *task, order.again);
    return true;
  });
  if (!opened)
    return opened.error();
  return from_bytes(order.task, [&](value v) {
    fields in{std::move(v), 5, "a task"};
    auto ns = in.maybe([](fields& f) { return f.text(); });
    task->identify(order.task_id,
                   ns ? std::move(*ns) : task_namespace(run.ns, order.node, order.task_id));
    task->sent = in.flag();
    auto input = in.maybe([](fields& f) { return to_update(f); });
    task->whole = in.any();
    task->input = input ? view_of(*input, *run.plan) : state_view{task->whole};
    task->metadata = detail::task_metadata(run.config.metadata, *run.plan, *task->node);
    if (const auto& rest = in.any(); !rest.is_null())
      take_rest(rest, *task, *run.plan);
    return task;
  });
}

result<bytes> encode_part(const stream_part& part) {
  return to_bytes(
    value::list({count(static_cast<std::uint64_t>(part.mode)), list_of(part.ns), part.data}));
}

result<stream_part> decode_part(const bytes& data) {
  return from_bytes(data, [](value v) {
    fields in{std::move(v), 3, "a part"};
    stream_part out;
    out.mode = in.one_of(last_mode);
    out.ns = in.texts();
    out.data = in.any();
    return out;
  });
}

result<bytes> encode_outcome(detail::task_scope& task) {
  const auto& control = task.run->control;
  bool drains = control.drain_requested() && !control_hooks::leaves(control); // everywhere
  auto failure = task.failure ? to_value(*task.failure) : value{};
  return to_bytes(value::list(
    {count(static_cast<std::uint64_t>(task.status)), of_writes(task.writes), of_writes(task.early),
     std::move(failure), list_of(task.questions, [](const interrupt& q) { return value::of(q); }),
     task.upward ? of_command(*task.upward) : value{}, count(task.asked), count(task.answered),
     value::list(task.answers), value(task.run->answer_waits()),
     drains ? value(control.reason()) : value{}, value(task.took.count()),
     value(task.learned_to_end.load(std::memory_order_relaxed))}));
}

result<bool> take_outcome(detail::task_scope& task, const bytes& data) {
  return from_bytes(data, [&task](value v) {
    const auto& plan = *task.run->plan;
    fields in{std::move(v), 13, "the outcome of a task"};
    auto status = in.one_of(task_status::parent_command);
    auto writes = to_writes(in, plan);
    auto early = to_writes(in, plan);
    auto failure = in.maybe([](fields& f) { return to_error(f.any()); });
    auto questions = in.each([](const value& q) { return q.as<interrupt>(); });
    auto upward = in.maybe([](fields& f) { return to_command(f.any()); });
    auto asked = in.upto(0xffff'ffff);
    auto answered = in.upto(asked);
    auto answers = in.each([](const value& answer) { return answer; });
    bool left = in.flag();
    auto drains = in.maybe([](fields& f) { return f.text(); });
    auto took = std::chrono::nanoseconds{in.number()};
    bool learned_to_end = in.flag();
    if (answered > answers.size())
      throw error{errc::invalid_value,
                  "read the outcome of a task: it used more answers than the task has"};
    if ((status == task_status::failed || status == task_status::parent_command)
          != failure.has_value()
        || (status == task_status::parent_command) != upward.has_value())
      throw error{errc::invalid_value,
                  "read the outcome of a task: its content does not match its status"};
    task.status = status;
    task.writes = std::move(writes);
    task.early = std::move(early);
    task.failure = std::move(failure);
    task.questions = std::move(questions);
    task.upward = std::move(upward);
    task.asked = asked;
    task.answered = answered;
    task.answers = std::move(answers);
    task.took = took;
    task.learned_to_end = learned_to_end;
    if (drains)
      task.run->control.request_drain(std::move(*drains));
    return left;
  });
}

} // namespace troupe::cluster
