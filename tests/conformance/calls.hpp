// The calls of a case: what the driver is there for.
#pragma once

#include "tests/conformance/case_file.hpp"
#include "tests/conformance/world.hpp"

#include <troupe/runtime.hpp>

#include <map>
#include <memory>
#include <string>
#include <variant>

namespace troupe::conformance {

/// One run of a case, with a runtime and a saver of its own.
class case_run {
public:
  /// Owns:   refers to `s`.
  explicit case_run(const script& s);

  /// Makes the calls and gives the transcript: one answer a call.
  /// Errors: throws unsupported, and what shows a case that is no case.
  answer_json answers();

private:
  using call = answer_json (case_run::*)(const script_json& call);

  static const std::map<std::string_view, call>& calls();
  answer_json answer(const script_json& call);

  answer_json invoke(const script_json& call);
  answer_json stream(const script_json& call);
  answer_json state(const script_json& call);
  answer_json history(const script_json& call);
  answer_json update(const script_json& call);
  answer_json bulk_update(const script_json& call);
  answer_json checkpoints(const script_json& call);
  answer_json delete_thread(const script_json& call);
  answer_json draw(const script_json& call);
  answer_json compile(const script_json& call);

  /// The graph a call goes to, built when a call first needs it. Errors: throws the error it
  /// could not be built for, each time.
  app<> app_for(const script_json& call);
  std::variant<app<>, error> load(const std::string& name);

  const script& script_;
  world world_; // outlives the runtime: bodies use it
  std::shared_ptr<saver> saver_ = make_memory_saver();
  runtime runtime_;
  std::map<std::string, std::variant<app<>, error>> apps_;
};

} // namespace troupe::conformance
