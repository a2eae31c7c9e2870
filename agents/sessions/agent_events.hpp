// agent_events: from the parts of a stream to the events of an agent. Pure.
#pragma once

#include <troupe/agents/agent_runner.hpp>

#include <map>
#include <string>
#include <vector>

namespace troupe {

/// The value that invocation::say() writes to the `custom` stream. The mark is the runner's own, so
/// that a tool's output can't pass for it.
value said_part(const std::string& mark, const std::string& author, const value& message);

/// Follows one run.
/// Order:  a message is reported when it first appears, by say() or in a node's update. It is
///         reported again only when it has changed.
class event_reader {
public:
  event_reader(std::string agent, std::string mark)
    : agent_{std::move(agent)},
      mark_{std::move(mark)} {}

  /// The modes of a stream that it reads.
  static std::vector<stream_mode> modes();

  /// The events of a part, without ids.
  std::vector<agent_event> events_of(const stream_part& part);

  /// The last events of a run that ended or waits.
  std::vector<agent_event> last_events(const run_result& how) const;
  agent_event failed(const error& why) const;

private:
  using events = std::vector<agent_event>;
  void task_begins(const stream_part& part);
  void updated(const stream_part& part, events& out);
  void written(const stream_part& part, const value& update, events& out);
  void told(const value& message, const std::string& author, const stream_part& part, events& out);
  void streamed(const stream_part& part, events& out) const;
  const std::string& author_of(const std::vector<std::string>& ns) const;

  std::string agent_;
  std::string mark_;
  std::map<std::string, value, std::less<>> known_; // messages by id
  std::map<std::vector<std::string>, std::string> authors_;
};

} // namespace troupe
