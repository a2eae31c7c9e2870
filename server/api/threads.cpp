// threads: their records. Their states are in thread_states.cpp.
#include "server/api/rooms.hpp"
#include "server/rules/ids.hpp"
#include "server/rules/run_request.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace troupe::server {

namespace {

constexpr std::array<std::string_view, 5> thread_sorts{"created_at", "thread_id", "status",
                                                       "updated_at", "state_updated_at"};
constexpr std::array<std::string_view, 2> thread_if_exists{"raise", "do_nothing"};
constexpr std::array<std::string_view, 4> thread_statuses{"idle", "busy", "interrupted", "error"};
constexpr std::array<std::string_view, 2> prunings{"delete", "keep_latest"};
constexpr std::array<std::string_view, 10> thread_members{
  "thread_id", "created_at", "updated_at", "state_updated_at", "metadata",
  "config",    "status",     "values",     "interrupts",       "error"};

// {ttl: minutes, strategy}.
void take_ttl(thread_record& into, const checked_body& body) {
  auto given = body.map("ttl");
  if (!body.has("ttl"))
    return;
  checked_body ttl{given};
  const auto& minutes = ttl["ttl"];
  if (!minutes.is_number() || !(minutes.as_double() > 0)
      || minutes.as_double() > limits::server_ttl_minutes_max)
    throw refusal{422, "ttl.ttl: " + to_json(minutes) + " is not a number of minutes"};
  into.ttl_minutes = minutes.as_double();
  into.ttl_strategy = ttl.one_of("strategy", prunings).value_or("delete");
}

// {values, as_node}, or {command, as_node}.
outside_update outside_update_of(const checked_body& given) {
  outside_update out{.as_node = given.text("as_node").value_or("")};
  auto asked = command_of(given.map("command"));
  if (asked.resume)
    throw refusal{422, "supersteps: a command with `resume` is not taken"};
  if (asked.update || !asked.goto_.empty())
    out.values = std::move(asked.update);
  else if (const auto& values = given["values"]; !values.is_null())
    out.values = update_of(values, "supersteps: values");
  out.goto_ = std::move(asked.goto_);
  return out;
}

std::vector<std::vector<outside_update>> supersteps_of(const checked_body& body) {
  std::vector<std::vector<outside_update>> out;
  const auto& given = body["supersteps"];
  if (given.is_null())
    return out;
  if (!given.is_list())
    throw refusal{422, "supersteps: it is not a list"};
  for (const auto& step : given.items()) {
    auto& updates = out.emplace_back();
    for (const auto& one : step["updates"].items())
      updates.push_back(outside_update_of(checked_body{one}));
    if (updates.empty())
      throw refusal{422, "supersteps: a super-step has no updates"};
  }
  return out;
}

void apply_supersteps(const rooms& with, const std::string& id,
                      const std::vector<std::vector<outside_update>>& steps) {
  for (;;) {
    auto found = thread_at(with, id);
    auto graph = graph_of(with, found.thread);
    if (!graph)
      throw refusal{400, "supersteps: the thread's metadata has no graph_id"};
    if (!found.thread.had_runs) {
      run_config place{.thread_id = id,
                       .whole_metadata = true,
                       .metadata = value::map({{"graph_id", found.thread.metadata["graph_id"]}})};
      for (const auto& step : steps) {
        auto at = graph->try_bulk_update_state(place, {step});
        if (!at && at.error().code() == errc::invalid_update)
          throw refusal{400, at.error().text()};
        place.metadata = value::map({{"checkpoint_id", at.value().checkpoint_id}});
      }
    }
    auto state = graph->get_state({.thread_id = id});
    found.thread.had_runs = true;
    found.thread.status = state.next.empty() ? thread_status::idle : thread_status::interrupted;
    found.thread.updated_at = found.thread.state_updated_at = time_text(with.runs.now());
    auto stored = with.documents->commit_and_wait(
      {{document_kind::thread, id, found.thread.body(), found.revision}});
    if (stored)
      return;
    if (stored.error().code() != errc::conflict)
      throw stored.error();
  }
}

http_whole create_thread(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  auto time = with.runs.now();
  thread_record made{.thread_id = body.id("thread_id", "thread").value_or(new_id(time)),
                     .created_at = time_text(time),
                     .updated_at = time_text(time),
                     .state_updated_at = time_text(time),
                     .metadata = body.map("metadata"),
                     .ttl_minutes = with.expiry.minutes,
                     .ttl_strategy = with.expiry.strategy};
  take_ttl(made, body);
  auto or_else = body.one_of("if_exists", thread_if_exists).value_or("raise");
  auto steps = supersteps_of(body);
  if (!steps.empty() && !graph_of(with, made))
    throw refusal{400, "supersteps: the metadata has no graph_id of a graph of this server"};
  auto stored =
    with.documents->commit_and_wait({{document_kind::thread, made.thread_id, made.body(), 0}});
  if (!stored && stored.error().code() != errc::conflict)
    throw stored.error();
  if (!stored && or_else == "raise")
    throw refusal{409, "Thread with ID " + made.thread_id + " already exists"};
  if (stored && !steps.empty()) {
    try {
      apply_supersteps(with, made.thread_id, steps);
    } catch (...) {
      with.runs.remove_thread(made.thread_id); // all of it, or nothing
      throw;
    }
  }
  return json_answer(thread_form(with, thread_at(with, made.thread_id).thread));
}

bool includes_ttl(const api_call& call) {
  for (const auto& one : call.query.list("include"))
    if (one == "ttl")
      return true;
  return false;
}

http_whole get_thread(const rooms& with, const api_call& call) {
  return json_answer(
    thread_form(with, thread_at(with, call.parameters[0]).thread, includes_ttl(call)));
}

http_whole update_thread(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  const auto metadata = body.map("metadata");
  for (;;) {
    auto found = thread_at(with, call.parameters[0]);
    for (const auto& e : metadata.entries())
      found.thread.metadata = found.thread.metadata.with(e.key(), e.val);
    take_ttl(found.thread, body);
    found.thread.updated_at = time_text(with.runs.now());
    auto stored = with.documents->commit_and_wait(
      {{document_kind::thread, found.thread.thread_id, found.thread.body(), found.revision}});
    if (!stored && stored.error().code() == errc::conflict)
      continue;
    if (!stored)
      throw stored.error();
    if (call.request.header("prefer") == "return=minimal")
      return {.status = 204};
    return json_answer(thread_form(with, found.thread));
  }
}

http_whole delete_thread(const rooms& with, const api_call& call) {
  auto id = checked_id(call.parameters[0], "thread");
  if (!with.runs.remove_thread(id))
    throw refusal{404, "Thread with ID " + id + " not found"};
  remove_crons(with, "thread_id", {id});
  return {.status = 204};
}

document_query thread_query(const checked_body& body) {
  document_query out{.kind = document_kind::thread};
  for (const auto& id : body.texts("ids"))
    out.ids.push_back(checked_id(id, "thread"));
  if (auto status = body.one_of("status", thread_statuses))
    out.equal.emplace_back("status", *status);
  if (auto metadata = body.map("metadata"); !metadata.empty())
    out.contains = value::map({{"metadata", metadata}});
  return out;
}

// The threads whose values contain these, which no index has: all others of the query are read.
void keep_by_values(const rooms& with, const value& values, document_page& page,
                    const document_query& query) {
  std::erase_if(page.documents, [&](const document& one) {
    return !contains(thread_form(with, thread_record::of(one.body))["values"], values);
  });
  page.total = page.documents.size();
  auto first = std::min(query.offset, page.total);
  page.documents.erase(page.documents.begin(),
                       page.documents.begin() + static_cast<std::ptrdiff_t>(first));
  if (query.limit && page.documents.size() > *query.limit)
    page.documents.resize(*query.limit);
}

document_page threads_of(const rooms& with, const checked_body& body, const document_query& query) {
  auto values = body.map("values");
  if (values.empty())
    return with.documents->search(query).value();
  auto all = query;
  all.offset = 0;
  all.limit = std::nullopt;
  auto page = with.documents->search(all).value();
  keep_by_values(with, values, page, query);
  return page;
}

// The item of a list at "[N]", from the end for a negative one.
value at_index(const value& list, std::string_view text) {
  long n = 0;
  auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
  auto size = static_cast<long>(list.size());
  if (wrong != std::errc{} || end != text.data() + text.size() || !list.is_list() || n >= size
      || n < -size)
    return {};
  return list[static_cast<std::size_t>(n < 0 ? size + n : n)];
}

// A member at a path as "values.messages[-1].content".
value at_path(const value& whole, std::string_view path) {
  auto at = whole;
  while (!path.empty()) {
    if (path.front() == '.')
      path.remove_prefix(1);
    if (path.starts_with('[')) {
      auto close = path.find(']');
      if (close == path.npos)
        return {};
      at = value(at_index(at, path.substr(1, close - 1)));
      path.remove_prefix(close + 1);
    } else {
      auto end = std::min(path.find_first_of(".["), path.size());
      at = value(at[path.substr(0, end)]);
      path.remove_prefix(end);
    }
  }
  return at;
}

// Names, each with a path into a thread.
value checked_extract(const checked_body& body) {
  constexpr std::array<std::string_view, 4> begins{"config", "interrupts", "metadata", "values"};
  auto extract = body.map("extract");
  for (const auto& e : extract.entries()) {
    if (!e.val.is_string())
      throw refusal{422,
                    "extract." + std::string{e.key()} + ": " + to_json(e.val) + " is not a string"};
    auto path = e.val.as_string();
    if (std::ranges::find(begins, path.substr(0, path.find_first_of(".["))) == begins.end())
      throw refusal{422, "Extract path '" + std::string{path}
                           + "' must start with one of: config, interrupts, metadata, values"};
  }
  return extract;
}

http_whole search_threads(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  auto query = thread_query(body);
  read_page(body, thread_sorts, query);
  auto select = body.some_of("select", thread_members);
  auto extract = checked_extract(body);
  auto page = threads_of(with, body, query);
  std::vector<value> out;
  for (const auto& one : page.documents) {
    auto whole = thread_form(with, thread_record::of(one.body));
    auto form = selected(whole, select);
    if (!extract.empty()) {
      auto extracted = value::map();
      for (const auto& e : extract.entries())
        extracted = extracted.with(e.key(), at_path(whole, e.val.as_string()));
      form = form.with("extracted", extracted);
    }
    out.push_back(std::move(form));
  }
  return json_answer(value::list(std::move(out)), 200, page_headers(query, page));
}

http_whole count_threads(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  auto query = thread_query(body);
  query.limit = 0;
  return json_answer(threads_of(with, body, query).total);
}

http_whole copy_thread(const rooms& with, const api_call& call) {
  auto source = thread_at(with, call.parameters[0]).thread;
  auto time = with.runs.now();
  thread_record copy{.thread_id = new_id(time),
                     .created_at = time_text(time),
                     .updated_at = time_text(time),
                     .state_updated_at = time_text(time),
                     .metadata = source.metadata,
                     .ttl_minutes = with.expiry.minutes,
                     .ttl_strategy = with.expiry.strategy,
                     .is_copy = true};
  if (const auto& saver = with.graphs.machine().saver(); saver && source.had_runs)
    saver->copy_thread(source.thread_id, copy.thread_id).value();
  with.documents->commit_and_wait({{document_kind::thread, copy.thread_id, copy.body(), 0}})
    .value();
  return json_answer(thread_form(with, copy));
}

// The bytes of a thread on the disk.
http_whole thread_storage(const rooms& with, const api_call& call) {
  auto thread = thread_at(with, call.parameters[0]).thread;
  auto out = value::map({{"thread_id", thread.thread_id},
                         {"total_bytes", 0},
                         {"checkpoints", value::map({{"count", 0}, {"bytes", 0}})}});
  if (const auto& saver = with.graphs.machine().saver())
    for (const auto& one : saver->threads().value())
      if (one.thread_id == thread.thread_id)
        out = out.with("total_bytes", one.bytes)
                .with("checkpoints",
                      value::map({{"count", one.checkpoints}, {"bytes", one.bytes}}));
  return json_answer(out);
}

http_whole prune_threads(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  if (!body.has("thread_ids"))
    throw refusal{422, "thread_ids: the member is required"};
  auto ids = body.texts("thread_ids");
  for (auto& id : ids)
    id = checked_id(id, "thread");
  std::int64_t pruned = 0;
  if (body.one_of("strategy", prunings).value_or("delete") == "delete") {
    for (const auto& id : ids)
      pruned += with.runs.remove_thread(id) ? 1 : 0;
    remove_crons(with, "thread_id", ids);
  } else {
    std::vector<std::string> known;
    for (const auto& id : ids)
      if (with.documents->get(document_kind::thread, id).value())
        known.push_back(id);
    if (const auto& saver = with.graphs.machine().saver(); saver && !known.empty())
      saver->prune(known, {.keep_latest = 1}).value();
    pruned = static_cast<std::int64_t>(known.size());
  }
  return json_answer(value::map({{"pruned_count", pruned}}));
}

} // namespace

void add_threads(router& to, const rooms& with) {
  constexpr std::string_view all = "threads";
  to.add({"POST", "/threads", answering(with, create_thread), {all, "create"}});
  to.add({"POST", "/threads/search", answering(with, search_threads), {all, "search"}});
  to.add({"POST", "/threads/count", answering(with, count_threads), {all, "search"}});
  to.add({"POST", "/threads/prune", answering(with, prune_threads), {all, "delete"}});
  to.add({"GET", "/threads/{thread_id}", answering(with, get_thread), {all, "read"}});
  to.add({"PATCH", "/threads/{thread_id}", answering(with, update_thread), {all, "update"}});
  to.add({"DELETE", "/threads/{thread_id}", answering(with, delete_thread), {all, "delete"}});
  to.add({"GET", "/threads/{thread_id}/storage", answering(with, thread_storage), {all, "read"}});
  to.add({"POST", "/threads/{thread_id}/copy", answering(with, copy_thread), {all, "read"}});
}

} // namespace troupe::server
