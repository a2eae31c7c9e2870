// crons: runs that are started by the clock.
#include "server/api/rooms.hpp"
#include "server/rules/cron_schedule.hpp"
#include "server/rules/ids.hpp"
#include "server/rules/run_request.hpp"
#include "server/runs/cron_clock.hpp"
#include "server/runs/document_changes.hpp"

#include <algorithm>
#include <array>

namespace troupe::server {

namespace {

constexpr std::array<std::string_view, 7> cron_sorts{
  "created_at", "cron_id", "assistant_id", "thread_id", "updated_at", "next_run_date", "end_time"};
constexpr std::array<std::string_view, 2> cron_completions{"delete", "keep"};
constexpr std::array<std::string_view, 14> cron_members{
  "cron_id",       "assistant_id", "thread_id",        "end_time", "schedule",
  "timezone",      "created_at",   "updated_at",       "user_id",  "payload",
  "next_run_date", "metadata",     "on_run_completed", "enabled"};

void check_schedule(const std::string& line) {
  if (auto read = parse_cron(line); !read)
    throw refusal{422, "Invalid cron schedule: '" + line + "'. Reason: " + read.error().message()};
}

void check_zone(const std::optional<std::string>& zone) {
  if (zone && !is_time_zone(*zone))
    throw refusal{422, "Invalid timezone: '" + *zone
                         + "'. Use IANA timezone format (e.g. 'America/New_York')."};
}

// A line as "0 0 30 2 *" is read, but never comes.
void check_coming(const cron_record& cron, std::int64_t micros) {
  auto zone = cron.timezone.is_string() ? cron.timezone.as<std::string>() : std::string{};
  if (!next_time(parse_cron(cron.schedule).value(), micros, zone))
    throw refusal{422, "Invalid cron schedule: '" + cron.schedule + "'. Reason: it never comes"};
}

void check_webhook(const rooms& with, const checked_body& body) {
  auto url = body.text("webhook");
  if (url && !url->empty() && with.check_webhook)
    with.check_webhook(*url);
}

void check_end(const std::optional<std::string>& end) {
  if (end && !parse_time(*end))
    throw refusal{422, "end_time: \"" + *end + "\" is not a time as 2026-11-21T20:21:07Z"};
}

// A cron's id is in the `configurable` of its runs.
value with_cron_id(const value& config, const std::string& id) {
  auto own = config.is_map() ? config : value::map();
  auto configurable = own["configurable"].is_map() ? own["configurable"] : value::map();
  return own.with("configurable", configurable.with("cron_id", id));
}

// The request of a cron's runs. The id that the server added does not forbid a context.
run_request request_of(const cron_record& cron) {
  auto config = cron.payload["config"];
  if (config.is_map() && config["configurable"].is_map())
    config = config.with("configurable", config["configurable"].without("cron_id"));
  auto out = read_run_request(cron.payload.without("thread_id").with("config", config));
  out.kwargs = out.kwargs.with("config", with_cron_id(out.kwargs["config"], cron.cron_id));
  return out;
}

// The next time of a cron; also of one that is switched off, for when it is switched on.
value date_of(cron_record cron, std::int64_t micros) {
  cron.enabled = true;
  return next_run_date(cron, micros);
}

http_whole create_cron(const rooms& with, const api_call& call) {
  auto given = json_body(call.request);
  checked_body body{given};
  auto time = with.runs.now();
  cron_record made{.cron_id = new_id(time),
                   .schedule = body.required_text("schedule"),
                   .timezone = body["timezone"],
                   .end_time = body["end_time"],
                   .enabled = body.flag("enabled", true),
                   .metadata = body.map("metadata"),
                   .created_at = time_text(time),
                   .updated_at = time_text(time)};
  read_run_request(given); // that its runs can be made
  check_webhook(with, body);
  auto assistant = find_assistant(with, body.required_text("assistant_id"));
  if (!assistant)
    throw refusal{404, "Assistant '" + body.required_text("assistant_id") + "' not found"};
  made.assistant_id = assistant->assistant_id;
  if (!call.parameters.empty()) {
    auto id = checked_id(call.parameters[0], "thread");
    if (!with.documents->get(document_kind::thread, id).value())
      throw refusal{404, "Thread with ID '" + id
                           + "' not found. Please verify the ID is correct and the "
                             "thread hasn't been deleted or expired."};
    made.thread_id = id;
  }
  check_schedule(made.schedule);
  check_zone(body.text("timezone"));
  check_end(body.text("end_time"));
  check_coming(made, time);
  auto then = body.one_of("on_run_completed", cron_completions);
  if (!made.thread_id.is_null())
    made.on_run_completed = {}; // its thread stays in any case
  else if (then)
    made.on_run_completed = *then;
  made.payload = given.with("assistant_id", made.assistant_id)
                   .with("config", with_cron_id(body.map("config"), made.cron_id));
  made.next_run_date = date_of(made, time);
  with.documents->commit_and_wait({{document_kind::cron, made.cron_id, made.body(), 0}}).value();
  return json_answer(made.body());
}

document cron_at(const rooms& with, const api_call& call, const char* missing) {
  auto id = checked_id(call.parameters[0], "cron");
  auto found = with.documents->get(document_kind::cron, id).value();
  if (!found)
    throw refusal{404, missing[0] ? "Cron '" + id + "' not found" : "Not Found"};
  return *found;
}

http_whole get_cron(const rooms& with, const api_call& call) {
  return json_answer(public_form(cron_at(with, call, "").body));
}

http_whole update_cron(const rooms& with, const api_call& call) {
  auto given = json_body(call.request);
  if (given.empty())
    throw refusal{400, "Request body cannot be empty"};
  checked_body body{given};
  check_webhook(with, body); // one that is stored stays, also when the policy has changed
  for (;;) {
    auto found = cron_at(with, call, "named");
    auto changed = cron_record::of(found.body);
    if (auto line = body.text("schedule")) {
      check_schedule(*line);
      changed.schedule = *line;
    }
    check_zone(body.text("timezone"));
    check_end(body.text("end_time"));
    for (const auto& e : given.entries()) {
      if (e.key() == "assistant_id" || e.key() == "thread_id") // they do not change
        continue;
      if (e.key() == "metadata") {
        const auto metadata = body.map("metadata");
        for (const auto& member : metadata.entries())
          changed.metadata = changed.metadata.with(member.key(), member.val);
        changed.payload = changed.payload.with("metadata", changed.metadata);
        continue;
      }
      changed.payload = changed.payload.with(
        e.key(), e.key() == "config" ? with_cron_id(body.map("config"), changed.cron_id) : e.val);
      if (e.key() == "timezone")
        changed.timezone = e.val;
      else if (e.key() == "end_time")
        changed.end_time = e.val;
    }
    auto then = body.one_of("on_run_completed", cron_completions);
    if (then && changed.thread_id.is_null())
      changed.on_run_completed = *then;
    request_of(changed); // that its runs can be made
    auto time = with.runs.now();
    check_coming(changed, time);
    changed.next_run_date = date_of(changed, time);
    changed.enabled = body.flag("enabled", changed.enabled);
    changed.updated_at = time_text(time);
    auto stored = with.documents->commit_and_wait(
      {{document_kind::cron, changed.cron_id, changed.body(), found.revision}});
    if (stored)
      return json_answer(changed.body());
    if (stored.error().code() != errc::conflict)
      throw stored.error();
  }
}

http_whole delete_cron(const rooms& with, const api_call& call) {
  auto found = cron_at(with, call, "");
  with.documents->commit_and_wait({{document_kind::cron, found.id, std::nullopt}}).value();
  return {.status = 204};
}

document_query cron_query(const checked_body& body) {
  document_query out{.kind = document_kind::cron};
  if (auto id = body.id("assistant_id", "assistant"))
    out.equal.emplace_back("assistant_id", *id);
  if (auto id = body.id("thread_id", "thread"))
    out.equal.emplace_back("thread_id", *id);
  if (body.has("enabled"))
    out.equal.emplace_back("enabled", body.flag("enabled", true));
  if (auto metadata = body.map("metadata"); !metadata.empty())
    out.contains = value::map({{"metadata", metadata}});
  return out;
}

http_whole search_crons(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  auto query = cron_query(body);
  read_page(body, cron_sorts, query);
  auto select = body.some_of("select", cron_members);
  auto page = with.documents->search(query).value();
  std::vector<value> out;
  for (const auto& one : page.documents)
    out.push_back(selected(public_form(one.body), select));
  return json_answer(value::list(std::move(out)), 200, page_headers(query, page));
}

http_whole count_crons(const rooms& with, const api_call& call) {
  auto query = cron_query(checked_body{json_body(call.request)});
  query.limit = 0;
  return json_answer(with.documents->search(query).value().total);
}

} // namespace

void start_cron(const rooms& with, const cron_record& cron,
                const std::function<document_change()>& along) {
  auto request = request_of(cron);
  request.keeps_thread = cron.on_run_completed == value("keep");
  auto assistant = assistant_of_run(with, cron.assistant_id);
  with.runs.create(cron.thread_id.is_string() ? std::string{cron.thread_id.as_string()}
                                              : std::string{},
                   request, assistant, {}, along);
}

void remove_crons(const rooms& with, std::string_view member, const std::vector<std::string>& ids) {
  std::vector<document_change> changes;
  for (const auto& one : with.documents->search({.kind = document_kind::cron}).value().documents)
    if (const auto& id = one.body[member];
        id.is_string() && std::ranges::find(ids, id.as_string()) != ids.end())
      changes.push_back(removal_of(document_kind::cron, one.id));
  if (!changes.empty())
    commit_all(*with.documents, std::move(changes));
}

void add_crons(router& to, const rooms& with) {
  constexpr std::string_view all = "crons";
  to.add({"POST", "/runs/crons", answering(with, create_cron), {all, "create"}});
  to.add(
    {"POST", "/threads/{thread_id}/runs/crons", answering(with, create_cron), {all, "create"}});
  to.add({"POST", "/runs/crons/search", answering(with, search_crons), {all, "search"}});
  to.add({"POST", "/runs/crons/count", answering(with, count_crons), {all, "search"}});
  to.add({"GET", "/runs/crons/{cron_id}", answering(with, get_cron), {all, "read"}});
  to.add({"PATCH", "/runs/crons/{cron_id}", answering(with, update_cron), {all, "update"}});
  to.add({"DELETE", "/runs/crons/{cron_id}", answering(with, delete_cron), {all, "delete"}});
}

} // namespace troupe::server
