// The calls of a case: what the driver is there for.
#pragma once

#include "tests/conformance/case_file.hpp"
#include "tests/conformance/graph_book.hpp"
#include "tests/conformance/graph_of.hpp"
#include "tests/conformance/model_book.hpp"
#include "tests/conformance/world.hpp"

#include <troupe/runtime.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::conformance {

/// How a case is run.
struct case_mode {
  /// The tasks of a step run side by side and end in an order drawn from it.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// Subgraphs run on a worker.
  bool placed = false;
};

/// One run of a case, with a saver, a store, a cache and models of its own.
class case_run {
public:
  /// Owns:   refers to `s`.
  explicit case_run(const script& s, const case_mode& mode = {});

  /// Makes the calls and gives the transcript: one answer a call.
  /// Errors: throws unsupported, and other errors for a malformed case.
  answer_json answers();
  /// The uses of things that the bodies share, in order.
  const use_log& uses() const noexcept { return world_.uses; }

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
  answer_json search_store(const script_json& call);
  answer_json list_namespaces(const script_json& call);
  answer_json clear_cache(const script_json& call);
  answer_json draw(const script_json& call);
  answer_json compile(const script_json& call);

  std::vector<stream_part> parts_of(const script_json& call, std::optional<error>& failure);

  /// The graph a call goes to, built when a call first needs it. Errors: throws the error it
  /// could not be built for, each time.
  app<> app_for(const script_json& call);
  /// A runtime with those of the case's services.
  runtime& host(const services& used);

  const script& script_;
  world world_; // outlives the runtimes: bodies use it
  graph_book graphs_{script_.graphs, world_};
  model_book models_{script_.models};
  std::shared_ptr<saver> saver_ = make_memory_saver();
  std::shared_ptr<store> store_ = make_memory_store();
  std::map<services, std::unique_ptr<runtime>> hosts_;
  std::map<std::string, app<>> apps_;
};

} // namespace troupe::conformance
