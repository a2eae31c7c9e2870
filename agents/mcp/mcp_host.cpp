// mcp_host: changing the offer, and the progress of calls.
#include "agents/mcp/mcp_host.hpp"

#include "agents/mcp/mcp_connection.hpp"
#include "agents/messages/message_lists.hpp"

#include <utility>

namespace troupe {

std::vector<std::string_view> mcp_changed_lists(const mcp_listing& before, const mcp_listing& now) {
  std::vector<std::string_view> out;
  if (before.tools != now.tools)
    out.emplace_back("tools");
  if (before.resources != now.resources || before.templates != now.templates)
    out.emplace_back("resources");
  if (before.prompts != now.prompts)
    out.emplace_back("prompts");
  return out;
}

std::shared_ptr<const mcp_service> mcp_host::service() const {
  std::scoped_lock lock{mutex_};
  return service_;
}

void mcp_host::add(const std::shared_ptr<mcp_connection>& client) {
  std::scoped_lock lock{mutex_};
  std::erase_if(clients_, [](const auto& one) { return one.expired(); });
  clients_.push_back(client);
}

std::vector<std::shared_ptr<mcp_connection>> mcp_host::clients() {
  std::vector<std::shared_ptr<mcp_connection>> out;
  std::scoped_lock lock{mutex_};
  for (const auto& one : clients_)
    if (auto client = one.lock())
      out.push_back(std::move(client));
  return out;
}

void mcp_host::replace(mcp_offer offer) {
  auto now = std::make_shared<const mcp_service>(runtime_, std::move(offer), options_);
  std::shared_ptr<const mcp_service> before;
  {
    std::scoped_lock lock{mutex_};
    before = std::exchange(service_, now);
  }
  auto changed = mcp_changed_lists(*before->listing(), *now->listing());
  for (const auto& client : clients())
    client->offered(now, changed);
}

void mcp_host::resource_updated(const std::string& uri) {
  for (const auto& client : clients())
    client->updated(uri);
}

// ---- progress -------------------------------------------------------------------------------

mcp_progress_board& mcp_progress_board::of_process() {
  static mcp_progress_board board;
  return board;
}

std::string mcp_progress_board::add(receiver then) {
  auto key = random_id();
  std::scoped_lock lock{mutex_};
  receivers_.emplace(key, std::make_shared<const receiver>(std::move(then)));
  return key;
}

void mcp_progress_board::remove(const std::string& key) {
  std::scoped_lock lock{mutex_};
  receivers_.erase(key);
}

void mcp_progress_board::report(const std::string& key, const mcp_progress& now) {
  std::shared_ptr<const receiver> then;
  {
    std::scoped_lock lock{mutex_};
    if (auto found = receivers_.find(key); found != receivers_.end())
      then = found->second;
  }
  if (then)
    (*then)(now);
}

void report_mcp_progress(const context& ctx, const mcp_progress& now) {
  const auto& key = ctx.configurable()[mcp_progress_member];
  if (key.is_string())
    mcp_progress_board::of_process().report(key.as<std::string>(), now);
}

// ---- the server as a program sees it --------------------------------------------------------

mcp_server::mcp_server(runtime& rt, mcp_offer offer, mcp_server_options options)
  : host_{std::make_shared<mcp_host>(rt, std::move(offer), std::move(options))} {}

void mcp_server::replace(mcp_offer offer) const {
  host_->replace(std::move(offer));
}

void mcp_server::resource_updated(const std::string& uri) const {
  host_->resource_updated(uri);
}

} // namespace troupe
