// A small sequential interpreter of plans, written from the specification and not
// from troupe's engine: plain maps, one task after another.
#pragma once

#include "tests/fuzz/answer.hpp"
#include "tests/fuzz/loop.hpp"
#include "tests/fuzz/plan.hpp"

#include <memory>
#include <string>
#include <vector>

namespace troupe::fuzz {

class interpreter {
public:
  explicit interpreter(std::shared_ptr<const graph_design> g);

  /// The answer of the call, and the thread after it.
  /// Errors: throws no_answer.
  answer make(const call& c);

  /// The features that the calls used.
  const coverage& seen() const { return world_.seen; }

  // The facts for a chooser of calls.
  std::size_t checkpoints() const { return world_.thread.history("").size(); }
  /// The questions that wait, now or at a checkpoint.
  std::vector<question> waiting(const std::optional<std::uint32_t>& at) const;
  state_answer look(const std::optional<std::uint32_t>& at) const;

private:
  void run(const call& c, answer& out);
  void update(const call& c);
  void update_as(const call& c, const checkpoint_model* saved, state_model& s,
                 const std::string& node);
  void put_update(const checkpoint_model* saved, state_model s, const std::string& source,
                  std::string parent, std::int64_t step);
  std::string updating_task(const checkpoint_model* saved, const std::string& node);
  std::string acting_node(const checkpoint_model* saved) const;
  std::string id_at(std::uint32_t place) const;
  std::int64_t place_of(const std::string& id) const;
  state_answer shown(const graph_model& g, const std::string& ns, const checkpoint_model& c,
                     bool live, bool inner) const;

  std::shared_ptr<const graph_model> graph_;
  mutable world world_;
};

} // namespace troupe::fuzz
