// mcp_server_session: the requests of one client, and the open calls. Pure: no clock, no thread, no
// transport, no run.
#pragma once

#include "agents/mcp/mcp_protocol.hpp"

#include <troupe/agents/mcp.hpp>
#include <troupe/limits.hpp>
#include <troupe/value.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The description of a server, and its parts as lists show them.
struct mcp_listing {
  value server_info;                                    ///< {name, version}
  std::string instructions;                             ///< empty: none
  std::vector<value> tools;                             ///< their names differ
  std::size_t calls_max = limits::mcp_served_calls_max; ///< of a client at the same time
  std::vector<value> resources = {};                    ///< their URIs differ
  std::vector<value> templates = {};
  std::vector<value> prompts = {}; ///< their names differ
  /// Each message stands alone, in a session of its own: no request needs a greeting before it, and
  /// nothing but tools is offered or announced.
  bool is_stateless = false;
};

/// A call to run, under the session's number for it.
struct mcp_served_call {
  enum class kind : std::uint8_t { tool, resource, templated, prompt };
  std::uint64_t number = 0;
  kind what = kind::tool;
  std::size_t place = 0; ///< in its list of the listing
  value arguments;       ///< a map: of a tool or prompt, or the variables of a template
  std::string uri = {};  ///< of a resource
  bool wants_progress = false;
};

/// The end of a call: a result, or the code and text of an error.
struct mcp_outcome {
  value result = {};
  std::optional<rpc_refused> refused = {};
  std::string why = {};
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
    std::optional<std::uint64_t> answered = {};  ///< a question of this server
    std::optional<result<value>> with = {};      ///< its answer
  };
  heard hear(std::string_view text);

  /// The message that answers a call; empty when its result is not wanted any more. A result that
  /// troupe's own client could not read (limits::mcp_message_bytes_max, value_depth_max) is
  /// replaced by an error.
  /// Shape:  `how.result` is that of the method: {content, structuredContent, isError} …
  std::string answer(std::uint64_t call, const mcp_outcome& how);
  std::string answer(std::uint64_t call, const value& result) {
    return answer(call, mcp_outcome{.result = result});
  }
  /// The notification of a call's progress; empty when the client does not want it, when it does
  /// not grow, and beyond limits::mcp_progress_max.
  std::string progress(std::uint64_t call, const mcp_progress& now);
  /// The message that asks the client as part of a call; empty when that call is not running.
  /// `number` receives the number of the question.
  std::string ask(std::uint64_t call, std::string_view method, const value& params,
                  std::uint64_t& number);
  void forget_question(std::uint64_t number) { asked_.erase(number); }
  /// Whether the client can ask its user (elicitation, by a form).
  bool can_elicit() const noexcept { return can_elicit_; }
  bool is_subscribed(const std::string& uri) const { return subscribed_.contains(uri); }
  /// From now on, this is the listing. Calls that began keep the old one.
  void relist(std::shared_ptr<const mcp_listing> listing) { listing_ = std::move(listing); }
  /// Drops all open calls and questions.
  void forget_all() {
    open_.clear();
    asked_.clear();
  }

  bool is_greeted() const noexcept { return greeted_; }
  std::size_t running() const noexcept { return open_.size(); }

private:
  struct open_call {
    value id;    // the client's
    value token; // of its progress; null: not wanted
    bool is_tool = true;
    std::size_t reports = 0;
    double last = 0;
  };
  heard hear_request(const value& id, const value& message);
  heard hear_greeting(const value& id, const value& params);
  heard list(const value& id, const value& params, const std::vector<value>& all,
             const char* member) const;
  heard call_tool(const value& id, const value& params);
  heard read_resource(const value& id, const value& params);
  heard get_prompt(const value& id, const value& params);
  heard subscribe(const value& id, const value& params, bool on);
  heard begin(const value& id, const value& params, mcp_served_call call);
  heard hear_notification(const value& message);
  heard hear_answer(const value& message);
  std::map<std::uint64_t, open_call>::iterator find(const value& id);

  std::shared_ptr<const mcp_listing> listing_;
  bool greeted_ = false;
  bool can_elicit_ = false;
  std::map<std::uint64_t, open_call> open_;
  std::set<std::uint64_t> asked_;
  std::set<std::string> subscribed_;
  std::uint64_t next_ = 0;
  std::uint64_t next_question_ = 0;
};

/// A tool's result that is one text.
value mcp_text_result(std::string_view text, bool is_error);

} // namespace troupe
