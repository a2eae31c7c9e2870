// The store of the interpreter: checkpoints by namespace, each with the writes of the tasks that
// follow it.
#pragma once

#include "tests/fuzz/cell.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::fuzz {

struct question {
  std::string id;
  value asked;
};

using write_list = std::vector<std::pair<std::string, value>>; // (channel, value)

/// The stored record of a task.
struct task_record {
  write_list output = {}; // the marker __no_writes__ when there are no others

  std::ptrdiff_t first = 0; // position of the first of `output`: answers stand before it
  std::vector<std::ptrdiff_t> positions = {}; // of a stored task: those of `output`
  std::ptrdiff_t from_outside = 0;            // so many of `output`, at its front
  std::optional<failure> error = {};
  std::vector<question> questions = {}; // the latest
  std::vector<value> answers = {};

  bool finished() const { return !output.empty(); }
  std::vector<question> waiting() const { return finished() ? std::vector<question>{} : questions; }
};

/// The pending writes of a checkpoint.
struct pending_record {
  std::map<std::string, task_record> tasks; // by task id
  write_list outside;                       // of the null task
  std::optional<value> answer;              // the plain answer; gone when it was used

  std::vector<question> waiting() const;
};

using version_map = std::map<std::string, std::int64_t>;

/// The state of a graph between two steps.
struct state_model {
  std::vector<cell> cells; // as graph_model::channels
  version_map versions;
  std::map<std::string, version_map> seen;
  std::optional<std::set<std::string>> updated;
};

struct checkpoint_model {
  std::string id;
  std::string parent;
  std::int64_t step = -2;
  std::string source;
  state_model state;
  pending_record pending;
};

/// All checkpoints of a thread.
class thread_model {
public:
  checkpoint_model* find(const std::string& ns, const std::string& id);
  checkpoint_model* latest(const std::string& ns);
  /// The newest one older than `bound`; none is older than nothing.
  checkpoint_model* latest_before(const std::string& ns, const std::string& bound);
  void put(const std::string& ns, checkpoint_model c) { all_[ns][c.id] = std::move(c); }
  /// Newest first.
  std::vector<const checkpoint_model*> history(const std::string& ns) const;

  /// Stores the writes of a task by position: present ones are kept, the rest is replaced. Writes
  /// of an update from outside stand in front: writes are ordered by the path they have.
  static void store(pending_record& where, const std::string& task, const task_record& more,
                    bool from_outside = false);

private:
  std::map<std::string, std::map<std::string, checkpoint_model>> all_; // ns, id
};

} // namespace troupe::fuzz
