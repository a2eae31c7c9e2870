#include "tests/fuzz/subject.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace troupe::fuzz {
namespace {

constexpr std::size_t plans_of_a_runtime = 200;

std::filesystem::path new_folder() {
  auto shared = std::filesystem::path{"/dev/shm"};
  auto base = ::access(shared.c_str(), W_OK) == 0 ? shared : std::filesystem::temp_directory_path();
  static std::atomic<int> count{0};
  return base / ("troupe-fuzz-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
}

std::vector<value> asked_of(const std::vector<interrupt>& questions) {
  std::vector<value> out;
  for (const auto& q : questions)
    out.push_back(q.value);
  return out;
}

std::vector<std::string> ids_of(const std::vector<interrupt>& questions) {
  std::vector<std::string> out;
  for (const auto& q : questions)
    out.push_back(q.id);
  return out;
}

std::string thread_name() {
  static std::atomic<std::uint64_t> count{0};
  return "thread " + std::to_string(count++);
}

} // namespace

// ---- runtimes -------------------------------------------------------------------------------

hosts::hosts() : folder_{new_folder()} {}

hosts::~hosts() {
  lmdb_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

runtime& hosts::get(keeper k) {
  if (++used_ % plans_of_a_runtime == 0) {
    memory_.reset();
    lmdb_.reset();
    std::filesystem::remove_all(folder_);
  }
  auto& host = k == keeper::memory ? memory_ : lmdb_;
  if (!host) {
    runtime_options options{.worker_threads = 2, .blocking_threads = 4};
    if (k == keeper::memory)
      options.saver = make_memory_saver();
    else
      options.data_dir = folder_;
    host = std::make_unique<runtime>(std::move(options));
  }
  return *host;
}

// ---- calls ----------------------------------------------------------------------------------

subject::subject(const plan& p, runtime& host)
  : design_{p.graph},
    stage_{std::make_unique<stage>()},
    host_{host},
    thread_{thread_name()},
    app_{(stage_->pace = p.pace, stage_->seed = p.seed,
          host.load(build(*p.graph, p.graph, *stage_)))} {}

subject::~subject() {
  (void)host_.saver()->delete_thread(thread_);
}

answer subject::make(const call& c) {
  answer out;
  stage_->counts.take();
  try {
    if (c.kind == call_kind::look)
      out.seen = shown(app_.get_state(config_of(c), !c.at), !c.at);
    else if (c.kind >= call_kind::update)
      update(c);
    else
      invoke(c, out);
  } catch (const error& e) {
    out.error = reference_name(e);
    if (e.code() == errc::node_failed)
      out.error_text = e.text();
  }
  out.executions = stage_->counts.take();
  refresh(out);
  return out;
}

std::string subject::id_at(std::uint32_t place) const {
  return place < ids_.size() ? ids_[place] : "";
}

run_config subject::config_of(const call& c) const {
  run_config out;
  out.thread_id = thread_;
  if (c.at)
    out.checkpoint_id = id_at(*c.at);
  out.durability = c.durability;
  out.recursion_limit = c.recursion_limit;
  out.strict_resume = c.strict;
  out.interrupt_before = c.before;
  out.interrupt_after = c.after;
  out.run_timeout = std::chrono::seconds{30};
  return out;
}

run_input subject::input_of(const call& c) const {
  if (c.kind == call_kind::go_on)
    return nullptr;
  if (c.kind == call_kind::invoke)
    return c.input;
  command out;
  if (!c.input.is_null())
    out.update = state_update{c.input};
  out.goto_ = c.goto_;
  if (c.kind == call_kind::answer)
    out.resume = c.plain;
  if (c.kind == call_kind::answer_by_id) {
    const auto& known = c.at && *c.at < questions_.size() ? questions_[*c.at] : waiting_;
    std::vector<value::map_init> answers;
    for (const auto& [which, v] : c.answers)
      answers.emplace_back(which < known.size() ? known[which] : std::string(32, '0'), v);
    out.resume = value::map(std::move(answers));
  }
  return out;
}

void subject::invoke(const call& c, answer& out) {
  auto r = app_.try_invoke(input_of(c), config_of(c)).value();
  out.output = r.value();
  out.paused = r.paused();
  out.questions = asked_of(r.interrupts());
  out.next = r.next();
}

void subject::update(const call& c) {
  std::optional<state_update> values;
  if (!c.input.is_null())
    values = state_update{c.input};
  auto as = c.kind == call_kind::clear          ? END
            : c.kind == call_kind::input_update ? "__input__"
            : c.kind == call_kind::copy         ? "__copy__"
                                                : c.as_node;
  app_.update_state(config_of(c), std::move(values), as);
}

// ---- the thread -----------------------------------------------------------------------------

std::int64_t subject::place_of(const std::string& id) const {
  auto at = std::find(ids_.begin(), ids_.end(), id);
  return at == ids_.end() ? -1 : at - ids_.begin();
}

state_answer subject::shown(const state_snapshot& s, bool inner) const {
  state_answer out;
  out.values = s.values;
  out.next = s.next;
  if (!s.metadata.is_null()) {
    out.step = s.metadata["step"].as_int();
    if (s.metadata["source"].is_string()) // a stub below delta writes has none
      out.source = s.metadata["source"].as_string();
  }
  out.place = s.config.checkpoint_ns.empty() ? place_of(s.config.checkpoint_id) : -1;
  out.parent = s.config.checkpoint_ns.empty() ? place_of(s.parent_id) : -1;
  out.questions = asked_of(s.interrupts);
  for (const auto& t : s.tasks) {
    task_answer task{.name = t.name, .questions = asked_of(t.interrupts), .result = t.result};
    if (!t.error.is_null())
      task.error = t.error.is(value_kind::error)
                     ? std::string{t.error.payload()["message"].as_string()}
                     : to_json(t.error);
    if (inner && t.state)
      task.inner = std::make_shared<state_answer>(shown(*t.state, true));
    out.tasks.push_back(std::move(task));
  }
  return out;
}

void subject::refresh(answer& out) {
  try {
    run_config config;
    config.thread_id = thread_;
    auto history = app_.get_state_history(config);
    ids_.clear();
    questions_.clear();
    for (auto s = history.rbegin(); s != history.rend(); ++s) {
      ids_.push_back(s->config.checkpoint_id);
      questions_.push_back(ids_of(s->interrupts));
    }
    for (const auto& s : history)
      out.history.push_back(shown(s, false));
    auto now = app_.get_state(config, true);
    waiting_ = ids_of(now.interrupts);
    out.state = shown(now, true);
  } catch (const error& e) {
    out.error += " and the thread can't be read: " + e.message();
  }
}

} // namespace troupe::fuzz
