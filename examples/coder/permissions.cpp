// permissions: asks a person before tools run.
#include "examples/coder/permissions.hpp"

#include <algorithm>

namespace coder {

using troupe::value;

namespace {

std::string text(const value& v) {
  return v.is_string() ? v.as<std::string>() : std::string{};
}

value answer_of(const value& call, std::string content, const char* status) {
  return troupe::tool_message(std::move(content), text(call["id"]), text(call["name"]), status);
}

troupe::coro<troupe::tool_output> decide(troupe::tool_call_request request,
                                         troupe::tool_executor run) {
  auto call = request.call();
  auto question = value::map({{"type", "tool_approval"},
                              {"tool_call_id", call["id"]},
                              {"name", call["name"]},
                              {"args", call["args"]}});
  auto answer = request.runtime().interrupt(question);
  auto type = text(answer["type"]);
  auto why = text(answer["message"]);
  if (type == "reject")
    co_return answer_of(call, "The user said no" + (why.empty() ? "" : ": " + why), "error");
  if (type == "respond")
    co_return answer_of(call, why, "success");
  if (type == "edit")
    request = request.with_call(call.with("args", answer["edited_action"]["args"]));
  else if (type != "approve" && type != "always")
    throw troupe::node_error{"ValueError", "answer a request for approval: not a valid answer: "
                                             + troupe::to_json(answer)};
  auto called = run(std::move(request));
  auto out = co_await called;
  if (type != "always")
    co_return out;
  auto parts = out.parts();
  parts.emplace_back(
    troupe::command{.update = troupe::state_update{{"allowed", value::list({call["name"]})}}});
  co_return troupe::tool_output{std::move(parts)};
}

} // namespace

troupe::middleware ask_before(std::vector<std::string> tools) {
  troupe::middleware out;
  out.name = "ask_before";
  out.state = {{"allowed", troupe::topic_unique}};
  out.wrap_tool_call = [tools = std::move(tools)](troupe::tool_call_request request,
                                                  troupe::tool_executor run) {
    auto name = text(request.call()["name"]);
    auto allowed = request.state()["allowed"].items();
    bool asks = std::ranges::find(tools, name) != tools.end()
                && std::ranges::find(allowed, value(name)) == allowed.end();
    return asks ? decide(std::move(request), std::move(run)) : run(std::move(request));
  };
  return out;
}

} // namespace coder
