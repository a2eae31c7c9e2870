// A plan run by troupe, through its public headers only.
#pragma once

#include "tests/fuzz/answer.hpp"
#include "tests/fuzz/body.hpp"
#include "tests/fuzz/plan.hpp"

#include <troupe/runtime.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace troupe::fuzz {

/// The runtimes plans are run on, one for each keeper, used by many plans one after another.
class hosts {
public:
  hosts();
  ~hosts();
  hosts(const hosts&) = delete;
  hosts& operator=(const hosts&) = delete;
  runtime& get(keeper k);

private:
  std::filesystem::path folder_;
  std::unique_ptr<runtime> memory_, lmdb_;
  std::size_t used_ = 0;
};

/// The environment of a plan's bodies: their counts, and the way they run.
struct stage {
  run_counts counts;
  fuzz::pace pace = pace::plain;
  std::uint64_t seed = 0;
};

/// The graph as troupe's builder makes it; `on` outlives it.
compiled_graph build(const graph_design& g, const std::shared_ptr<const graph_design>& root,
                     stage& on);

class subject {
public:
  subject(const plan& p, runtime& host);
  ~subject();
  subject(const subject&) = delete;
  subject& operator=(const subject&) = delete;

  answer make(const call& c);

private:
  void invoke(const call& c, answer& out);
  void update(const call& c);
  run_config config_of(const call& c) const;
  run_input input_of(const call& c) const;
  std::string id_at(std::uint32_t place) const;
  std::int64_t place_of(const std::string& id) const;
  state_answer shown(const state_snapshot& s, bool inner) const;
  void refresh(answer& out);

  std::shared_ptr<const graph_design> design_;
  std::unique_ptr<stage> stage_;
  runtime& host_;
  std::string thread_;
  app<> app_;
  std::vector<std::string> ids_;                    // of the thread's checkpoints, oldest first
  std::vector<std::vector<std::string>> questions_; // of each of them
  std::vector<std::string> waiting_;                // now
};

} // namespace troupe::fuzz
