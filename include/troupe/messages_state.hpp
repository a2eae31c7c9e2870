// The messages state: the state of a chat, to be used as it is or extended.
#pragma once

#include <troupe/message.hpp>
#include <troupe/state.hpp>

#include <vector>

namespace troupe {

/// A typed state with the one channel `messages` of kind add_messages. A struct that adds members
/// inherits it, and names `messages` in a declaration of its own:
///     struct research : troupe::messages_state {
///       std::vector<std::string> sources;
///       TROUPE_STATE(research, TROUPE_MESSAGES, (sources, troupe::append))
///     };
/// Writes to several members: `update<research>{}.set(&research::messages, …).set(…)`. The channels
/// of a graph without a struct: schema_of<messages_state>().
/// Shape:  `messages` in the order in which they were added; empty at first.
/// Errors: invalid_update for a write that is not a message (see add_messages).
/// Source: langgraph/graph/message.py, MessagesState.
struct messages_state {
  std::vector<message> messages;
  TROUPE_STATE(messages_state, (messages, add_messages))
};

} // namespace troupe

// The member `messages` in the TROUPE_STATE declaration of a struct that inherits messages_state.
#define TROUPE_MESSAGES (messages, ::troupe::add_messages)
