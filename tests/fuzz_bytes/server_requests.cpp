// Requests of a server after their head: a target finds the same route however it is encoded, and
// a query, an event id, a body or a filter is read or refused with a status and a text.
// Input: "METHOD TARGET", a Last-Event-ID, and a body.
#include "tests/fuzz_bytes/target.hpp"

#include "graph/plain_json.hpp"
#include "http/sse.hpp"
#include "server/auth/authorise.hpp"
#include "server/edge/event_frame.hpp"
#include "server/edge/refusal.hpp"
#include "server/edge/router.hpp"
#include "server/rules/run_request.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <string>

namespace troupe::fuzz_bytes {

namespace {

using namespace server;

const router& routes() {
  static const router made = [] {
    router out;
    for (const char* pattern :
         {"/", "/ok", "/threads", "/threads/{thread_id}", "/threads/{thread_id}/runs",
          "/threads/{thread_id}/runs/stream", "/threads/{thread_id}/runs/{run_id}",
          "/threads/{thread_id}/runs/{run_id}/join", "/runs/crons/search", "/runs/{run_id}/join",
          "/assistants/{assistant_id}/subgraphs/{namespace}", "/store/items"})
      out.add({.method = "GET", .pattern = pattern, .handle = {}});
    out.add({.method = "POST", .pattern = "/threads", .handle = {}});
    out.add({.method = "PUT", .pattern = "/store/items", .handle = {}});
    return out;
  }();
  return made;
}

// Every byte encoded, so that nothing in it has a meaning.
std::string encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcDEF";
  std::string out;
  for (auto c : text) {
    auto code = static_cast<unsigned char>(c);
    out.append("%").append(1, digits[code >> 4]).append(1, digits[code & 15]);
  }
  return out;
}

void try_refusal(const refusal& no) {
  auto answer = answer_of(no);
  require(answer.status >= 400 && answer.status < 500, "a refusal has a status");
  require(answer.body.size() <= 8 * limits::server_detail_bytes_max, "a refusal has its bound");
  auto body = from_json(answer.body, json_form::plain);
  require(body && (*body)["detail"].is_string() && !(*body)["detail"].empty(),
          "a refusal has a text");
}

// Does it, or refuses it.
template <class F> bool is_done(F&& what) {
  try {
    what();
    return true;
  } catch (const refusal& no) {
    try_refusal(no);
  } catch (const error& why) {
    require(answer_of(why).status == 422, "an error is the caller's");
  }
  return false;
}

void try_path(std::string_view method, std::string_view path) {
  auto matched = routes().match(method, path);
  if (auto* no = std::get_if<no_route>(&matched)) {
    require((no->status == 405) != no->allow.empty(), "405 names the methods");
    if (no->status == 307) {
      require(path.ends_with('/'), "a redirect takes a slash off");
      auto shorter = routes().match(method, path.substr(0, path.size() - 1));
      auto* none = std::get_if<no_route>(&shorter);
      return require(!none || none->status == 405, "a redirect leads to a route");
    }
    return require(no->status == 404 || no->status == 405, "no route is 404, 405 or 307");
  }
  const auto& found = std::get<route_match>(matched);
  std::string again;
  auto parameter = found.parameters.begin();
  for (auto rest = found.found->pattern; !rest.empty();) {
    auto segment = rest.substr(1, rest.find('/', 1) - 1);
    rest.remove_prefix(std::min(rest.size(), segment.size() + 1));
    again += '/';
    if (!segment.starts_with('{')) {
      again += segment;
      continue;
    }
    require(!parameter->empty() && is_utf8(*parameter) && parameter->find('\0') == parameter->npos,
            "a parameter is a text");
    again += encoded(*parameter++);
  }
  require(parameter == found.parameters.end(), "each parameter has its place");
  auto second = routes().match(method, again);
  auto* same = std::get_if<route_match>(&second);
  require(same && same->found == found.found && same->parameters == found.parameters,
          "an encoded path is the same path");
}

void try_query(std::string_view text) {
  query_parameters query{text};
  auto members = query.members();
  require(members.is_map(), "a query is a map");
  for (const auto& e : members.entries()) {
    auto name = e.key();
    auto given = query.text(name);
    require(given.has_value(), "a member has its text");
    query_parameters again{"a=b&" + encoded(name) + '=' + encoded(*given)};
    require(again.text(name) == given, "what is encoded reads back");
    is_done([&] {
      auto n = query.number(name, 5, -7, 1000);
      require(n >= -7 && n <= 1000, "a number is within its bounds");
    });
    is_done([&] { query.flag(name, false); });
    query.list(name);
  }
}

void try_run(const value& body) {
  if (!is_done([&] { read_run_request(body); }))
    return;
  auto request = read_run_request(body);
  require(!wire_modes(request.kwargs).empty(), "a run has a mode");
  require(request.after_micros >= 0, "a run does not begin earlier");
  require(engine_modes(wire_modes(request.kwargs)).size() <= 10, "each mode counts once");
  run_record run{.run_id = "r", .thread_id = "t", .kwargs = with_assistant(request.kwargs, {})};
  is_done([&] { config_of(run); });
  is_done([&] { input_of(run.kwargs); });
}

void try_filter(const value& filter) {
  if (!filter_problem(filter).empty())
    return require(!fits_filter(filter, value::map()), "what is not a filter fits nothing");
  require(fits_filter(filter, with_filter(filter, value::map())), "what a caller makes is its own");
}

void try_event(std::string_view id, const value& data) {
  if (auto at = position_after(id); at && *at > 0)
    require(position_after(std::to_string(*at)) == at, "an event id is a number");
  auto json = to_plain_json(data);
  std::vector<sse_event> events;
  sse_decoder decoder;
  bool is_read = decoder.feed(event_frame(id, json, id), events).has_value();
  require(is_read && events.size() == 1 && events[0].data == json, "a frame is one event");
}

} // namespace

void try_bytes(std::string_view bytes) {
  auto line = [&bytes] {
    auto out = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), out.size() + 1));
    return out;
  };
  auto first = line();
  auto method = first.substr(0, first.find(' '));
  auto target = first.substr(std::min(first.size(), method.size() + 1));
  auto path = target.substr(0, target.find('?'));
  try_path(method, path);
  try_query(target.substr(std::min(target.size(), path.size() + 1)));
  auto id = line();
  http_asked asked{.method = "POST", .target = "/", .body = std::string{bytes}};
  value body;
  if (!is_done([&] { body = json_body(asked); }))
    return;
  try_run(body);
  try_filter(body);
  try_event(id, body);
}

std::vector<std::string> seeds() {
  return {
    "GET /threads/a%20b/runs/%C3%A9?limit=7&select=a,b&select=%5B%22c%22%5D\n12\n"
    R"({"assistant_id":"plain","input":{"n":1},"stream_mode":["values","updates"],"config":)"
    R"({"configurable":{"a":1},"recursion_limit":3,"tags":["t"]},"after_seconds":1.5})",
    "POST /threads?wait=true&action=rollback\n-1\n"
    R"({"assistant_id":"x","command":{"resume":1,"goto":[{"node":"n","input":{}}],"update":)"
    R"([["a",1]]},"context":{"k":"v"},"interrupt_before":"*","durability":"exit"})",
    "PUT /store/items?namespace=a.b&key=%00%zz+\n000\n"
    R"({"owner":"ann","tags":{"$contains":["a"]},"n":{"$eq":1}})",
    "HEAD /%2e%2e/%2F//threads\n\n[]",
    "GET /threads/?limit=1\n\n{}",
    "GET /assistants/x/subgraphs/a%2Fb?recurse=1\n999999999999999999\n"
    R"({"assistant_id":"","multitask_strategy":"rollback","checkpoint":{"checkpoint_id":"c"},)"
    R"("on_disconnect":"cancel","on_completion":"keep","if_not_exists":"create","metadata":{}})"};
}

} // namespace troupe::fuzz_bytes
