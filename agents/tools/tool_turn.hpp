// A call among those that run side by side: whose turn it is, and who hears what it says.
#pragma once

#include <troupe/body_exit.hpp>
#include <troupe/agents/tool.hpp>

#include <functional>
#include <vector>

namespace troupe {

/// Stands between a call and readers of the `tools` stream.
class tool_event_filter {
public:
  virtual ~tool_event_filter() = default;
  /// Gives `out` what is told in place of `event`: any number of events.
  virtual void event(const value& event, const std::function<void(const value&)>& out) = 0;
};

namespace detail {

/// Of one call. What depends on the order of the calls is refused until it is this one's turn.
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

/// While it lives, `filter` hears what the call says, before those that were there.
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
