// mcp_service: the tools and graphs of an MCP server, and their runs: each call is a run of a
// graph.
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

/// Immutable. Thread: any.
class mcp_service : public std::enable_shared_from_this<mcp_service> {
public:
  /// Errors: throws error, as mcp_server.
  mcp_service(runtime& rt, mcp_offer offer, mcp_server_options options);

  const std::shared_ptr<const mcp_listing>& listing() const noexcept { return listing_; }

  /// Runs a call for at most `patience`. `then` is called once with its result, {content, isError
  /// …}, perhaps at once, else on a thread of the runtime.
  void begin(const mcp_served_call& call, const run_control& control,
             std::chrono::milliseconds patience, std::function<void(const value&)> then) const;
  std::chrono::milliseconds call_timeout() const noexcept { return call_timeout_; }

private:
  struct offered_graph {
    mcp_graph mine;
    mcp_graph_tool shown;
  };
  void begin_tool(const mcp_served_call& call, const run_config& config,
                  std::function<void(const value&)> then) const;
  void begin_graph(std::size_t which, const value& arguments, run_config config,
                   std::function<void(const value&)> then) const;
  void begin_resuming(std::size_t which, mcp_graph_call call, run_config config,
                      std::function<void(const value&)> then) const;
  void begin_run(std::size_t which, const run_input& input, const run_config& config, bool is_named,
                 std::function<void(const value&)> then) const;
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
};

} // namespace troupe
