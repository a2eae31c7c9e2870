// attached_computers: the computers that an agent's runs have open, by their ids.
#pragma once

#include <troupe/agents/computer.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// An open computer. A user of it must hold `in_use`.
struct attached_computer {
  std::shared_ptr<troupe::computer> computer;
  std::mutex in_use;
};
using attached_ptr = std::shared_ptr<attached_computer>;

/// Thread: any. A dropped computer is attached again when it is asked for.
class attached_computers {
public:
  attached_computers(computer_factory factory, screen_size display)
    : factory_{std::move(factory)},
      display_{display} {}

  /// Begins a new computer.
  /// Errors: throws what the factory throws; error{invalid_config} for an unusable computer.
  computer_instance begin();
  /// The computer with this id.
  /// Errors: throws computer_lost when it is not open and the factory does not find it.
  attached_ptr get(const std::string& id);
  void let_go(const std::string& id);

private:
  void require_fitting(const computer_instance& made) const;
  attached_ptr keep(const computer_instance& made);

  computer_factory factory_;
  screen_size display_;
  std::mutex mutex_;
  std::vector<std::pair<std::string, attached_ptr>> kept_; // the most recently used one at the end
};

} // namespace troupe
