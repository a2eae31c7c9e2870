// The agent runner: drives an agent as a service does; a user's message goes into a session, events
// come out.
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

/// The name of a conversation in an app: its user and its id.
/// Shape:  both are UTF-8 and not empty. Both may come from untrusted sources: two sessions never
///         share a thread, whatever the texts contain. With the app's name in JSON they have at
///         most limits::thread_id_bytes_max bytes. Both are stored in plain, as ids of threads are.
/// Errors: functions that take one give invalid_config that names the part that is empty, too long
///         or not UTF-8.
/// Source: google/adk/sessions/session.py, Session.
struct session_ref {
  std::string user;
  std::string id;
  friend auto operator<=>(const session_ref&, const session_ref&) = default;
};

/// The current state of a session.
/// Shape:  `messages`: a list. `state`: all channels of the agent's graph, a map. `questions`:
///         those it waits for. `next` is empty when the last invocation is finished. All members
///         are empty when no invocation was ever stored.
/// Errors: none.
/// Source: google/adk/sessions/session.py, Session.
struct session {
  session_ref ref;
  value messages = value::list();
  value state = value::map();
  std::vector<interrupt> questions = {};
  std::vector<std::string> next = {};
  std::string invocation_id = {}; ///< of the last invocation
  std::string updated_at = {};    ///< as checkpoint::ts
};

// ---- events ---------------------------------------------------------------------------------

/// The kinds of events, and the `agent_event::data` of each.
/// Errors: none.
/// Source: google/adk/events/event.py, Event; its partial flag, function calls and responses,
///         actions.state_delta and long_running_tool_ids are kinds here.
enum class event_kind : std::uint8_t {
  partial,     ///< a part of an arriving answer: a message value, `chunk`, with the answer's id
  message,     ///< a whole assistant message
  tool_call,   ///< a call of that message: {name, args, id}; one event each
  tool_output, ///< a piece of a running tool's output: {tool_call_id, delta}
  tool_result, ///< a tool message
  state_delta, ///< a node's writes besides messages: {channel: value}
  custom,      ///< the argument of context::write
  question,    ///< a question that waits: {id, value, response_schema}. One of the last events
  paused,      ///< the agent waits at a breakpoint: the list of the nodes after it. The last event
  finished,    ///< the last event: the last message, an assistant's or a tool's; or null
  failed,      ///< the last event: {code, type, message}
};
/// The kind's name as in event_kind.
/// Errors: none.
/// Source: troupe.
std::string_view to_string(event_kind kind) noexcept;

/// An event of an agent.
/// Shape:  `author`: the name in an assistant message; else the agent of the task (an agent called
///         by a tool, `lc_agent_name`), or the session's agent. `ns`: as stream_part::ns, empty for
///         the agent itself.
/// Order:  `id` is unique; events of one run are in order. `invocation_id` stays the same across
///         questions, and across a restart of the process.
/// Errors: none.
/// Source: google/adk/events/event.py, Event; `ns` is its branch.
struct agent_event {
  event_kind kind = event_kind::custom;
  std::string id;
  std::string invocation_id;
  std::string author;
  std::vector<std::string> ns;
  value data;
};

/// An event as one JSON object, for a socket or a stream of server-sent events: {kind, id,
/// invocation_id, author, ns, data}. Messages are in LangChain's form (message_to_json).
/// Errors: none.
/// Source: troupe.
std::string to_json(const agent_event& event);

class event_source; // agents/sessions/event_source.hpp

/// The events of an invocation, pulled by the reader: `for (auto& e : runner.run(…))`. The agent
/// works while the reader reads, and waits for the reader. Destroying the stream stops the agent at
/// the end of its step; agent_runner::resume continues the invocation.
/// Thread: one.
/// Errors: the error of an invocation is an event, `failed`; after it next() throws the error.
/// Source: google/adk/runners.py, Runner.run_async.
class event_stream {
public:
  explicit event_stream(std::unique_ptr<event_source> source);
  event_stream(event_stream&&) noexcept;
  event_stream& operator=(event_stream&&) noexcept;
  ~event_stream();

  /// The next event, or nothing at the end.
  /// Errors: throws the invocation's error, once.
  std::optional<agent_event> next() { return try_next().value(); }
  /// As next(), with the error as a value.
  /// Errors: those of the invocation, once.
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
/// An agent, shared by its users.
/// Errors: none.
/// Source: troupe.
using session_agent_ptr = std::shared_ptr<session_agent>;

/// The request to an agent that is not a graph, and the means to answer it. An invocation is part
/// of a task. After a question, or a crash, its body begins again from its first line, and repeats
/// its messages with the same ids. Messages and state are stored when the body has ended.
/// Thread: one at a time, that of its coroutine.
/// Errors: see the members.
/// Source: google/adk/agents/invocation_context.py, InvocationContext.
class invocation {
public:
  invocation(const invocation&) = delete;
  invocation& operator=(const invocation&) = delete;

  const std::string& id() const noexcept { return id_; }
  const session_ref& session() const noexcept { return session_; }
  /// The conversation so far, including this invocation's messages.
  const value& messages() const noexcept { return messages_; }
  /// The user's last message; null without one.
  value message() const;
  /// The session's state besides messages: the last argument of set_state(), or null.
  const value& state() const noexcept { return state_; }
  void set_state(value state);

  /// Adds a message of the agent to the conversation, and reports it as an event.
  /// Shape:  a text, an assistant message or a tool message. An assistant message without a name
  ///         gets the agent's; one without an id gets a new id.
  /// Errors: throws error{invalid_value} for another role, invalid_update for a value that is not a
  ///         message.
  void say(const value& message);
  /// A part of the text of the next say(); for readers alone.
  void say_part(std::string_view text);
  /// Asks the user, as context::interrupt().
  value ask(const value& question, const value& response_schema = {}) {
    return ctx_->interrupt(question, response_schema);
  }
  /// Lets another agent answer in this invocation: await it under a name, one at a time. The
  /// messages of `other` join the conversation under its name.
  /// Errors: those of the agent.
  coro<void> run(session_agent_ptr other);

  /// The context of its task: for models (ask_model), graphs, time, completions, the store.
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

/// An agent that answers in sessions: a graph (make_session_agent), or code of the user's own.
/// Thread: several invocations may run at once, of different sessions.
/// Errors: see run().
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
  /// Answers in.message(). The body is a coroutine on the coroutine lane, so blocking calls go into
  /// in.ctx().blocking().
  /// Errors: an exception fails the invocation (node_failed).
  virtual coro<void> run(invocation& in) = 0;
  /// The graph over `messages`, when the agent is a graph and nothing else. Its sessions are then
  /// threads of that graph, with all of its state. Sessions of other agents hold the messages and
  /// the state of set_state().
  virtual std::optional<compiled_graph> graph() const { return std::nullopt; }
};

/// How a graph becomes an agent.
/// Shape:  `name` empty: the graph's. `input` turns a user's message into the graph's input;
///         `output` turns its result, a map, into a text or message. With one of them each
///         invocation begins with an empty state, unless the graph is compiled with
///         checkpointing::per_thread. Unset: the input is `messages`, and the output the last
///         message, or without messages the result as JSON.
/// Errors: see make_session_agent.
/// Source: troupe.
struct session_agent_options {
  std::string name = {};
  std::string description = {};
  std::function<run_input(const value& message)> input = {};
  std::function<value(const value& output)> output = {};
};

/// A graph as an agent: any graph over `messages`, or any graph at all with mappings.
/// Errors: throws error{invalid_graph} when the graph has neither an input `messages` nor a
///         mapping.
/// Source: adk-rust, GraphAgent; google/adk/agents/base_agent.py.
session_agent_ptr make_session_agent(compiled_graph graph, session_agent_options options = {});

// ---- the runner -----------------------------------------------------------------------------

/// The settings of a runner.
/// Shape:  `app` empty: the agent's name. `metadata`: a map, stored with each checkpoint besides
///         app_name, user_id, session_id and invocation_id.
/// Units:  `recursion_limit` in super-steps (unset: the graph's), `max_concurrency` in tasks (0: no
///         bound), `run_timeout` of one run (0: none).
/// Errors: see agent_runner.
/// Source: troupe.
struct agent_runner_options {
  std::string app = {};
  /// The strategy when a session is busy with another invocation: see multitask_strategy. An
  /// invocation that interrupts another may find unanswered tool calls. An agent with the
  /// middleware patch_tool_calls continues; create_react_agent fails with INVALID_CHAT_HISTORY. The
  /// next message after the end of both finds the calls answered.
  multitask_strategy multitask = multitask_strategy::enqueue;
  troupe::durability durability = troupe::durability::sync;
  std::optional<std::uint32_t> recursion_limit = std::nullopt;
  std::uint32_t max_concurrency = 0;
  std::chrono::milliseconds run_timeout{0};
  bool subgraphs = true; ///< also events of agents and graphs within the agent
  value metadata = {};
};

/// The values that go along with one message or answer.
/// Shape:  `input`: further channels of the graph's input, a map; for an agent that is not a graph
///         {"state": …}. An answer ignores `input`. `context` as run_config::context.
/// Errors: none here; see agent_runner::run.
/// Source: google/adk/runners.py, Runner.run_async.
struct invocation_options {
  value input = {};
  value context = {};
};

/// A session whose cut-off invocation was resumed.
/// Errors: none.
/// Source: troupe; basic_app::resume_unfinished.
struct resumed_session {
  session_ref session;
  run_handle run;
};

/// Drives an agent: one app of a service. Sessions are threads of the runtime's saver, so a graph
/// must not have its own. Each session has one invocation at a time
/// (agent_runner_options::multitask). Cheap to copy; neither the runner nor its streams may outlive
/// the runtime.
/// Thread: all members may be called from any thread at once.
/// Errors: see the members.
/// Source: google/adk/runners.py, Runner; sessions/base_session_service.py.
class agent_runner {
public:
  /// Errors: throws error{no_saver}, {invalid_config} without an agent or a name, {invalid_graph}.
  agent_runner(runtime& rt, session_agent_ptr agent, agent_runner_options options = {});

  const std::string& app() const noexcept;

  /// Starts an invocation: the agent's work on one message. The first one creates the session. A
  /// waiting question is dropped. Calls that a cancelled or failed invocation left open are
  /// answered first. Such calls stay open while this runner has another invocation in the session,
  /// until that one's reader has received its end.
  /// Shape:  `message`: a text, or any message (coerce_message).
  /// Order:  nothing is done before the first event is requested.
  /// Errors: the stream gives invalid_config (a malformed session_ref), invalid_update (not a
  ///         message), conflict, overloaded (multitask), cancelled, and the agent's error. The
  ///         session stays usable after any of them.
  event_stream run(session_ref session, value message, invocation_options with = {}) const;
  /// Answers one or several questions of a waiting session, and continues the invocation.
  /// Shape:  `answers`: as command::resume.
  /// Errors: the stream gives those of run(), and unknown_interrupt when no question matches: an
  ///         answer to several questions must name them. After invalid_resume the session still
  ///         waits.
  event_stream answer(session_ref session, value answers, invocation_options with = {}) const;
  /// Continues an invocation that was cut off, failed, or waits at a breakpoint. For one that waits
  /// for an answer, the stream repeats the questions.
  /// Errors: those of the stream: as run(); empty_input for a session that was never used.
  event_stream resume(session_ref session, invocation_options with = {}) const;

  /// Cancels the invocations of this runner and its copies in the session, running and queued;
  /// their readers get `cancelled`. Returns their number.
  /// Errors: none; 0 for a malformed session_ref.
  std::size_t cancel(const session_ref& session) const;

  /// The session, or nothing when it has never been used, or was deleted.
  /// Errors: invalid_config, storage codes.
  result<std::optional<troupe::session>> try_session(const session_ref& session) const;
  /// All sessions of the app, or those of one user.
  /// Order:  by user and id.
  /// Cost:   the list of all threads of the saver.
  /// Errors: storage codes.
  result<std::vector<session_ref>> try_sessions(std::string_view user = {}) const;
  /// Deletes a session; no error when it is missing. Later saves of a running invocation are
  /// refused.
  /// Errors: invalid_config, storage codes.
  result<void> try_delete_session(const session_ref& session) const;
  /// The sessions whose invocation was cut off, by the end of its process or of its reader.
  /// Shape:  `alone`: as unfinished_query::alone.
  /// Errors: as basic_app::try_unfinished.
  result<std::vector<session_ref>> try_unfinished(bool alone = false) const;
  /// Resumes each of these in the background, all at once; their events have no reader.
  /// Errors: as try_unfinished; the error of an invocation is in its handle.
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
