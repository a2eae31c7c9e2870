// run_translation: the parts of a run as events of the thread protocol. Pure.
#pragma once

#include "server/runs/run_service.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::server {

/// An event without its number and time.
/// Shape:  `method`: lifecycle, checkpoints, values, messages, input.requested or tools. `ns`:
///         namespaces from the root.
struct protocol_event {
  std::string method;
  std::vector<std::string> ns;
  value data;
};

/// The name of an event's channel: that of its method, up to the dot.
std::string_view channel_of(const protocol_event& event) noexcept;

/// Translates one run.
/// Order:  the root's lifecycle event `running` comes first, its end last. A checkpoint comes just
///         before its values, which are held until its part is there, or another one.
/// Source: @langchain/protocol. The channels updates, custom and tasks get no events, as in the
///         server of Python; checkpoints do, as in that of JavaScript: React's hook forks there.
class run_translation {
public:
  /// `tells_checkpoints`: the run has parts of the mode checkpoints, so that values wait for them.
  explicit run_translation(std::string graph_name, bool tells_checkpoints = false)
    : graph_name_{std::move(graph_name)},
      tells_checkpoints_{tells_checkpoints} {}

  using events = std::vector<protocol_event>;
  events began();
  events part(const stream_part& part);
  events ended(const run_outcome& outcome);
  /// Whether the run asked this question, for the first caller alone.
  bool take_question(const std::string& interrupt_id) {
    return asked_.contains(interrupt_id) && taken_.insert(interrupt_id).second;
  }

private:
  using place = std::vector<std::string>;
  struct open_message {
    std::string id;
    std::string text;
    std::string reasoning;
  };

  void open_namespace(const place& ns, events& out);
  void close_namespace(const place& ns, const char* how, events& out);
  void message_part(const stream_part& part, events& out);
  void finish_message(const place& ns, events& out);
  void ask(const place& ns, const value& questions, events& out);
  void values_part(const stream_part& part, events& out);
  void release_values(const place& ns, events& out);

  std::string graph_name_;
  bool tells_checkpoints_;
  std::map<place, value> held_;            // data of values without their checkpoint
  std::map<place, std::string> open_;      // nested graphs, with their names
  std::map<place, open_message> messages_; // that came in pieces and are not whole yet
  std::set<std::string> asked_;            // ids of questions
  std::set<std::string> taken_;            // those of them that were taken
};

} // namespace troupe::server
