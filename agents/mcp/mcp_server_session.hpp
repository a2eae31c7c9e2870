// What a server hears from one client, and what is open between them. Pure: no clock, no thread, no
// transport, no run.
#pragma once

#include <troupe/limits.hpp>
#include <troupe/value.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What a server says of itself, and of its tools.
struct mcp_listing {
  value server_info;        ///< {name, version}
  std::string instructions; ///< empty: none
  std::vector<value> tools; ///< as tools/list shows them; each has a name of its own
  std::size_t calls_max = limits::mcp_served_calls_max; ///< of a client at a time
};

/// A call that is to run, under the number that it has here.
struct mcp_served_call {
  std::uint64_t number = 0;
  std::size_t tool = 0; ///< its place in the listing
  value arguments;      ///< a map
};

/// Invariant: whatever the client says, each request is answered at most once: at once, or, a call
/// that began and was not cancelled, by answer().
class mcp_server_session {
public:
  explicit mcp_server_session(std::shared_ptr<const mcp_listing> listing)
    : listing_{std::move(listing)} {}

  /// What hearing a message leads to, for the caller to do.
  struct heard {
    std::string reply = {}; ///< to be sent; empty: nothing
    bool refused = false;   ///< no id could be read: nobody can tell what `reply` answers
    std::optional<mcp_served_call> call = {};
    std::optional<std::uint64_t> cancelled = {}; ///< nobody waits for this call any more
  };
  heard hear(std::string_view text);

  /// The message that answers a call; empty when nobody waits for it. A result that no client of
  /// ours could read (limits::mcp_message_bytes_max, value_depth_max) is one that says so.
  /// Shape:  `result` is {content, structuredContent, isError}.
  std::string answer(std::uint64_t call, const value& result);
  /// Nobody waits for any of them any more.
  void forget_all() { open_.clear(); }

  bool is_greeted() const noexcept { return greeted_; }
  std::size_t running() const noexcept { return open_.size(); }

private:
  heard hear_request(const value& id, const value& message);
  heard hear_greeting(const value& id, const value& params);
  heard list(const value& id, const value& params) const;
  heard begin(const value& id, const value& params);
  heard hear_notification(const value& message);
  std::map<std::uint64_t, value>::iterator find(const value& id);

  std::shared_ptr<const mcp_listing> listing_;
  bool greeted_ = false;
  std::map<std::uint64_t, value> open_; // number -> the client's id
  std::uint64_t next_ = 0;
};

/// A tool's result that is one text.
value mcp_text_result(std::string_view text, bool is_error);

} // namespace troupe
