// Agents as a service drives them: a user's message goes into a session, events come out.
//
//     troupe::agent_runner runner{rt, troupe::make_session_agent(graph)};
//     for (auto& e : runner.run({.user = "ada", .id = "1"}, "Hello"))
//       std::cout << troupe::to_json(e) << "\n";
#pragma once

#include <troupe/agents/messages.hpp>
#include <troupe/runtime.hpp>

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

// ---- sessions -------------------------------------------------------------------------------

/// Which conversation of an app: that of this user, with this id.
/// Shape:  both are UTF-8 and not empty, and may come from strangers: no two sessions have one
///         thread, whatever stands in them. With the app's name in JSON they have at most
///         limits::thread_id_bytes_max bytes. They are stored in plain, as ids of threads are.
/// Errors: (of who is given one) invalid_config that says which is empty, too long or no UTF-8.
/// Source: google/adk/sessions/session.py, Session.
struct session_ref {
  std::string user;
  std::string id;
  friend auto operator<=>(const session_ref&, const session_ref&) = default;
};

/// A session as it stands.
/// Shape:  `messages` a list; `state` all channels of the agent's graph, a map; `questions`: what
///         it waits for. `next` is empty when the last invocation is finished. Of a session
///         without an invocation that was ever stored, all empty.
struct session {
  session_ref ref;
  value messages = value::list();
  value state = value::map();
  std::vector<interrupt> questions = {};
  std::vector<std::string> next = {};
  std::string invocation_id = {}; ///< the last one
  std::string updated_at = {};    ///< as checkpoint::ts
};

// ---- events ---------------------------------------------------------------------------------

/// What an agent does, and what `agent_event::data` then is.
/// Source: google/adk/events/event.py, Event; its partial flag, function calls and responses,
///         actions.state_delta and long_running_tool_ids are kinds here.
enum class event_kind : std::uint8_t {
  partial,     ///< a part of an answer that comes: a message value, `chunk`, with the answer's id
  message,     ///< an assistant's message, whole
  tool_call,   ///< a call of that message: {name, args, id}; one event each
  tool_output, ///< a piece of what a tool puts out while it runs: {tool_call_id, delta}
  tool_result, ///< a tool's message
  state_delta, ///< what a node wrote besides messages: {channel: value}
  custom,      ///< what a body wrote with context::write
  question,    ///< it waits for an answer: {id, value, response_schema}. One of the last events
  paused,      ///< it waits at a breakpoint: the list of the nodes behind it. The last event
  finished,    ///< the last event: the last message, an assistant's or a tool's; or null
  failed,      ///< the last event: {code, type, message}
};
std::string_view to_string(event_kind kind) noexcept;

/// Something an agent did.
/// Shape:  `author`: the name in an assistant's message; else whose task it was (an agent that a
///         tool asks, `lc_agent_name`), or the session's agent. `ns`: as stream_part::ns, empty for
///         the agent itself.
/// Order:  `id` is unique; events of one run are in order. `invocation_id` stays the same over
///         questions, and over a restart of the process.
/// Source: google/adk/events/event.py, Event; `ns` is its branch.
struct agent_event {
  event_kind kind = event_kind::custom;
  std::string id;
  std::string invocation_id;
  std::string author;
  std::vector<std::string> ns;
  value data;
};

/// As one object of JSON, for a socket or a stream of server-sent events: {kind, id, invocation_id,
/// author, ns, data}. Messages are in LangChain's form (message_to_json).
/// Errors: none.
/// Source: troupe.
std::string to_json(const agent_event& event);

class event_source; // agents/sessions/event_source.hpp

/// The events of an invocation, pulled by the reader: `for (auto& e : runner.run(…))`. The agent
/// works while the reader reads, and waits for it. Destroying it stops the agent at the end of its
/// step; agent_runner::resume goes on.
/// Thread: one.
/// Errors: what an invocation ends with is an event, `failed`; behind it next() throws it.
/// Source: google/adk/runners.py, Runner.run_async.
class event_stream {
public:
  explicit event_stream(std::unique_ptr<event_source> source);
  event_stream(event_stream&&) noexcept;
  event_stream& operator=(event_stream&&) noexcept;
  ~event_stream();

  /// The next event, or nothing at the end. Errors: throws what the invocation failed with, once.
  std::optional<agent_event> next() { return try_next().value(); }
  /// As next(), with the error as a value.
  result<std::optional<agent_event>> try_next();

  class iterator {
  public:
    explicit iterator(event_stream* s) : stream_{s} {
      if (stream_)
        ++*this;
    }
    agent_event& operator*() { return *event_; }
    agent_event* operator->() { return &*event_; }
    iterator& operator++() {
      event_ = stream_->next();
      if (!event_)
        stream_ = nullptr;
      return *this;
    }
    friend bool operator==(const iterator& a, const iterator& b) { return a.stream_ == b.stream_; }

  private:
    event_stream* stream_;
    std::optional<agent_event> event_;
  };
  iterator begin() { return iterator{this}; }
  iterator end() { return iterator{nullptr}; }

private:
  std::unique_ptr<event_source> source_;
};

// ---- agents ---------------------------------------------------------------------------------

class session_agent;
using session_agent_ptr = std::shared_ptr<session_agent>;

/// What an agent that is no graph is asked, and how it answers. It is part of a task: after a
/// question, or a crash, it begins again from its first line, and what it said before is told again
/// with the same ids. What it says and sets is kept when it has ended.
/// Thread: one at a time, that of its coroutine.
/// Source: google/adk/agents/invocation_context.py, InvocationContext.
class invocation {
public:
  invocation(const invocation&) = delete;
  invocation& operator=(const invocation&) = delete;

  const std::string& id() const noexcept { return id_; }
  const session_ref& session() const noexcept { return session_; }
  /// The conversation so far, with what this invocation has said.
  const value& messages() const noexcept { return messages_; }
  /// What the user said last; null when nobody did.
  value message() const;
  /// What the session keeps besides messages: whatever set_state() was given last, or null.
  const value& state() const noexcept { return state_; }
  void set_state(value state);

  /// A message of the agent's: it becomes part of the conversation, and an event.
  /// Shape:  a text, an assistant's message or a tool's. An assistant's without a name gets the
  ///         agent's, one without an id gets one.
  /// Errors: throws error{invalid_value} for another message, invalid_update for what is none.
  void say(const value& message);
  /// A part of the text that is said next; for readers alone.
  void say_part(std::string_view text);
  /// Asks the user, as context::interrupt().
  value ask(const value& question, const value& response_schema = {}) {
    return ctx_->interrupt(question, response_schema);
  }
  /// Lets another agent answer in this invocation: await it under a name, one at a time. What it
  /// says becomes part of the conversation under its name.
  /// Errors: what the agent fails with.
  coro<void> run(session_agent_ptr other);

  /// The task it is part of: models (ask_model), graphs, time, completions, the store.
  context& ctx() const noexcept { return *ctx_; }

private:
  friend struct invocation_maker; // agents/sessions/session_agents.hpp
  invocation(context& ctx, std::string author, std::string mark, value messages, value state);
  std::string next_id() const;

  context* ctx_;
  std::string author_;
  std::string mark_;
  std::string id_;
  session_ref session_;
  value messages_;
  value state_;
  bool state_changed_ = false;
  std::size_t said_ = 0;
};

/// Who answers in sessions: a graph (make_session_agent), or any code of one's own.
/// Thread: several invocations may run at once, of different sessions.
/// Source: google/adk/agents/base_agent.py, BaseAgent; adk-rust, Agent.
class session_agent {
public:
  session_agent() = default;
  session_agent(const session_agent&) = delete;
  session_agent& operator=(const session_agent&) = delete;
  virtual ~session_agent() = default;

  /// Not empty; the author of its events.
  virtual std::string name() const = 0;
  /// For people, and for models that choose among agents.
  virtual std::string description() const { return {}; }
  /// Answers in.message(). A coroutine; on the coroutine lane, so what blocks goes into
  /// in.ctx().blocking().
  /// Errors: what it throws fails the invocation (node_failed).
  virtual coro<void> run(invocation& in) = 0;
  /// The graph over `messages` that it is, if it is nothing else: sessions are threads of it then,
  /// with all of its state. Else they hold the messages, and what set_state() was given.
  virtual std::optional<compiled_graph> graph() const { return std::nullopt; }
};

/// How a graph is made an agent.
/// Shape:  `name` empty: the graph's. `input` makes the graph's input of a message of the user,
///         `output` a text or message of its result, a map; with one of them each invocation begins
///         with an empty state (unless the graph is compiled with checkpointing::per_thread).
///         Unset: `messages` in; the last message out, or where there is none the result as JSON.
struct session_agent_options {
  std::string name = {};
  std::string description = {};
  std::function<run_input(const value& message)> input = {};
  std::function<value(const value& output)> output = {};
};

/// A graph as an agent, any over `messages`, or with mappings any.
/// Errors: throws error{invalid_graph} when it has neither an input `messages` nor a mapping.
/// Source: adk-rust, GraphAgent; google/adk/agents/base_agent.py.
session_agent_ptr make_session_agent(compiled_graph graph, session_agent_options options = {});

// ---- the runner -----------------------------------------------------------------------------

/// Shape:  `app` empty: the agent's name. `metadata`: a map, stored with each checkpoint beside
///         app_name, user_id, session_id and invocation_id.
/// Units:  `recursion_limit` in super-steps (unset: as the agent's graph says),
///         `max_concurrency` in tasks (0: no bound), `run_timeout` of one run (0: none).
struct agent_runner_options {
  std::string app = {};
  /// When a session is busy with another invocation: see multitask_strategy. One that interrupts
  /// another may find tool calls without answers: an agent with the middleware patch_tool_calls
  /// goes on, create_react_agent fails with INVALID_CHAT_HISTORY, and the next message behind the
  /// end of both finds them answered.
  multitask_strategy multitask = multitask_strategy::enqueue;
  troupe::durability durability = troupe::durability::sync;
  std::optional<std::uint32_t> recursion_limit = std::nullopt;
  std::uint32_t max_concurrency = 0;
  std::chrono::milliseconds run_timeout{0};
  bool subgraphs = true; ///< events of agents and graphs within the agent too
  value metadata = {};
};

/// What goes along with one message or answer.
/// Shape:  `input`: further channels of the graph's input, a map; of an agent that is no graph
///         {"state": …}. With an answer it is not looked at. `context` as run_config::context.
struct invocation_options {
  value input = {};
  value context = {};
};

/// A session whose cut-off invocation goes on.
/// Source: troupe; basic_app::resume_unfinished.
struct resumed_session {
  session_ref session;
  run_handle run;
};

/// Drives an agent: one app of a service. Sessions are threads of the runtime's saver (so a graph
/// must have none of its own); each has one invocation at a time (agent_runner_options::multitask).
/// Cheap to copy; it must not outlive its runtime, nor may its streams.
/// Thread: all members may be called from any thread at once.
/// Source: google/adk/runners.py, Runner; sessions/base_session_service.py.
class agent_runner {
public:
  /// Errors: throws error{no_saver}, {invalid_config} without an agent or a name, {invalid_graph}.
  agent_runner(runtime& rt, session_agent_ptr agent, agent_runner_options options = {});

  const std::string& app() const noexcept;

  /// An invocation: what the agent does about a message. The session begins with its first one.
  /// Calls that a cancelled or failed invocation left open are answered before it (not those of one
  /// that is still on, or whose reader has not heard of its end, which it waits for or takes over),
  /// and a question that waits is dropped.
  /// Shape:  `message`: a text, or any message (coerce_message).
  /// Order:  nothing is done before the first event is asked for.
  /// Errors: of the stream: invalid_config (a session_ref that is none), invalid_update (no
  ///         message), conflict, overloaded (multitask); what the agent fails with, or cancelled.
  ///         Whatever it is, the session stays usable.
  event_stream run(session_ref session, value message, invocation_options with = {}) const;
  /// Answers the question, or several, of a session that waits, and goes on with the invocation.
  /// Shape:  `answers`: as command::resume.
  /// Errors: of the stream: as run(); unknown_interrupt when it waits for no such answer (one for
  ///         several questions must name them), invalid_resume: then the session waits on.
  event_stream answer(session_ref session, value answers, invocation_options with = {}) const;
  /// Goes on with an invocation that was cut off, failed, or waits at a breakpoint. Of one that
  /// waits for an answer it gives the questions again.
  /// Errors: of the stream: as run(); empty_input for a session that was never used.
  event_stream resume(session_ref session, invocation_options with = {}) const;

  /// Gives up what this runner and its copies run in the session, and what waits for its turn
  /// there; their readers get `cancelled`. How many that were.
  /// Errors: none; 0 for a session_ref that is none.
  std::size_t cancel(const session_ref& session) const;

  /// The session, or nothing when it has never been used, or was deleted.
  /// Errors: invalid_config, storage codes.
  result<std::optional<troupe::session>> try_session(const session_ref& session) const;
  /// All sessions of the app, or those of one user.
  /// Order:  by user and id.
  /// Cost:   the list of all threads of the saver.
  /// Errors: storage codes.
  result<std::vector<session_ref>> try_sessions(std::string_view user = {}) const;
  /// No error when there is none. What an invocation that is on has still to store is refused.
  /// Errors: invalid_config, storage codes.
  result<void> try_delete_session(const session_ref& session) const;
  /// The sessions whose invocation was cut off, by the end of its process or by a reader that left.
  /// Shape:  `alone`: as unfinished_query::alone.
  /// Errors: as basic_app::try_unfinished.
  result<std::vector<session_ref>> try_unfinished(bool alone = false) const;
  /// Goes on with each of them in the background, all at once; nobody reads their events.
  /// Errors: as try_unfinished; what one ends with is in its handle.
  result<std::vector<resumed_session>> try_resume_unfinished(bool alone = false) const;

  /// The forms that throw error.
  std::optional<troupe::session> session(const session_ref& of) const {
    return try_session(of).value();
  }
  std::vector<session_ref> sessions(std::string_view user = {}) const {
    return try_sessions(user).value();
  }
  void delete_session(const session_ref& session) const { try_delete_session(session).value(); }
  std::vector<session_ref> unfinished(bool alone = false) const {
    return try_unfinished(alone).value();
  }
  std::vector<resumed_session> resume_unfinished(bool alone = false) const {
    return try_resume_unfinished(alone).value();
  }

private:
  std::shared_ptr<const class runner_core> core_; // agents/sessions/event_source.hpp
};

} // namespace troupe
