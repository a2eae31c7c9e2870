// tool_turn: a call among concurrent ones: whose turn it is, and where its events go.
#pragma once

#include <troupe/agents/tool.hpp>
#include <troupe/body_exit.hpp>

#include <functional>
#include <vector>

namespace troupe {

/// Stands between a call and readers of the `tools` stream.
class tool_event_filter {
public:
  virtual ~tool_event_filter() = default;
  /// Calls `out` with the events in place of `event`: any number of them.
  virtual void event(const value& event, const std::function<void(const value&)>& out) = 0;
};

namespace detail {

/// The turn of one call. Actions that depend on the order of the calls are refused until it has
/// come.
struct tool_turn {
  bool open = true;
  std::vector<tool_event_filter*> filters = {}; // of wrappers, the outermost first
};

/// The way of a call's events to their readers.
struct tool_events {
  static void tell(const tool_runtime& runtime, const value& event);
  static std::vector<tool_event_filter*>& filters(const tool_runtime& runtime);
};

} // namespace detail

/// During its lifetime, `filter` gets the call's events before the filters that were there.
class filtered_tool_events {
public:
  filtered_tool_events(const tool_runtime& runtime, tool_event_filter& filter)
    : filters_{detail::tool_events::filters(runtime)} {
    filters_.push_back(&filter);
  }
  filtered_tool_events(const filtered_tool_events&) = delete;
  filtered_tool_events& operator=(const filtered_tool_events&) = delete;
  ~filtered_tool_events() { filters_.pop_back(); }

private:
  std::vector<tool_event_filter*>& filters_;
};

/// Leaves a call that must wait for its turn.
struct out_of_turn : detail::body_exit {};

} // namespace troupe
