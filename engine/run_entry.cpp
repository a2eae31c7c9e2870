// run_loop, entry: how a run enters a thread. It starts, resumes, or travels back in it.
// Source: langgraph/pregel/_loop.py, PregelLoop._first.
#include "engine/run_loop.hpp"

#include "engine/given_values.hpp"
#include "engine/message_writes.hpp"
#include "graph/checkpoint_ns.hpp"
#include "graph/crash_point.hpp"
#include "graph/names.hpp"
#include "tasks/part_gate.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>

namespace troupe {

namespace {

std::optional<std::vector<channel_index>>
by_index(const graph_plan& plan, const std::optional<std::vector<std::string>>& channels) {
  if (!channels)
    return std::nullopt;
  std::vector<channel_index> out;
  for (const auto& name : *channels)
    if (auto c = plan.find_channel(name); c != no_index)
      out.push_back(c);
  return out;
}

error nothing_to_resume(const std::string& thread_id) {
  return {errc::empty_input, "resume: thread `" + thread_id
                               + "` has no checkpoint, so nothing waits for an answer: start it "
                                 "with an input first"};
}

error no_input(const run_config& config) {
  auto thread = "thread `" + config.thread_id + "`";
  auto what = config.thread_id.empty() ? std::string{"a run without a thread"}
              : config.checkpoint_id.empty()
                ? "nothing is stored of " + thread
                : thread + " has no checkpoint `" + config.checkpoint_id + "`";
  return {errc::empty_input, "run without an input: " + what
                               + ", so there is nothing to resume: give it an input (Received no "
                                 "input for __start__)"};
}

// The writes of a command from outside, answers last.
task_write_list outside_writes(const graph_plan& plan, const command& c) {
  task_write_list out;
  for (const auto& d : c.goto_.list()) {
    if (auto* s = std::get_if<send>(&d)) {
      out.push_back({plan.tasks, value::of(*s), {}});
      continue;
    }
    auto name = std::string{names::branch_prefix} + std::get<std::string>(d);
    out.push_back(restore_write(plan, name, value(names::start)));
  }
  if (c.update)
    for (const auto& [name, v] : c.update->entries())
      out.push_back(restore_write(plan, name, v));
  return out;
}

// A goto to END is dropped, as in the reference.
result<void> check_targets(const graph_plan& plan, const command& c) {
  if (!plan.options.strict_targets)
    return {};
  for (const auto& d : c.goto_.list()) {
    const auto* sent = std::get_if<send>(&d);
    const auto& target = sent ? sent->node : std::get<std::string>(d);
    if (!plan.leads_to(target) && (sent || target != END))
      return unknown_target(plan, "the command that is the input", target);
  }
  return {};
}

// Whether a shown channel may lose its value without a write.
bool forgets(const graph_plan& plan, const shown_channels& shown) {
  return std::any_of(shown.keys.begin(), shown.keys.end(),
                     [&plan](channel_index c) { return reacts_to_silence(plan.channels[c].spec); });
}

} // namespace

void run_loop::begin(run_request&& request) {
  crash_point("run.begun");
  phase_.enter(run_phase::running);
  shared_ = std::move(request.shared);
  shown_ = std::move(request.shown);
  ns_ = split_namespace(shared_->ns);
  stored_ = request.stored;
  ++epoch_;
  at_ = {};
  progress_ = {};
  step_.clear();
  saving_.begin(host_.queues_saves());
  held_.clear();
  held_back_.clear();
  progress_.forgets_output = forgets(*shared_->plan, shown_);
  if (stored_ && shared_->config.durability == durability::sync && shared_->sink && !shared_->gate)
    shared_->sink = shared_->gate = std::make_shared<part_gate>(shared_->sink);
  if (!nested())
    notify("on_run_begin", &lifecycle_callbacks::on_run_begin);
  auto entered = enter(request);
  if (shared_->claim && request.saved)
    shared_->claim->goes_on_from(std::move(request.saved->ref),
                                 std::move(request.saved->pending_writes));
  if (!entered)
    return fail(entered.error());
  progress_.entered = true;
  if (may_go_on())
    tick();
  else
    phase_.enter(run_phase::saving);
}

result<void> run_loop::enter(run_request& request) {
  if (auto loaded = load(request); !loaded)
    return loaded;
  progress_.entry = choose_entry(entry_facts_of(request));
  open_thread(request);
  return take_input(request);
}

// The state, and the place in the thread where the run stands.
result<void> run_loop::load(const run_request& request) {
  const auto& saved = request.saved;
  if (saved) {
    if (auto loaded = load_state(state_, shared_->plan, request.tag, saved->checkpoint); !loaded)
      return loaded;
    progress_.pending = read_stored(plan(), saved->pending_writes);
    at_.checkpoint_id = at_.saved_id = saved->ref.checkpoint_id;
    at_.parent_id = saved->parent_id;
    at_.moved_here = request.moved_here;
    if (at_.moved_here)
      begin_here();
    at_.metadata = saved->metadata;
    const auto& step = at_.metadata["step"];
    const auto& source = at_.metadata["source"];
    at_.step = (step.is_int() ? step.as_int() : -2) + 1;
    at_.source = source.is_string() ? std::string{source.as_string()} : std::string{};
    at_.updated = by_index(plan(), saved->checkpoint.updated_channels);
    if (at_.updated && at_.updated->empty())
      at_.updated.reset(); // unknown, as in the reference
  } else {
    reset_state(state_, shared_->plan, request.tag);
    if (!names_late())
      host_.next_checkpoint_id(-2, at_.checkpoint_id);
    at_.saved_id = shared_->config.checkpoint_id; // a checkpoint that was asked for and is missing
  }
  at_.stop = at_.step + steps_max(shared_->config) + 1;
  return {};
}

entry_facts run_loop::entry_facts_of(const run_request& request) const {
  const auto& config = shared_->config;
  const auto* cmd = std::get_if<command>(&request.input);
  bool has_input = std::holds_alternative<value>(request.input)
                   || std::holds_alternative<state_update>(request.input);
  return {.nested = nested(),
          .started = state_.started(),
          .superseded = request.superseded,
          .addressed = request.addressed,
          .named = nested() && shared_->addressed.contains(shared_->ns),
          .has_input = has_input,
          .same_run = request.saved && has_input && !nested()
                      && !config.metadata["run_id"].is_null()
                      && config.metadata["run_id"] == at_.metadata["run_id"],
          .answers = cmd && cmd->resume,
          .told_resuming = request.told_resuming,
          .source = at_.source,
          .strict_resume = config.strict_resume};
}

// Runs within this one, delta channels and stored answers learn how the thread is entered.
void run_loop::open_thread(const run_request& request) {
  const auto& entry = progress_.entry;
  deltas_.begin(plan(), state_,
                {.checkpoint_id = at_.checkpoint_id,
                 .saved = request.saved,
                 .reapplies = entry.resuming && !entry.replaying,
                 .superseded = request.superseded,
                 .moved_here = at_.moved_here,
                 .addressed = request.addressed,
                 .at_exit = shared_->config.durability == durability::exit,
                 .history = shared_->config.store_history});
  if (nested()) {
    shared_->set_resuming(request.told_resuming);
  } else {
    shared_->set_resuming(entry.resuming);
    if (entry.travelling)
      shared_->replay = std::make_shared<replay_bound>(entry.is_branch ? at_.parent_id
                                                                       : at_.checkpoint_id);
  }
  auto& pending = progress_.pending;
  if (entry.travelling) {
    pending.answer.reset();
    for (auto& [id, task] : pending.tasks)
      task.answers.clear();
  }
  // An answer that was stored just before a crash is not used up. A new input asks new questions,
  // which only lenient resume lets an old answer answer.
  if (pending.answer && !std::holds_alternative<command>(request.input)
      && (entry.resuming || !entry.strict)) {
    shared_->give_answer(*pending.answer);
    progress_.answer_given = true;
  }
}

// The command or input that the run was given.
result<void> run_loop::take_input(const run_request& request) {
  const auto& config = shared_->config;
  const auto* cmd = std::get_if<command>(&request.input);
  if (cmd) {
    if (!request.saved && cmd->resume && stored_)
      return nothing_to_resume(config.thread_id);
    if (auto taken = take_command(*cmd); !taken)
      return taken;
  }
  if (auto applied = apply_outside_writes(); !applied)
    return applied;
  if (progress_.entry.resuming)
    return resume_thread();
  const given_as as_input{
    .what = "the input", .input = true, .strict = config.strict_input && !nested()};
  if (auto* v = std::get_if<value>(&request.input)) {
    auto checked = check_given(plan(), *v, as_input);
    return checked ? start_with(*v) : checked;
  }
  if (auto* u = std::get_if<state_update>(&request.input)) {
    if (auto checked = check_given(plan(), *u, as_input); !checked)
      return checked;
    for (const auto& [name, v] : u->entries())
      progress_.input_order.push_back(name);
    return start_with(u->to_value());
  }
  if (cmd) { // on a fresh thread: the command was applied, and the entry edges follow
    for (const auto& w : progress_.pending.outside)
      if (w.channel == no_index || plan().channels[w.channel].control)
        progress_.first_gotos.push_back(w);
    return start_with(value::map());
  }
  if (request.told_resuming) // within a run that is resumed there may be nothing to do
    return {};
  return no_input(config);
}

// The state was read from another namespace: the first checkpoint here holds all of it.
void run_loop::begin_here() {
  at_.saved_id.clear();
  at_.parent_id.clear();
  state_.moved.clear();
  for (channel_index c = 0; c < state_.versions.size(); ++c)
    if (state_.versions[c].number != 0)
      state_.moved.push_back(c);
}

result<void> run_loop::check_answer(const value& answer) {
  if (!stored_)
    return error{errc::no_saver,
                 "resume: the runtime has no saver, so no question waits for an answer: set "
                 "runtime_options::saver or data_dir, and run_config::thread_id",
                 "RuntimeError"};
  auto waiting = progress_.pending.waiting();
  if (is_answer_map(answer)) {
    if (!progress_.entry.strict)
      return {};
    if (answer.empty())
      return error{errc::unknown_interrupt, "The resume map names no interrupt"};
    for (const auto& e : answer.entries())
      if (std::none_of(waiting.begin(), waiting.end(),
                       [&e](const interrupt& q) { return q.id == e.key(); }))
        return error{errc::unknown_interrupt,
                     "Unknown or already-consumed interrupt: " + std::string{e.key()}};
    return {};
  }
  if (waiting.size() > 1)
    return error{errc::ambiguous_resume,
                 "resume: " + std::to_string(waiting.size())
                   + " questions wait: answer them by id, command{.resume = {{id, answer}, …}}. "
                     "When there are multiple pending interrupts, you must specify the interrupt "
                     "id when resuming.",
                 progress_.entry.strict ? "UnknownInterruptError" : "RuntimeError"};
  return {};
}

result<void> run_loop::take_command(const command& c) {
  if (c.graph == command::PARENT && !nested())
    return error{errc::invalid_update, "There is no parent graph"};
  if (c.update)
    if (auto checked = check_given(plan(), *c.update,
                                   {.what = "the command's update",
                                    .strict = shared_->config.strict_input && !nested()});
        !checked)
      return checked;
  if (auto known = check_targets(plan(), c); !known)
    return known;
  bool answers_by_id = false;
  const bool answers = c.resume && !c.resume->is_null();
  if (answers) {
    if (auto fits = check_answer(*c.resume); !fits)
      return fits;
    answers_by_id = is_answer_map(*c.resume);
    if (answers_by_id)
      shared_->answers = *c.resume;
    else
      shared_->give_answer(*c.resume);
  }
  auto writes = outside_writes(plan(), c);
  if (writes.empty() && !answers)
    return error{errc::empty_input,
                 "run a command: it has no update, no goto_ and no resume: give it one of these "
                 "(Received empty Command input)"};
  if (deltas_.active()) {
    if (auto stamped = give_message_ids(plan(), writes); !stamped)
      return stamped;
    deltas_.command_wrote(at_.step, writes, progress_.entry.forks);
  }
  progress_.pending.outside.insert(progress_.pending.outside.end(), writes.begin(), writes.end());
  if (answers && !answers_by_id) {
    progress_.pending.answer = *c.resume;
    progress_.answer_given = true;
  }
  if (!stored_ || progress_.entry.forks || (writes.empty() && answers_by_id))
    return {};
  auto all = store_writes(plan(), progress_.pending.outside);
  if (progress_.pending.answer)
    all.emplace_back(names::resume, *progress_.pending.answer);
  task_writes null_task{std::string{names::null_task_id}, std::string{names::command_path},
                        std::move(all)};
  deltas_.mark(null_task.task_path);
  if (shared_->config.durability == durability::exit) {
    saving_.unsaved.push_back(std::move(null_task));
    return {};
  }
  if (at_.saved_id.empty()) // a fresh thread has no checkpoint yet to store them on
    return {};
  save_request request{here(at_.checkpoint_id), {}, std::nullopt};
  request.writes.push_back(std::move(null_task));
  submit(std::move(request),
         shared_->config.durability == durability::sync ? save_ack::durable : save_ack::accepted);
  return {};
}

result<void> run_loop::apply_outside_writes() {
  if (progress_.pending.outside.empty())
    return {};
  const applied_task outside{applied_task::kind::input, no_index, &progress_.pending.outside};
  auto updated = apply_.all({&outside, 1});
  if (!updated)
    return updated.error();
  if (at_.updated)
    for (auto c : *updated)
      if (std::find(at_.updated->begin(), at_.updated->end(), c) == at_.updated->end())
        at_.updated->push_back(c);
  return {};
}

result<void> run_loop::resume_thread() {
  state_.interrupt_seen = state_.versions;
  if (progress_.entry.forks) {
    for (auto& [id, task] : progress_.pending.tasks)
      task.questions.clear();
    put_checkpoint("fork", nullptr);
    progress_.exit_updated = at_.updated; // of the copied checkpoint, should the run end here
  } else if (at_.moved_here) {
    put_moved();
  }
  if (!nested())
    notify("on_resume", &lifecycle_callbacks::on_resume, "pending");
  emit_values();
  return {};
}

result<void> run_loop::start_with(const value& input) {
  // Unfinished tasks of the thread are given up: their triggers count as seen.
  auto unfinished = plan_next_tasks(state_, {}, nullptr); // their ids do not matter
  boost::container::small_vector<applied_task, 4> tasks;
  for (const auto& t : unfinished)
    tasks.push_back(
      {t.push ? applied_task::kind::push : applied_task::kind::pull, t.node, nullptr});
  task_write_list writes;
  writes.push_back({plan().start, input, {}});
  tasks.push_back({applied_task::kind::input, no_index, &writes});
  auto updated = apply_.all({tasks.data(), tasks.size()});
  if (!updated)
    return updated.error();
  if (!at_.updated)
    at_.updated.emplace();
  at_.updated->assign(updated->begin(), updated->end());
  progress_.pending.clear();
  put_checkpoint("input", &*at_.updated);
  return {};
}

} // namespace troupe
