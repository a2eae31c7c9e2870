// remote_graph: on its own, and as a node.
#include <troupe/client/remote_graph.hpp>

#include "client/bodies.hpp"
#include "client/remote_rules.hpp"
#include "client/remote_run.hpp"
#include "client/waiting.hpp"
#include "graph/checkpoint_ns.hpp"
#include "graph/task_id.hpp"
#include "tasks/execute_body.hpp"

#include <troupe/uuid.hpp>

#include <array>
#include <utility>

namespace troupe {

struct remote_graph::parts {
  std::shared_ptr<const api_place> place;
  agent_client client;
  std::string assistant_id;
  remote_graph_options options;
};

namespace {

using parts_ptr = std::shared_ptr<const remote_graph::parts>;
using reader_ptr = std::shared_ptr<remote_reader>;

constexpr std::string_view thread_namespace = "6ba7b812-9dad-11d1-80b4-00c04fd430c8"; // of names

constexpr std::array<stream_mode, 7> modes_of_a_caller{
  stream_mode::values, stream_mode::updates, stream_mode::custom,  stream_mode::checkpoints,
  stream_mode::tasks,  stream_mode::debug,   stream_mode::messages};

reader_ptr reader_of(const remote_graph::parts& self, const run_input& input,
                     const run_config& config, const std::vector<stream_mode>& wanted) {
  auto thread = remote_graph::thread_of(config.thread_id);
  stream_opening opening;
  opening.method = "POST";
  opening.target = (thread.empty() ? std::string{} : path_of({"threads", thread})) + "/runs/stream";
  opening.body = run_body_of(run_request_for(self.assistant_id, input, config, wanted));
  opening.is_resumable = true;
  return std::make_shared<remote_reader>(
    std::make_shared<rejoined_stream>(self.place, std::move(opening)), wanted, config.subgraphs);
}

std::string thread_needed(const run_config& config) {
  if (config.thread_id.empty())
    throw error{errc::invalid_config, "ask a remote graph for a thread: run_config::thread_id"};
  return remote_graph::thread_of(config.thread_id);
}

coro<run_result> result_within(reader_ptr reader, context* ctx) {
  for (bool has_more = true; has_more;) {
    auto read = reader->next(ctx);
    auto part = co_await step_in(ctx, read);
    has_more = part.has_value();
  }
  const auto& ending = reader->ending();
  if (ending.upward)
    throw error{errc::parent_command,
                "the remote run ended with a command for the parent graph, but it has no parent"};
  co_return run_result{detail::run_ending{
    .output = ending.values, .questions = ending.questions, .paused = ending.is_paused}};
}

// ---- as a node

// The config of a node's run, for the run of the remote graph.
run_config config_of_caller(context& ctx) {
  const auto& task = ctx.scope();
  auto whole = ctx.config();
  run_config out;
  out.thread_id = whole.thread_id;
  if (whole.recursion_limit != limits::recursion_limit_default) // else the bound one counts
    out.recursion_limit = whole.recursion_limit;
  out.tags = std::move(whole.tags);
  out.metadata = std::move(whole.metadata);
  out.configurable = std::move(whole.configurable);
  out.subgraphs = task.run->config.subgraphs;
  return out;
}

std::vector<stream_mode> modes_wanted_by(const detail::task_scope& task) {
  std::vector<stream_mode> out;
  if (task.run->config.subgraphs)
    for (auto mode : modes_of_a_caller)
      if (task.run->wants(mode))
        out.push_back(mode);
  return out;
}

bool is_resumed(const detail::task_scope& task) {
  return task.run->open_step().resuming.value_or(false);
}

// The state of the remote thread; nothing when the server has no such thread.
coro<std::optional<state_snapshot>> state_before(parts_ptr self, std::string thread, context& ctx) {
  std::optional<state_snapshot> out;
  try {
    auto asked = self->client.threads.get_state(thread).get(ctx);
    out = co_await asked;
  } catch (const error& missing) {
    if (missing.code() != errc::missing_key)
      throw;
  }
  co_return out;
}

// The input of a remote run, and the answer that it takes from the caller's run.
struct remote_call {
  run_input input;
  std::optional<value> plain_answer;
};

remote_call resumed_input(detail::task_scope& task, const state_snapshot& remote,
                          const value& input) {
  using kind = resumed_call::kind;
  std::optional<value> plain;
  auto call = call_to_resume(remote, task.run->answers, plain);
  if (call.what == kind::ask) { // perhaps the answer has no id
    plain = task.run->take_answer();
    call = call_to_resume(remote, task.run->answers, plain);
  }
  switch (call.what) {
    case kind::ask: leave_to_ask(task, remote.interrupts);
    case kind::answer: return {run_input(command{.resume = call.resume}), std::move(plain)};
    case kind::proceed: return {run_input(nullptr), std::nullopt};
    default: return {run_input(input), std::nullopt};
  }
}

void hand_up(detail::task_scope& task, stream_part part) {
  auto ns = split_namespace(task.ns());
  ns.insert(ns.end(), std::make_move_iterator(part.ns.begin()),
            std::make_move_iterator(part.ns.end()));
  part.ns = std::move(ns);
  part.seq = 0;
  stream_from_body(task, std::move(part));
}

node_output output_of_node(detail::task_scope& task, const remote_ending& ending) {
  if (ending.upward)
    throw upward_command{{}, *ending.upward};
  if (ending.is_paused)
    leave_to_ask(task, ending.questions);
  node_output out;
  if (!ending.values.is_null())
    out.parts.emplace_back(state_update{ending.values});
  return out;
}

coro<node_output> run_as_node(parts_ptr self, value input, context& ctx) {
  auto& task = ctx.scope();
  auto config = merge_configs(self->options.config, config_of_caller(ctx));
  remote_call call{run_input(input), std::nullopt};
  if (is_resumed(task) && !config.thread_id.empty()) {
    auto asked = state_before(self, remote_graph::thread_of(config.thread_id), ctx);
    auto remote = co_await asked;
    if (remote)
      call = resumed_input(task, *remote, input);
  }
  auto reader = reader_of(*self, call.input, config, modes_wanted_by(task));
  try {
    for (bool has_more = true; has_more;) {
      auto read = reader->next(&ctx);
      auto part = co_await read;
      has_more = part.has_value();
      ctx.heartbeat();
      if (part && !task.over())
        hand_up(task, std::move(*part));
    }
  } catch (...) {
    if (call.plain_answer && !reader->has_begun()) // another attempt may deliver it
      task.run->give_answer(*call.plain_answer);
    throw;
  }
  co_return output_of_node(task, reader->ending());
}

} // namespace

remote_parts::remote_parts(std::shared_ptr<remote_reader> reader) noexcept
  : reader_{std::move(reader)} {}
remote_parts::remote_parts(remote_parts&&) noexcept = default;
remote_parts& remote_parts::operator=(remote_parts&&) noexcept = default;
remote_parts::~remote_parts() = default;

std::optional<stream_part> remote_parts::next() {
  return waited(reader_->next(nullptr));
}

result<std::optional<stream_part>> remote_parts::try_next() {
  try {
    return next();
  } catch (const error& failed) {
    return failed;
  }
}

coro<std::optional<stream_part>> remote_parts::next(context& ctx) {
  return reader_->next(&ctx);
}

run_result remote_parts::get() {
  return waited(result_within(reader_, nullptr));
}

coro<run_result> remote_parts::get(context& ctx) {
  return result_within(reader_, &ctx);
}

remote_graph::remote_graph(agent_client client, std::string assistant_id,
                           remote_graph_options options) {
  if (options.name.empty())
    options.name = assistant_id;
  auto place = client.place();
  parts_ = std::make_shared<const parts>(
    parts{std::move(place), std::move(client), std::move(assistant_id), std::move(options)});
}

const std::string& remote_graph::name() const noexcept {
  return parts_->options.name;
}
const std::string& remote_graph::assistant_id() const noexcept {
  return parts_->assistant_id;
}

coro<node_output> remote_graph::operator()(const state_view& input, context& ctx) const {
  return run_as_node(parts_, input.to_value(), ctx);
}

remote_parts remote_graph::stream(const run_input& input, const run_config& config,
                                  const std::vector<stream_mode>& modes) const {
  return remote_parts{
    reader_of(*parts_, input, merge_configs(parts_->options.config, config), modes)};
}

run_result remote_graph::invoke(const run_input& input, const run_config& config) const {
  return stream(input, config, {}).get();
}

result<run_result> remote_graph::try_invoke(const run_input& input,
                                            const run_config& config) const {
  try {
    return invoke(input, config);
  } catch (const error& failed) {
    return failed;
  }
}

api_call<state_snapshot> remote_graph::get_state(const run_config& config, bool subgraphs) const {
  auto whole = merge_configs(parts_->options.config, config);
  auto thread = thread_needed(whole);
  return parts_->client.threads.get_state(
    thread, {thread, whole.checkpoint_ns, whole.checkpoint_id}, subgraphs);
}

api_call<std::vector<state_snapshot>>
remote_graph::get_state_history(const run_config& config, const history_options& which) const {
  auto whole = merge_configs(parts_->options.config, config);
  return parts_->client.threads.get_history(thread_needed(whole), which, whole.checkpoint_ns);
}

api_call<checkpoint_ref> remote_graph::update_state(const run_config& config,
                                                    const optional_update& values,
                                                    const std::string& as_node) const {
  auto whole = merge_configs(parts_->options.config, config);
  auto thread = thread_needed(whole);
  return parts_->client.threads.update_state(thread, values ? values->to_value() : value{}, as_node,
                                             {thread, whole.checkpoint_ns, whole.checkpoint_id});
}

api_call<compiled_graph> remote_graph::get_graph(std::uint32_t xray) const {
  return parts_->client.assistants.drawable(parts_->assistant_id, xray);
}

std::string remote_graph::thread_of(const std::string& thread_id) {
  return thread_id.empty() || read_uuid(thread_id) ? thread_id : uuid5(thread_namespace, thread_id);
}

} // namespace troupe
