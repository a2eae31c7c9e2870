// mcp_call: the events of a call, and the body of a server's tool.
#include "agents/mcp/mcp_call.hpp"

#include "agents/messages/failure.hpp"
#include "agents/messages/json_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace troupe {

// ---- requests of a server --------------------------------------------------------------------

std::optional<std::string> mcp_refused_request(const mcp_asked& request) {
  auto refused = [&request](const std::string& why) {
    return mcp_refusal(request.id, rpc_refused::wrong_params, "Invalid request parameters: " + why);
  };
  const auto& params = request.params;
  if (to_json(params).size() > limits::mcp_sampled_bytes_max)
    return refused("more than mcp_sampled_bytes_max ("
                   + std::to_string(limits::mcp_sampled_bytes_max) + ") bytes");
  if (request.method == "sampling/createMessage")
    return params["messages"].is_list() ? std::nullopt
                                        : std::optional{refused("messages must be a list")};
  if (!params["message"].is_string())
    return refused("message must be a text");
  if (!params["mode"].is_null() && params["mode"] != value("form"))
    return refused("only the mode `form` is supported");
  if (!params["requestedSchema"].is_map())
    return refused("requestedSchema must be an object");
  return std::nullopt;
}

result<value> mcp_elicited(const mcp_asked& request, const value& answer) {
  auto wrong = [](const std::string& why) {
    return error{errc::invalid_resume, "the answer to an MCP server's question " + why};
  };
  constexpr std::array actions{"accept", "decline", "cancel"};
  auto action = text_in(answer["action"]);
  if (std::ranges::find(actions, action) == actions.end())
    return wrong("must be a map with `action`: accept, decline or cancel");
  if (action != "accept")
    return value::map({{"action", action}});
  const auto& content = answer["content"];
  if (!content.is_map())
    return wrong("must have a map as `content`");
  if (auto no = check_schema(request.params["requestedSchema"], content); !no.empty())
    return wrong("does not fit: content" + (no[0].path.empty() ? "" : "." + no[0].path) + ": "
                 + no[0].message);
  return value::map({{"action", action}, {"content", content}});
}

result<model_request> mcp_sampled_request(const mcp_asked& request, const mcp_sampling& sampling) {
  auto wrong = [](const std::string& why) {
    return error{errc::invalid_value, "sample for an MCP server: " + why};
  };
  const auto& params = request.params;
  const auto& given = params["messages"];
  if (given.empty() || given.size() > limits::mcp_sampled_messages_max)
    return wrong("1 to " + std::to_string(limits::mcp_sampled_messages_max)
                 + " messages are expected");
  std::vector<value> messages;
  if (auto system = text_in(params["systemPrompt"]); !system.empty())
    messages.push_back(system_message(system));
  for (const auto& m : given.items()) {
    auto role = text_in(m["role"]);
    if (role != "user" && role != "assistant")
      return wrong("a message of an unknown role: " + quoted_text(role));
    std::vector<value> blocks;
    try {
      if (m["content"].is_map())
        blocks.push_back(mcp_block(m["content"], request.method));
      for (const auto& block : m["content"].items())
        blocks.push_back(mcp_block(block, request.method));
    } catch (const error& e) {
      return wrong(e.text());
    }
    auto content = value::list(std::move(blocks));
    messages.push_back(role == "user" ? human_message(std::move(content))
                                      : ai_message(std::move(content)));
  }
  model_request out{value::list(std::move(messages))};
  const auto& tokens = params["maxTokens"];
  if (!tokens.is_int() || tokens.as_int() < 1)
    return wrong("maxTokens must be a positive integer");
  out.settings = value::map({{"max_tokens", std::min(tokens.as_int(), sampling.tokens_max)}});
  if (params["temperature"].is_number())
    out.settings = out.settings.with("temperature", params["temperature"]);
  return out;
}

value mcp_sampled_result(const chat_model& model, const value& answer) {
  auto text = message_text(answer);
  bool is_cut = text.size() > limits::mcp_sampled_bytes_max;
  if (is_cut)
    text.resize(limits::mcp_sampled_bytes_max);
  return value::map({{"role", "assistant"},
                     {"content", text_block(text)},
                     {"model", model.name()},
                     {"stopReason", is_cut ? "maxTokens" : "endTurn"}});
}

// ---- a call on its way -----------------------------------------------------------------------

void mcp_call::begin(const std::string& tool, const value& arguments) {
  auto transport = transport_.lock();
  if (!transport)
    return;
  auto id = transport->ask(
    "tools/call", value::map({{"name", tool}, {"arguments", arguments}}), options_.call_timeout,
    [self = shared_from_this()](result<value> r) { self->ended(std::move(r)); },
    shared_from_this());
  bool was_asked = false;
  {
    std::scoped_lock lock{mutex_};
    id_ = id;
    was_asked = asked_count_ > 0;
  }
  if (was_asked) // before the number was known
    transport->extend(id, options_.question_wait);
}

std::optional<mcp_call::event> mcp_call::next() {
  std::scoped_lock lock{mutex_};
  if (progress_)
    return event{.progress = std::exchange(progress_, std::nullopt)};
  if (!asked_.empty()) {
    event out{.asked = std::move(asked_.front())};
    asked_.pop_front();
    return out;
  }
  if (ended_)
    return event{.ended = std::exchange(ended_, std::nullopt)};
  return std::nullopt;
}

void mcp_call::wake_by(completer<void> done) {
  std::unique_lock lock{mutex_};
  wake_.emplace(std::move(done));
  if (progress_ || !asked_.empty() || ended_)
    wake(std::move(lock));
}

void mcp_call::wake(std::unique_lock<std::mutex> lock) {
  auto done = std::exchange(wake_, std::nullopt);
  lock.unlock();
  if (done)
    done->set();
}

void mcp_call::progressed(const value& params) {
  std::unique_lock lock{mutex_};
  if (is_over_)
    return;
  progress_ = params;
  wake(std::move(lock));
}

bool mcp_call::asked(mcp_asked request) {
  auto transport = transport_.lock();
  if (!transport)
    return false;
  if (auto refused = mcp_refused_request(request)) {
    transport->reply(std::move(*refused));
    return true;
  }
  std::unique_lock lock{mutex_};
  if (is_over_ || asked_count_ >= limits::mcp_questions_max)
    return false;
  ++asked_count_;
  asked_.push_back(std::move(request));
  auto id = id_;
  wake(std::move(lock));
  transport->extend(id, options_.question_wait);
  return true;
}

void mcp_call::ended(result<value> how) {
  std::unique_lock lock{mutex_};
  is_over_ = true;
  has_failed_ = !how;
  ended_ = std::move(how);
  wake(std::move(lock));
}

void mcp_call::answer(question& asked, const result<value>& with, rpc_refused why) {
  asked.is_sent = true;
  auto transport = transport_.lock();
  if (!transport)
    return;
  transport->extend(id_, options_.call_timeout);
  transport->reply(with ? mcp_answer(asked.asked.id, *with)
                        : mcp_refusal(asked.asked.id, why, with.error().text()));
}

void mcp_call::cancel() {
  std::int64_t id = -1;
  {
    std::scoped_lock lock{mutex_};
    if (!std::exchange(is_over_, true))
      id = id_;
  }
  if (auto transport = id >= 0 ? transport_.lock() : nullptr)
    transport->cancel(id);
}

bool mcp_call::has_failed() const {
  std::scoped_lock lock{mutex_};
  return has_failed_;
}

void mcp_held_calls::put(const std::string& key, std::shared_ptr<mcp_call> call) {
  std::vector<std::shared_ptr<mcp_call>> gone;
  {
    std::scoped_lock lock{mutex_};
    if (auto found = calls_.extract(key)) {
      gone.push_back(std::move(found.mapped()));
      std::erase(order_, key);
    }
    calls_.emplace(key, std::move(call));
    order_.push_back(key);
    if (order_.size() > limits::mcp_held_calls_max) {
      gone.push_back(std::move(calls_.extract(order_.front()).mapped()));
      order_.pop_front();
    }
  }
  for (auto& one : gone)
    one->cancel();
}

std::shared_ptr<mcp_call> mcp_held_calls::take(const std::string& key) {
  std::scoped_lock lock{mutex_};
  auto found = calls_.extract(key);
  if (!found)
    return nullptr;
  std::erase(order_, key);
  return std::move(found.mapped());
}

// ---- the body of a tool ----------------------------------------------------------------------

namespace {

// A body's use of a call: it begins the call, or takes the one that an earlier body left with an
// open question.
class mcp_call_use {
public:
  mcp_call_use(const mcp_called_tool& of, const value& args, const tool_runtime& runtime)
    : of_{of} {
    const auto& run = runtime.info();
    if (!run.thread_id().empty())
      key_ = run.thread_id() + '\n' + run.task_id() + '\n' + runtime.tool_call_id() + '\n'
             + of.definition.name;
    call_ = key_.empty() ? nullptr : of.held->take(key_);
    if (call_ && !call_->has_failed())
      return;
    call_ = std::make_shared<mcp_call>(of.transport, of.options);
    call_->begin(of.definition.name, args);
  }
  mcp_call_use(const mcp_call_use&) = delete;
  mcp_call_use& operator=(const mcp_call_use&) = delete;
  ~mcp_call_use() {
    if (asks_ && !key_.empty())
      of_.held->put(key_, call_);
    else
      call_->cancel();
  }

  mcp_call& call() const noexcept { return *call_; }
  std::weak_ptr<mcp_call> weak() const { return call_; }

  void add(mcp_asked asked);
  /// Puts the question to the run, unless the permission is known. Result: whether a model must
  /// answer it. Leaves the body while the answer is missing.
  bool is_for_model(mcp_call::question& q, tool_runtime& runtime);
  void samples(bool now) noexcept { asks_ = now; }

private:
  const mcp_called_tool& of_;
  std::string key_; // empty: a run that cannot be resumed
  std::shared_ptr<mcp_call> call_;
  bool asks_ = false; // when the body is left now, the call stays
};

void mcp_call_use::add(mcp_asked asked) {
  mcp_call::question q{.asked = std::move(asked)};
  if (q.asked.method == "sampling/createMessage") {
    auto permission = mcp_permission::ask;
    if (of_.options.sampling.permission)
      permission = of_.options.sampling.permission(q.asked.params);
    auto sampled = std::ranges::count_if(call_->questions, [&](const auto& p) {
      return p.asked.method == q.asked.method;
    });
    bool too_many = static_cast<std::size_t>(sampled) >= of_.options.sampling.calls_max;
    q.for_person = permission == mcp_permission::ask && !too_many;
    if (too_many)
      call_->answer(q, error{errc::overloaded, "The model answers no more requests of this call"},
                    rpc_refused::by_server);
    else if (permission == mcp_permission::deny)
      call_->answer(q, error{errc::invalid_value, "The request was denied"},
                    rpc_refused::by_person);
  }
  call_->questions.push_back(std::move(q));
}

value elicitation_question(const mcp_called_tool& of, const mcp_asked& asked) {
  return value::map({{"type", "mcp_elicitation"},
                     {"server", of.options.name},
                     {"message", asked.params["message"]},
                     {"requested_schema", asked.params["requestedSchema"]}});
}
value sampling_question(const mcp_called_tool& of, const mcp_asked& asked) {
  return value::map(
    {{"type", "mcp_sampling"}, {"server", of.options.name}, {"request", asked.params}});
}

bool mcp_call_use::is_for_model(mcp_call::question& q, tool_runtime& runtime) {
  bool samples = q.asked.method == "sampling/createMessage";
  if (!q.for_person)
    return samples && !q.is_sent;
  asks_ = true;
  auto answer = runtime.interrupt(samples ? sampling_question(of_, q.asked)
                                          : elicitation_question(of_, q.asked));
  if (!q.is_sent && samples && answer == value(true))
    return true;
  if (!q.is_sent && samples && answer != value(false))
    runtime.task().refuse_answer("true or false is expected");
  if (!q.is_sent && samples)
    call_->answer(q, error{errc::invalid_value, "The person denied the request"},
                  rpc_refused::by_person);
  else if (!q.is_sent) {
    auto elicited = mcp_elicited(q.asked, answer);
    if (!elicited)
      runtime.task().refuse_answer(elicited.error().text());
    call_->answer(q, elicited, rpc_refused::wrong_params);
  }
  asks_ = false;
  return false;
}

// The answer of the model; an error for the server when the model fails.
coro<result<value>> sample_for_server(const mcp_called_tool& of, const mcp_asked& asked,
                                      tool_runtime& runtime) {
  auto request = mcp_sampled_request(asked, of.options.sampling);
  if (!request)
    co_return request.error();
  auto& model = *of.options.sampling.model;
  result<value> out{value{}};
  try {
    auto call = model.invoke(std::move(*request), runtime.task());
    auto answer = co_await call;
    out = mcp_sampled_result(model, answer);
  } catch (const std::exception& e) {
    out = error{errc::node_failed, "The model failed: " + failure_of(e).text()};
  }
  co_return out;
}

void stream_progress(const mcp_called_tool& of, const value& params, tool_runtime& runtime) {
  auto now = mcp_progress_of(params);
  auto part = value::map({{"type", "mcp_progress"},
                          {"tool", of.definition.tool},
                          {"tool_call_id", runtime.tool_call_id()},
                          {"progress", now.progress}});
  if (now.total)
    part = part.with("total", *now.total);
  if (!now.message.empty())
    part = part.with("message", now.message);
  runtime.write(part);
}

} // namespace

coro<tool_output> run_mcp_tool(std::shared_ptr<const mcp_called_tool> of, value args,
                               tool_runtime& runtime) {
  mcp_call_use use{*of, args, runtime};
  for (std::size_t asked = 0;;) {
    if (asked < use.call().questions.size()) {
      auto& question = use.call().questions[asked];
      if (use.is_for_model(question, runtime)) {
        use.samples(true);
        auto sampling = sample_for_server(*of, question.asked, runtime);
        auto answer = co_await sampling;
        use.call().answer(question, answer, rpc_refused::by_server);
        use.samples(false);
      }
      ++asked;
      continue;
    }
    auto event = use.call().next();
    if (!event) {
      auto woken = runtime.completion<>();
      auto done = woken.completer();
      done.when_left([weak = use.weak()] {
        if (auto call = weak.lock())
          call->cancel();
      });
      use.call().wake_by(std::move(done));
      co_await woken;
    } else if (event->progress) {
      stream_progress(*of, *event->progress, runtime);
    } else if (event->asked) {
      use.add(std::move(*event->asked));
    } else {
      auto out = mcp_output(of->definition, std::move(*event->ended).value(), runtime.call());
      co_return out;
    }
  }
}

} // namespace troupe
