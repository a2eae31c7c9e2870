// records: bodies of documents to records and back.
#include "server/rules/records.hpp"

#include "graph/task_id.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace troupe::server {

namespace {

constexpr const char* private_member = "server";

template <class E, std::size_t N> using names_of = std::array<std::pair<E, std::string_view>, N>;

constexpr names_of<thread_status, 4> thread_status_names{
  {{thread_status::idle, "idle"},
   {thread_status::busy, "busy"},
   {thread_status::interrupted, "interrupted"},
   {thread_status::error, "error"}}};
constexpr names_of<run_status, 6> run_status_names{{{run_status::pending, "pending"},
                                                    {run_status::running, "running"},
                                                    {run_status::success, "success"},
                                                    {run_status::error, "error"},
                                                    {run_status::timeout, "timeout"},
                                                    {run_status::interrupted, "interrupted"}}};
constexpr names_of<cancel_action, 3> cancel_action_names{{{cancel_action::none, "none"},
                                                          {cancel_action::interrupt, "interrupt"},
                                                          {cancel_action::rollback, "rollback"}}};

template <class E, std::size_t N>
std::string_view name_in(const names_of<E, N>& names, E which) noexcept {
  auto found = std::ranges::find(names, which, &std::pair<E, std::string_view>::first);
  return found == names.end() ? std::string_view{} : found->second;
}

template <class E, std::size_t N>
std::optional<E> named_in(const names_of<E, N>& names, std::string_view name) noexcept {
  auto found = std::ranges::find(names, name, &std::pair<E, std::string_view>::second);
  return found == names.end() ? std::nullopt : std::optional{found->first};
}

std::string text_of(const value& v) {
  return v.is_string() ? std::string{v.as_string()} : std::string{};
}
value map_of(const value& v) {
  return v.is_map() ? v : value::map();
}
bool flag_of(const value& v, bool otherwise = false) {
  return v.is_bool() ? v.as_bool() : otherwise;
}
std::int64_t number_of(const value& v) {
  return v.is_int() ? v.as_int() : 0;
}

value list_of(const std::vector<std::string>& texts) {
  return value::list({texts.begin(), texts.end()});
}
std::vector<std::string> texts_of(const value& v) {
  std::vector<std::string> out;
  for (const auto& one : v.items())
    out.push_back(text_of(one));
  return out;
}

} // namespace

value public_form(const value& body) {
  return body.without(private_member);
}

value selected(const value& body, const std::vector<std::string>& select) {
  if (select.empty())
    return body;
  auto out = value::map();
  for (const auto& name : select)
    if (body.contains(name))
      out = out.with(name, body[name]);
  return out;
}

// ---- assistants

value assistant_record::body() const {
  return value::map({{"assistant_id", assistant_id},
                     {"graph_id", graph_id},
                     {"version", version},
                     {"name", name},
                     {"description", description},
                     {"config", config},
                     {"context", context},
                     {"metadata", metadata},
                     {"created_at", created_at},
                     {"updated_at", updated_at}});
}

assistant_record assistant_record::of(const value& body) {
  return {.assistant_id = text_of(body["assistant_id"]),
          .graph_id = text_of(body["graph_id"]),
          .version = number_of(body["version"]),
          .name = text_of(body["name"]),
          .description = body["description"],
          .config = map_of(body["config"]),
          .context = map_of(body["context"]),
          .metadata = map_of(body["metadata"]),
          .created_at = text_of(body["created_at"]),
          .updated_at = text_of(body["updated_at"])};
}

std::string default_assistant_id(std::string_view graph_id) {
  return uuid5("6ba7b821-9dad-11d1-80b4-00c04fd430c8", graph_id);
}

// ---- threads

std::string_view to_string(thread_status s) noexcept {
  return name_in(thread_status_names, s);
}
std::optional<thread_status> parse_thread_status(std::string_view name) noexcept {
  return named_in(thread_status_names, name);
}

value thread_record::body() const {
  auto out = value::map({{"thread_id", thread_id},
                         {"created_at", created_at},
                         {"updated_at", updated_at},
                         {"state_updated_at", state_updated_at},
                         {"metadata", metadata},
                         {"status", to_string(status)},
                         {"config", config},
                         {private_member, value::map({{"had_runs", had_runs},
                                                      {"is_copy", is_copy},
                                                      {"inflight", list_of(inflight)},
                                                      {"running", running}})}});
  if (!pruned_as_of.empty())
    out = out.with(private_member, out[private_member].with("pruned_as_of", pruned_as_of));
  if (had_runs)
    out = out.with("error", error);
  if (ttl_minutes)
    out = out.with("ttl", value::map({{"ttl", *ttl_minutes}, {"strategy", ttl_strategy}}));
  return out;
}

thread_record thread_record::of(const value& body) {
  const auto& own = body[private_member];
  thread_record out{.thread_id = text_of(body["thread_id"]),
                    .created_at = text_of(body["created_at"]),
                    .updated_at = text_of(body["updated_at"]),
                    .state_updated_at = text_of(body["state_updated_at"]),
                    .metadata = map_of(body["metadata"]),
                    .status =
                      parse_thread_status(text_of(body["status"])).value_or(thread_status::idle),
                    .config = map_of(body["config"]),
                    .error = body["error"],
                    .had_runs = flag_of(own["had_runs"]),
                    .is_copy = flag_of(own["is_copy"]),
                    .pruned_as_of = text_of(own["pruned_as_of"]),
                    .inflight = texts_of(own["inflight"]),
                    .running = text_of(own["running"])};
  if (const auto& ttl = body["ttl"]; ttl.is_map()) {
    out.ttl_minutes = ttl["ttl"].as_double();
    out.ttl_strategy = text_of(ttl["strategy"]);
  }
  return out;
}

// ---- runs

std::string_view to_string(run_status s) noexcept {
  return name_in(run_status_names, s);
}
std::optional<run_status> parse_run_status(std::string_view name) noexcept {
  return named_in(run_status_names, name);
}
bool is_over(run_status s) noexcept {
  return s != run_status::pending && s != run_status::running;
}

std::string_view to_string(cancel_action a) noexcept {
  return name_in(cancel_action_names, a);
}
std::optional<cancel_action> parse_cancel_action(std::string_view name) noexcept {
  auto found = named_in(cancel_action_names, name);
  return found == cancel_action::none ? std::nullopt : found;
}

value run_record::body() const {
  return value::map({{"run_id", run_id},
                     {"thread_id", thread_id},
                     {"assistant_id", assistant_id},
                     {"created_at", created_at},
                     {"updated_at", updated_at},
                     {"status", to_string(status)},
                     {"metadata", metadata},
                     {"kwargs", kwargs},
                     {"multitask_strategy", multitask_strategy},
                     {"langsmith_session_name", nullptr},
                     {private_member, value::map({{"graph_id", graph_id},
                                                  {"owner", owner},
                                                  {"attempt", attempt},
                                                  {"left", left},
                                                  {"cancel", to_string(cancel)},
                                                  {"begun_at", begun_at},
                                                  {"thread_created_at", thread_created_at},
                                                  {"followed", followed},
                                                  {"error", error},
                                                  {"output", output}})}});
}

run_record run_record::of(const value& body) {
  const auto& own = body[private_member];
  return {.run_id = text_of(body["run_id"]),
          .thread_id = text_of(body["thread_id"]),
          .assistant_id = text_of(body["assistant_id"]),
          .created_at = text_of(body["created_at"]),
          .updated_at = text_of(body["updated_at"]),
          .status = parse_run_status(text_of(body["status"])).value_or(run_status::error),
          .metadata = map_of(body["metadata"]),
          .kwargs = map_of(body["kwargs"]),
          .multitask_strategy = text_of(body["multitask_strategy"]),
          .graph_id = text_of(own["graph_id"]),
          .owner = text_of(own["owner"]),
          .attempt = number_of(own["attempt"]),
          .left = number_of(own["left"]),
          .cancel =
            named_in(cancel_action_names, text_of(own["cancel"])).value_or(cancel_action::none),
          .begun_at = number_of(own["begun_at"]),
          .thread_created_at = number_of(own["thread_created_at"]),
          .followed = flag_of(own["followed"]),
          .error = own["error"],
          .output = own["output"]};
}

// ---- crons

value cron_record::body() const {
  return value::map({{"cron_id", cron_id},
                     {"assistant_id", assistant_id},
                     {"thread_id", thread_id},
                     {"user_id", ""},
                     {"schedule", schedule},
                     {"timezone", timezone},
                     {"end_time", end_time},
                     {"enabled", enabled},
                     {"payload", payload},
                     {"metadata", metadata},
                     {"on_run_completed", on_run_completed},
                     {"next_run_date", next_run_date},
                     {"created_at", created_at},
                     {"updated_at", updated_at}});
}

cron_record cron_record::of(const value& body) {
  return {.cron_id = text_of(body["cron_id"]),
          .assistant_id = text_of(body["assistant_id"]),
          .thread_id = body["thread_id"],
          .schedule = text_of(body["schedule"]),
          .timezone = body["timezone"],
          .end_time = body["end_time"],
          .enabled = flag_of(body["enabled"], true),
          .payload = map_of(body["payload"]),
          .metadata = map_of(body["metadata"]),
          .on_run_completed = body["on_run_completed"],
          .next_run_date = body["next_run_date"],
          .created_at = text_of(body["created_at"]),
          .updated_at = text_of(body["updated_at"])};
}

} // namespace troupe::server
