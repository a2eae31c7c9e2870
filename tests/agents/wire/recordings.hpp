// Reading tests/agents/wire/recorded: what providers sent, what they were asked, and what the
// reference made of it. See the README there.
#pragma once

#include <troupe/agents/messages.hpp>
#include <troupe/agents/model_providers.hpp>

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace troupe::test {

inline std::string recorded_file(const std::string& name) {
  std::ifstream in{std::string{TROUPE_SOURCE_DIR} + "/tests/agents/wire/" + name};
  BOOST_REQUIRE_MESSAGE(in, name);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline value recorded_json(const std::string& name) {
  return from_json(recorded_file(name), json_form::plain).value();
}

inline std::string string_or_none(const value& v) {
  return v.is_string() ? v.as<std::string>() : std::string{};
}

struct recording {
  std::string name;

  value head() const { return recorded_json("recorded/" + name + ".json"); }
  std::string body() const { return recorded_file("recorded/" + name + ".body"); }
  /// What the reference makes of it, but where ours differs on purpose.
  value expected() const {
    auto out = recorded_json("recorded/" + name + ".expected.json");
    auto ours = departure();
    for (const auto& e : ours.entries())
      if (e.key() != "why")
        out = out.with(e.key(), e.val);
    return out;
  }
  value departure() const { return recorded_json("departures.json")[name]; }
  bool is_anthropic() const { return head()["format"] == value("anthropic"); }
  bool is_stream() const {
    return string_or_none(head()["headers"]["content-type"]).starts_with("text/event-stream");
  }

  friend std::ostream& operator<<(std::ostream& out, const recording& one) {
    return out << one.name;
  }
};

inline std::vector<recording> all_recordings() {
  auto list = recorded_json("recordings.json");
  std::vector<recording> out;
  for (const auto& one : list.items())
    out.push_back({string_or_none(one["name"])});
  return out;
}

/// Without nulls and what is empty, to any depth: the reference's client makes up members that no
/// provider sent.
inline value bare(const value& v) {
  auto says_nothing = [](const value& x) {
    return x.is_null() || ((x.is_map() || x.is_list()) && x.empty());
  };
  if (v.is_list()) {
    std::vector<value> out;
    for (const auto& item : v.items())
      out.push_back(bare(item));
    return value::list(std::move(out));
  }
  if (!v.is_map())
    return v;
  auto out = value::map();
  for (const auto& e : v.entries())
    if (auto inner = bare(e.val); !says_nothing(inner))
      out = out.with(e.key(), inner);
  return out;
}

// ---- requests of providers as ours --------------------------------------------------------------

/// Anthropic's messages as ours.
/// Shape:  a user's message is split into the tools' and the rest; calls leave the content.
inline std::vector<value> from_anthropic(const value& body) {
  std::vector<value> out;
  if (!body["system"].is_null())
    out.push_back(system_message(body["system"]));
  for (const auto& message : body["messages"].items()) {
    const auto& content = message["content"];
    bool answer = message["role"] == value("assistant");
    std::vector<value> said;
    std::vector<value> calls;
    for (const auto& block : content.items())
      if (block["type"] == value("tool_result"))
        out.push_back(tool_message(block["content"].is_null() ? value("") : block["content"],
                                   string_or_none(block["tool_use_id"]), {},
                                   block["is_error"] == value(true) ? "error" : "success"));
      else if (answer && block["type"] == value("tool_use"))
        calls.push_back(value::map({{"name", block["name"]},
                                    {"args", block["input"]},
                                    {"id", block["id"]},
                                    {"extras", bare(value::map({{"caller", block["caller"]}}))}}));
      else
        said.push_back(block);
    auto rest = content.is_string() ? content : value::list(std::move(said));
    if (answer)
      out.push_back(
        value::extension(value_kind::message, value::map({{"role", "assistant"},
                                                          {"content", rest},
                                                          {"tool_calls", value::list(calls)}})));
    else if (content.is_string() || !rest.empty())
      out.push_back(message["role"] == value("system") ? system_message(rest)
                                                       : human_message(rest));
  }
  return out;
}

inline std::vector<value> from_openai(const value& body) {
  std::vector<value> out;
  for (const auto& message : body["messages"].items())
    out.push_back(
      coerce_message(message.contains("content") ? message : message.with("content", nullptr)));
  return out;
}

/// What was asked, as ours; where no request was kept, a greeting.
inline model_request request_of(const recording& one) {
  auto body = one.head()["request"];
  if (!body["messages"].is_list())
    return model_request{value::list({human_message("hi")})};
  model_request out{value::list(one.is_anthropic() ? from_anthropic(body) : from_openai(body))};
  out.tools = body["tools"].is_null() ? value::list() : body["tools"];
  out.tool_choice = body["tool_choice"];
  out.settings = body;
  for (const auto* own :
       {"model", "messages", "system", "stream", "stream_options", "tools", "tool_choice", "betas"})
    out.settings = out.settings.without(own);
  return out;
}

} // namespace troupe::test
