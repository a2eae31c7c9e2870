// Calls that make sense where a thread stands.
#pragma once

#include "tests/fuzz/interpreter.hpp"
#include "tests/fuzz/plan.hpp"

namespace troupe::fuzz {

/// Shared by the calls of one plan.
class call_chooser {
public:
  call_chooser(const graph_design& g, dice& d);
  call choose(const interpreter& thread);

private:
  call fresh();
  call waiting(std::size_t questions);
  call stopped();
  call finished();
  call elsewhere(const interpreter& thread);
  call call_of(call_kind kind);
  call answer_some(std::size_t questions);
  value some_input(std::uint32_t percent);
  std::string some_node();
  value some_answer();

  const graph_design& graph_;
  dice& dice_;
  std::vector<durability> durabilities_;
  durability durability_;
  bool mixed_, strict_, travels_;
  std::uint32_t limit_;
  std::uint32_t count_ = 0;
};

} // namespace troupe::fuzz
