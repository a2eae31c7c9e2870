// mcp_host: the present offer of an MCP server, and its clients, which learn of changes.
#pragma once

#include "agents/mcp/mcp_service.hpp"

#include <troupe/agents/mcp_server.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class mcp_connection;

/// Thread: any.
class mcp_host {
public:
  /// Errors: throws error, as mcp_server.
  mcp_host(runtime& rt, mcp_offer offer, mcp_server_options options)
    : runtime_{rt},
      options_{std::move(options)},
      service_{std::make_shared<const mcp_service>(rt, std::move(offer), options_)} {}

  std::shared_ptr<const mcp_service> service() const;
  /// Adds a client, until it is gone.
  void add(const std::shared_ptr<mcp_connection>& client);
  /// Errors: throws error, as mcp_server; then nothing has changed.
  void replace(mcp_offer offer);
  void resource_updated(const std::string& uri);

private:
  std::vector<std::shared_ptr<mcp_connection>> clients();

  runtime& runtime_;
  const mcp_server_options options_;
  mutable std::mutex mutex_;
  std::shared_ptr<const mcp_service> service_;
  std::vector<std::weak_ptr<mcp_connection>> clients_;
};

/// The lists that differ: tools, resources, prompts. Pure.
std::vector<std::string_view> mcp_changed_lists(const mcp_listing& before, const mcp_listing& now);

/// The receivers of report_mcp_progress() in this process, by random keys.
class mcp_progress_board {
public:
  using receiver = std::function<void(const mcp_progress&)>;
  static mcp_progress_board& of_process();
  /// Result: the key.
  std::string add(receiver then);
  void remove(const std::string& key);
  void report(const std::string& key, const mcp_progress& now);

private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const receiver>> receivers_;
};

} // namespace troupe
