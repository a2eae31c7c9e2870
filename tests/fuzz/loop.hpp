// The interpreter's run of one graph: enter, then plan, run, apply and save, step by step, with the
// graphs inside it run the same way.
#pragma once

#include "tests/fuzz/body.hpp"
#include "tests/fuzz/coverage.hpp"
#include "tests/fuzz/graph_model.hpp"
#include "tests/fuzz/thread_model.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe::fuzz {

/// A plan this interpreter gives no answer for: it grew too large, or what happens depends on which
/// of two parallel tasks comes first.
struct no_answer {
  std::string why;
};

/// Shared by all runs of a plan.
struct world {
  thread_model thread;
  coverage seen;
  run_counts counts;
  std::uint64_t ids = 0;
  std::map<std::string, std::string> task_ids;
  std::size_t executions = 0;

  std::string next_id(); // in the order of creation
  std::string task_id(const std::string& key);
};

/// A plain answer waiting for the first question without one.
struct plain_answer {
  std::optional<value> waiting;
  std::string stored_at;     // the checkpoint of the root that keeps it
  std::size_t asked_for = 0; // how often a question without an answer came for one
};

using answer_map = std::map<std::string, value>; // by interrupt id

/// Time travel, as the graphs inside see it.
struct replay_model {
  std::string bound;
  std::set<std::string> visited;
};

struct loop_setup {
  bool stored = true;
  std::string ns;
  bool nested = false;
  std::optional<std::string> at; // a checkpoint id
  troupe::durability durability = troupe::durability::async;
  std::int64_t limit = 25;
  bool strict = true;
  std::vector<std::string> before;
  std::vector<std::string> after;
  std::optional<value> input;
  // A command as input: its update and goto, and one kind of answer or none.
  bool commanded = false;
  state_update update;
  std::vector<std::string> goto_;
  std::optional<value> answer;
  std::shared_ptr<const answer_map> answers;
  // of the runs around
  std::optional<bool> resuming;
  std::shared_ptr<replay_model> replay;
  std::shared_ptr<plain_answer> plain;
};

struct outcome {
  enum kind { done, paused, failed, to_parent };
  kind how = done;
  value output = {};
  std::vector<question> questions = {};
  failure error = {};
  command parent = {}; // to_parent
  std::vector<std::string> next = {};
};

/// A task of a step.
struct task_model {
  std::string id = {};
  const node_model* node = nullptr;
  std::optional<std::size_t> pushed = std::nullopt; // its place among the sends
  std::vector<std::string> triggers = {};
  value input = {};
  write_list writes = {};
  bool finished = false; // by stored writes, or just now

  std::string path() const;
};

class loop {
public:
  loop(world& w, const graph_model& g, loop_setup setup) : world_{w}, graph_{g}, set_{setup} {}

  outcome run();

  // ---- what state access shares with runs -------------------------------------------------------

  static state_model fresh_state(const graph_model& g);
  static std::vector<task_model> prepare(world& w, const graph_model& g, const state_model& s,
                                         const std::string& checkpoint, const std::string& ns,
                                         std::int64_t step, bool by_updates);
  /// Spec/engine.md section 6. Gives the updated channels. `moves`: so do versions; not in
  /// previews.
  static std::set<std::string> apply(const graph_model& g, state_model& s,
                                     std::vector<task_model> tasks, bool moves);
  /// Writes from outside, as one task without triggers.
  static task_model outside_task(const write_list& writes);
  /// The writes that node writers make from a body's output.
  static write_list written(world& w, const graph_model& g, const state_model& s,
                            const task_model& t, const std::vector<part>& parts, const value& raw);
  static value read(const graph_model& g, const state_model& s,
                    const std::vector<std::string>& keys);
  /// The part of the state that a checkpoint keeps.
  static state_model storable(const graph_model& g, const state_model& s);
  static task_record persisted(const graph_model& g, const task_record& r);
  static std::string task_ns(const std::string& ns, const task_model& t);
  static std::string question_id(const std::string& task_ns, std::size_t k);
  static std::string inner_ns(const graph_model& inner, const std::string& task_ns);

private:
  struct done_with {
    outcome::kind how = outcome::done;
    failure error = {};
    std::vector<question> questions = {};
    command parent = {};
  };
  // The answers a task has, and whether it used any.
  struct asking {
    std::vector<value> answers;
    std::size_t count = 0;
    bool used = false;
  };

  void enter();
  const checkpoint_model* load();
  void check_answers() const;
  void take_command();
  void resume();
  void start();
  outcome go();
  std::optional<outcome> step();
  done_with run_tasks();
  std::set<std::string> apply_step();
  std::vector<part> entry_parts(const value& input) const;
  done_with execute(task_model& t, asking& a);
  done_with attempt(task_model& t, asking& a, bool again);
  void note(const task_model& t);
  done_with execute_inner(task_model& t, bool again);
  asking answers_of(const task_model& t) const;
  value ask(const task_model& t, asking& a, const value& q);
  void commit(task_model& t, const done_with& how, const asking& a);
  void put(const std::string& source, bool with_updated = true);

  bool stops(const std::vector<std::string>& nodes, const std::vector<task_model>& tasks) const;
  bool shows(const std::set<std::string>& updated, const std::vector<task_model>& tasks) const;
  void leave(bool raised);
  outcome pause(std::vector<question> questions);

  world& world_;
  const graph_model& graph_;
  loop_setup set_;

  state_model state_;
  std::string id_, parent_, saved_id_, source_;
  std::int64_t step_ = -1, stop_ = 0;
  pending_record pending_;
  std::set<std::string> dirty_; // tasks that wrote during this run
  bool outside_dirty_ = false;
  checkpoint_model current_; // what was put last
  bool put_ = false, superseded_ = false, addressed_ = false;
  bool travelling_ = false, replaying_ = false, forks_ = false, resuming_ = false;
  std::vector<std::string> entry_; // the targets of a command on a fresh thread
  std::vector<task_model> tasks_;
  std::map<std::string, std::int64_t> ran_; // nodes, and the step they ran in last
  value last_values_;
};

} // namespace troupe::fuzz
