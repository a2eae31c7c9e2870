// How a run enters a thread: start it, resume it, or travel back in it.
// Source: langgraph/pregel/_loop.py, _first.
#include "coordinator/run_loop.hpp"

#include "actors/part_gate.hpp"
#include "coordinator/given_values.hpp"
#include "coordinator/message_writes.hpp"
#include "graph/checkpoint_ns.hpp"
#include "graph/crash_point.hpp"
#include "graph/names.hpp"

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

// What a command from outside writes, answers last.
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

// A goto to the end is dropped, as in the reference.
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

// Whether what is shown may be lost without a write.
bool forgets(const graph_plan& plan, const shown_channels& shown) {
  return std::any_of(shown.keys.begin(), shown.keys.end(),
                     [&plan](channel_index c) { return reacts_to_silence(plan.channels[c].spec); });
}

} // namespace

void run_loop::begin(run_request request) {
  crash_point("run.begun");
  shared_ = request.shared;
  shown_ = std::move(request.shown);
  ns_ = split_namespace(shared_->ns);
  stored_ = request.stored;
  phase_ = phase::running;
  ++epoch_;
  slots_.clear();
  running_ = next_slot_ = unfinished_ = unsettled_ = 0;
  refused_.reset();
  unsaved_.clear();
  waiting_put_.reset();
  held_.clear();
  if (stored_ && shared_->config.durability == durability::sync && shared_->sink && !shared_->gate)
    shared_->sink = shared_->gate = std::make_shared<part_gate>(shared_->sink);
  acknowledged_ = last_put_ = first_ticket_ = ticket_;
  exit_updated_.reset();
  claimed_by_.reset();
  entered_ = rests_ = false;
  values_shown_ = false;
  questions_.clear();
  next_.clear();
  drained_.clear();
  stopped_ = false;
  outcome_.reset();
  upward_.reset();
  first_step_ = true;
  answer_given_ = false;
  first_gotos_.clear();
  last_shown_.reset();
  forgets_output_ = forgets(*shared_->plan, shown_);
  waiting_since_.clear();
  before_.reset();
  input_order_.clear();
  auto entered = enter(request);
  if (shared_->claim && request.saved)
    shared_->claim->goes_on_from(std::move(request.saved->ref),
                                 std::move(request.saved->pending_writes));
  if (!entered)
    return fail(entered.error());
  entered_ = true;
  if (may_go_on())
    tick();
  else
    phase_ = phase::saving;
}

result<void> run_loop::enter(run_request& request) {
  const auto& saved = request.saved;
  const auto& config = shared_->config;
  pending_ = {};
  moved_here_ = saved && request.moved_here;
  if (saved) {
    if (auto loaded = load_state(state_, shared_->plan, request.tag, saved->checkpoint); !loaded)
      return loaded;
    pending_ = read_stored(plan(), saved->pending_writes);
    checkpoint_id_ = saved_id_ = saved->ref.checkpoint_id;
    parent_id_ = saved->parent_id;
    if (moved_here_)
      go_on_here();
    metadata_ = saved->metadata;
    const auto& step = metadata_["step"];
    const auto& source = metadata_["source"];
    step_ = (step.is_int() ? step.as_int() : -2) + 1;
    source_ = source.is_string() ? std::string{source.as_string()} : std::string{};
    updated_ = by_index(plan(), saved->checkpoint.updated_channels);
  } else {
    reset_state(state_, shared_->plan, request.tag);
    step_ = -1;
    checkpoint_id_ = host_.next_checkpoint_id(-2);
    saved_id_ = config.checkpoint_id; // a checkpoint that was asked for and is not there
    parent_id_ = {};
    metadata_ = {};
    source_ = {};
    updated_ = std::nullopt;
  }
  stop_ = step_ + steps_max(config) + 1;

  auto* cmd = std::get_if<command>(&request.input);
  bool input = std::holds_alternative<value>(request.input)
               || std::holds_alternative<state_update>(request.input);
  bool same_run = saved && input && !nested() && !config.metadata["run_id"].is_null()
                  && config.metadata["run_id"] == metadata_["run_id"];
  const auto& told = request.told_resuming;
  bool resuming = state_.started() && (told ? *told : !input || same_run);
  bool named = nested() && shared_->addressed.contains(shared_->ns);
  bool travelling = request.addressed && (named || !((cmd && cmd->resume) || told.value_or(false)));
  replaying_ = travelling || request.superseded;
  strict_ = config.strict_resume && !request.superseded;
  forks_ = resuming && travelling
           && ((source_ != "update" && source_ != "fork") || request.superseded);
  deltas_.begin(plan(), state_,
                {.checkpoint_id = checkpoint_id_,
                 .saved = saved,
                 .reapplies = resuming && !replaying_,
                 .superseded = request.superseded,
                 .moved_here = moved_here_,
                 .addressed = request.addressed,
                 .at_exit = config.durability == durability::exit});
  if (!nested()) {
    shared_->set_resuming(resuming);
    if (travelling)
      shared_->replay = std::make_shared<replay_bound>(
        source_ == "update" || source_ == "fork" ? parent_id_ : checkpoint_id_);
  } else {
    shared_->set_resuming(told);
  }
  if (travelling) {
    pending_.answer.reset();
    for (auto& [id, task] : pending_.tasks)
      task.answers.clear();
  }
  // An answer that was stored just before a crash is not used up. A new input asks new questions,
  // which only lenient resume lets an old answer answer.
  if (pending_.answer && !cmd && (resuming || !strict_)) {
    shared_->give_answer(*pending_.answer);
    answer_given_ = true;
  }
  if (cmd) {
    if (!saved && cmd->resume && stored_)
      return nothing_to_resume(config.thread_id);
    if (auto taken = take_command(*cmd); !taken)
      return taken;
  }
  if (auto applied = apply_outside_writes(); !applied)
    return applied;
  if (resuming)
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
      input_order_.push_back(name);
    return start_with(u->to_value());
  }
  if (cmd) { // on a fresh thread: the command was applied, and the entry edges follow
    for (const auto& w : pending_.outside)
      if (w.channel == no_index || plan().channels[w.channel].control)
        first_gotos_.push_back(w);
    return start_with(value::map());
  }
  if (told) // within a run that is resumed there may be nothing to do
    return {};
  return no_input(config);
}

// The state was read from another namespace: the first checkpoint here holds all of it.
void run_loop::go_on_here() {
  saved_id_.clear();
  parent_id_.clear();
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
  auto waiting = pending_.waiting();
  if (is_answer_map(answer)) {
    if (!strict_)
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
                 strict_ ? "UnknownInterruptError" : "RuntimeError"};
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
  if (c.resume) {
    if (auto fits = check_answer(*c.resume); !fits)
      return fits;
    answers_by_id = is_answer_map(*c.resume);
    if (answers_by_id)
      shared_->answers = *c.resume;
    else
      shared_->give_answer(*c.resume);
  }
  auto writes = outside_writes(plan(), c);
  if (writes.empty() && !c.resume)
    return error{errc::empty_input,
                 "run a command: it has no update, no goto_ and no resume: give it one of these "
                 "(Received empty Command input)"};
  if (deltas_.active()) {
    if (auto stamped = give_message_ids(plan(), writes); !stamped)
      return stamped;
    deltas_.command_wrote(step_, writes, forks_);
  }
  pending_.outside.insert(pending_.outside.end(), writes.begin(), writes.end());
  if (c.resume && !answers_by_id) {
    pending_.answer = *c.resume;
    answer_given_ = true;
  }
  if (!stored_ || forks_ || (writes.empty() && answers_by_id))
    return {};
  auto all = store_writes(plan(), pending_.outside);
  if (pending_.answer)
    all.emplace_back(names::resume, *pending_.answer);
  task_writes null_task{std::string{names::null_task_id},
                        deltas_.stored_path(std::string{names::command_path}), std::move(all)};
  if (shared_->config.durability == durability::exit) {
    unsaved_.push_back(std::move(null_task));
    return {};
  }
  if (saved_id_.empty()) // a fresh thread has no checkpoint yet to store them on
    return {};
  save_request request{here(checkpoint_id_), {}, std::nullopt};
  request.writes.push_back(std::move(null_task));
  submit(std::move(request),
         shared_->config.durability == durability::sync ? save_ack::durable : save_ack::accepted);
  return {};
}

result<void> run_loop::apply_outside_writes() {
  if (pending_.outside.empty())
    return {};
  const applied_task outside{applied_task::kind::input, no_index, &pending_.outside};
  auto updated = apply_here(state_, {&outside, 1}, true);
  if (!updated)
    return updated.error();
  if (updated_)
    for (auto c : *updated)
      if (std::find(updated_->begin(), updated_->end(), c) == updated_->end())
        updated_->push_back(c);
  return {};
}

result<void> run_loop::resume_thread() {
  state_.interrupt_seen = state_.versions;
  if (forks_) {
    for (auto& [id, task] : pending_.tasks)
      task.questions.clear();
    put_checkpoint("fork", nullptr);
  } else if (moved_here_) {
    put_moved();
  }
  if (!nested())
    host_.resumed(lifecycle("pending"));
  emit_values();
  return {};
}

result<void> run_loop::start_with(const value& input) {
  // What the thread had not finished is given up: its triggers count as seen.
  auto unfinished = plan_next_tasks(state_, context_now(), nullptr);
  std::vector<applied_task> tasks;
  for (const auto& t : unfinished)
    tasks.push_back(
      {t.push ? applied_task::kind::push : applied_task::kind::pull, t.node, nullptr});
  const task_write_list writes{{plan().start, input, {}}};
  tasks.push_back({applied_task::kind::input, no_index, &writes});
  auto updated = apply_here(state_, tasks, true);
  if (!updated)
    return updated.error();
  updated_ = std::move(*updated);
  pending_ = {};
  put_checkpoint("input", &*updated_);
  return {};
}

} // namespace troupe
