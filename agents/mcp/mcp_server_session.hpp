// mcp_server_session: the requests of one client, and the open calls. Pure: no clock, no thread, no
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

/// The description of a server and its tools.
struct mcp_listing {
  value server_info;        ///< {name, version}
  std::string instructions; ///< empty: none
  std::vector<value> tools; ///< as tools/list shows them; their names differ
  std::size_t calls_max = limits::mcp_served_calls_max; ///< of a client at the same time
};

/// A call to run, under the session's number for it.
struct mcp_served_call {
  std::uint64_t number = 0;
  std::size_t tool = 0; ///< its place in the listing
  value arguments;      ///< a map
};

/// Invariant: whatever the client sends, each request is answered at most once. The answer comes at
/// once or, for a call that began and was not cancelled, by answer().
class mcp_server_session {
public:
  explicit mcp_server_session(std::shared_ptr<const mcp_listing> listing)
    : listing_{std::move(listing)} {}

  /// The consequences of a message, which the caller carries out.
  struct heard {
    std::string reply = {}; ///< to send; empty: nothing
    bool refused = false;   ///< no id could be read: it is not known what `reply` answers
    std::optional<mcp_served_call> call = {};
    std::optional<std::uint64_t> cancelled = {}; ///< the result of this call is not wanted any more
  };
  heard hear(std::string_view text);

  /// The message that answers a call; empty when its result is not wanted any more. A result that
  /// troupe's own client could not read (limits::mcp_message_bytes_max, value_depth_max) is
  /// replaced by an error.
  /// Shape:  `result` is {content, structuredContent, isError}.
  std::string answer(std::uint64_t call, const value& result);
  /// Drops all open calls.
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
