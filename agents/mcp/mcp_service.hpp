// mcp_service: one offer of an MCP server, and its runs: each call is a run of a graph.
#pragma once

#include "agents/mcp/mcp_offers.hpp"
#include "agents/mcp/mcp_server_session.hpp"

#include <troupe/agents/mcp_server.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A call's ways to its client.
struct mcp_call_hooks {
  using answered = std::function<void(const result<value>& elicited)>;
  /// Asks the client's user; unset: the client cannot be asked. `then` is called once.
  std::function<void(const value& params, answered then)> elicit = {};
  std::string progress_key = {}; ///< for report_mcp_progress(); empty: not wanted
};
/// The member of run_config::configurable that has the key.
inline constexpr const char* mcp_progress_member = "__mcp_progress";

/// Immutable. Thread: any.
class mcp_service : public std::enable_shared_from_this<mcp_service> {
public:
  /// Errors: throws error, as mcp_server.
  mcp_service(runtime& rt, mcp_offer offer, mcp_server_options options);

  const std::shared_ptr<const mcp_listing>& listing() const noexcept { return listing_; }

  /// Runs a call for at most `patience`. `then` is called once with its end, perhaps at once, else
  /// on a thread of the runtime.
  void begin(const mcp_served_call& call, const run_control& control,
             std::chrono::milliseconds patience, mcp_call_hooks hooks,
             std::function<void(const mcp_outcome&)> then) const;
  /// Calls `then` after the wait, on a thread of the runtime, unless it was cancelled before.
  void after(std::chrono::milliseconds wait, const run_control& control,
             std::function<void()> then) const;
  std::chrono::milliseconds call_timeout() const noexcept { return call_timeout_; }

private:
  struct offered_graph {
    mcp_graph mine;
    mcp_graph_tool shown;
  };
  using end_of_call = std::function<void(const mcp_outcome&)>;
  // A run of a graph for a call, which may go through several questions.
  struct graph_run_of {
    std::size_t which = 0;
    run_config config = {};
    bool is_named = false; // the thread, by the client
    mcp_call_hooks hooks = {};
    end_of_call then = {};
    std::size_t questions = 0; // that the client was asked
  };
  void begin_tool(const mcp_served_call& call, const run_config& config, end_of_call then) const;
  void begin_read(const mcp_served_call& call, const run_config& config, end_of_call then) const;
  void begin_graph(const value& arguments, graph_run_of run) const;
  void begin_resuming(mcp_graph_call call, graph_run_of run) const;
  void begin_run(const run_input& input, graph_run_of run) const;
  bool ask_client(const run_result& paused, const graph_run_of& run) const;
  void end_run(const result<run_result>& how, const graph_run_of& run) const;
  value read(const state_view& asked) const;
  compiled_graph graph_that_reads() const;
  compiled_graph graph_that_looks() const;
  value result_of_graph(std::size_t which, const result<run_result>& run,
                        const std::string& thread) const;
  void forget(std::size_t which, const std::string& thread) const;

  std::shared_ptr<const mcp_listing> listing_; // tools, followed by graphs
  std::chrono::milliseconds call_timeout_;
  std::optional<basic_app> tools_; // a graph that runs one call
  std::vector<offered_graph> graphs_;
  std::optional<basic_app> forgets_; // a graph that deletes a thread
  std::optional<basic_app> looks_;   // a graph that reads the state of a thread
  std::vector<mcp_resource> resources_;
  std::vector<mcp_resource_template> templates_;
  std::vector<mcp_prompt> prompts_;
  std::optional<basic_app> reads_; // a graph that calls the function of a resource or prompt
  std::optional<basic_app> waits_; // a graph that waits
};

} // namespace troupe
