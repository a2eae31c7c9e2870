// The answer of a call, in a form in which troupe's and the interpreter's answers compare.
#pragma once

#include <troupe/value.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::fuzz {

struct state_answer;

struct task_answer {
  std::string name = {};
  std::optional<std::string> error = {}; // of a node that threw, its text
  std::vector<value> questions = {};
  std::optional<value> result = {};
  std::shared_ptr<state_answer> inner = {};
};

/// Shape: `place` and `parent` count the checkpoints of the thread from the oldest; -1: none.
struct state_answer {
  value values = {};
  std::vector<std::string> next = {};
  std::int64_t step = 0;
  std::string source = {}; // empty: no checkpoint
  std::int64_t place = -1;
  std::int64_t parent = -1;
  std::vector<task_answer> tasks = {};
  std::vector<value> questions = {};
};

struct answer {
  std::string error = {};      // the reference's class; empty: none
  std::string error_text = {}; // of a node that threw
  value output = {};
  bool paused = false;
  std::vector<value> questions = {};
  std::vector<std::string> next = {};
  std::optional<state_answer> seen = {};  // of a look
  std::optional<state_answer> state = {}; // after the call
  std::vector<state_answer> history = {}; // after the call, newest first
  std::map<std::string, std::uint32_t> executions = {};
};

/// The first difference, as text; empty without one.
std::string difference(const answer& expected, const answer& got);

/// Readable text, several lines; `whole`: with the history.
std::string show(const answer& a, bool whole);

} // namespace troupe::fuzz
