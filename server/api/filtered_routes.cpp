// filtered_routes: one check for each resource, before its handlers.
#include "server/api/filtered_routes.hpp"

#include "graph/plain_json.hpp"
#include "server/auth/authorise.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace troupe::server {

namespace {

// The kind of a resource's documents, and the word for one in messages.
struct filtered_resource {
  std::string_view name;
  document_kind kind;
  std::string_view word;
  std::string_view id_member;
};
constexpr filtered_resource filtered_resources[]{
  {"threads", document_kind::thread, "Thread", "thread_id"},
  {"assistants", document_kind::assistant, "Assistant", "assistant_id"},
  {"crons", document_kind::cron, "Cron", "cron_id"},
};

const filtered_resource* resource_of(std::string_view name) {
  auto found = std::ranges::find(filtered_resources, name, &filtered_resource::name);
  return found == std::end(filtered_resources) ? nullptr : found;
}

const filtered_resource& threads_resource() {
  return filtered_resources[0];
}

// Whether a document may be seen; one that is missing is left to the handler.
bool may_see(const rooms& with, const filtered_resource& what, const std::string& id,
             const value& filter) {
  auto found = id.empty() ? std::nullopt : with.documents->get(what.kind, id).value();
  return !found || fits_filter(filter, found->body["metadata"]);
}

void check_seen(const rooms& with, const filtered_resource& what, const std::string& id,
                const value& filter) {
  if (!may_see(with, what, id, filter))
    throw refusal{404, std::string{what.word} + " with ID " + id + " not found"};
}

// An id in the form of documents; empty for a text that is not one, which the handler refuses.
std::string document_id_of(const rooms& with, const filtered_resource& what,
                           const std::string& given) {
  if (what.kind == document_kind::assistant) {
    auto found = find_assistant(with, given);
    return found ? found->assistant_id : std::string{};
  }
  try {
    return checked_id(given, what.word);
  } catch (const refusal&) {
    return {};
  }
}

// The thread of a run in a path /runs/{run_id}/…; empty for an unknown run.
std::string thread_of_run(const rooms& with, const std::string& run_id) {
  auto id = document_id_of(with, threads_resource(), run_id);
  auto place = id.empty() ? std::nullopt
                          : with.documents->get(document_kind::run_place, id).value();
  return place ? std::string{place->body["thread_id"].as_string()} : std::string{};
}

// The documents that a path names may be seen.
void check_path(const rooms& with, const route& at, const api_call& call) {
  if (call.parameters.empty())
    return;
  const auto& given = call.parameters[0];
  if (at.pattern.starts_with("/threads/{"))
    return check_seen(with, threads_resource(), document_id_of(with, threads_resource(), given),
                      call.filter);
  if (at.pattern.starts_with("/runs/{"))
    return check_seen(with, threads_resource(), thread_of_run(with, given), call.filter);
  if (const auto* what = resource_of(at.access.resource))
    check_seen(with, *what, document_id_of(with, *what, given), call.filter);
}

value with_metadata(const value& filter, const value& body) {
  return body.with("metadata", with_filter(filter, body["metadata"]));
}

// Ids of threads in a body: those that may not be seen are taken out, as if they were missing.
value with_seen_threads(const rooms& with, const value& filter, const value& body) {
  std::vector<value> out;
  for (const auto& one : body["thread_ids"].items())
    if (!one.is_string()
        || may_see(with, threads_resource(),
                   document_id_of(with, threads_resource(), std::string{one.as_string()}), filter))
      out.push_back(one);
  return body.with("thread_ids", value::list(std::move(out)));
}

// Whether a search asks for metadata that no document with the filter's can have.
bool contradicts(const value& filter, const value& metadata) {
  const auto wanted = filter_as_metadata(filter);
  for (const auto& entry : wanted.entries())
    if (!entry.val.is_list() && !metadata[entry.key()].is_null()
        && metadata[entry.key()] != entry.val)
      return true;
  return false;
}

value searched_metadata(const value& filter, const value& metadata) {
  auto out = metadata.is_map() ? metadata : value::map();
  const auto asked = filter_as_metadata(filter);
  for (const auto& entry : asked.entries()) {
    auto wanted = entry.val;
    if (wanted.is_list()) // all of both lists
      for (const auto& one : out[entry.key()].items())
        wanted = wanted.append(one);
    out = out.with(entry.key(), wanted);
  }
  return out;
}

// A body under the filter; nullopt when nothing can fit.
std::optional<value> filtered_body(const rooms& with, const route& at, const api_call& call,
                                   const value& body) {
  const auto& filter = call.filter;
  auto action = at.access.action;
  if (at.pattern == "/threads/prune")
    return with_seen_threads(with, filter, body);
  if (body["thread_id"].is_string())
    check_seen(with, threads_resource(),
               document_id_of(with, threads_resource(), std::string{body["thread_id"].as_string()}),
               filter);
  if (action == "search") {
    if (contradicts(filter, body["metadata"]))
      return std::nullopt;
    return body.with("metadata", searched_metadata(filter, body["metadata"]));
  }
  if (at.pattern.ends_with("/commands"))
    return filtered_command(with, filter, call.parameters.at(0), body);
  return action == "create" || action == "create_run" || action == "update"
           ? with_metadata(filter, body)
           : body;
}

// A new document must not take the place of one that the caller does not see.
void check_new_id(const rooms& with, const route& at, const api_call& call, const value& body) {
  const auto* what = resource_of(at.access.resource);
  if (at.access.action != "create" || !call.parameters.empty() || !what)
    return;
  const auto& given = body[what->id_member];
  if (!given.is_string() || what->kind == document_kind::cron)
    return;
  std::string id{given.as_string()};
  if (!may_see(with, *what, document_id_of(with, *what, id), call.filter))
    throw refusal{409, std::string{what->word} + " with ID " + id + " already exists"};
}

// The call under its filter; false when the answer is empty.
bool take_filter(const rooms& with, const route& at, api_call& call) {
  if (at.pattern.starts_with("/a2a"))
    return true; // cards, whose refusals have a form of their own
  if (!resource_of(at.access.resource))
    throw std::runtime_error{"authorise: a filter has no effect on `"
                             + std::string{at.access.resource} + '`'};
  check_path(with, at, call);
  auto read = call.request.body.empty() ? result<value>{value::map()}
                                        : from_json(call.request.body, json_form::plain);
  if (!read || call.request.method == "GET" || call.request.method == "HEAD")
    return true; // the handler refuses it, or has no use for it
  if (read->is_list()) {
    std::vector<value> all;
    for (const auto& one : read->items())
      all.push_back(one.is_map() ? with_metadata(call.filter, one) : one);
    call.request.body = to_plain_json(value::list(std::move(all)));
    return true;
  }
  if (!read->is_map())
    return true;
  check_new_id(with, at, call, *read);
  auto body = filtered_body(with, at, call, *read);
  if (!body)
    return false;
  if (*body != *read)
    call.request.body = to_plain_json(*body);
  return true;
}

} // namespace

bool may_see_thread(const rooms& with, const std::string& thread_id, const value& filter) {
  const auto& threads = threads_resource();
  return filter.is_null()
         || may_see(with, threads, document_id_of(with, threads, thread_id), filter);
}

value filtered_command(const rooms& with, const value& filter, const std::string& thread_id,
                       const value& command) {
  if (filter.is_null())
    return command;
  check_seen(with, threads_resource(), document_id_of(with, threads_resource(), thread_id), filter);
  if (!command.is_map() || !command["params"].is_map())
    return command;
  return command.with("params", with_metadata(filter, command["params"]));
}

router with_filters(const router& routes, const rooms& with) {
  router out;
  for (auto one : routes.routes()) {
    auto at = one;
    one.handle = [at, &with](const api_call& call, const http_responder& to) {
      if (call.filter.is_null())
        return at.handle(call, to);
      auto filtered = call;
      if (take_filter(with, at, filtered))
        return at.handle(filtered, to);
      to.send(json_answer(at.pattern.ends_with("/count") ? value(0) : value::list({})));
    };
    out.add(std::move(one));
  }
  return out;
}

} // namespace troupe::server
