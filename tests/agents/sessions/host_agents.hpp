// Shared by the tests of agent runners: agents by hand and as graphs, and events as text.
#pragma once

#include <troupe/agents/agent_runner.hpp>
#include <troupe/agents/chat_model.hpp>
#include <troupe/agents/react_agent.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

using host_script = std::vector<scripted_model::answer>;
using host_events = std::vector<agent_event>;

inline const session_ref ada{.user = "ada", .id = "1"};

inline tool host_adder() {
  return {"add", "Adds one", [](arg<"a", std::int64_t> a) { return *a + 1; }};
}
inline value host_call(std::vector<std::int64_t> numbers, const std::string& text = "") {
  std::vector<tool_call> calls;
  for (auto n : numbers)
    calls.push_back({.name = "add", .args = value{{"a", n}}, .id = "c" + std::to_string(n)});
  return ai_message(text, calls);
}

inline compiled_graph host_graph(host_script answers, bool stream = false) {
  auto model = std::make_shared<scripted_model>(std::move(answers),
                                                scripted_options{.stream = stream, .repeat = true});
  return create_react_agent({.model = model, .tools = {host_adder()}, .name = "helper"});
}

// An agent by hand.
class written_agent : public session_agent {
public:
  using body = std::function<coro<void>(invocation&)>;
  explicit written_agent(body b, std::string name = "clerk")
    : body_{std::move(b)},
      name_{std::move(name)} {}
  std::string name() const override { return name_; }
  coro<void> run(invocation& in) override { return body_(in); }

private:
  body body_;
  std::string name_;
};
inline session_agent_ptr by_hand(written_agent::body b, std::string name = "clerk") {
  return std::make_shared<written_agent>(std::move(b), std::move(name));
}
inline coro<void> repeats(invocation& in) {
  in.say("you said " + message_text(in.message()) + ", message "
         + std::to_string(in.messages().size()));
  co_return;
}

inline runtime_options in_memory() {
  return {.saver = make_memory_saver()};
}

struct told_events {
  host_events events;
  std::optional<error> failure;
};

inline told_events read_all(event_stream stream) {
  told_events out;
  while (true) {
    auto next = stream.try_next();
    if (!next) {
      out.failure = next.error();
      BOOST_TEST(!stream.try_next().value()); // once
      return out;
    }
    if (!*next)
      return out;
    out.events.push_back(**next);
  }
}

// "kind author: text" of each event.
inline std::string lines_of_events(const host_events& events) {
  std::string out;
  for (const auto& e : events) {
    out += std::string{to_string(e.kind)} + ' ' + e.author + ':';
    out += ' ';
    out += is_message(e.data)                ? message_text(e.data)
           : e.kind == event_kind::question  ? to_json(e.data["value"])
           : e.kind == event_kind::failed    ? e.data["code"].as<std::string>()
           : e.kind == event_kind::tool_call ? to_json(e.data["args"])
                                             : to_json(e.data);
    out += '\n';
  }
  return out;
}
inline std::string lines_of_events(event_stream stream) {
  return lines_of_events(read_all(std::move(stream)).events);
}

inline std::string last_line(event_stream stream) {
  auto all = read_all(std::move(stream)).events;
  return all.empty() ? std::string{} : lines_of_events({all.back()});
}

inline std::string said_in(const agent_runner& runner, const session_ref& of) {
  std::string out;
  auto s = runner.session(of);
  if (!s)
    return "none";
  for (const auto& m : s->messages.items())
    out += std::string{message_role(m)} + ": " + message_text(m) + "\n";
  return out;
}

} // namespace troupe
