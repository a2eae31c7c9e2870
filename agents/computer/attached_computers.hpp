// The computers that an agent's runs have at hand, by their ids.
#pragma once

#include <troupe/agents/computer.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// A computer at hand. Whoever uses it holds `in_use`.
struct attached_computer {
  std::shared_ptr<troupe::computer> computer;
  std::mutex in_use;
};
using attached_ptr = std::shared_ptr<attached_computer>;

/// Thread: any. What is let go of is attached again when it is asked for.
class attached_computers {
public:
  attached_computers(computer_factory factory, screen_size display)
    : factory_{std::move(factory)},
      display_{display} {}

  /// A new one.
  /// Errors: throws what the factory throws; error{invalid_config} for one that is of no use.
  computer_instance begin();
  /// Errors: throws computer_lost when it is not at hand and the factory does not find it.
  attached_ptr get(const std::string& id);
  void let_go(const std::string& id);

private:
  void require_fitting(const computer_instance& made) const;
  attached_ptr keep(const computer_instance& made);

  computer_factory factory_;
  screen_size display_;
  std::mutex mutex_;
  std::vector<std::pair<std::string, attached_ptr>> kept_; // the one used last is behind
};

} // namespace troupe
