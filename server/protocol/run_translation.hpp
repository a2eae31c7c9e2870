// run_translation: the parts of a run as events of the thread protocol. Pure.
#pragma once

#include "server/protocol/message_translation.hpp"
#include "server/runs/run_service.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::server {

/// An event without its number and time.
/// Shape:  `method`: lifecycle, values, messages, input.requested or tools. `ns`: namespaces from
///         the root. `id`: empty for one made of its number.
struct protocol_event {
  std::string method;
  std::vector<std::string> ns;
  value data;
  std::string id = {};
};

/// The name of an event's channel: that of its method, up to the dot.
std::string_view channel_of(const protocol_event& event) noexcept;

/// Translates one run.
/// Order:  the root's lifecycle event `running` comes first, its end last. Questions, and the
///         states that have them, come at the end of the run: a reader of one can answer it.
/// Source: @langchain/protocol, as langgraph-api sends it: lifecycle, values, messages, input and
///         tools; no events of other channels.
class run_translation {
public:
  explicit run_translation(std::string graph_name) : graph_name_{std::move(graph_name)} {}

  using events = std::vector<protocol_event>;
  events began();
  events part(const stream_part& part);
  events ended(const run_outcome& outcome);

private:
  using place = std::vector<std::string>;

  void open_namespace(const place& ns, events& out);
  void close_namespace(const place& ns, const char* how, events& out);
  template <class Does> void tell_messages(const place& ns, events& out, const Does& does);
  void finish_messages(const place& ns, events& out);
  void ask(const place& ns, const value& questions);

  std::string graph_name_;
  std::map<place, std::string> open_; // nested graphs, with their names
  std::map<place, message_translation> messages_;
  events last_;                 // questions, and the states that have them
  std::set<std::string> asked_; // ids of questions
};

} // namespace troupe::server
